"""Dead letters: retried, edited, discarded (queue.md, "Parked").

A row that returns keeps its queue number, so that order holds. A changed payload has a new key, linked to the old.
What lost a conflict or was discarded is in the journal and comes back by ``retry``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import aiosqlite

from aria_tui.errors import InvalidInput, NotFound, UsageError
from aria_tui.hub.contract import OPERATIONS, validate
from aria_tui.outbox import doubt
from aria_tui.outbox.ids import new_id
from aria_tui.outbox.rebase import rebase
from aria_tui.outbox.settle import unpark
from aria_tui.outbox.store import Store

_CREATES = {"create_task", "capture_insight"}
PAIRS = (
    "SELECT p.id, min(q.id), p.problem IS NOT NULL FROM parked p JOIN queue q"
    " ON q.entity = p.entity AND q.synced_at IS NULL AND q.id > p.id"
    " WHERE p.kind = 'dead' AND p.operation IN ('create_task', 'capture_insight')"
    " AND q.operation IN ('delete_task', 'delete_insight') GROUP BY p.id ORDER BY p.id"
)
"""Each dead create with the delete that waits behind it, and whether the Hub refused the create."""


async def retry(store: Store, number: int | None) -> int:
    """Puts a dead letter (None: all of them) back in its place with its key and a fresh count of attempts; a row of
    the journal that lost a conflict or was discarded comes back as a new operation. Raises NotFound."""

    async def job(connection: aiosqlite.Connection) -> int:
        if number is None:
            found = await connection.execute_fetchall("SELECT id FROM parked WHERE kind = 'dead' ORDER BY id")
            numbers = [row[0] for row in found]
            for one in numbers:
                await _return(connection, one)
            return len(numbers)
        if await _exists(connection, "parked", number):
            await _return(connection, number)
            return 1
        if await _bring_back(connection, number):
            return 1
        if await _exists(connection, "queue", number, " AND synced_at IS NULL"):
            await connection.execute(
                "UPDATE queue SET due = NULL, why = nullif(why, 'held_operation') WHERE id = ?", (number,)
            )
            return 1
        raise NotFound(f"#{number} is neither a dead letter nor waiting")

    return await store.write(job)


async def edit(store: Store, number: int, payload: Mapping[str, Any]) -> None:
    """Gives a dead letter, or a waiting row that was never sent, another payload and a new key, and lets it go.

    Raises InvalidInput, NotFound, and UsageError for a row that was sent.
    """

    async def job(connection: aiosqlite.Connection) -> None:
        table = "parked" if await _exists(connection, "parked", number) else "queue"
        found = list(
            await connection.execute_fetchall(
                f"SELECT operation, payload, op_id, sent_at, entity FROM {table} WHERE id = ?",  # noqa: S608
                (number,),
            )
        )
        if not found:
            raise NotFound(f"there is no operation #{number} in the queue")
        operation, before, op_id, sent_at, entity = found[0]
        if table == "queue" and not await _exists(connection, "queue", number, " AND synced_at IS NULL"):
            raise UsageError(f"#{number} is in the journal; it can't be changed any more")
        if table == "queue" and sent_at is not None:
            raise UsageError(f"#{number} was sent already; it can't be changed any more")
        new = _checked(operation, dict(payload), before)
        if _means(before, new):  # written otherwise at most: what may have been sent so keeps its key
            text, key, old = before, op_id, None
        else:
            text = json.dumps(_named(operation, new, entity), ensure_ascii=False)
            # A stranger's row that nobody could look at yet gets its key with all the rest.
            key, old = None if op_id is None else new_id(), op_id
        await rebase(connection, table, number, text)
        await connection.execute(
            f"UPDATE {table} SET payload = ?, op_id = ?, edited_from = ifnull(?, edited_from), error = NULL"  # noqa: S608
            " WHERE id = ?",
            (text, key, old, number),
        )
        if table == "parked":
            await _return(connection, number)
            if old is not None and not await _may_be_there(connection, number, before):
                await connection.execute("UPDATE queue SET why = NULL WHERE id = ?", (number,))

    await store.write(job)


async def _may_be_there(connection: aiosqlite.Connection, number: int, before: str) -> bool:
    """A create that a plain Hub never answered may stand there as it was before its edit, under a key that says
    nothing to that Hub: it stays in doubt, so that it is looked for."""
    found = await connection.execute_fetchall(
        "SELECT entity FROM queue WHERE id = ? AND why = 'in_doubt' AND target LIKE 'addr:%'"
        " AND operation IN ('create_task', 'capture_insight')",
        (number,),
    )
    for (entity,) in found:
        await doubt.remember(connection, entity, before)
    return bool(list(found))


def _checked(operation: str, new: dict[str, Any], before: str) -> dict[str, Any]:
    """Validated; what the entity is named by stays."""
    if operation in OPERATIONS:
        new = validate(operation, new)
    try:
        old = json.loads(before)
    except (ValueError, RecursionError):
        return new
    names = ("id",) if operation not in ("store_briefing", "record_activity") else ("date", "project")
    for name in names:
        if isinstance(old, dict) and name in old and new.get(name) != old[name]:
            raise InvalidInput(f"{name} can't be changed here; discard this operation and make a new one")
    return new


def _means(text: str, payload: dict[str, Any]) -> bool:
    with contextlib.suppress(ValueError, RecursionError):
        return bool(json.loads(text) == payload)
    return False


def _named(operation: str, payload: dict[str, Any], entity: str | None) -> dict[str, Any]:
    """A stranger's create bears no id: its first key names what it makes, here and for what waits behind it. Under
    another key it must say that name, or the Hub would make another thing."""
    if operation not in _CREATES or not entity or "id" in payload:
        return payload
    return {"id": entity.partition(":")[2], **payload}


async def discard(store: Store, number: int, now: str) -> list[int]:
    """Takes a parked or a waiting row out for good (it stays in the journal), and with a create what waits behind it.

    Gives the numbers discarded. Raises NotFound, and UsageError for a waiting row that was sent.
    """
    behind = await dependents(store, number)

    async def job(connection: aiosqlite.Connection) -> list[int]:
        if await _exists(connection, "parked", number):
            await rebase(connection, "parked", number, None)
            await unpark(connection, number)
        elif not await _exists(connection, "queue", number, " AND synced_at IS NULL"):
            raise NotFound(f"there is no operation #{number} waiting or parked")
        else:
            found = list(await connection.execute_fetchall("SELECT sent_at FROM queue WHERE id = ?", (number,)))
            if found[0][0] is not None:
                raise UsageError(f"#{number} was sent and may be at the Hub; it can't be discarded")
            await rebase(connection, "queue", number, None)
        numbers = [number, *behind]
        await connection.executemany(
            "UPDATE queue SET synced_at = ?, outcome = 'discarded' WHERE id = ? AND synced_at IS NULL",
            [(now, one) for one in numbers],
        )
        return numbers

    return await store.write(job)


async def dependents(store: Store, number: int) -> list[int]:
    """What makes no sense without a create that is discarded: later waiting operations of its entity."""
    found = await store.read(
        "SELECT operation, entity FROM parked WHERE id = ?1 UNION ALL"
        " SELECT operation, entity FROM queue WHERE id = ?1 AND synced_at IS NULL",
        (number,),
    )
    if not found or found[0][0] not in _CREATES:
        return []
    later = await store.read(
        "SELECT id FROM queue WHERE synced_at IS NULL AND entity = ? AND id > ? ORDER BY id", (found[0][1], number)
    )
    return [row[0] for row in later]


async def cancel_dead_pairs(store: Store, now: str) -> list[int]:
    """A delete behind a dead create cancels both, and what stands between them; gives the numbers cancelled.

    Of a create that was given up unanswered nobody knows whether the Hub did it: its delete is sent all the same.
    """
    if not await store.read("SELECT 1 FROM parked WHERE kind = 'dead' LIMIT 1"):
        return []

    async def job(connection: aiosqlite.Connection) -> list[int]:
        cancelled: list[int] = []
        for create, delete, refused in list(await connection.execute_fetchall(PAIRS)):
            between = await connection.execute_fetchall(
                "SELECT p.id, q.id FROM parked p JOIN queue q ON q.entity = p.entity AND q.synced_at IS NULL"
                " WHERE p.id = ? AND q.id > p.id AND q.id <= ?",
                (create, delete if refused else delete - 1),
            )
            numbers = [create, *(row[1] for row in between)]
            await unpark(connection, create)
            await connection.executemany(
                "UPDATE queue SET synced_at = ?, outcome = 'cancelled' WHERE id = ? AND synced_at IS NULL",
                [(now, number) for number in numbers],
            )
            cancelled += numbers
        return cancelled

    return await store.write(job)


async def _return(connection: aiosqlite.Connection, number: int) -> None:
    """Back into the queue, with a fresh count; what was sent and never answered stays in doubt (a plain Hub is asked
    before a repeat)."""
    found = await connection.execute_fetchall("SELECT problem FROM parked WHERE id = ?", (number,))
    answered = any(row[0] is not None for row in found)
    await unpark(connection, number)
    await connection.execute(
        "UPDATE queue SET attempts = 0, due = NULL, why = iif(sent_at IS NULL OR ?, NULL, 'in_doubt') WHERE id = ?",
        (answered, number),
    )


async def _bring_back(connection: aiosqlite.Connection, number: int) -> bool:
    """What lost, or was discarded, as a new operation at the end of the queue."""
    found = await connection.execute_fetchall(
        "SELECT operation, payload, entity FROM queue WHERE id = ? AND outcome IN ('lost', 'discarded')", (number,)
    )
    for operation, payload, entity in found:
        with contextlib.suppress(ValueError):
            value = json.loads(payload)
            if isinstance(value, dict) and (named := _named(operation, value, entity)) != value:
                payload = json.dumps(named, ensure_ascii=False)
        await connection.execute(
            "INSERT INTO queue(operation, payload, created_at, op_id, entity, origin, target, edited_from)"
            " SELECT operation, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), iif(op_id IS NULL, NULL, ?), entity, origin,"
            " target, op_id"
            " FROM queue WHERE id = ?",
            (payload, new_id(), number),
        )
    return bool(list(found))


async def _exists(connection: aiosqlite.Connection, table: str, number: int, more: str = "") -> bool:
    sql = f"SELECT 1 FROM {table} WHERE id = ?{more}"  # noqa: S608
    return bool(list(await connection.execute_fetchall(sql, (number,))))
