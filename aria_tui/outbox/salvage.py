"""A damaged queue file: set aside whole, and what SQLite can still read of it carried over (queue.md, "Damage").

Works on plain SQLite connections in a thread of its own, before the store opens the file that replaces the old one.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from aria_tui.errors import QueueUnavailable
from aria_tui.outbox import schema
from aria_tui.outbox.faults import is_damage
from aria_tui.outbox.lock import DrainLock

_WAIT = 8.0
_SIDES = ("-journal", "-wal", "-shm")
_BY_NUMBER = ("queue", "parked")
_OTHERS = ("state", "targets", "id_map")
_PAGE = 4096
"""SQLite's page size unless somebody asked for another, which this program and its migrations never do."""
_GAP = 100_000
"""How far beyond the last number that was read others are looked for, where the end can't be read."""
_LONGEST = 1.0
"""Seconds for which one reading of one table goes on past bad places."""


def put_aside(path: Path, reason: str, lock: DrainLock) -> str:
    """Moves the damaged set away under a new name, puts a new file with the rows that could be read in its place, and
    gives the sentence for the user: how many rows were saved and where the old file is.

    Under the drain lock, and under an exclusive lock of SQLite's where the file still has one. Empty: another process
    was faster. Raises QueueUnavailable when another process is at work on the file and doesn't let go, sqlite3.Error
    and OSError.
    """
    with _drain_lock(path, reason, lock), contextlib.closing(_hold(path)) as holder:
        if _sound(holder):
            return ""
        fresh = path.with_name(path.name + ".new")
        old = _new_name(path)
        told = _carry_over(path, fresh, reason, old)
        _swap(path, fresh, old)
    return told


@contextlib.contextmanager
def _drain_lock(path: Path, reason: str, lock: DrainLock) -> Iterator[None]:
    """Ours already where a drain of this process met the damage."""
    if lock.held:
        yield
        return
    deadline = time.monotonic() + _WAIT
    while not lock.acquire():
        if time.monotonic() > deadline:
            raise QueueUnavailable(str(path), f"damaged ({reason}), and another process is sending from it")
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.release()


def _hold(path: Path) -> sqlite3.Connection:
    """A connection that holds the file exclusively, if it is still a database; nobody else commits meanwhile."""
    holder = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not is_damage(error):
            holder.close()
            raise QueueUnavailable(str(path), f"damaged, and can't be locked: {error}") from error
    return holder


def _sound(holder: sqlite3.Connection) -> bool:
    try:
        return holder.in_transaction and holder.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if is_damage(error):
            return False
        raise


