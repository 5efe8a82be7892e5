"""``aria status --short``: one mark for a prompt, from the queue file alone (no network, nothing heavy imported).

``✓`` nothing waits, ``⇡3`` three writes wait, ``⚠`` something needs the user: a dead letter, a conflict, a refused
token, a write that has waited for over a day, or a queue that can't be read.
"""

import os
import sys
import time

TYPE_CHECKING = False  # as in typing, without importing it
if TYPE_CHECKING:
    from typing import Any

DAY = 24 * 3600
_COUNT = "SELECT count(*) FROM queue WHERE synced_at IS NULL"  # a file that this program has not opened yet
_OLDEST = "SELECT created_at FROM queue WHERE synced_at IS NULL ORDER BY id LIMIT 1"
_PAUSED = """SELECT EXISTS (SELECT 1 FROM state WHERE name >= 'gate:' AND name < 'gate;'
  AND (value LIKE '%"code":"paused"%' OR value LIKE '%"code":"restored"%')
  AND EXISTS (SELECT 1 FROM counters WHERE waiting > 0 AND target IN (substr(name, 6), '')))"""
PATIENCE = 1.0
"""Seconds that a prompt waits for a writer of the file; a commit takes milliseconds."""


def run() -> int:
    """Prints the mark. Exit status 0, or 1 where the queue can't be read (why is on standard error)."""
    try:
        mark, problem = _mark(_file()), ""
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the file, a prompt gets its mark
        mark, problem = "⚠", str(error)
    _write(mark)
    if problem and sys.stderr is not None:
        sys.stderr.write(f"aria: queue unavailable: {problem}\n")
    return 1 if problem else 0


def _file() -> str:
    home = os.environ.get("ARIA_HOME") or os.path.join("~", ".aria")  # noqa: PTH118 - pathlib costs a third of the start
    return os.path.join(os.path.expanduser(home), "queue.db")  # noqa: PTH111, PTH118


def _write(mark: str) -> None:
    try:
        sys.stdout.buffer.write(f"{mark}\n".encode())
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # closed by the reader
        sys.stdout = None


def _mark(file: str) -> str:
    if not os.path.exists(file):  # noqa: PTH110
        return "✓"
    waiting, parked, oldest, paused = _counts(file)
    if parked or paused or (oldest and _is_old(oldest)):
        return "⚠"
    return f"⇡{waiting}" if waiting else "✓"


def _is_old(created_at: str) -> bool:
    """Both written forms, ``2026-02-21 08:14:22`` and ``…T08:14:22Z``, compare as text once they look alike."""
    limit = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - DAY))
    return created_at.replace(" ", "T")[:19] < limit


def _counts(file: str) -> tuple[int, bool, str | None, bool]:
    """Waiting rows, parked rows, the oldest waiting row's time, whether a target's rows are paused."""
    try:
        return _read(file, "ro")
    except _sqlite().OperationalError as error:
        if "readonly" not in str(error):  # a killed writer left its journal: only a writer may roll it back
            raise
        return _read(file, "rw")


def _sqlite() -> "Any":
    """The C module alone: ``sqlite3`` around it adds datetime and converters, which nothing here needs.

    It wants ``functools`` for its cache of statements, which costs a prompt a fifth of its time and is of no use for
    five statements that run once: while it is loaded, a cache that keeps nothing stands in.
    """
    stand_in = type(sys)("functools")  # a module; the module types would have to be loaded first
    stand_in.lru_cache = lambda *_sizes, **_options: lambda make: make  # type: ignore[attr-defined]
    known = sys.modules.get("functools")
    sys.modules["functools"] = known or stand_in
    try:
        import _sqlite3
    except ImportError:  # another Python than CPython
        sys.modules.pop("functools")
        import sqlite3 as _sqlite3  # type: ignore[no-redef]
    if sys.modules.get("functools") is stand_in:
        del sys.modules["functools"]
    return _sqlite3


def _read(file: str, mode: str) -> tuple[int, bool, str | None, bool]:
    quoted = file.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = _sqlite().connect(f"file:{quoted}?mode={mode}", timeout=PATIENCE, uri=True)
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "queue" not in tables:
            return 0, False, None, False
        count = "SELECT sum(waiting) FROM counters" if "counters" in tables else _COUNT
        waiting = connection.execute(count).fetchone()[0] or 0
        oldest = connection.execute(_OLDEST).fetchone() if waiting else None
        parked = "parked" in tables and connection.execute("SELECT EXISTS (SELECT 1 FROM parked)").fetchone()[0]
        paused = waiting and "state" in tables and connection.execute(_PAUSED).fetchone()[0]
        return waiting, bool(parked), oldest[0] if oldest else None, bool(paused)
    finally:
        connection.close()
