"""The connection over which a process reads the queue's file: it never writes, and is opened when it is needed."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aiosqlite

from aria_tui.errors import QueueUnavailable
from aria_tui.outbox.connecting import lossless, open_connection, patiently


class Reader:
    """One query at a time. It sees the file that stood at ``path`` when it was first asked after ``close``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: aiosqlite.Connection | None = None
        self._opening: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._text_factory: Callable[[bytes], str] = str
        self._ended = False

    async def fetch(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        """Rows of a query; waits for another program's lock. Raises sqlite3.Error, UnicodeDecodeError, and
        QueueUnavailable after the end."""
        async with self._lock:
            return await patiently(lambda: self._fetch(sql, parameters))

    async def close(self, *, for_good: bool = False) -> None:
        """Ends the connection when the query that is under way has its answer; ``for_good``: no other one comes."""
        async with self._lock:
            self._ended = for_good
            if self._opening is not None:
                await asyncio.gather(self._opening, return_exceptions=True)
            connection, self._connection = self._connection, None
            if connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    await connection.close()

    async def _fetch(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        connection = await self._opened()
        try:
            return list(await connection.execute_fetchall(sql, parameters))
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
            traceback.clear_frames(error.__traceback__)  # else they keep the statement, and it its lock
        # Somebody stored bytes that are no text: they are read so that they can be told, and never sent. By a new
        # connection, for the statement that broke off holds its lock.
        self._text_factory, self._connection = lossless, None
        await connection.close()
        return list(await (await self._opened()).execute_fetchall(sql, parameters))

    async def _opened(self) -> aiosqlite.Connection:
        if self._ended:
            raise QueueUnavailable(str(self.path), "the program is closing")
        if self._connection is None:
            # In a task of its own: a caller that is cancelled must not leave a connection that nobody closes.
            self._opening = self._opening or asyncio.create_task(self._open(), name="outbox reader")
            await asyncio.shield(self._opening)
        assert self._connection is not None
        return self._connection

    async def _open(self) -> None:
        try:
            connection = await open_connection(self.path)
            try:
                await connection.execute("PRAGMA query_only = ON")
                connection.text_factory = self._text_factory
            except BaseException:
                await connection.close()
                raise
            self._connection = connection
        finally:
            self._opening = None
