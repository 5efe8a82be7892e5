"""PostgreSQL through asyncpg: one database for any number of stateless replicas.

A write locks its account's row, so an account's change numbers become visible in their order and two copies of one
request meet the same record; other accounts go on. Rows go in by ``unnest``, a fixed number of statements a batch.
Nothing that Citus, CockroachDB or YugabyteDB lack is used, a serialization failure (40001) begins the whole
transaction again, and so does a lost connection: the keys make a repeat harmless, even of a commit whose answer was
lost. Behind a pooler that hands out another connection for each transaction (pgbouncer), named statements fail; that is
noticed at the first one, and from then on none are used.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import asyncpg

from aria_tui.errors import UsageError
from aria_tui.hub.server.storage import migrations, sql
from aria_tui.hub.server.storage.base import (
    Judge,
    Loaded,
    Page,
    Record,
    Revision,
    Row,
    StorageRefused,
    StorageUnavailable,
    Token,
    Writes,
)

POOL_SIZE = 10
WAIT_SECONDS = 8.0
"""How long a database that restarts is waited for before the request is answered 503."""
STATEMENT_SECONDS = 20.0
T = TypeVar("T")
_NOTHING: Mapping[str, str] = {}

_AGAIN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_POOLER = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
_AWAY = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ProtocolViolationError,
    asyncpg.QueryCanceledError,
    OSError,
    TimeoutError,
)
_KEPT_OUT = (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError)
_NUMBERS = {"version", "seq", "deleted_at", "sort_at", "completed_at", "created", "recorded_at", "made_at"}


def _numbered(query: str) -> str:
    """``?`` as PostgreSQL wants it: ``$1``, ``$2``, …"""
    count = 0

    def number(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"${count}"

    return re.sub(r"\?", number, query)


def _insert(table: str, columns: Sequence[str], on_conflict: str = "", also: Mapping[str, str] = _NOTHING) -> str:
    """Inserts rows of an account that are given as an array a column; ``also`` are further columns by expression."""
    arrays = ", ".join(f"${n}::{'bigint' if c in _NUMBERS else 'text'}[]" for n, c in enumerate(columns, 2))
    names = ", ".join(columns)
    into, chosen = ", ".join([names, *also]), ", ".join(["u.*", *also.values()])
    return (
        f"INSERT INTO {table} (account, {into}) SELECT $1, {chosen} FROM unnest({arrays}) AS u ({names}) {on_conflict}"  # noqa: S608
    )


def _by_key(query: str) -> str:
    """One look-up by the whole key for each of ``$2``. ``= ANY`` would read all of the account's rows while the
    planner knows little of a young table: any index that begins with the account looks as good to it."""
    return f"SELECT found.* FROM unnest($2::text[]) AS wanted (name), LATERAL ({query} = wanted.name LIMIT 1) AS found"  # noqa: S608


_NEW = ("entity", "seq", "sort_at", "status", "priority", "project", "due_date", "completed_at", "folded", "doc")
_NEW_ROWS = _insert("entities", _NEW, also={"kind": "split_part(u.entity, ':', 1)", "version": "1"})
"""Its own statement, since ON CONFLICT costs a new row a third more; the account's lock keeps others away."""
_CHANGED_ROWS = _insert(
    "entities",
    sql.ROW,
    f"ON CONFLICT (account, entity) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in sql.ROW if c != 'entity')}",
)
_WRITE_RECORDS = _insert("operations", sql.RECORD)
_WRITE_REVISIONS = _insert("revisions", sql.REVISION, "ON CONFLICT (account, entity, revision) DO NOTHING")
_LOCK = _numbered(f"{sql.SEQ} FOR UPDATE")
_RECORDS = _by_key(f"{_numbered(sql.SELECT_RECORD)} AND op_id")
_ROWS = _by_key(f"{_numbered(sql.SELECT_ROW)} AND entity")
_HAS_HISTORY = """
SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = 'schema_migrations'
"""


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    """The Hub leaves nothing behind in a session, so nothing has to be reset in it."""

    def get_reset_query(self) -> str:
        return ""


