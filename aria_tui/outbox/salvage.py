"""A damaged queue file: set aside whole, and what SQLite can still read of it carried over (queue.md, "Damage").

Works on plain SQLite connections in a thread of its own, before the store opens the file that replaces the old one.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aria_tui.errors import QueueUnavailable
from aria_tui.outbox import schema
from aria_tui.outbox.faults import Damaged, is_damage
from aria_tui.outbox.lock import DrainLock

_WAIT = 8.0
_SIDE = ("", "-journal", "-wal", "-shm")
_CARRIED = ("state", "targets", "id_map")


def put_aside(path: Path, reason: str) -> str:
    """Moves the damaged set away under a new name, makes a new file with the rows that could be read, and gives the
    sentence for the user: how many rows were saved and where the old file is.

    Raises QueueUnavailable when another process is at work on the file and doesn't let go.
    """
    with DrainLock(path) as lock:
        deadline = time.monotonic() + _WAIT
        while not lock.acquire():
            if time.monotonic() > deadline:
                raise QueueUnavailable(str(path), f"damaged ({reason}), and another process is sending from it")
            time.sleep(0.05)
        if _sound(path):
            return ""  # another process was faster
        old = _move(path)
        waiting, parked, damaged_rows = _carry_over(old, path)
        saved = f"{waiting} waiting" + (f" and {parked} parked" if parked else "")
        lost = ", some rows could not be read" if damaged_rows else ""
        return f"The queue file was damaged ({reason}). Saved: {saved}{lost}. The old file is kept as {old}"


def _sound(path: Path) -> bool:
    """Holds the file exclusively for a moment and asks SQLite again."""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()
            connection.execute("ROLLBACK")
            return bool(found == ("ok",))
    except sqlite3.Error as error:
        if is_damage(error):
            return False
        raise QueueUnavailable(str(path), f"damaged, and can't be locked: {error}") from error


def _move(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for number in range(1000):
        old = path.with_name(f"{path.name}.damaged-{stamp}{f'-{number}' if number else ''}")
        if not old.exists():
            break
    for side in reversed(_SIDE):  # the database last: its journal must never be met without it
        source = path.with_name(path.name + side)
        if source.exists():
            source.rename(old.with_name(old.name + side))
    return old


def _carry_over(old: Path, path: Path) -> tuple[int, int, bool]:
    """Fills a new file at ``path``, complete before it gets its name. Gives waiting, parked, whether pages were bad."""
    fresh = path.with_name(path.name + ".new")
    for side in _SIDE:
        fresh.with_name(fresh.name + side).unlink(missing_ok=True)
    schema.make_file(fresh)
    with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as target:
        target.execute("PRAGMA synchronous = EXTRA")
        target.execute("BEGIN")
        for number, file in enumerate(sorted(schema.MIGRATIONS.glob("[0-9]*.sql")), 1):
            for statement in schema.statements(file.read_text(encoding="utf-8")):
                target.execute(statement)
            target.execute(f"PRAGMA user_version = {number}")
        bad = False
        for source in _readings(old):
            bad = _copy_all(source, target) or bad
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        # Whether they were sent is not known any more, so nothing of it may be folded or changed.
        unsent = "synced_at IS NULL AND sent_at IS NULL"
        target.execute(f"UPDATE queue SET sent_at = ?, why = 'in_doubt' WHERE {unsent}", [now])  # noqa: S608
        waiting = target.execute("SELECT count(*) FROM queue WHERE synced_at IS NULL").fetchone()[0]
        parked = target.execute("SELECT count(*) FROM parked").fetchone()[0]
        target.execute("COMMIT")
    fresh.rename(path)
    return waiting, parked, bad


def _readings(old: Path) -> Iterator[sqlite3.Connection]:
    """The old file as it is, then what the sqlite3 program's ``.recover`` makes of a copy, where it is installed."""
    with contextlib.closing(sqlite3.connect(f"{old.as_uri()}?mode=ro&immutable=1", uri=True)) as source:
        yield source
    try:
        script = subprocess.run(
            ["sqlite3", "-readonly", str(old), ".recover"], capture_output=True, timeout=60, check=False
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return
    with contextlib.closing(sqlite3.connect(":memory:")) as recovered:
        # What comes before a broken statement is good.
        with contextlib.suppress(sqlite3.Error):
            recovered.executescript(script)
        yield recovered


def _copy_all(source: sqlite3.Connection, target: sqlite3.Connection) -> bool:
    """Copies what can be read and is not there yet; True when something could not be read."""
    bad = False
    for table in ("queue", "parked", *_CARRIED):
        key = "id" if table in ("queue", "parked") else None
        columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
        try:
            there = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
        except sqlite3.Error:
            bad = True
            continue
        names = [c for c in columns if c in there]
        if not names:
            bad = bad or table == "queue"
            continue
        if key:
            bad = _copy_by_id(source, target, table, names) or bad
        else:
            with contextlib.suppress(sqlite3.Error):
                for row in source.execute(f"SELECT {', '.join(names)} FROM {table}"):  # noqa: S608
                    _put(target, table, names, row)
    return bad


def _copy_by_id(source: sqlite3.Connection, target: sqlite3.Connection, table: str, names: list[str]) -> bool:
    """Walks the table forward, then past a bad page from the other end."""
    bad = False
    for order in ("ASC", "DESC"):
        try:
            sql = f"SELECT {', '.join(names)} FROM {table} NOT INDEXED ORDER BY rowid {order}"  # noqa: S608
            for row in source.execute(sql):
                _put(target, table, names, row)
            return bad
        except (sqlite3.Error, UnicodeDecodeError):
            bad = True
    return bad


def _put(target: sqlite3.Connection, table: str, names: list[str], row: tuple[Any, ...]) -> None:
    """Rows that don't fit the table (a flipped byte made a type or a NULL) cost themselves only."""
    marks = ", ".join("?" * len(names))
    with contextlib.suppress(sqlite3.Error):
        target.execute(f"INSERT OR IGNORE INTO {table}({', '.join(names)}) VALUES ({marks})", row)  # noqa: S608


__all__ = ["Damaged", "put_aside"]
