"""The queue's file: opened with care, written by one task over one connection, read over another (queue.md).

What waits to be written is committed together, so that many callers share one sync to disk. Everything else that
writes is a job that runs in a transaction of its own, in the order in which it came. The writer task alone opens and
renews the connections, so that no caller's cancellation leaves one half made.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import math
import os
import sqlite3
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from aria_tui.errors import NotSaved, QueueUnavailable
from aria_tui.outbox import schema
from aria_tui.outbox.connecting import (
    damage_told,
    keep_before,
    look_before,
    lossless,
    open_connection,
    patiently,
    roll_back,
)
from aria_tui.outbox.faults import Damaged, explain, is_busy, is_damage, unwritable
from aria_tui.outbox.handing import Insert, Job, Patience, Work, finish
from aria_tui.outbox.ids import new_id
from aria_tui.outbox.inserting import AT_ONCE, NUMBERS, Accepted, NewRow, insert_all, insert_each
from aria_tui.outbox.lock import DrainLock
from aria_tui.outbox.reading import Reader

T = TypeVar("T")
_MARK = "INSERT OR REPLACE INTO state(name, value) VALUES ('commit', json_quote(?))"
_MARKED = "SELECT 1 FROM state WHERE name = 'commit' AND value = json_quote(?)"
_STILL_BUSY = 1.0
"""Seconds for which a file that was found locked is not waited for once more."""
_AT_THE_END = 1.5
"""Seconds for which those who read are waited for at the commit of a job that took all its time."""
_TOGETHER = 1.0
"""Seconds between two saves that share a commit: they wait for another program's lock as long as the first may."""


