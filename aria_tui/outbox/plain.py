"""One operation to a plain Hub: its own ids, its missing endpoints, its ignorance of keys (queue.md, hub-api.md)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import aiosqlite
import msgspec

from aria_tui.errors import AriaError, HubUnavailable
from aria_tui.hub.client import Outcome
from aria_tui.hub.contract import OpResult, Problem, read_time
from aria_tui.outbox import state
from aria_tui.outbox.link import Link
from aria_tui.outbox.rows import Row
from aria_tui.outbox.store import Store

SKEW = timedelta(minutes=5)
"""By how much the clocks of client and Hub may differ."""
_CREATES = ("create_task", "capture_insight")


async def remote_id(store: Store, target: str, entity: str) -> str | int | None:
    """The Hub's own id for an entity of ours, or None."""
    found = await store.read("SELECT remote FROM id_map WHERE target = ? AND entity = ?", (target, entity))
    return found[0][0] if found else None


async def remote_ids(store: Store, target: str, kind: str) -> dict[str, str]:
    """Our ids → the Hub's own, of all entities of a kind that it named itself."""
    found = await store.read(
        "SELECT entity, CAST(remote AS TEXT) FROM id_map WHERE target = ? AND entity LIKE ?", (target, f"{kind}:%")
    )
    return {entity.partition(":")[2]: remote for entity, remote in found}


async def local_entity(store: Store, target: str, entity: str) -> str:
    """The name under which an entity waits in the queue, given the name it has at the Hub."""
    kind, _, remote = entity.partition(":")
    found = await store.read(
        "SELECT entity FROM id_map WHERE target = ? AND CAST(remote AS TEXT) = ? AND entity LIKE ?",
        (target, remote, f"{kind}:%"),
    )
    return str(found[0][0]) if found else entity


async def map_id(connection: aiosqlite.Connection, target: str, row: Row, outcome: Outcome) -> None:
    """Keeps the id that the Hub gave to what a row created, in the transaction that acknowledges it."""
    if (
        row.operation in _CREATES
        and outcome.server_id is not None
        and row.entity.partition(":")[2] != outcome.server_id
    ):
        remote: str | int = int(outcome.server_id) if outcome.server_id_is_number else outcome.server_id
        await connection.execute("INSERT OR REPLACE INTO id_map VALUES (?, ?, ?)", (target, row.entity, remote))


class PlainLane:
    """Sends one row at a time. The answer's ``server_id`` is to be committed with the acknowledgement."""

    def __init__(self, store: Store, link: Link) -> None:
        self.store, self.link = store, link

    async def send(self, row: Row, timeout: float) -> Outcome:
        payload = row.arguments()
        create = row.operation in _CREATES
        if create and row.sent_at is not None and row.why in ("in_doubt", "backoff"):
            # It was sent before and no answer came; a Hub without keys would do it again.
            found = await self._look_up(row, payload, timeout)
            if found is not None:
                return found
        if not create and "id" in payload:
            payload["id"] = await self._real_id(row, payload["id"], timeout)
        body = msgspec.json.encode(payload)
        await self._take_up_served()
        first = outcome = await self.link.client.send_one(row.operation, row.op_id, body, timeout=timeout)
        if outcome.kind == "no_endpoint":
            outcome = await self.link.client.send_one(row.operation, row.op_id, body, timeout=timeout, direct=True)
        if outcome.kind == "no_endpoint":
            held = _held(row)
            return Outcome(kind="answered", state=first.state, results=(held,), latency_ms=first.latency_ms)
        return outcome

    async def _take_up_served(self) -> None:
        """Which operations the Hub is known to serve: a 404 for one of these is about the task, not the path."""
        served = self.link.client.served
        name = f"served:{self.link.target}"
        known = set(await state.get(self.store, name, list[str]) or [])
        if served - known:
            await state.put(self.store, name, sorted(served | known))
        served |= known

    async def _real_id(self, row: Row, given: Any, timeout: float) -> Any:
        real = await remote_id(self.store, self.link.target, row.entity)
        if isinstance(real, int):
            return real
        real = real or str(given)
        return int(real) if real.isdecimal() and await self._numbers_its_things(timeout) else real

    async def _numbers_its_things(self, timeout: float) -> bool:
        """Whether the Hub's ids are JSON numbers: known from an earlier list, else asked once."""
        name = f"int_ids:{self.link.target}"
        known = await state.get(self.store, name, bool)
        if known is None:
            try:
                listed = (await self.link.client.get("/api/tasks", {"limit": 1}, timeout=timeout)).get("tasks")
            except AriaError:
                return False
            if not isinstance(listed, list) or not listed or not isinstance(listed[0], dict):
                return False
            known = isinstance(listed[0].get("id"), int)
            await state.put(self.store, name, known)
        return known

    async def _look_up(self, row: Row, payload: dict[str, Any], timeout: float) -> Outcome | None:
        """One match within the attempt's time is adopted; none: to be sent again; several: the user decides."""
        client = self.link.client
        try:
            if row.operation == "create_task":
                found = await client.find_tasks(payload["title"], timeout=timeout)
            else:
                found = await client.find_insights(payload["content"], timeout=timeout)
        except HubUnavailable as error:
            return Outcome(kind="unreachable", state=error.state, reason=error.reason, status=0)  # type: ignore[arg-type]
        except AriaError as error:
            return Outcome(kind="server_error", state="online", reason=str(error))
        taken = set((await remote_ids(self.store, self.link.target, row.entity.partition(":")[0])).values())
        matches = [one for one in found if str(one.get("id")) not in taken and self._within_attempt(row, one)]
        if not matches:
            return None
        if len(matches) > 1:
            result = OpResult(
                op_id=row.op_id,
                status="conflict",
                entity=row.entity,
                current={"candidates": matches[:10]},
                problem=Problem(type="/problems/conflict", detail=f"{len(matches)} at the Hub may be this one"),
            )
            return Outcome(kind="answered", state="online", results=(result,))
        server_id = matches[0].get("id")
        return Outcome(
            kind="answered",
            state="online",
            results=(OpResult(op_id=row.op_id, status="duplicate", entity=row.entity),),
            server_id=None if server_id is None else str(server_id),
            server_id_is_number=isinstance(server_id, int),
        )

    def _within_attempt(self, row: Row, found: dict[str, Any]) -> bool:
        made = found.get("created_at") or found.get("captured_at")
        try:
            at = read_time(str(made))
            first = read_time(row.sent_at or row.created_at)
            earliest = min(first, _time_or(row.created_at, first))
        except ValueError:
            return True  # a Hub that doesn't say when: the same words must do
        return earliest - SKEW <= at <= self.link.clock.now() + SKEW


def _time_or(text: str, otherwise: datetime) -> datetime:
    try:
        return read_time(text)
    except ValueError:
        return otherwise


def _held(row: Row) -> OpResult:
    problem = Problem(type="/problems/unknown-operation", title="this Hub has no endpoint for it")
    return OpResult(op_id=row.op_id, status="rejected", problem=problem)
