"""A create that was sent to a plain Hub and never answered is looked for there before it is sent again (queue.md).

A Hub without keys would do it twice. Where it was edited meanwhile, what may stand there is what was sent before the
edit: every version that was sent is remembered until the Hub has answered.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import aiosqlite

from aria_tui.hub.client import HubClient
from aria_tui.hub.contract import OpResult, Problem, read_time
from aria_tui.outbox import state
from aria_tui.outbox.rows import Row
from aria_tui.outbox.store import Store

SKEW = timedelta(minutes=5)
"""By how much the clocks of client and Hub may differ."""
_OURS = {"id", "created_at", "captured_at"}
"""What a plain Hub decides for itself."""
Payload = dict[str, Any]


def _name(entity: str) -> str:
    return f"sent:{entity}"


async def remember(connection: aiosqlite.Connection, entity: str, payload: str) -> None:
    """Keeps a version that was sent and never answered, in the transaction that replaces it."""
    found = await connection.execute_fetchall("SELECT value FROM state WHERE name = ?", (_name(entity),))
    sent = [json.loads(value) for (value,) in found]
    versions = [*(sent[0] if sent else []), json.loads(payload)]
    await state.put_in(connection, _name(entity), versions)


async def versions(store: Store, row: Row, payload: Payload) -> list[Payload]:
    """The versions of a create that may be at the Hub. One that was edited is from now on among them: it is sent."""
    sent = await state.get(store, _name(row.entity), list[Payload])
    if sent and payload not in sent:
        await state.put(store, _name(row.entity), [*sent, payload])
    return sent or [payload]


async def forget(connection: aiosqlite.Connection, delivered: Sequence[Row]) -> None:
    """The Hub has them, in the transaction that says so."""
    for row in delivered:
        await state.put_in(connection, _name(row.entity), None)


async def matches(
    client: HubClient, row: Row, sent: list[Payload], taken: Collection[str], now: datetime, timeout: float
) -> list[Payload]:
    """What the Hub has with the words of one that was sent, made within its attempt and not ``taken`` by another.

    Raises HubUnavailable.
    """
    name, find = ("title", client.find_tasks) if row.operation == "create_task" else ("content", client.find_insights)
    found: dict[str, Payload] = {}
    for words in dict.fromkeys(str(version.get(name)) for version in sent):
        for one in await find(words, timeout=timeout):
            if str(one.get("id")) not in taken and _within_attempt(row, one, now):
                found[str(one.get("id"))] = one
    return list(found.values())


def still_to_change(sent: list[Payload], payload: Payload, there: Payload) -> Payload:
    """What was edited since a version was sent and stands otherwise at the Hub."""
    names = {name for version in sent for name in version.keys() | payload.keys()} - _OURS
    return {
        name: payload.get(name)
        for name in sorted(names)
        if any(version.get(name) != payload.get(name) for version in sent) and there.get(name) != payload.get(name)
    }


def undecided(row: Row, candidates: list[Payload], why: str) -> OpResult:
    """For the conflict inbox: the user says which of these it is, if any."""
    return OpResult(
        op_id=row.op_id,
        status="conflict",
        entity=row.entity,
        current={"candidates": candidates[:10]},
        problem=Problem(type="/problems/conflict", detail=why),
    )


def _within_attempt(row: Row, found: Payload, now: datetime) -> bool:
    made = found.get("created_at") or found.get("captured_at")
    try:
        at = read_time(str(made))
        first = read_time(row.sent_at or row.created_at)
        earliest = min(first, _time_or(row.created_at, first))
    except ValueError:
        return True  # a Hub that doesn't say when: the same words must do
    return earliest - SKEW <= at <= now + SKEW


def _time_or(text: str, otherwise: datetime) -> datetime:
    try:
        return read_time(text)
    except ValueError:
        return otherwise
