"""SQLite: the embedded Hub's file, and the default of ``aria hub serve``.

One connection in one thread; a transaction runs there as a whole, so that a batch costs one hop and one sync. Several
processes may use the file: a write begins with BEGIN IMMEDIATE, so that the busy timeout holds (a read transaction
that is raised to a write fails at once). The journal is DELETE with synchronous=EXTRA, as queue.md wants it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from aria_tui.hub.server.storage import migrations, sql
from aria_tui.hub.server.storage.base import (
    Judge,
    Loaded,
    Page,
    Record,
    Row,
    StorageRefused,
    StorageUnavailable,
    Token,
    Writes,
)

BUSY_SECONDS = 10.0
IN_ONE_QUERY = 500
T = TypeVar("T")

_UPSERT_ROW = (
    f"INSERT INTO entities (account, {', '.join(sql.ROW)}) VALUES (?{', ?' * len(sql.ROW)}) "  # noqa: S608
    f"ON CONFLICT (account, entity) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in sql.ROW if c != 'entity')}"
)
_INSERT_RECORD = f"INSERT INTO operations (account, {', '.join(sql.RECORD)}) VALUES (?{', ?' * len(sql.RECORD)})"  # noqa: S608
_INSERT_REVISION = (
    f"INSERT INTO revisions (account, {', '.join(sql.REVISION)}) VALUES (?{', ?' * len(sql.REVISION)}) "  # noqa: S608
    "ON CONFLICT (account, entity, revision) DO NOTHING"
)


class SqliteStorage:
    """One SQLite file behind the Storage protocol. ``open`` it, ``close`` it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hub-sqlite")
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self.notice = ""
        """What the user should know of this file: that it was damaged, what was saved, where the old one is."""

    @classmethod
    async def open(cls, path: Path) -> SqliteStorage:
        """Opens or makes the file (0600, in a folder of 0700). Raises StorageUnavailable."""
        storage = cls(path)
        try:
            await storage._run(storage._begin)
        except BaseException:
            storage._thread.shutdown(wait=False)
            raise
        return storage

    def _begin(self) -> None:
        self._connect()
        self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()  # reads the file: is it one of SQLite's?

    def _connect(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            self._inode = self.path.stat().st_ino
        except OSError as error:
            raise StorageUnavailable(f"{self.path}: {error.strerror or error}") from None
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        self._connection = connection
        for pragma in ("synchronous = EXTRA", "secure_delete = ON", "foreign_keys = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "delete":
            with contextlib.suppress(sqlite3.OperationalError):  # somebody else has it open: next time
                connection.execute("PRAGMA journal_mode = DELETE")

    async def close(self) -> None:
        """Closes the connection after what is under way. Idempotent."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, connection.close)
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[..., T], *args: Any) -> T:
        """Runs ``work`` in the connection's thread; a caller that is cancelled leaves it to end there."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, work, args)

    def _guarded(self, work: Callable[..., T], args: tuple[Any, ...]) -> T:
        try:
            try:
                self._moved()
                return work(*args)
            except sqlite3.DatabaseError as error:
                if is_damage(error):
                    self._repair()
                elif not self._moved():
                    raise
                return work(*args)
        except (sqlite3.IntegrityError, sqlite3.DataError) as error:
            raise StorageRefused(f"{self.path}: {error}") from error
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{self.path}: {error}") from error

    def _repair(self) -> None:
        """Sets a damaged file aside and goes on with what could be read of it."""
        from aria_tui.hub.server import repair

        if self._connection is not None:
            self._connection.close()
        try:
            done = repair.repair(self.path)
        except OSError as error:
            raise StorageUnavailable(f"{self.path} is damaged and can't be set aside: {error}") from error
        if done is not None:
            self.notice = done.sentence()
        self._connect()

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StorageUnavailable(f"{self.path}: is closed")
        return self._connection

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._db
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    async def _all(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return await self._run(lambda: self._db.execute(query, values).fetchall())

    async def _change(self, query: str, *values: Any) -> None:
        def work() -> None:
            with self._transaction() as connection:
                connection.execute(query, values)

        await self._run(work)

    # -- schema

    async def migrate(self) -> list[str]:
        return await self._run(self._migrate)

    def _applied(self) -> dict[int, str]:
        there = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'").fetchone()
        return dict(self._db.execute(migrations.APPLIED).fetchall()) if there else {}

    def _migrate(self) -> list[str]:
        if not migrations.pending(self._applied(), where=str(self.path)):
            return []
        with self._transaction() as connection:
            connection.execute(migrations.HISTORY)
            todo = migrations.pending(self._applied(), where=str(self.path))
            for migration in todo:
                for statement in migration.statements:
                    connection.execute(statement)
                known = (migration.version, migration.name, migration.checksum, _now())
                connection.execute(migrations.REMEMBER, known)
            for name in ("hub_id", "epoch"):
                connection.execute(sql.ADD_SETTING, (name, str(uuid.uuid4())))
        return [migration.name for migration in todo]

    async def check_schema(self) -> None:
        await self._run(lambda: migrations.require_current(self._applied(), where=str(self.path)))

    async def is_empty(self) -> bool:
        return not await self._run(self._applied)

    async def ping(self) -> None:
        await self._all("SELECT 1 FROM settings LIMIT 1")

    async def identity(self) -> tuple[str, str]:
        found = dict(await self._all(sql.IDENTITY))
        return found["hub_id"], found["epoch"]

    async def new_epoch(self) -> str:
        epoch = str(uuid.uuid4())
        await self._change(sql.SET_EPOCH, epoch)
        return epoch

    # -- operations

    async def transact(self, account: str, op_ids: Sequence[str], entities: Sequence[str], judge: Judge) -> Writes:
        return await self._run(self._transact, account, op_ids, entities, judge)

    def _transact(self, account: str, op_ids: Sequence[str], entities: Sequence[str], judge: Judge) -> Writes:
        with self._transaction() as connection:
            seq = connection.execute(sql.SEQ, (account,)).fetchone()
            loaded = Loaded(seq[0] if seq else 0, self._records(account, op_ids), self._rows(account, entities))
            writes = judge(loaded)
            self._write(connection, account, writes)
        if self._moved():
            return self._transact(account, op_ids, entities, judge)
        return writes

    def _moved(self) -> bool:
        """Whether another process set the file aside since it was opened (repair.py); then the new one is open now.
        What was just committed went with the old one, so it is done again, under the same keys."""
        if self._connection is None:
            return False
        try:
            there = self.path.stat().st_ino
        except OSError as error:
            raise StorageUnavailable(f"{self.path}: {error.strerror}") from error
        if there == self._inode:
            return False
        self._connection.close()
        self._connect()
        return True

    def _write(self, connection: sqlite3.Connection, account: str, writes: Writes) -> None:
        for query, things in (
            (_UPSERT_ROW, writes.rows),
            (_INSERT_RECORD, writes.records),
            (_INSERT_REVISION, writes.revisions),
        ):
            if things:
                connection.executemany(query, [(account, *sql.values(thing)) for thing in things])
        if writes.records:
            connection.execute(sql.SET_SEQ, (writes.seq, account))

    def _records(self, account: str, op_ids: Sequence[str]) -> dict[str, Record]:
        found = self._in(f"{sql.SELECT_RECORD} AND op_id IN", account, op_ids)
        return {values[0]: Record(**dict(zip(sql.RECORD, values, strict=True))) for values in found}

    def _rows(self, account: str, entities: Sequence[str]) -> dict[str, Row]:
        found = self._in(f"{sql.SELECT_ROW} AND entity IN", account, entities)
        return {values[0]: _row(values) for values in found}

    def _in(self, query: str, account: str, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(names), IN_ONE_QUERY):
            some = names[start : start + IN_ONE_QUERY]
            yield from self._db.execute(f"{query} ({', '.join('?' * len(some))})", (account, *some))

    async def records(self, account: str, op_ids: Sequence[str]) -> dict[str, Record]:
        return await self._run(self._records, account, op_ids)

    async def row(self, account: str, entity: str) -> Row | None:
        found = await self._all(sql.ONE_ROW, account, entity)
        return _row(found[0]) if found else None

    async def revision(self, account: str, entity: str, revision: str) -> str | None:
        found = await self._all(sql.ONE_REVISION, account, entity, revision)
        return found[0][0] if found else None

    async def revisions(self, account: str, entity: str) -> list[str]:
        return [doc for (doc,) in await self._all(sql.REVISIONS, account, entity)]

    # -- reads

    async def page(self, account: str, page: Page) -> list[Row]:
        query, values = sql.page(account, page)
        return [_row(found) for found in await self._all(query, *values)]

    async def changes(self, account: str, since: int, limit: int) -> tuple[int, list[Row]]:
        def work() -> tuple[int, list[Row]]:
            seq = self._db.execute(sql.SEQ, (account,)).fetchone()
            rows = [_row(found) for found in self._db.execute(sql.CHANGES, (account, since, limit))]
            return (seq[0] if seq else 0), rows

        return await self._run(work)

    async def seq(self, account: str) -> int:
        found = await self._all(sql.SEQ, account)
        return found[0][0] if found else 0

    async def summary(self, account: str, today: str, start: int, end: int) -> tuple[list[tuple[Any, ...]], int]:
        opened = await self._all(sql.SUMMARY, today, today, account)
        done = await self._all(sql.DONE_BETWEEN, account, start, end)
        return opened, done[0][0]

    # -- accounts and tokens

    async def ensure_account(self, account: str, now: int) -> None:
        if not await self._all(sql.SEQ, account):
            await self._change(sql.ADD_ACCOUNT, account, now)

    async def accounts(self) -> list[str]:
        return [account for (account,) in await self._all(sql.ACCOUNTS)]

    async def add_token(self, token: Token) -> None:
        await self._change(sql.ADD_TOKEN, *sql.values(token))

    async def token(self, account: str, digest: str) -> Token | None:
        found = await self._all(sql.ONE_TOKEN, account, digest)
        return _token(found[0]) if found else None

    async def tokens(self, account: str | None) -> list[Token]:
        every = [_token(found) for found in await self._all(sql.ALL_TOKENS)]
        return [token for token in every if account is None or token.account == account]

    async def revoke(self, account: str, digest: str, now: int) -> None:
        await self._change(sql.REVOKE, now, account, digest)

    async def touch_token(self, account: str, digest: str, now: int) -> None:
        await self._change(sql.TOUCH_TOKEN, now, account, digest)

    async def expire_keys(self, account: str, before: int, after: str, limit: int) -> str | None:
        def work() -> str | None:
            with self._transaction() as connection:
                _, last = connection.execute(sql.NEXT_KEYS, (account, after, limit)).fetchone()
                connection.execute(sql.DROP_KEYS, (account, after, last, before))
                return None if last is None else str(last)

        return await self._run(work)

    async def expire_revisions(self, account: str, before: int, limit: int) -> int:
        def work() -> int:
            with self._transaction() as connection:
                old = connection.execute(sql.EXPIRED_REVISIONS, (account, before, limit)).fetchall()
                connection.executemany(sql.DROP_REVISION, [(account, *revision) for revision in old])
                return len(old)

        return await self._run(work)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether an error means that the file is damaged, not that it is busy, full or away."""
    return any(sign in str(error) for sign in ("malformed", "not a database", "corruption"))


def _now() -> int:
    return time.time_ns() // 1_000_000


def _row(values: Sequence[Any]) -> Row:
    return Row(**dict(zip(sql.ROW, values, strict=True)))


def _token(values: Sequence[Any]) -> Token:
    return Token(**dict(zip(sql.TOKEN, values, strict=True)))
