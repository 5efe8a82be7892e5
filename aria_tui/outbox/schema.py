"""The file's shape: made, migrated in place, checked; a newer program's file is not touched (queue.md, "The file")."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import aiosqlite

from aria_tui.errors import NewerVersion, QueueUnavailable
from aria_tui.outbox.faults import ELSEWHERE, Damaged, network_file_system

MIGRATIONS = Path(__file__).parent / "migrations"
COLUMNS = "PRAGMA table_info(queue)"
COMPLETE = 1
"""From this version on a file has all that is asked of it; later steps make it quicker, and can wait where it can't be
written (another program's lock, a full disk, a home that is read-only)."""
CHECKED_BYTES = 2 * 1024 * 1024
"""Files up to this size are checked whole when they are opened; larger ones by what is read of them."""


def make_file(path: Path) -> None:
    """Makes the folder (0700) and an empty file (0600) where they are missing. Raises OSError."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def refuse_newer(path: Path, mode: str = "immutable=1") -> None:
    """Raises NewerVersion before a connection that may write was opened: at its close SQLite may move a -wal into the
    file, and that would touch it. ``mode``: at the file alone, or with its -wal (``mode=ro``).

    By SQLite, not by open(): closing a file gives up every lock that this process has on it (sqlite.org/howtocorrupt,
    section 2.2).
    """
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_look(path, mode)) as connection:
        compare(path, connection.execute("PRAGMA user_version").fetchone()[0])


def header_is_broken(path: Path) -> bool:
    """Whether the file itself is none of SQLite's, also where a copy of its first page in a -wal hides that."""
    try:
        with contextlib.closing(_look(path)) as connection:
            connection.execute("PRAGMA user_version")
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_NOTADB
    return False


def _look(path: Path, mode: str = "immutable=1") -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=1)


def compare(path: Path, version: int) -> None:
    """Raises NewerVersion for a file that a newer program made."""
    latest = len(_migrations())
    if version > latest:
        reason = f"made by a newer version (schema {version}, this program knows {latest})"
        raise NewerVersion(str(path), reason, hint="update this program")


async def prepare(connection: aiosqlite.Connection, path: Path, journal: str) -> str:
    """Brings an open file to this program's shape and gives the journal mode it ended in.

    Raises NewerVersion before anything was written, Damaged, and sqlite3.Error.
    """
    version = await _one(connection, "PRAGMA user_version")
    compare(path, version)
    if 0 < path.stat().st_size <= CHECKED_BYTES:
        await _check(connection)
    mode = await _journal(connection, path, journal)
    if version < len(_migrations()):
        try:
            await _migrate(connection)
        except sqlite3.OperationalError:
            if version < COMPLETE:
                raise
        with contextlib.suppress(OSError):
            path.chmod(0o600)  # older programs left it to the umask
    return mode


async def _check(connection: aiosqlite.Connection) -> None:
    found = [row[0] for row in await connection.execute_fetchall("PRAGMA integrity_check(1)")]
    if found != ["ok"]:
        raise Damaged(str(found[0]))


async def _journal(connection: aiosqlite.Connection, path: Path, wanted: str) -> str:
    """DELETE with EXTRA, or WAL with FULL for those who chose it. A file found in WAL is turned back when nobody
    else has it open; till then it is used as it is (synchronous=FULL is what keeps WAL through a power loss)."""
    mode = str(await _one(connection, "PRAGMA journal_mode"))
    if wanted == "wal" and network_file_system(path):
        wanted = "delete"
    if mode != wanted:
        patience = await _one(connection, "PRAGMA busy_timeout")
        await connection.execute("PRAGMA busy_timeout = 200")  # it can wait for another time
        try:
            mode = str(await _one(connection, f"PRAGMA journal_mode = {wanted}"))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
        finally:
            await connection.execute(f"PRAGMA busy_timeout = {patience}")
    if mode == "wal" and (network := network_file_system(path)):
        reason = f"it is in WAL mode, open elsewhere, and on a network file system ({network}), where WAL loses rows"
        raise QueueUnavailable(str(path), reason, hint=f"close the other program, or {ELSEWHERE}")
    await connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
    return mode


async def _migrate(connection: aiosqlite.Connection) -> None:
    """All missing steps and the new version number in one transaction: after a crash it is the old file, or the new."""
    await connection.execute("BEGIN IMMEDIATE")
    try:
        version = await _one(connection, "PRAGMA user_version")
        await _fits(connection, version)
        for number, file in enumerate(_migrations(), 1):
            if number > version:
                for statement in statements(file.read_text(encoding="utf-8")):
                    await connection.execute(statement)
                await connection.execute(f"PRAGMA user_version = {number}")
        await connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            await connection.execute("ROLLBACK")
        raise


async def _fits(connection: aiosqlite.Connection, version: int) -> None:
    if wrong := misfit(version, [row[1] for row in await connection.execute_fetchall(COLUMNS)]):
        raise Damaged(wrong)


def misfit(version: int, columns: Sequence[str]) -> str | None:
    """Why a file that is sound to SQLite is none that this program can go on with: its number and its table disagree,
    as after ``.dump``, which bears no number."""
    if version and not columns:
        return "its table of rows is gone"
    return "its schema's number is gone" if not version and "op_id" in columns else None


def build(connection: sqlite3.Connection) -> None:
    """All steps, in a new file, inside a transaction of the caller's."""
    for number, file in enumerate(_migrations(), 1):
        for statement in statements(file.read_text(encoding="utf-8")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")


def statements(script: str) -> list[str]:
    """The statements of a script; a trigger's inner semicolons don't end it."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        if not current and line.lstrip().startswith("--"):
            continue
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found


def _migrations() -> list[Path]:
    return sorted(MIGRATIONS.glob("[0-9]*.sql"))


async def _one(connection: aiosqlite.Connection, sql: str) -> int:
    rows = list(await connection.execute_fetchall(sql))
    return rows[0][0]  # type: ignore[no-any-return]
