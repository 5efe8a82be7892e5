"""One operation to a plain Hub: its own ids, its missing endpoints, its ignorance of keys (queue.md, hub-api.md)."""

from __future__ import annotations

from typing import Any

import aiosqlite
import msgspec

from aria_tui.errors import AriaError, HubUnavailable
from aria_tui.hub.client import Outcome
from aria_tui.hub.contract import OpResult, Problem
from aria_tui.outbox import doubt, state
from aria_tui.outbox.link import Link
from aria_tui.outbox.rows import Row
from aria_tui.outbox.store import Store

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
            outcome = await self._look_up(row, payload, timeout)
            if outcome is None:
                outcome = await self._request(row, row.operation, payload, timeout)
            return outcome
        if not create and "id" in payload:
            payload["id"] = await self._real_id(row, payload["id"], timeout)
        return await self._request(row, row.operation, payload, timeout)

    async def _request(self, row: Row, operation: str, payload: dict[str, Any], timeout: float) -> Outcome:
        body = msgspec.json.encode(payload)
        await self._take_up_served()
        first = outcome = await self.link.client.send_one(operation, row.op_id, body, timeout=timeout)
        if outcome.kind == "no_endpoint":
            outcome = await self.link.client.send_one(operation, row.op_id, body, timeout=timeout, direct=True)
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
        ids = await remote_ids(self.store, self.link.target, row.entity.partition(":")[0])
        own = ids.pop(row.entity.partition(":")[2], None)
        try:
            sent = await doubt.versions(self.store, row, payload)
            taken = ids.values()
            found = await doubt.matches(self.link.client, row, sent, taken, self.link.clock.now(), timeout)
        except HubUnavailable as error:
            return Outcome(kind="unreachable", state=error.state, reason=error.reason, status=0)  # type: ignore[arg-type]
        except AriaError as error:
            return Outcome(kind="server_error", state="online", reason=str(error))
        if own is not None:
            found = [one for one in found if str(one.get("id")) == own] or [{"id": own}]
        if not found:
            return None
        if len(found) > 1:
            return _answered(doubt.undecided(row, found, f"{len(found)} at the Hub may be this one"))
        changes = doubt.still_to_change(sent, payload, found[0])
        if not changes:
            return self._adopt(row, found[0])
        return await self._adopt_changed(row, found[0], changes, timeout)

    def _adopt(self, row: Row, there: dict[str, Any]) -> Outcome:
        server_id = there.get("id")
        return msgspec.structs.replace(
            _answered(OpResult(op_id=row.op_id, status="duplicate", entity=row.entity)),
            server_id=None if server_id is None else str(server_id),
            server_id_is_number=isinstance(server_id, int),
        )

    async def _adopt_changed(self, row: Row, there: dict[str, Any], changes: dict[str, Any], timeout: float) -> Outcome:
        """What is there is what was sent before an edit: its id is kept, and then it is changed as the edit says."""
        adopted = self._adopt(row, there)

        async def job(connection: aiosqlite.Connection) -> None:
            await map_id(connection, self.link.target, row, adopted)

        await self.store.write(job)
        operation = "update_task" if row.operation == "create_task" else "update_insight"
        real = await self._real_id(row, there.get("id"), timeout)
        outcome = await self._request(row, operation, {"id": real, "changes": changes}, timeout)
        if outcome.results and outcome.results[0].status == "rejected":
            why = "the Hub has it as it was before it was edited, and can't change it"
            return msgspec.structs.replace(outcome, results=(doubt.undecided(row, [there], why),))
        return outcome


def _answered(result: OpResult) -> Outcome:
    return Outcome(kind="answered", state="online", results=(result,))


def _held(row: Row) -> OpResult:
    problem = Problem(type="/problems/unknown-operation", title="this Hub has no endpoint for it")
    return OpResult(op_id=row.op_id, status="rejected", problem=problem)
