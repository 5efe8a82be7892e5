"""``aria status --short``: one mark for a prompt, from the queue file alone (no network, nothing heavy imported).

``✓`` nothing waits, ``⇡3`` three writes wait, ``⚠`` something needs the user: a dead letter, a conflict, a refused
token, a restored Hub, a write that has waited for over a day, a damaged file that was set aside, or a queue that can't
be used.
"""

import os
import sys
import time

from aria_tui import paths

TYPE_CHECKING = False  # as in typing, without importing it
if TYPE_CHECKING:
    from typing import Any

DAY = 24 * 3600
_COUNT = "SELECT count(*) FROM queue WHERE synced_at IS NULL"
_OLDEST = "SELECT created_at FROM queue WHERE synced_at IS NULL ORDER BY id LIMIT 1"
_PAUSED = """SELECT EXISTS (SELECT 1 FROM state
  WHERE EXISTS (SELECT 1 FROM counters WHERE waiting > 0 AND target IN (substr(name, instr(name, ':') + 1), ''))
  AND (name >= 'gate:' AND name < 'gate;' AND json_extract(value, '$.code') IN ('paused', 'restored')
    OR name >= 'hub:' AND name < 'hub;' AND json_extract(value, '$.restored') != ''))"""
_SET_ASIDE = "SELECT json_extract(value, '$.file') FROM state WHERE name = 'damage'"
PATIENCE = 1.0
"""Seconds that a prompt waits for a writer of the file; a commit takes milliseconds."""


def run() -> int:
    """Prints the mark. Exit status 0, or 1 where the queue can't be read (why is on standard error)."""
    mark, problem = "⚠", ""
    try:
        file = f"{paths.home_text()}/queue.db"
        try:
            mark = _mark(file)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the file, a prompt gets its mark
            problem = f"{file}: {getattr(error, 'strerror', None) or error}"
    except Exception as error:  # noqa: BLE001 - there is no home
        problem = str(error)
    _write(mark)
    if problem and sys.stderr is not None:
        sys.stderr.write(f"aria: queue unavailable: {problem}\n")
    return 1 if problem else 0


def _write(mark: str) -> None:
    try:
        sys.stdout.buffer.write(f"{mark}\n".encode())
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # closed by the reader
        sys.stdout = None


def _mark(file: str) -> str:
    try:
        if os.stat(file).st_mode & 0o170000 != 0o100000:  # noqa: PTH116 - pathlib costs a third of the start
            raise ValueError("it is no file")  # a pipe would be waited for
    except FileNotFoundError:  # any other reason, such as a home that is a file, is a queue that can't be used
        if os.path.islink(file):  # noqa: PTH114
            raise
        home = os.path.dirname(file)  # noqa: PTH120
        if os.path.isdir(home) and not os.access(home, os.W_OK | os.X_OK):  # noqa: PTH112
            raise ValueError("its folder can't be written") from None
        return "✓"
    if not (os.access(file, os.W_OK) and os.access(os.path.dirname(file), os.W_OK)):  # noqa: PTH120
        raise ValueError("it can't be written")
    waiting, attention, oldest = _counts(file)
    if attention or (oldest and _is_old(oldest)):
        return "⚠"
    return f"⇡{waiting}" if waiting else "✓"


def _is_old(created_at: str) -> bool:
    """Both written forms, ``2026-02-21 08:14:22`` and ``…T08:14:22Z``, compare as text once they look alike."""
    limit = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - DAY))
    return created_at.replace(" ", "T")[:19] < limit


def _counts(file: str) -> tuple[int, bool, str | None]:
    """Waiting rows, whether something needs the user, the oldest waiting row's time."""
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


def _read(file: str, mode: str) -> tuple[int, bool, str | None]:
    quoted = file.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = _sqlite().connect(f"file:{quoted}?mode={mode}", timeout=PATIENCE, uri=True)
    try:

        def one(sql: str) -> "Any":
            row = connection.execute(sql).fetchone()
            return row[0] if row else None

        version = one("PRAGMA user_version")
        known = _known()
        if version > known:
            raise ValueError(f"made by a newer version (schema {version}, this program knows {known}; update it)")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not version:  # a file of the old shape, which this program has not opened yet
            waiting = one(_COUNT) if "queue" in tables else 0
            return waiting, False, one(_OLDEST) if waiting else None
        waiting = one("SELECT sum(waiting) FROM counters") or 0
        aside = one(_SET_ASIDE)
        attention = one("SELECT EXISTS (SELECT 1 FROM parked)") or (waiting and one(_PAUSED))
        attention = attention or (aside is not None and os.path.exists(aside))  # noqa: PTH110
        return waiting, bool(attention), one(_OLDEST) if waiting else None
    finally:
        connection.close()


def _known() -> int:
    """The newest shape of the file that this program knows."""
    steps = os.path.join(os.path.dirname(os.path.dirname(__file__)), "outbox", "migrations")  # noqa: PTH118, PTH120
    return len([name for name in os.listdir(steps) if name.endswith(".sql")])  # noqa: PTH208
