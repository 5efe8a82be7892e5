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
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aria_tui.errors import QueueUnavailable
from aria_tui.outbox import counters, schema
from aria_tui.outbox.carving import carve
from aria_tui.outbox.faults import Damaged, is_damage
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


def put_aside(path: Path, reason: str, lock: DrainLock, kept: Path | None = None) -> str:
    """Moves the damaged set away under a new name, puts a new file with the rows that could be read in its place, and
    gives the sentence for the user: how many rows were saved and where the old file is.

    Under the drain lock, and under an exclusive lock of SQLite's where the file still has one. ``kept``: what
    ``keep_set`` gave before the last connection went. Empty: another process was faster. Raises QueueUnavailable when
    another process is at work on the file and doesn't let go, sqlite3.Error and OSError.
    """
    with _drain_lock(path, reason, lock), _kept(path, kept) as copied, contextlib.closing(_hold(path)) as holder:
        if _sound(holder) and not schema.header_is_broken(path):
            return ""
        fresh = path.with_name(path.name + ".new")
        old = copied or _new_name(path)
        told = _carry_over(path, fresh, reason, old)
        _swap(path, fresh, old, copied=copied is not None)
    return told


def keep_set(path: Path) -> Path | None:
    """Copies a set with rows in its -wal under a new name, before a connection to it comes or goes: either changes
    what belongs to a -wal. None: there is no such set, or no room for another one."""
    if not has_wal(path):
        return None
    old = _new_name(path)
    try:
        _copy_set(path, old, ("", *_SIDES))
    except OSError:
        _forget(old)
        return None
    return old


@contextlib.contextmanager
def _kept(path: Path, kept: Path | None) -> Iterator[Path | None]:
    """The copied set, which goes again where the set itself turns out to be sound, or can't be put aside."""
    kept, found = kept or keep_set(path), path.stat()
    place = found.st_dev, found.st_ino
    try:
        yield kept
    finally:
        if kept is not None and (path.stat().st_dev, path.stat().st_ino) == place:
            _forget(kept)


def has_wal(path: Path) -> bool:
    """Whether rows may stand in a -wal beside the file."""
    wal = path.with_name(path.name + "-wal")
    return wal.exists() and wal.stat().st_size > 0


def look(path: Path) -> None:
    """Looks at a set that has a -wal in a copy of it, for a connection to the set itself would change it.

    Nothing is said of a large one, or while another process writes to it: it is looked at as it is read.
    Raises NewerVersion, Damaged.
    """
    if schema.header_is_broken(path):
        raise Damaged("file is not a database")
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix=".salvage-", dir=path.parent) as scratch:
        copy, before = Path(scratch) / path.name, _sizes(path)
        if sum(size for size, _ in before) > schema.CHECKED_BYTES:
            schema.refuse_newer(path, "mode=ro")
            return
        _copy_set(path, copy, ("", "-wal"))
        if _sizes(path) != before:
            return
        try:
            with contextlib.closing(sqlite3.connect(copy)) as connection:
                schema.compare(path, connection.execute("PRAGMA user_version").fetchone()[0])
                found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if is_damage(error):
                raise Damaged(str(error)) from error
            return
        if found != "ok":
            raise Damaged(str(found))


def _sizes(path: Path) -> list[tuple[int, int]]:
    found = [path.with_name(path.name + side).stat() for side in ("", "-wal")]
    return [(one.st_size, one.st_mtime_ns) for one in found]


def _copy_set(path: Path, copy: Path, sides: Iterable[str]) -> None:
    for side in sides:
        if (source := path.with_name(path.name + side)).exists():
            shutil.copy2(source, copy.with_name(copy.name + side))


def _forget(name: Path) -> None:
    for side in ("", *_SIDES):
        name.with_name(name.name + side).unlink(missing_ok=True)


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
        if not holder.in_transaction or holder.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            return False
        version = holder.execute("PRAGMA user_version").fetchone()[0]
        return schema.misfit(version, [row[1] for row in holder.execute(schema.COLUMNS)]) is None
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


def _swap(path: Path, fresh: Path, old: Path, *, copied: bool = False) -> None:
    """The new file takes the place of the old one; there is never no file at the path, for another process would make
    an empty one. The old journal goes first: it must not be met by the new file."""
    if not copied:
        try:
            old.hardlink_to(path)
        except OSError:
            shutil.copy2(path, old)  # a file system without links
    for side in _SIDES:
        source = path.with_name(path.name + side)
        if copied:
            source.unlink(missing_ok=True)
        elif source.exists():
            source.rename(old.with_name(old.name + side))
    fresh.rename(path)


