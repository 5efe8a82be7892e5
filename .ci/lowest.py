"""Prints the lowest versions that pyproject.toml allows for its direct dependencies, as pip constraints."""

import re
import sys
import tomllib
from pathlib import Path


def main() -> int:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for line in [*project["dependencies"], *extras["server"], *extras["mcp"], *extras["keyring"]]:
        found = re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*>=\s*([0-9][^,; ]*)", line)
        if found is None:
            sys.exit(f"no lower bound: {line}")
        if ";" not in line:
            print(f"{found[1]}=={found[2]}")  # noqa: T201 - what this script is for
    return 0


if __name__ == "__main__":
    sys.exit(main())
