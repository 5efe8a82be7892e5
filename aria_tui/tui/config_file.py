"""Changes two or three keys of ``config.toml`` and nothing else of it: comments and order stay as they were."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from aria_tui import config as configuration
from aria_tui.config import Config
from aria_tui.errors import ConfigError


def with_keys(text: str, table: str, values: dict[str, str | bool]) -> str:
    """The text with ``values`` set in ``[table]``; keys that are there are replaced in place."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(rf"\s*\[\s*{re.escape(table)}\s*\]", line)), None)
    if start is None:
        lines += [*([""] if lines and lines[-1].strip() else []), f"[{table}]"]
        start = len(lines) - 1
    for name, value in values.items():
        written = f"{name} = {json.dumps(value, ensure_ascii=True)}"
        end = next((n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
        at = next((n for n in range(start + 1, end) if re.match(rf"\s*{re.escape(name)}\s*=", lines[n])), None)
        if at is None:
            lines.insert(start + 1, written)
        else:
            lines[at] = written
    return "\n".join(lines) + "\n"


def save(file: Path, table: str, values: dict[str, str | bool]) -> Config:
    """Writes the keys and gives the configuration that is then in force (environment included).

    The new text is parsed before it takes the old one's place, whole or not at all, mode 0600. Raises ConfigError.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't be read: {error}", path=str(file)) from None
    changed = with_keys(text, table, values)
    found = getattr(configuration.parse(changed, str(file)), table)
    if any(getattr(found, name) != value for name, value in values.items()):
        raise ConfigError("can't be changed by the program as it is written", path=str(file), hint="edit it by hand")
    part = file.with_name(f"{file.name}.part")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(changed)
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    except OSError as error:
        raise ConfigError(f"can't be written: {error.strerror}", path=str(file)) from None
    return configuration.load(file)
