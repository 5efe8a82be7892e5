"""Rows of the queue as the drain, the folding and the lists see them, and the statements that read them."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

import aiosqlite
import msgspec

from aria_tui.hub.contract import SCHEMA_VERSION, Op, data_problem, entity_of, read_time, text_problem, write_time
from aria_tui.outbox.connecting import shown
from aria_tui.outbox.ids import new_id
from aria_tui.outbox.store import Store

COLUMNS = (
    "id, CAST(operation AS TEXT), CAST(payload AS TEXT), CAST(created_at AS TEXT), op_id, entity, origin, target,"
    " base_version, base, schema_version, sent_at, tries, attempts, why, due, due_boot, error, edited_from"
)
"""What a stranger may have stored as something else is read as text."""


class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A waiting row, in the order of ``COLUMNS``. ``sent_at`` None: it was never sent, so it may be folded."""

    id: int
    operation: str
    payload: str
    created_at: str
    op_id: str
    entity: str
    origin: str
    target: str
    base_version: int | None
    base: str | None
    schema_version: int
    sent_at: str | None
    tries: int
    attempts: int
    why: str | None
    due: float | None
    due_boot: str | None
    error: str | None
    edited_from: str | None

    @property
    def ours(self) -> bool:
        """Accepted by this program, so that its payload is known to be valid and it may be folded."""
        return self.origin in ("tui", "cli", "mcp")

    def arguments(self) -> dict[str, Any]:
        """The payload as an object. Raises ValueError when it is none."""
        try:
            value = json.loads(self.payload)
        except RecursionError:
            raise ValueError("the payload is nested too deeply") from None
        if not isinstance(value, dict):
            raise ValueError("the payload is not a JSON object")  # noqa: TRY004 - one error for both
        return value


async def page(store: Store, after: int, limit: int) -> list[Row]:
    """Waiting rows by id, through the partial index."""
    sql = f"SELECT {COLUMNS} FROM queue WHERE synced_at IS NULL AND id > ? ORDER BY id LIMIT ?"  # noqa: S608
    return [Row(*row) for row in await store.read(sql, (after, limit))]


async def heads(store: Store, entity: str, number: int) -> bool:
    """Whether nothing of its entity stands before a row: neither waiting nor parked; a stranger's row that nobody has
    looked at yet may be of its entity."""
    found = await store.read(
        "SELECT 1 FROM queue WHERE synced_at IS NULL AND entity = ?1 AND id < ?2"
        " UNION ALL SELECT 1 FROM queue WHERE synced_at IS NULL AND op_id IS NULL AND id < ?2"
        " UNION ALL SELECT 1 FROM parked WHERE entity = ?1 AND id < ?2 LIMIT 1",
        (entity, number),
    )
    return not found


async def of_entity(connection: aiosqlite.Connection, entity: str) -> list[Row]:
    """What waits for one entity, by id, inside a transaction of the caller's."""
    sql = f"SELECT {COLUMNS} FROM queue WHERE synced_at IS NULL AND entity = ? ORDER BY id"  # noqa: S608
    return [Row(*row) for row in await connection.execute_fetchall(sql, (entity,))]


async def strangers_wait(store: Store) -> bool:
    """Whether there are rows of strangers' that nobody has looked at yet."""
    return bool(await store.read("SELECT 1 FROM queue WHERE op_id IS NULL AND synced_at IS NULL LIMIT 1"))


async def adopt_strangers(store: Store, target: str, *, brief: bool = False) -> int:
    """Gives each stranger's row its operation id, entity and target, committed, and says how many there were.

    ``brief``: another program's lock is not waited for. Raises NotSaved.
    """
    if not await strangers_wait(store):
        return 0

    async def job(connection: aiosqlite.Connection) -> int:
        found = await connection.execute_fetchall(
            "SELECT id, CAST(operation AS TEXT), CAST(payload AS TEXT) FROM queue"
            " WHERE op_id IS NULL AND synced_at IS NULL ORDER BY id"
        )
        changes = []
        for number, operation, payload in found:
            op_id = new_id()
            changes.append((op_id, _stranger_entity(operation, payload, op_id), target, number))
        await connection.executemany(
            "UPDATE queue SET op_id = ?, entity = ?, origin = ifnull(origin, 'other'), target = ifnull(target, ?)"
            " WHERE id = ?",
            changes,
        )
        return len(changes)

    return await store.write(job, brief=brief)


def _stranger_entity(operation: str, payload: str, op_id: str) -> str:
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        value = None
    return shown(entity_of(operation, value if isinstance(value, dict) else {}, op_id))


def unsendable(row: Row) -> str | None:
    """Why a row can't be put on the wire at all, or None. Ours were validated when they were accepted, but a file that
    was damaged may have changed them since."""
    if why := text_problem(row.operation) or text_problem(row.payload):
        return f"the text of it can't be sent: {why}"
    try:
        value = msgspec.json.decode(row.payload)
    except (msgspec.DecodeError, RecursionError) as error:
        return _no_json(row.payload, str(error))
    if not isinstance(value, dict):
        return "the payload is no JSON object"
    return None if row.ours else data_problem(value)


def _no_json(payload: str, otherwise: str) -> str:
    """Python's own reader takes what JSON forbids (NaN, lone surrogates), and so can tell what is wrong with it."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        value = None
    why = data_problem(value) if isinstance(value, dict) else None
    return f"the payload {why}" if why else f"the payload is no JSON object ({otherwise})"


def occurred_at(row: Row) -> str | None:
    """When it was accepted, as the wire wants it; None where a stranger wrote something that is no time."""
    return _as_written(row.created_at)


@functools.lru_cache(maxsize=4096)
def _as_written(text: str) -> str | None:
    try:
        return write_time(read_time(text))
    except ValueError:
        return None


def encode_op(row: Row) -> bytes:
    """The operation as an element of a batch."""
    return msgspec.json.encode(
        Op(
            op_id=row.op_id,
            operation=row.operation,
            entity=row.entity if row.ours else None,
            occurred_at=occurred_at(row),
            schema_version=row.schema_version or SCHEMA_VERSION,
            base_version=row.base_version,
            base=msgspec.json.decode(row.base) if row.base else None,
            payload=msgspec.Raw(row.payload.encode()),
        )
    )


def id_list(rows: Iterable[Row] | Iterable[int]) -> str:
    """Queue numbers as JSON, for ``IN (SELECT value FROM json_each(?))``."""
    return json.dumps([row.id if isinstance(row, Row) else row for row in rows])