def _carry_over(path: Path, fresh: Path, reason: str, old: Path) -> str:
    """Fills a new file before it gets its name. Gives the sentence for the user, which is kept in the file too."""
    _forget(fresh)
    schema.make_file(fresh)
    with contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as target:
        target.text_factory = _text
        target.execute("PRAGMA synchronous = EXTRA")
        target.execute("BEGIN")
        schema.build(target)
        bad = False
        with _uncounted(target):
            for source, tells in _readings(path, fresh.parent):
                source.text_factory = _text
                with contextlib.suppress(sqlite3.Error):
                    source.execute("PRAGMA writable_schema = ON")  # what of the schema can't be parsed is passed over
                bad = _copy_all(source, target) or not tells
                if not bad:
                    break
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        # Whether they were sent is not known any more, so nothing of it may be folded or changed.
        known = [row[0] for row in target.execute("SELECT DISTINCT target FROM targets")]
        if len(known) == 1:  # a broken name is nobody's, and so the only Hub's that was ever known
            for table in ("queue", "parked"):
                broken = "target NOT LIKE 'addr:%' AND target NOT IN ('embedded', ?1)"
                target.execute(f"UPDATE {table} SET target = ?1 WHERE {broken}", known)  # noqa: S608
        for table in _BY_NUMBER:  # a key without an entity is none that anybody made
            nobody_s = "entity IS NULL AND op_id NOT NULL"
            target.execute(f"UPDATE {table} SET entity = operation || ':' || id WHERE {nobody_s}")  # noqa: S608
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


@contextlib.contextmanager
def _uncounted(target: sqlite3.Connection) -> Iterator[None]:
    """Rows come in any order here: a trigger would take each of a stranger's for one that replaces another, and count
    everything anew for it."""
    name = "queue_replaced"
    (trigger,) = target.execute("SELECT sql FROM sqlite_master WHERE name = ?", [name]).fetchone()
    target.execute(f"DROP TRIGGER {name}")
    yield
    for statement in (*counters.ANEW, trigger):
        target.execute(statement)


def _readings(path: Path, folder: Path) -> Iterator[tuple[sqlite3.Connection, bool]]:
    """A copy of the whole set, opened as after a crash; the bytes of the file alone; these under a header as it should
    be; what ``.recover`` makes of that; what its pages hold, of which alone nobody knows whether it is all (False)."""
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=folder) as scratch:
        copy = Path(scratch) / path.name
        _copy_set(path, copy, ("", *_SIDES[:2]))
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            yield connection, True
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = copy.read_bytes()
        shutil.copyfile(path, copy)
        with contextlib.closing(sqlite3.connect(f"{copy.as_uri()}?immutable=1", uri=True)) as connection:
            yield connection, True
        _mend_header(copy)
        with contextlib.closing(sqlite3.connect(f"{copy.as_uri()}?immutable=1", uri=True)) as connection:
            yield connection, True
        with contextlib.closing(sqlite3.connect(":memory:")) as recovered:
            # What comes before a broken statement is good.
            with contextlib.suppress(sqlite3.Error):
                recovered.executescript(_recover(copy))
            yield recovered, True
        with contextlib.closing(_carved(pages)) as carved:
            yield carved, False


def _carved(pages: bytes) -> sqlite3.Connection:
    """The rows that the pages of a file hold, whatever became of its tables."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    schema.build(connection)
    names = {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in _BY_NUMBER}
    for table, values in carve(pages, _PAGE):
        known = names[table][: len(values)]
        put = f"INSERT OR IGNORE INTO {table}({', '.join(known)}) VALUES ({', '.join('?' * len(known))})"  # noqa: S608
        with contextlib.suppress(sqlite3.Error, OverflowError):
            connection.execute(put, values[: len(known)])
    return connection


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


def _readable(name: str, value: Any) -> Any:
    """Names and times must be text for all that reads them; what the user wrote is kept byte for byte."""
    broken = isinstance(value, bytes) and name not in ("payload", "base", "current")
    return value.decode("utf-8", "replace") if broken else value


def _copy_by_number(source: sqlite3.Connection, target: sqlite3.Connection, table: str, names: dict[str, str]) -> bool:
    """Walks the table forward, past a bad page from the other end, and over what lies between in strides; then asks
    for each number that was stridden over."""
    bad, at = _copy_rows(source, target, table, names, "ORDER BY rowid")
    if not bad:
        return False
    _, last = _copy_rows(source, target, table, names, "ORDER BY rowid DESC")
    end, step, deadline = last or at + _GAP, 1, time.monotonic() + _LONGEST
    between = iter(range(at + 1, end))
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
    deadline = time.monotonic() + _LONGEST / 4
    while time.monotonic() < deadline and (number := next(between, None)) is not None:
        _copy_rows(source, target, table, names, f"WHERE rowid = {number}")
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
                target.execute(put, [_readable(name, value) for name, value in zip(names, row, strict=True)])
    except (sqlite3.Error, UnicodeDecodeError):
        return True, last
    return False, last
