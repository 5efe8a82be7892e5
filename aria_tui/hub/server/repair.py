"""A damaged SQLite Hub: the file is set aside whole, and what can still be read of it is carried over (queue.md).

The new file has a new epoch, so that clients notice that something may be missing and look (``aria queue verify``).
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sqlite3
import subprocess
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from aria_tui.hub.server.storage import migrations
from aria_tui.hub.server.storage.sqlite import is_damage

log = logging.getLogger("aria_tui.hub")
TABLES = ("settings", "accounts", "tokens", "operations", "entities", "revisions")
_ENDS = ("", "-journal", "-wal", "-shm")
_RECOVER_SECONDS = 120
_HIGHEST = """
SELECT account, MAX(seq) FROM (SELECT account, seq FROM entities UNION ALL SELECT account, seq FROM operations)
GROUP BY account
"""


class Repaired(msgspec.Struct, frozen=True):
    """What was done: where the damaged file is, and how many entities were carried over."""

    kept: Path
    entities: int

    def sentence(self) -> str:
        return f"the Hub's file was damaged: {self.entities} entries were saved, the old file is {self.kept}"


def repair(path: Path) -> Repaired | None:
    """Sets the file aside and makes a new one of what it holds; None when another process has just done so.

    The caller has closed its own connection. Raises OSError, sqlite3.Error when even that can't be done.
    """
    from filelock import FileLock

    with FileLock(f"{path}.repair", mode=0o600):
        if _is_sound(path):
            return None
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        kept = path.with_name(f"{path.name}.damaged-{stamp}-{os.getpid()}")
        for end in _ENDS:
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{end}").replace(f"{kept}{end}")
        made = path.with_name(f"{path.name}.repaired-{os.getpid()}")
        made.unlink(missing_ok=True)
        os.close(os.open(made, os.O_CREAT | os.O_RDWR, 0o600))
        try:
            saved = _carry_over(kept, made)
            made.replace(path)
        finally:
            made.unlink(missing_ok=True)
    done = Repaired(kept, saved)
    log.warning("repaired", extra={"fields": {"kept": str(kept), "entities": saved}})
    return done


def _is_sound(path: Path) -> bool:
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=10)) as database:
            return bool(database.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        return not is_damage(error)


def _carry_over(damaged: Path, made: Path) -> int:
    with contextlib.closing(sqlite3.connect(made)) as new:
        new.execute("PRAGMA synchronous = EXTRA")
        new.execute(migrations.HISTORY)
        for migration in migrations.known():
            for statement in migration.statements:
                new.execute(statement)
            known = (migration.version, migration.name, migration.checksum, 0)
            new.execute(migrations.REMEMBER, known)
        for source in _sources(damaged):
            for table in TABLES:
                _copy_table(source, new, table)
        _mend(new)
        new.commit()
        return int(new.execute("SELECT COUNT(*) FROM entities WHERE deleted_at IS NULL").fetchone()[0])


def _sources(damaged: Path) -> Iterator[sqlite3.Connection]:
    """The file as SQLite reads it, the same under a sound header, and what the sqlite3 program recovers of it."""
    with contextlib.closing(sqlite3.connect(damaged)) as database:
        yield database
    headed = damaged.with_name(f"{damaged.name}.headed")
    try:
        _with_header(damaged, headed)
        with contextlib.closing(sqlite3.connect(headed)) as database:
            yield database
    finally:
        headed.unlink(missing_ok=True)
    if (program := shutil.which("sqlite3")) is None:
        return
    recovered = damaged.with_name(f"{damaged.name}.recovered")
    try:
        script = subprocess.run(
            [program, str(damaged), ".recover"], capture_output=True, timeout=_RECOVER_SECONDS, check=False
        ).stdout
        with contextlib.closing(sqlite3.connect(recovered)) as database:
            with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
                database.executescript(script.decode())
            yield database
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("recover", extra={"fields": {"error": type(error).__name__}})
    finally:
        recovered.unlink(missing_ok=True)


def _with_header(damaged: Path, headed: Path) -> None:
    """A copy under the header that our files have, so that the pages behind a broken one can be read. The size that
    it names is made not to count, by a change counter that differs (SQLite's file format, section 1.3)."""
    with contextlib.closing(sqlite3.connect(":memory:")) as empty:
        empty.execute("CREATE TABLE schema_migrations (version)")
        header = bytearray(empty.serialize()[:100])
    header[24:28], header[92:96] = b"\0\0\0\2", b"\0\0\0\1"
    shutil.copyfile(damaged, headed)
    with headed.open("r+b") as file:
        file.write(header)


def _copy_table(source: sqlite3.Connection, new: sqlite3.Connection, table: str) -> None:
    columns = [row[1] for row in new.execute(f"PRAGMA table_info({table})")]
    marks = ", ".join("?" * len(columns))
    names = ", ".join(columns)
    into = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - our own names
    for row in _readable(source, f"SELECT rowid, {names} FROM {table} NOT INDEXED"):  # noqa: S608
        with contextlib.suppress(sqlite3.Error):
            new.execute(into, row[1:])


def _readable(source: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """The rows past bad pages: after one, from further on, in steps that grow until something can be read."""
    last, step = 0, 1
    while step < 2**40:
        try:
            for row in source.execute(f"{query} WHERE rowid > ? ORDER BY rowid", (last,)):
                last, step = row[0], 1
                yield row
            return
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            last += step
            step *= 2


def _mend(new: sqlite3.Connection) -> None:
    """What must be there and may be lost: the Hub's identity, the accounts with their last change number."""
    values = dict(new.execute("SELECT name, value FROM settings WHERE account = '*'").fetchall())
    for name, value in (("hub_id", values.get("hub_id") or str(uuid.uuid4())), ("epoch", str(uuid.uuid4()))):
        new.execute("INSERT OR REPLACE INTO settings (account, name, value) VALUES ('*', ?, ?)", (name, value))
    for account, seq in new.execute(_HIGHEST).fetchall():
        new.execute("INSERT OR IGNORE INTO accounts (account, seq, created_at) VALUES (?, 0, 0)", (account,))
        new.execute("UPDATE accounts SET seq = MAX(seq, ?) WHERE account = ?", (seq, account))