class PostgresStorage:
    """One PostgreSQL database behind the Storage protocol. ``open`` it, ``close`` it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.name = re.sub(r"//[^@/]*@", "//", url).partition("?")[0]
        self._pooled = False
        self._pool: asyncpg.Pool | None = None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @classmethod
    async def open(cls, url: str) -> PostgresStorage:
        """Connects. Raises UsageError for an address that can't be read, StorageUnavailable."""
        storage = cls(url)
        try:
            await storage._connect()
            await storage._read(lambda connection: connection.fetchval("SELECT 1"))
        except BaseException:
            await storage.close()
            raise
        return storage

    async def _connect(self) -> None:
        try:
            self._pool = asyncpg.create_pool(
                self._url,
                min_size=0,
                max_size=POOL_SIZE,
                connection_class=_Connection,
                command_timeout=STATEMENT_SECONDS,
                statement_cache_size=0 if self._pooled else 256,
                max_inactive_connection_lifetime=300,
            )
            await self._pool
        except (ValueError, asyncpg.ClientConfigurationError) as error:
            raise UsageError(f"not a PostgreSQL address: {self.name}: {error}") from None

    async def close(self) -> None:
        """Closes the pool after what is under way. Idempotent."""
        pool, self._pool = self._pool, None
        if pool is not None:
            try:
                async with asyncio.timeout(5):
                    await pool.close()
            except (TimeoutError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                pool.terminate()

    # -- running something on a connection

    async def _read(self, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        return await self._persist(work, transaction=self._pooled)

    async def _write(self, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        return await self._persist(work, transaction=True)

    async def _persist(self, work: Callable[[asyncpg.Connection], Awaitable[T]], *, transaction: bool) -> T:
        """Runs ``work``, from its beginning again after a serialization failure or a lost connection."""
        deadline = time.monotonic() + WAIT_SECONDS
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self._connection(transaction=transaction or self._pooled) as connection:
                    return await work(connection)
            except _POOLER:
                await self._without_statements()
            except _KEPT_OUT as error:
                raise StorageUnavailable(f"{self.name}: {error}") from error
            except (*_AGAIN, *_AWAY) as error:
                if time.monotonic() > deadline or self._pool is None:
                    raise StorageUnavailable(f"{self.name}: {_reason(error)}") from error
                base = 0.005 if isinstance(error, _AGAIN) else 0.05
                await asyncio.sleep(random.uniform(0, min(0.5, base * 2**attempt)))  # noqa: S311 - jitter
            except asyncpg.PostgresError as error:
                raise StorageRefused(f"{self.name}: {type(error).__name__}") from error

    @contextlib.asynccontextmanager
    async def _connection(self, *, transaction: bool) -> AsyncIterator[asyncpg.Connection]:
        if self._pool is None:
            raise StorageUnavailable(f"{self.name}: is closed")
        async with self._pool.acquire(timeout=WAIT_SECONDS) as connection:
            if not transaction:
                yield connection
                return
            async with connection.transaction():
                yield connection

    async def _without_statements(self) -> None:
        """A pooler is between: no named statements from here on, and everything within a transaction."""
        if self._pooled:
            return
        self._pooled = True
        old, self._pool = self._pool, None
        await self._connect()
        if old is not None:
            old.terminate()

    async def _all(self, query: str, *values: Any) -> list[Any]:
        numbered = _numbered(query)
        return await self._read(lambda connection: connection.fetch(numbered, *values))

    async def _change(self, query: str, *values: Any) -> None:
        numbered = _numbered(query)
        await self._write(lambda connection: connection.execute(numbered, *values))

    # -- schema

    async def _applied(self, connection: asyncpg.Connection) -> dict[int, str]:
        there = await connection.fetchval(_HAS_HISTORY)
        return {row[0]: row[1] for row in await connection.fetch(migrations.APPLIED)} if there else {}

    async def migrate(self) -> list[str]:
        applied = await self._read(self._applied)
        if not migrations.pending(applied, where=self.name):
            return []
        await self._write(self._make_lock)
        return await self._write(self._migrate)

    async def _make_lock(self, connection: asyncpg.Connection) -> None:
        # IF NOT EXISTS doesn't see what another migration is just about to commit: table, its row type, its index.
        with contextlib.suppress(
            asyncpg.UniqueViolationError, asyncpg.DuplicateTableError, asyncpg.DuplicateObjectError
        ):
            async with connection.transaction():
                await connection.execute(migrations.LOCK)
        await connection.execute("INSERT INTO schema_lock (id) VALUES (1) ON CONFLICT (id) DO NOTHING")

    async def _migrate(self, connection: asyncpg.Connection) -> list[str]:
        """Everything that is missing, in one transaction that holds the lock row."""
        await connection.fetchval("SELECT id FROM schema_lock WHERE id = 1 FOR UPDATE")
        await connection.execute(migrations.HISTORY)
        todo = migrations.pending(await self._applied(connection), where=self.name)
        for migration in todo:
            for statement in migration.statements:
                await connection.execute(statement)
            known = (migration.version, migration.name, migration.checksum, time.time_ns() // 1_000_000)
            await connection.execute(_numbered(migrations.REMEMBER), *known)
        for name in ("hub_id", "epoch"):
            await connection.execute(_numbered(sql.ADD_SETTING), name, str(uuid.uuid4()))
        return [migration.name for migration in todo]

    async def check_schema(self) -> None:
        migrations.require_current(await self._read(self._applied), where=self.name)

    async def is_empty(self) -> bool:
        return not await self._read(self._applied)

    async def ping(self) -> None:
        await self._all("SELECT 1 FROM settings LIMIT 1")

    async def identity(self) -> tuple[str, str]:
        found = {row[0]: row[1] for row in await self._all(sql.IDENTITY)}
        return found["hub_id"], found["epoch"]

    async def new_epoch(self) -> str:
        epoch = str(uuid.uuid4())
        await self._change(sql.SET_EPOCH, epoch)
        return epoch

    # -- operations

    async def transact(self, account: str, op_ids: Sequence[str], entities: Sequence[str], judge: Judge) -> Writes:
        async def work(connection: asyncpg.Connection) -> Writes:
            seq = await connection.fetchval(_LOCK, account)
            records = await connection.fetch(_RECORDS, account, op_ids)
            rows = await connection.fetch(_ROWS, account, entities)
            loaded = Loaded(seq or 0, {r["op_id"]: Record(**r) for r in records}, {r["entity"]: Row(**r) for r in rows})
            writes = judge(loaded)
            await self._store(connection, account, writes, loaded.rows)
            return writes

        async with self._locks.setdefault(account, asyncio.Lock()):
            return await self._write(work)

    async def _store(
        self, connection: asyncpg.Connection, account: str, writes: Writes, there: Mapping[str, Row]
    ) -> None:
        for query, columns, things in (
            (_NEW_ROWS, _NEW, [row for row in writes.rows if row.version == 1 and row.entity not in there]),
            (_CHANGED_ROWS, sql.ROW, [row for row in writes.rows if row.version != 1 or row.entity in there]),
            (_WRITE_RECORDS, sql.RECORD, writes.records),
            (_WRITE_REVISIONS, sql.REVISION, writes.revisions),
        ):
            if things:
                await connection.execute(query, account, *_columns(columns, things))
        if writes.records:
            await connection.execute(_numbered(sql.SET_SEQ), writes.seq, account)

    async def records(self, account: str, op_ids: Sequence[str]) -> dict[str, Record]:
        found = await self._read(lambda connection: connection.fetch(_RECORDS, account, op_ids))
        return {record["op_id"]: Record(**record) for record in found}

    async def row(self, account: str, entity: str) -> Row | None:
        found = await self._all(sql.ONE_ROW, account, entity)
        return Row(**found[0]) if found else None

    async def revision(self, account: str, entity: str, revision: str) -> str | None:
        found = await self._all(sql.ONE_REVISION, account, entity, revision)
        return found[0][0] if found else None

    async def revisions(self, account: str, entity: str) -> list[str]:
        return [row[0] for row in await self._all(sql.REVISIONS, account, entity)]

    # -- reads

    async def page(self, account: str, page: Page) -> list[Row]:
        query, values = sql.page(account, page)
        return [Row(**found) for found in await self._all(query, *values)]

    async def changes(self, account: str, since: int, limit: int) -> tuple[int, list[Row]]:
        async def work(connection: asyncpg.Connection) -> tuple[int, list[Row]]:
            seq = await connection.fetchval(_numbered(sql.SEQ), account)
            rows = await connection.fetch(_numbered(sql.CHANGES), account, since, limit)
            return seq or 0, [Row(**row) for row in rows]

        return await self._read(work)

    async def seq(self, account: str) -> int:
        found = await self._all(sql.SEQ, account)
        return found[0][0] if found else 0

    async def summary(self, account: str, today: str, start: int, end: int) -> tuple[list[tuple[Any, ...]], int]:
        opened = await self._all(sql.SUMMARY, today, today, account)
        done = await self._all(sql.DONE_BETWEEN, account, start, end)
        return [tuple(row) for row in opened], done[0][0]

    # -- accounts and tokens

    async def ensure_account(self, account: str, now: int) -> None:
        await self._change(sql.ADD_ACCOUNT, account, now)

    async def accounts(self) -> list[str]:
        return [row[0] for row in await self._all(sql.ACCOUNTS)]

    async def add_token(self, token: Token) -> None:
        await self._change(sql.ADD_TOKEN, *sql.values(token))

    async def token(self, account: str, digest: str) -> Token | None:
        found = await self._all(sql.ONE_TOKEN, account, digest)
        return Token(**found[0]) if found else None

    async def tokens(self, account: str | None) -> list[Token]:
        every = [Token(**found) for found in await self._all(sql.ALL_TOKENS)]
        return [token for token in every if account is None or token.account == account]

    async def revoke(self, account: str, digest: str, now: int) -> None:
        await self._change(sql.REVOKE, now, account, digest)

    async def touch_token(self, account: str, digest: str, now: int) -> None:
        await self._change(sql.TOUCH_TOKEN, now, account, digest)

    async def expire_keys(self, account: str, before: int, after: str, limit: int) -> str | None:
        async def work(connection: asyncpg.Connection) -> str | None:
            last: str | None = await connection.fetchval(_numbered(sql.NEXT_KEYS), account, after, limit, column=1)
            await connection.execute(_numbered(sql.DROP_KEYS), account, after, last, before)
            return last

        return await self._write(work)

    async def expire_revisions(self, account: str, before: int, limit: int) -> int:
        async def work(connection: asyncpg.Connection) -> int:
            old = await connection.fetch(_numbered(sql.EXPIRED_REVISIONS), account, before, limit)
            await connection.executemany(_numbered(sql.DROP_REVISION), [(account, *row) for row in old])
            return len(old)

        return await self._write(work)


def _columns(names: Sequence[str], things: Sequence[Row | Record | Revision]) -> list[list[Any]]:
    return [[getattr(thing, name) for thing in things] for name in names]


def _reason(error: BaseException) -> str:
    """What happened, without values: a message of the database may quote a row."""
    return f"{type(error).__name__}: {error}" if isinstance(error, OSError | TimeoutError) else type(error).__name__