class Store:
    """``queue.db`` as one process has it open.

    ``notice`` is a banner for the user: a damaged file was put aside, or the file can only be read. ``lock`` is this
    process's drain lock.
    """

    def __init__(
        self, path: Path, *, journal: str = "delete", limit: int = 100_000, lock: DrainLock | None = None
    ) -> None:
        self.path, self.limit, self.journal = path, limit, journal
        self.lock = lock or DrainLock(path)
        self.notice: str | None = None
        self.journal_found = ""
        self._writer: aiosqlite.Connection | None = None
        self._reader = Reader(path)
        self._inode: tuple[int, int] = (0, 0)
        self._handed_in: deque[Insert | Work] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._busy: tuple[float, QueueUnavailable] | None = None
        self._locked = -math.inf
        """When another program's lock was last waited for in vain."""
        self._closed = False

    async def open(self) -> None:
        """Opens the file, makes or migrates it. Raises QueueUnavailable (NewerVersion) with the reason in words.

        Damage found here or later is put aside and what can be read is carried over (``salvage``).
        """
        if self._writer is None or self._moved():
            await self._wait_for(Work(None))

    async def close(self) -> None:
        """Commits what was handed in, then closes both connections."""
        self._closed = True
        if self._task is not None:
            self._wake.set()
            await asyncio.shield(self._task)
            self._task = None
        await self._drop()

    async def insert(self, row: NewRow) -> Accepted:
        """Commits a row. Raises NotSaved when, and only when, it was not committed; InvalidInput for a caller's key
        that stands for something else.

        A caller that is cancelled before the row was taken withdraws it; afterwards the cancellation waits.
        """
        item = Insert(row)
        self._hand_in(item)
        try:
            return await item.done
        except asyncio.CancelledError:
            if not item.taken:
                item.withdrawn = True
            elif not item.answered:
                item.over = asyncio.get_running_loop().create_future()
                await finish(item.over)
            raise

    async def write(self, job: Job[T], *, hurried: bool = False, brief: bool = False) -> T:
        """Runs a job in one transaction of its own, whole or not at all; a cancellation waits for its end.

        The job may run twice (in a file that takes the place of a damaged one), so it keeps nothing of its own.
        ``hurried``: it doesn't wait once more for a lock that was just waited for in vain; ``brief``: nor for any, for
        it can be done another time.
        Raises NotSaved, QueueUnavailable.
        """
        result: T = await self._wait_for(Work(job, hurried=hurried, brief=brief))
        return result

    async def read(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Rows of a query, over a connection that never writes. Raises QueueUnavailable."""
        for last in (False, True):
            await self.open()
            try:
                return await self._reader.fetch(sql, parameters)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if last or not is_damage(error):
                    raise self.unavailable(error) from error
                await self._wait_for(Work(None, damage=str(error)))
        raise AssertionError("unreachable")

    async def versions(self) -> tuple[int, int]:
        """Two numbers: the first changes when anybody commits, the second when another process does."""
        anybody = (await self.read("PRAGMA data_version"))[0][0]
        writer = self._writer
        if writer is None:
            return int(anybody), -1
        return int(anybody), int(next(iter(await writer.execute_fetchall("PRAGMA data_version")))[0])

    def unavailable(self, error: Exception) -> QueueUnavailable:
        """An error of the file, or of one beside it, as the user is told."""
        reason, hint = explain(error, self.path)
        return QueueUnavailable(str(self.path), reason, hint=hint)

    def _not_saved(self, error: Exception) -> Exception:
        if isinstance(error, QueueUnavailable):
            return NotSaved(error.reason, path=error.path, hint=error.hint)
        if isinstance(error, sqlite3.Error):
            reason, hint = explain(error, self.path)
            return NotSaved(reason, path=str(self.path), hint=hint)
        return NotSaved(f"{type(error).__name__}: {error}", path=str(self.path))

    def _stat(self) -> tuple[int, int]:
        found = os.stat(self.path)  # noqa: PTH116 - microseconds, and on the path of every save
        return found.st_dev, found.st_ino

    def _moved(self) -> bool:
        """Another process put our file aside, and a new one stands at its path."""
        try:
            return self._stat() != self._inode
        except OSError:
            return True

    # Handing in

    def _hand_in(self, item: Insert | Work) -> None:
        if self._closed:
            raise NotSaved("the program is closing", path=str(self.path))
        if self._task is None:
            self._task = asyncio.create_task(self._work_off(), name="outbox writer")
        self._handed_in.append(item)
        self._wake.set()

    async def _wait_for(self, work: Work) -> Any:
        if self._closed:
            raise QueueUnavailable(str(self.path), "the program is closing")
        self._hand_in(work)
        try:
            return await asyncio.shield(work.done)
        except asyncio.CancelledError:
            if work.job is not None:
                await finish(work.done)
            raise

    # The writer task

    async def _work_off(self) -> None:
        while self._handed_in or not self._closed:
            if not self._handed_in:
                self._wake.clear()
                await self._wake.wait()
                continue
            item = self._handed_in.popleft()
            if isinstance(item, Work):
                await self._do(item)
                del item  # a batch's results may hang on it
                continue
            inserts = [item]
            while self._handed_in and len(inserts) < AT_ONCE and isinstance(item := self._handed_in[0], Insert):
                if item.until - inserts[0].until > _TOGETHER:
                    break
                inserts.append(item)
                self._handed_in.popleft()
            await self._insert([item for item in inserts if not item.withdrawn])

    async def _do(self, work: Work) -> None:
        try:
            if work.damage:
                await self._reconnect(work.damage)
            result = await self._connected() if work.job is None else await self._transact(work)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the job
            work.done.set_exception(error)
            work.done.exception()  # a caller that was cancelled doesn't fetch it
        else:
            work.done.set_result(result)

    async def _transact(self, work: Work) -> Any:
        """BEGIN IMMEDIATE … COMMIT: a read that is later raised to a write can't be met by SQLITE_BUSY_SNAPSHOT."""
        assert work.job is not None
        for last in (False, True):
            connection = await self._connected()
            mark = ""
            try:
                waited = work.hurried and time.monotonic() - self._locked < _STILL_BUSY
                begin = functools.partial(connection.execute, "BEGIN IMMEDIATE")
                await patiently(begin, patience_s=0.0 if waited else work.left)
                try:
                    before = connection.total_changes
                    result = await work.job(connection)
                    if connection.total_changes != before:
                        mark = new_id()
                        await connection.execute(_MARK, (mark,))
                    end = functools.partial(connection.execute, "COMMIT")
                    await patiently(end, patience_s=max(work.left, 0.0 if work.brief else _AT_THE_END))
                except BaseException:
                    await roll_back(connection)
                    raise
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if is_damage(error) and not last:
                    await self._reconnect(str(error))
                    continue
                if is_busy(error) and not work.brief:
                    self._locked = time.monotonic()
                if mark and not is_busy(error) and await self._find_after_all(_MARKED, mark):
                    break
                raise self._not_saved(error) from error
            if last or not self._moved():
                break
            # Committed into a file that was put aside meanwhile: once more, into the one that took its place.
        return result

    async def _insert(self, items: list[Insert]) -> None:
        if not items:
            return
        for item in items:
            item.taken = True
        try:
            outcomes = await self._insert_whole([item.row for item in items], items[0])
        except Exception as error:  # noqa: BLE001 - the writer lives on, whatever it was, and every caller hears of it
            outcomes = [self._not_saved(error) for _ in items]
        for item, outcome in zip(items, outcomes, strict=True):
            item.answer(outcome)

    async def _insert_whole(self, rows: list[NewRow], patience: Patience) -> list[Accepted | Exception]:
        """Commits rows and gives what became of each. Raises sqlite3.Error, QueueUnavailable: nothing was committed."""
        insert = insert_all
        for last in (False, True):
            connection = await self._connected()
            try:
                attempt = functools.partial(insert, connection, rows, self.limit, self.path)
                outcomes = await patiently(attempt, patience_s=patience.left)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if is_busy(error) or last:
                    raise
                if is_damage(error):
                    await self._reconnect(str(error))
                else:
                    made = await self._find_after_all(NUMBERS, json.dumps([row.op_id for row in rows]))
                    if len(made) != len(rows):
                        raise
                    found = {op_id: Accepted(number) for number, op_id in made}
                    return [found[row.op_id] for row in rows]
            else:
                if last or not self._moved():
                    break
            # Into the file that took the place of a damaged one, with the same keys: some may be carried over.
            insert = insert_each
        return outcomes

    async def _find_after_all(self, sql: str, *parameters: str) -> list[Any]:
        """The disk failed in the middle of a commit, or just after it: a fresh connection rolls back what was not
        committed, and knows."""
        with contextlib.suppress(sqlite3.Error, QueueUnavailable):
            await self._reconnect()
            return list(await (await self._connected()).execute_fetchall(sql, parameters))
        return []

    # Connections, the writer task's alone

    async def _connected(self) -> aiosqlite.Connection:
        """A connection to the file that stands at the path. Raises QueueUnavailable."""
        if self._writer is None or self._moved():
            if self._busy is not None and time.monotonic() - self._busy[0] < _STILL_BUSY:
                raise self._busy[1]
            await self._reconnect()
        assert self._writer is not None
        return self._writer

    async def _reconnect(self, damage: str = "") -> None:
        """Opens the file anew; a damaged one is put aside once."""
        kept = await keep_before(self.path) if damage else None
        await self._drop()
        self._busy = None
        if damage:
            await self._put_aside(damage, kept)
        try:
            self._writer = await self._connect()
        except Damaged as found:
            await self._put_aside(str(found))
            try:
                self._writer = await self._connect()
            except Damaged as again:
                raise QueueUnavailable(str(self.path), str(again), hint="see `aria doctor`") from again
        await self._reader.close()  # a query that came meanwhile has opened the file that was put aside

    async def _put_aside(self, reason: str, kept: Path | None = None) -> None:
        from aria_tui.outbox import salvage

        try:
            said = await asyncio.to_thread(salvage.put_aside, self.path, reason, self.lock, kept)
        except (OSError, sqlite3.Error) as error:
            why = f"damaged ({reason}), and can't be put aside: {explain(error, self.path)[0]}"
            raise QueueUnavailable(str(self.path), why, hint="see `aria doctor`") from error
        self.notice = said or self.notice  # and every program says it while the old file is there

    async def _connect(self) -> aiosqlite.Connection:
        try:
            return await patiently(self._connect_once, folder=self.path.parent)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            if is_damage(error):
                raise Damaged("a text is broken" if isinstance(error, UnicodeDecodeError) else str(error)) from error
            unavailable = self.unavailable(error)
            if is_busy(error):
                self._busy = (time.monotonic(), unavailable)
            raise unavailable from error

    async def _connect_once(self) -> aiosqlite.Connection:
        connection: aiosqlite.Connection | None = None
        try:
            schema.make_file(self.path)
            schema.refuse_newer(self.path)
            await look_before(self.path)
            connection = await open_connection(self.path)
            connection.text_factory = lossless
            self.journal_found = await schema.prepare(connection, self.path, self.journal)
            shut = unwritable(self.path)  # what is in it can still be shown
            said = [str(self.unavailable(shut)) if shut else None, await damage_told(connection)]
            self.notice = "; ".join(text for text in said if text) or None
            self._inode = self._stat()
        except BaseException:
            if connection is not None:
                await connection.close()
            raise
        return connection

    async def _drop(self) -> None:
        await self._reader.close(for_good=self._closed and self._task is None)
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(sqlite3.Error):
                await writer.close()
