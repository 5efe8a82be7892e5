"""Connections to the queue's file, and patience with the other programs that hold its lock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import aiosqlite

from aria_tui.outbox.faults import is_busy, locks_files

T = TypeVar("T")

PATIENCE = 8.0
"""Seconds for which another program's lock is waited for: a save is answered within 10 s in all."""
_BUSY_MS = 200
"""Milliseconds for which SQLite itself waits. It then asks every 100 ms only, and between two writers in a loop a third
would hardly ever get its turn; begun anew, after a pause by chance, it asks often again."""


async def open_connection(path: Path | None, *, patience_s: float = _BUSY_MS / 1000) -> aiosqlite.Connection:
    """A connection of SQLite's to a file, or to nothing. Raises sqlite3.Error where the file can't be opened.

    aiosqlite's own thread outlives an attempt that failed, and prints a traceback where the loop is closed by then; so
    it gets a connection to nothing even so, which is closed as any other.
    """
    failed: list[sqlite3.Error] = []

    def connect() -> sqlite3.Connection:
        try:
            return sqlite3.connect(path or ":memory:", isolation_level=None, timeout=patience_s)
        except sqlite3.Error as error:
            failed.append(error)
            return sqlite3.connect(":memory:")

    connection = await aiosqlite.Connection(connect, iter_chunk_size=64)
    if failed:
        await connection.close()
        raise failed[0]
    return connection


async def look_before(path: Path) -> None:
    """At a set with rows in a -wal, which is rare, before a connection changes it. Raises NewerVersion, Damaged."""
    wal = Path(f"{path}-wal")
    if wal.exists() and wal.stat().st_size:
        from aria_tui.outbox import salvage

        await asyncio.to_thread(salvage.look, path)


async def keep_before(path: Path) -> Path | None:
    """A copy of such a set that was found damaged, before the last connection to it goes; None where there is none."""
    from aria_tui.outbox import salvage

    return await asyncio.to_thread(salvage.keep_set, path)


async def damage_told(connection: aiosqlite.Connection) -> str | None:
    """What is to be said of a damaged file that was put aside, for as long as it lies in the home."""
    for (value,) in await connection.execute_fetchall("SELECT value FROM state WHERE name = 'damage'"):
        told = json.loads(value)
        return str(told["text"]) if Path(told["file"]).exists() else None
    return None


def lossless(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """A text that was read ``lossless``, as it can be printed and sent: bytes that are none become U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


async def patiently(
    step: Callable[[], Awaitable[T]], *, folder: Path | None = None, patience_s: float | None = None
) -> T:
    """Does a step again while another program holds the lock, until that takes too long; with the ``folder`` of the
    file given, only where a lock can be had at all."""
    end = time.monotonic() + (PATIENCE if patience_s is None else patience_s)
    while True:
        try:
            return await step()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= end:
                raise
            if folder is not None and not locks_files(folder):
                raise
            folder = None
        import random  # few programs ever meet another at the lock

        await asyncio.sleep(random.uniform(0.001, 0.01))  # noqa: S311 - who comes first is no secret


async def roll_back(connection: aiosqlite.Connection) -> None:
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            await connection.execute("ROLLBACK")