def _new_name(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    number = 0
    while (old := path.with_name(f"{path.name}.damaged-{stamp}{f'-{number}' if number else ''}")).exists():
        number += 1
    return old


def _swap(path: Path, fresh: Path, old: Path) -> None:
    """The new file takes the place of the old one; there is never no file at the path, for another process would make
    an empty one. The old journal goes first: it must not be met by the new file."""
    try:
        old.hardlink_to(path)
    except OSError:
        shutil.copy2(path, old)  # a file system without links
    for side in _SIDES:
        source = path.with_name(path.name + side)
        if source.exists():
            source.rename(old.with_name(old.name + side))
    fresh.rename(path)


def _carry_over(path: Path, fresh: Path, reason: str, old: Path) -> str:
    """Fills a new file before it gets its name. Gives the sentence for the user, which is kept in the file too."""
    for side in ("", *_SIDES):
        fresh.with_name(fresh.name + side).unlink(missing_ok=True)
    schema.make_file(fresh)
    with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as target:
        target.text_factory = _text
        target.execute("PRAGMA synchronous = EXTRA")
        target.execute("BEGIN")
        schema.build(target)
        bad = False
        for source in _readings(path, fresh.parent):
            source.text_factory = _text
            with contextlib.suppress(sqlite3.Error):
                source.execute("PRAGMA writable_schema = ON")  # what of the schema can't be parsed is passed over
            bad = _copy_all(source, target)
            if not bad:
                break
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        # Whether they were sent is not known any more, so nothing of it may be folded or changed.
        known = [row[0] for row in target.execute("SELECT DISTINCT target FROM targets")]
        if len(known) == 1:  # a broken name is nobody's, and so the only Hub's that was ever known
            for table in ("queue", "parked"):
                broken = "target NOT LIKE 'addr:%' AND target NOT IN ('embedded', ?1)"
                target.execute(f"UPDATE {table} SET target = ?1 WHERE {broken}", known)  # noqa: S608
        unsent = "synced_at IS NULL AND sent_at IS NULL"
        target.execute(f"UPDATE queue SET sent_at = ?, why = 'in_doubt' WHERE {unsent}", [now])  # noqa: S608
        waiting = target.execute("SELECT count(*) FROM queue WHERE synced_at IS NULL").fetchone()[0]
        parked = target.execute("SELECT count(*) FROM parked").fetchone()[0]
        saved = f"{waiting} waiting" + (f" and {parked} parked" if parked else "")
        lost = ", some rows could not be read" if bad else ""
        said = f"The queue file was damaged ({reason}). Saved: {saved}{lost}. The old file is kept as {old}"
        notice = json.dumps({"text": said, "file": str(old)})
        target.execute("INSERT OR REPLACE INTO state(name, value) VALUES ('damage', ?)", [notice])
        target.execute("COMMIT")
    return said


def _readings(path: Path, folder: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the whole set, opened as after a crash; the bytes of the file alone; these under a header as it should
    be; what ``.recover`` makes of that."""
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=folder) as scratch:
        copy = Path(scratch) / path.name
        shutil.copyfile(path, copy)
        for side in _SIDES[:2]:
            if (source := path.with_name(path.name + side)).exists():
                shutil.copyfile(source, copy.with_name(copy.name + side))
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            yield connection
        shutil.copyfile(path, copy)
        with contextlib.closing(sqlite3.connect(f"{copy.as_uri()}?immutable=1", uri=True)) as connection:
            yield connection
        _mend_header(copy)
        with contextlib.closing(sqlite3.connect(f"{copy.as_uri()}?immutable=1", uri=True)) as connection:
            yield connection
        with contextlib.closing(sqlite3.connect(":memory:")) as recovered:
            # What comes before a broken statement is good.
            with contextlib.suppress(sqlite3.Error):
                recovered.executescript(_recover(copy))
            yield recovered


def _mend_header(copy: Path) -> None:
    """Writes the file's first 100 bytes as they must have been (sqlite.org/fileformat2.html, section 1.3)."""
    pages = copy.stat().st_size // _PAGE
    numbers = (1, pages, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0)  # from byte 24: change counter, pages, …, 4: format, 1: UTF-8
    header = b"SQLite format 3\x00" + struct.pack(">HBBBBBB", _PAGE, 1, 1, 0, 64, 32, 32)
    header += struct.pack(">12I", *numbers) + bytes(20) + struct.pack(">2I", 1, _version())
    with copy.open("r+b") as file:
        file.write(header)


def _version() -> int:
    major, minor, patch = sqlite3.sqlite_version_info
    return major * 1_000_000 + minor * 1000 + patch


def _recover(copy: Path) -> str:
    try:
        command = ["sqlite3", str(copy), ".recover"]
        return subprocess.run(command, capture_output=True, timeout=10, check=False).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""  # the program is not installed


def _copy_all(source: sqlite3.Connection, target: sqlite3.Connection) -> bool:
    """Copies what can be read and is not there yet; True when something could not be read."""
    bad = False
    for table in (*_BY_NUMBER, *_OTHERS):
        try:
            there = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
        except (sqlite3.Error, UnicodeDecodeError):
            bad = True
            continue
        columns = {row[1]: row[2] for row in target.execute(f"PRAGMA table_info({table})") if row[1] in there}
        if not columns:
            bad = bad or table == "queue"
        elif table in _BY_NUMBER:
            bad = _copy_by_number(source, target, table, columns) or bad
        else:
            bad = _copy_rows(source, target, table, columns, "")[0] or bad
    return bad


def _text(raw: bytes) -> str | bytes:
    """A flipped byte may have made something else of a text; it is kept as it is."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _copy_by_number(source: sqlite3.Connection, target: sqlite3.Connection, table: str, names: dict[str, str]) -> bool:
    """Walks the table forward, past a bad page from the other end, and over what lies between in strides."""
    bad, at = _copy_rows(source, target, table, names, "ORDER BY rowid")
    if not bad:
        return False
    _, last = _copy_rows(source, target, table, names, "ORDER BY rowid DESC")
    end, step, deadline = last or at + _GAP, 1, time.monotonic() + _LONGEST
    while at < end and time.monotonic() < deadline:
        broke, reached = _copy_rows(
            source, target, table, names, f"WHERE rowid > {at} AND rowid < {end} ORDER BY rowid"
        )
        if not broke:
            break
        if reached > at:
            at, step = reached, 1
        else:
            at, step = at + step, step * 2  # past the bad page, in strides
    return True


def _copy_rows(
    source: sqlite3.Connection, target: sqlite3.Connection, table: str, names: dict[str, str], which: str
) -> tuple[bool, int]:
    """Gives whether the reading broke off, and the last row's number. Rows that don't fit the table (a flipped byte
    made a type or a NULL) cost themselves only."""
    last = 0
    marks = ", ".join("CAST(? AS TEXT)" if kind == "TEXT" else "?" for kind in names.values())
    put = f"INSERT OR IGNORE INTO {table}({', '.join(names)}) VALUES ({marks})"  # noqa: S608
    try:
        for row in source.execute(f"SELECT {', '.join(names)} FROM {table} NOT INDEXED {which}"):  # noqa: S608
            last = row[0] if isinstance(row[0], int) else last
            with contextlib.suppress(sqlite3.Error, OverflowError):
                target.execute(put, row)
    except (sqlite3.Error, UnicodeDecodeError):
        return True, last
    return False, last
