"""All benchmarks: ``python -m tests.benchmarks [NAME …] [--json FOLDER]``, one line for each: figure, goal, met or not.

Names are scripts' or figures' (``p4_drain``, ``P4``). JSON goes to a temporary folder unless one is given.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.measure import report

SCRIPTS = (
    "p1_start", "p2_commands", "p3_enqueue", "p4_drain", "p5_status", "p6_screen", "p7_hub", "p7_lists", "p8_briefing",
    "p9_memory", "backoff_picture",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--json", type=Path, metavar="FOLDER", help="where the JSON goes")
    args = parser.parse_args()
    folder = args.json or Path(tempfile.mkdtemp(prefix="aria-benchmarks-"))
    wanted = [name.lower() for name in args.names]
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}; JSON in {folder}")
    missed = 0
    for script in SCRIPTS:
        if wanted and not any(script.startswith(name) for name in wanted):
            continue
        try:
            figures = importlib.import_module(f"tests.benchmarks.{script}").measure()
        except Exception as error:
            print(f"{script}: could not be measured: {error!r}", flush=True)
            missed += 1
            continue
        report(figures, folder)
        missed += sum(not figure.met for figure in figures)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
