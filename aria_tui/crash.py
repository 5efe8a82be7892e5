"""An error that nobody foresaw: its trace goes into a file, the user gets one sentence."""

from __future__ import annotations

import traceback
from datetime import UTC, datetime


def record(error: BaseException) -> str:
    """Writes the trace below ``$ARIA_HOME/log`` (mode 0600; no values of variables in it) and gives the sentence."""
    trace = "".join(traceback.format_exception(error))
    gist = f"unexpected error: {type(error).__name__}: {error}".rstrip(": ")
    try:
        file = _write(trace)
    except Exception as problem:  # noqa: BLE001 - a home that can't be written is no reason for a second error
        return f"{gist} (no log was written: {problem})"
    return f"{gist}; the details are in {file}; please report it with the output of `aria doctor --bundle FILE`"


def _write(trace: str) -> str:
    from aria_tui import paths

    folder = paths.home() / "log"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = datetime.now(UTC)
    file = folder / f"{now:%Y%m%dT%H%M%S}.log"
    with file.open("a", encoding="utf-8", errors="backslashreplace") as log:
        file.chmod(0o600)
        log.write(f"{now.isoformat()}\n{trace}\n")
    return str(file)
