"""The queue's file: opened with care, written by one task over one connection, read over another (queue.md).

What waits to be written is committed together, so that many callers share one sync to disk. Everything else that
writes is a job that runs in a transaction of its own, in the order in which it came.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite
import msgspec

from aria_tui.errors import NotSaved, QueueFull, QueueUnavailable
from aria_tui.outbox import schema
from aria_tui.outbox.faults import Damaged, explain, is_damage

T = TypeVar("T")
Job = Callable[[aiosqlite.Connection], Awaitable[T]]

BUSY_MS = 8_000
"""How long a statement waits for another program's lock: a save is answered within 10 s in all."""

_COLUMNS = "operation, payload, created_at, op_id, entity, origin, target, base_version, base, sent_at, edited_from"
_MARKS = ", ".join("?" * 11)
_FIELDS = ", ".join(f"json_extract(value, '$[{n}]')" for n in range(11))
_ROOM = "(SELECT total(waiting) FROM counters)"


class NewRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A row to be accepted, in the order of the columns."""

    operation: str
    payload: str
    created_at: str
    op_id: str
    entity: str
    origin: str
    target: str
    base_version: int | None = None
    base: str | None = None
    sent_at: str | None = None
    edited_from: str | None = None


class _Insert:
    """A caller's row on its way: withdrawn while nobody took it, waited for once it was taken."""

    def __init__(self, row: NewRow) -> None:
        self.row = row
        self.taken = self.withdrawn = False
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()


