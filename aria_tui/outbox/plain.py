"""One operation to a plain Hub: its own ids, its missing endpoints, its ignorance of keys (queue.md, hub-api.md)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from aria_tui.errors import AriaError, HubUnavailable
from aria_tui.hub.client import Outcome
from aria_tui.hub.contract import OpResult, read_time
from aria_tui.outbox import state
from aria_tui.outbox.link import Link
from aria_tui.outbox.rows import Row
from aria_tui.outbox.store import Store

SKEW = timedelta(minutes=5)
"""By how much the clocks of client and Hub may differ."""


async def remote_id(store: Store, target: str, entity: str) -> str | None:
    """The Hub's own id for an entity of ours, or None."""
    found = await store.read("SELECT remote FROM id_map WHERE target = ? AND entity = ?", (target, entity))
    return str(found[0][0]) if found else None


async def local_entity(store: Store, target: str, entity: str) -> str:
    """The name under which an entity waits in the queue, given the name it has at the Hub."""
    kind, _, remote = entity.partition(":")
    found = await store.read(
        "SELECT entity FROM id_map WHERE target = ? AND remote = ? AND entity LIKE ?", (target, remote, f"{kind}:%")
    )
    return str(found[0][0]) if found else entity


class PlainLane:
    """Sends one row at a time. The answer's ``server_id`` is to be committed with the acknowledgement."""

    def __init__(self, store: Store, link: Link) -> None:
        self.store, self.link = store, link

    async def send(self, row: Row, timeout: float) -> Outcome:
        payload = row.arguments()
        if row.operation in ("create_task", "capture_insight") and row.sent_at is not None:
            # It was sent before and no answer came; a Hub without keys would do it again.
            found = await self._look_up(row, payload, timeout)
            if found is not None:
                return found
        if "id" in payload and row.operation not in ("create_task", "capture_insight"):
            payload["id"] = await self._real_id(row, payload["id"])
        body = msgspec.json.encode(payload)
        outcome = await self.link.client.send_one(row.operation, row.op_id, body, timeout=timeout)
        if outcome.kind == "no_endpoint":
            outcome = await self.link.client.send_one(row.operation, row.op_id, body, timeout=timeout, direct=True)
            if outcome.kind == "no_endpoint":
                return Outcome(
                    kind="answered",
                    state=outcome.state,
                    results=(_held(row),),
                    latency_ms=outcome.latency_ms,
                )
        if outcome.kind == "answered" and not outcome.results:
            result = OpResult(op_id=row.op_id, status="applied", entity=row.entity)
            outcome = msgspec.structs.replace(outcome, results=(result,))
        return outcome

    async def _real_id(self, row: Row, given: Any) -> Any:
        real = await remote_id(self.store, self.link.target, row.entity) or str(given)
        whole_numbers = await state.get(self.store, f"int_ids:{self.link.target}", bool)
        return int(real) if whole_numbers and real.isdecimal() else real

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
        matches = [one for one in found if self._within_attempt(row, one)]
        if not matches:
            return None
        if len(matches) == 1:
            server_id = matches[0].get("id")
            return Outcome(
                kind="answered",
                state="online",
                results=(OpResult(op_id=row.op_id, status="duplicate", entity=row.entity),),
                server_id=None if server_id is None else str(server_id),
            )
        current = {"candidates": matches[:10]}
        result = OpResult(op_id=row.op_id, status="conflict", entity=row.entity, current=current)
        return Outcome(kind="answered", state="online", results=(result,))

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
    from aria_tui.hub.contract import Problem

    problem = Problem(type="/problems/unknown-operation", title="this Hub has no endpoint for it")
    return OpResult(op_id=row.op_id, status="rejected", problem=problem)
