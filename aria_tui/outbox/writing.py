"""From an accepted write to its caller's answer: committed, tried at once, told (queue.md, "Accepting a write")."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import aiosqlite
import msgspec

from aria_tui.errors import AriaError, NotFound, NotSaved, QueueUnavailable
from aria_tui.models import QueueItem, WriteResult
from aria_tui.outbox import accept, names, rows
from aria_tui.outbox.faults import explain
from aria_tui.outbox.inserting import Accepted, NewRow, insert_row

if TYPE_CHECKING:
    from aria_tui.outbox.engine import Engine

EDITS = {"update_task", "complete_task", "delete_task", "update_insight", "delete_insight"}
_END = (
    "SELECT 'queue', outcome, error, folded_into, target, entity FROM queue"
    " WHERE id = ?1 AND synced_at IS NOT NULL"
    " UNION ALL SELECT kind, NULL, error, NULL, target, entity FROM parked WHERE id = ?1"
)


async def write(engine: Engine, row: NewRow, payload: dict[str, Any], *, offline: bool) -> WriteResult:
    """Commits a row and tries to get it to the Hub. Raises NotSaved, QueueUnavailable, InvalidInput (a used key)."""
    if row.operation in EDITS:
        await engine.adopt_strangers()  # what they wrote before it is what it is based on
        row, accepted = await _insert_edit(engine, row, payload)
    else:
        accepted = await engine.store.insert(row)
    entity = row.entity.partition(":")[2]
    if offline and not accepted.known:
        engine.wrote()
        return queued(accepted.number, entity, "")
    if not offline:
        try:
            await engine.syncer.send_now(accepted.number, engine.config.hub.budget)
        except (AriaError, OSError) as error:
            engine.wrote()
            return queued(accepted.number, entity, _hindrance(error))  # it is committed, and that is what counts
        except asyncio.CancelledError:
            engine.wrote()
            raise
    return await _told(engine, accepted.number, entity)


async def _insert_edit(engine: Engine, row: NewRow, payload: dict[str, Any]) -> tuple[NewRow, Accepted]:
    """Commits an edit with the version and the former values that it is based on.

    They are read in the transaction that commits it, so that no other edit comes between; what waits is read before
    what was seen, for a drain tells the mirror before it marks a row.
    """
    target = await engine.target()
    kind: Literal["task", "insight"] = "insight" if row.entity.startswith("insight:") else "task"
    thing = row.entity.partition(":")[2]
    if engine.is_plain(target):
        from aria_tui.outbox.plain import local_entity, remote_ids

        row = msgspec.structs.replace(row, entity=await local_entity(engine.store, target, row.entity))
        thing = (await remote_ids(engine.store, target, kind)).get(row.entity.partition(":")[2], thing)

    async def job(connection: aiosqlite.Connection) -> tuple[NewRow, Accepted]:
        waiting = await rows.of_entity(connection, row.entity)
        await engine.mirror.load(target)
        version, base = accept.former_values(row.operation, payload, engine.mirror.base_of(kind, thing, waiting))
        based = msgspec.structs.replace(row, base_version=version, base=base)
        return based, await insert_row(connection, based, engine.store.limit, engine.store.path)

    return await engine.store.write(job)


async def _told(engine: Engine, number: int, entity: str) -> WriteResult:
    """What became of a row. It is committed: where that can't be read, it is queued as far as anybody knows."""
    try:
        return await outcome(engine, number, entity)
    except QueueUnavailable as error:
        engine.wrote()
        return queued(number, entity, _hindrance(error))
    except NotFound:  # another program deleted it
        return _result("rejected", "local", number, entity, f"discarded (#{number}) before it was sent")


async def outcome(engine: Engine, number: int, entity: str) -> WriteResult:
    """What became of a row: where it is now, and why. ``entity``: its id, for the answer."""
    found = await engine.store.read(_END, (number,))
    if not found:
        engine.wrote()
        item = await (await engine.views()).show(number)
        return queued(number, entity, _why_queued(item))
    where, what, error, into, target, name = found[0]
    if where != "queue":
        status: Literal["conflict", "rejected"] = "conflict" if where == "conflict" else "rejected"
        words = "changed on both sides" if where == "conflict" else "rejected"
        return _result(status, "local", number, entity, f"{words} (#{number}): {error}")
    if what == "folded" and into is not None:
        return msgspec.structs.replace(await outcome(engine, into, entity), queue_id=number)
    if engine.is_plain(target):
        from aria_tui.outbox.plain import remote_id

        entity = str(await remote_id(engine.store, target, name) or entity)
    match what:
        case "superseded":
            words = "the Hub has a newer one; this one is kept as a revision"
            return _result("superseded", "hub", number, entity, words)
        case "lost":
            words = f"the Hub's version stays; yours is in the journal (#{number})"
            return _result("superseded", "hub", number, entity, words)
        case "foreign" | None:
            return _result("synced", "hub", number, entity, "delivered by another program")
        case "discarded" | "edited":
            return _result("rejected", "local", number, entity, f"{what} (#{number}) before it was sent")
        case "cancelled":
            return _result("synced", "local", number, entity, "cancelled before it was sent")
        case _:
            return _result("synced", "hub", number, entity, "saved" if target == names.EMBEDDED else "saved to Hub")


def queued(number: int, entity: str, why: str) -> WriteResult:
    return _result("queued", "local", number, entity, f"queued (#{number}){f': {why}' if why else ''}")


def _result(
    status: Literal["synced", "queued", "superseded", "conflict", "rejected"],
    destination: Literal["hub", "local"],
    number: int,
    entity: str,
    message: str,
) -> WriteResult:
    return WriteResult(status=status, destination=destination, id=entity, queue_id=number, message=message)


async def resolve(engine: Engine, number: int, choice: str | Mapping[str, str]) -> WriteResult:
    """Settles a conflict; what comes of it is sent at once. Raises NotFound, UsageError.

    With a Hub that is away the conflict stays where it was (queue.md), unless the choice sends nothing: what the Hub
    has may be another thing by the time it is back. Raises HubUnavailable.
    """
    from aria_tui.outbox import resolve

    if choice != "theirs":
        await engine.reachable(asked=True)
    found = await engine.store.read("SELECT entity FROM parked WHERE id = ?", (number,))
    await engine.load_mirror()
    known = engine.seen(str(found[0][0])) if found else None
    resolved = await resolve.resolve(engine.store, number, choice, engine.now(), known=known)
    entity = resolved.entity.partition(":")[2]
    if resolved.number is None:
        engine.wrote()
        return _result("synced", "hub", number, entity, "the Hub's version stays")
    try:
        await engine.syncer.send_now(resolved.number, engine.config.hub.budget)
    except (AriaError, OSError) as error:
        engine.wrote()
        return queued(resolved.number, entity, _hindrance(error))
    return await _told(engine, resolved.number, entity)


def _hindrance(error: AriaError | OSError) -> str:
    """Why a committed row was not sent at once. "not saved", as the error calls itself, is said of no such row."""
    if isinstance(error, OSError):  # of the drain lock's file, or of the embedded Hub's
        return f"{error.filename or 'the queue'}: {explain(error, Path(error.filename or ''))[0]}"
    return error.reason if isinstance(error, NotSaved | QueueUnavailable) else str(error)


def _why_queued(item: QueueItem) -> str:
    match item.reason_code:
        case "next" | "sending":
            return ""
        case "offline":
            return item.reason if item.reason.startswith("not the Hub") else "Hub offline"
        case "in_doubt":
            return "sent, but not confirmed yet"
        case _:
            return item.reason