class _Work:
    def __init__(self, job: Job[Any]) -> None:
        self.job = job
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Store:
    """``queue.db`` as one process has it open.

    ``notice`` is a banner for the user, set when a damaged file was put aside at opening.
    """

    def __init__(self, path: Path, *, journal: str = "delete", limit: int = 100_000) -> None:
        self.path, self.limit, self.journal = path, limit, journal
        self.notice: str | None = None
        self.journal_found = ""
        self._writer: aiosqlite.Connection | None = None
        self._reader: aiosqlite.Connection | None = None
        self._inode: tuple[int, int] = (0, 0)
        self._jobs: asyncio.Queue[_Insert | _Work | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._closed = False

    async def open(self) -> None:
        """Opens the file, makes or migrates it. Raises QueueUnavailable (NewerVersion) with the reason in words.

        Damage found here or later is put aside and what can be read is carried over (``salvage``).
        """
        async with self._opening:
            if self._writer is None:
                self._writer = await self._connect_whole()
                self._task = asyncio.create_task(self._write_all(), name="outbox writer")

    async def close(self) -> None:
        """Commits what was handed in, then closes both connections."""
        self._closed = True
        if self._task is not None:
            self._jobs.put_nowait(None)
            await self._task
            self._task = None
        for connection in (self._reader, self._writer):
            if connection is not None:
                await connection.close()
        self._reader = self._writer = None

    async def insert(self, row: NewRow) -> int:
        """Commits a row and gives its queue number. Raises NotSaved when, and only when, it was not committed.

        A caller that is cancelled before the row was taken withdraws it; afterwards the cancellation waits.
        """
        await self.open()
        item = _Insert(row)
        self._hand_in(item)
        try:
            return await asyncio.shield(item.done)
        except asyncio.CancelledError:
            if not item.taken:
                item.withdrawn = True
            else:
                await _finish(item.done)
            raise

    async def write(self, job: Job[T]) -> T:
        """Runs a job in one transaction of its own, whole or not at all; a cancellation waits for its end."""
        await self.open()
        work = _Work(job)
        self._hand_in(work)
        try:
            result: T = await asyncio.shield(work.done)
        except asyncio.CancelledError:
            await _finish(work.done)
            raise
        return result

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Rows of a query, over a connection that never writes."""
        await self.open()
        async with self._reading:
            try:
                if self._reader is None or self._moved():
                    await self._open_reader()
                assert self._reader is not None
                return list(await self._reader.execute_fetchall(sql, parameters))
            except sqlite3.Error as error:
                if is_damage(error):
                    await self._renew()
                raise self._unavailable(error) from error

    async def data_version(self) -> int:
        """A number that changes whenever any other connection, of whatever process, has committed."""
        row = (await self.read("PRAGMA data_version"))[0]
        return int(row[0])

    # Opening

    async def _connect_whole(self) -> aiosqlite.Connection:
        """A connection to a file that is whole: a damaged one is put aside once."""
        try:
            return await self._connect()
        except Damaged as damage:
            from aria_tui.outbox import salvage

            self.notice = await asyncio.to_thread(salvage.put_aside, self.path, str(damage))
        try:
            return await self._connect()
        except Damaged as damage:
            raise QueueUnavailable(str(self.path), str(damage)) from damage

    async def _connect(self) -> aiosqlite.Connection:
        connection: aiosqlite.Connection | None = None
        try:
            schema.make_file(self.path)
            connection = await _open_connection(self.path)
            self.journal_found = await schema.prepare(connection, self.path, self.journal)
            self._inode = self._stat()
        except (OSError, sqlite3.Error) as error:
            if connection is not None:
                await connection.close()
            if isinstance(error, sqlite3.Error) and is_damage(error):
                raise Damaged(str(error)) from error
            raise self._unavailable(error) from error
        except BaseException:
            if connection is not None:
                await connection.close()
            raise
        return connection

    async def _open_reader(self) -> None:
        if self._reader is not None:
            await self._reader.close()
            self._reader = None
        reader = await _open_connection(self.path)
        await reader.execute("PRAGMA query_only = ON")
        self._reader = reader

    def _unavailable(self, error: Exception) -> QueueUnavailable:
        reason, hint = explain(error, self.path)
        return QueueUnavailable(str(self.path), reason, hint=hint)

    def _stat(self) -> tuple[int, int]:
        found = os.stat(self.path)  # noqa: PTH116 - microseconds, and on the path of every save
        return found.st_dev, found.st_ino

    def _moved(self) -> bool:
        """Another process put our file aside, and a new one stands at its path."""
        try:
            return self._stat() != self._inode
        except OSError:
            return True

    async def _renew(self) -> None:
        """Takes the file that now stands at the path."""
        async with self._opening:
            if self._writer is not None:
                with contextlib.suppress(sqlite3.Error):
                    await self._writer.close()
            if self._reader is not None:
                with contextlib.suppress(sqlite3.Error):
                    await self._reader.close()
            self._reader = None
            self._writer = await self._connect_whole()

    # The writer task

    def _hand_in(self, item: _Insert | _Work) -> None:
        if self._closed:
            raise NotSaved("the program is closing", path=str(self.path))
        self._jobs.put_nowait(item)

    async def _write_all(self) -> None:
        held: _Insert | _Work | None = None
        while True:
            item = held or await self._jobs.get()
            held = None
            if item is None:
                return
            if isinstance(item, _Work):
                await self._answer(item, self._transact(item.job))
                continue
            inserts = [item]
            stop = False
            while not self._jobs.empty():
                following = self._jobs.get_nowait()
                if not isinstance(following, _Insert):
                    held, stop = following, following is None
                    break
                inserts.append(following)
            await self._insert_all([i for i in inserts if not i.withdrawn])
            if stop:
                return

    async def _answer(self, work: _Work, run: Awaitable[Any]) -> None:
        try:
            result = await run
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the job
            work.done.set_exception(error)
            work.done.exception()  # a caller that was cancelled doesn't fetch it
        else:
            work.done.set_result(result)

    async def _transact(self, job: Job[T]) -> T:
        """BEGIN IMMEDIATE … COMMIT: a read that is later raised to a write can't be met by SQLITE_BUSY_SNAPSHOT."""
        for attempt in (1, 2):
            assert self._writer is not None
            try:
                await self._writer.execute("BEGIN IMMEDIATE")
                try:
                    result = await job(self._writer)
                    await self._writer.execute("COMMIT")
                except BaseException:
                    await _roll_back(self._writer)
                    raise
            except sqlite3.Error as error:
                if is_damage(error) and attempt == 1:
                    await self._renew()
                    continue
                reason, hint = explain(error, self.path)
                raise NotSaved(reason, path=str(self.path), hint=hint) from error
            if not self._moved():
                return result
            await self._renew()
            if attempt == 2:
                return result
        raise AssertionError("unreachable")

    async def _insert_all(self, items: list[_Insert]) -> None:
        if not items:
            return
        for item in items:
            item.taken = True
        try:
            await self._insert_once(items)
            if self._moved():
                # Committed into a file that was put aside meanwhile: again into the new one, with the same keys.
                await self._renew()
                await self._insert_each(items)
        except (sqlite3.Error, QueueUnavailable) as error:
            if isinstance(error, sqlite3.Error) and is_damage(error):
                await self._insert_after_damage(items)
            else:
                self._refuse(items, error)

    async def _insert_after_damage(self, items: list[_Insert]) -> None:
        try:
            await self._renew()
            await self._insert_each(items)
        except (sqlite3.Error, QueueUnavailable) as error:
            self._refuse(items, error)

    def _refuse(self, items: list[_Insert], error: Exception) -> None:
        for item in items:
            if not item.done.done():
                if isinstance(error, sqlite3.Error):
                    reason, hint = explain(error, self.path)
                    refusal: Exception = NotSaved(reason, path=str(self.path), hint=hint)
                else:
                    refusal = NotSaved(str(error))
                item.done.set_exception(refusal)
                item.done.exception()

    async def _insert_once(self, items: list[_Insert]) -> None:
        """All rows by one statement, which is a transaction of its own; where one of them can't be kept, one by one."""
        assert self._writer is not None
        if len(items) == 1:
            row = msgspec.structs.astuple(items[0].row)
            sql = f"INSERT INTO queue({_COLUMNS}) SELECT {_MARKS} WHERE {_ROOM} < ? RETURNING id, op_id"
            parameters: tuple[Any, ...] = (*row, self.limit)
        else:
            rows = msgspec.json.encode([item.row for item in items]).decode()
            sql = (
                f"INSERT INTO queue({_COLUMNS}) SELECT {_FIELDS} FROM json_each(?)"  # noqa: S608
                f" WHERE {_ROOM} + ? <= ? ORDER BY key RETURNING id, op_id"
            )
            parameters = (rows, len(items), self.limit)
        try:
            made = list(await self._writer.execute_fetchall(sql, parameters))
        except sqlite3.IntegrityError:
            made = []
        if len(made) != len(items):
            await self._insert_each(items)
            return
        if self._moved():
            return  # the caller inserts again
        numbers = {op_id: number for number, op_id in made}
        for item in items:
            item.done.set_result(numbers[item.row.op_id])

    async def _insert_each(self, items: list[_Insert]) -> None:
        """Each row under a savepoint of its own; a key that is there already gives the row that bears it."""
        assert self._writer is not None
        outcomes: list[int | Exception] = []
        await self._writer.execute("BEGIN IMMEDIATE")
        try:
            for item in items:
                await self._writer.execute("SAVEPOINT row")
                try:
                    outcomes.append(await self._insert_row(item.row))
                except (sqlite3.IntegrityError, QueueFull) as error:
                    await self._writer.execute("ROLLBACK TO row")
                    outcomes.append(error if isinstance(error, QueueFull) else NotSaved(str(error)))
                await self._writer.execute("RELEASE row")
            await self._writer.execute("COMMIT")
        except BaseException:
            await _roll_back(self._writer)
            raise
        for item, outcome in zip(items, outcomes, strict=True):
            if isinstance(outcome, Exception):
                item.done.set_exception(outcome)
                item.done.exception()
            else:
                item.done.set_result(outcome)

    async def _insert_row(self, row: NewRow) -> int:
        assert self._writer is not None
        known = list(
            await self._writer.execute_fetchall(
                "SELECT id FROM queue WHERE op_id = ?1 UNION ALL SELECT id FROM parked WHERE op_id = ?1", (row.op_id,)
            )
        )
        if known:
            return int(known[0][0])
        sql = f"INSERT INTO queue({_COLUMNS}) SELECT {_MARKS} WHERE {_ROOM} < ? RETURNING id"
        made = list(await self._writer.execute_fetchall(sql, (*msgspec.structs.astuple(row), self.limit)))
        if not made:
            raise QueueFull(
                f"{self.limit} operations wait already", path=str(self.path), hint="sync, or raise [queue] limit"
            )
        return int(made[0][0])


async def _open_connection(path: Path) -> aiosqlite.Connection:
    return await aiosqlite.connect(path, isolation_level=None, timeout=BUSY_MS / 1000)


async def _roll_back(connection: aiosqlite.Connection) -> None:
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            await connection.execute("ROLLBACK")


async def _finish(future: asyncio.Future[Any]) -> None:
    """Waits for the end of what can't be taken back, through further cancellations."""
    while not future.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([future])
