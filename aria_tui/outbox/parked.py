"""Dead letters and conflicts: retried, edited, discarded, resolved (queue.md, "Parked" and "Conflicts").

A row that returns keeps its queue number, so that order holds. A changed payload has a new key, linked to the old.
What loses is kept in the journal and can be brought back by ``retry``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import aiosqlite

from aria_tui.errors import InvalidInput, NotFound, UsageError
from aria_tui.hub.contract import OPERATIONS, TEXT_BYTES, validate
from aria_tui.outbox.ids import new_id
from aria_tui.outbox.settle import unpark
from aria_tui.outbox.store import Store
from aria_tui.outbox.views import differs

SEPARATOR = "\n\n---\n\n"
_LONG_TEXTS = {"description", "content"}
_CREATES = {"create_task", "capture_insight"}


async def retry(store: Store, number: int | None) -> int:
    """Puts a dead letter (None: all of them) back in its place with its key and a fresh count of attempts; a row of
    the journal that lost a conflict or was discarded comes back as a new operation. Raises NotFound."""

    async def job(connection: aiosqlite.Connection) -> int:
        if number is None:
            found = await connection.execute_fetchall("SELECT id FROM parked WHERE kind = 'dead' ORDER BY id")
            for (one,) in list(found):
                await _return(connection, one)
            return len(list(found))
        if await _exists(connection, "parked", number):
            await _return(connection, number)
            return 1
        if await _bring_back(connection, number):
            return 1
        if await _exists(connection, "queue", number, " AND synced_at IS NULL"):
            await connection.execute("UPDATE queue SET due = NULL WHERE id = ?", (number,))
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
                f"SELECT operation, payload, op_id, sent_at FROM {table} WHERE id = ?",  # noqa: S608
                (number,),
            )
        )
        if not found:
            raise NotFound(f"there is no operation #{number} in the queue")
        operation, before, op_id, sent_at = found[0]
        if table == "queue" and sent_at is not None:
            raise UsageError(f"#{number} was sent already; it can't be changed any more")
        new = _checked(operation, dict(payload), before)
        text = json.dumps(new, ensure_ascii=False)
        key, old = (op_id, None) if text == before else (new_id(), op_id)
        await connection.execute(
            f"UPDATE {table} SET payload = ?, op_id = ?, edited_from = ifnull(?, edited_from) WHERE id = ?",  # noqa: S608
            (text, key, old, number),
        )
        if table == "parked":
            await _return(connection, number)

    await store.write(job)


def _checked(operation: str, new: dict[str, Any], before: str) -> dict[str, Any]:
    """Validated; what the entity is named by stays."""
    if operation in OPERATIONS:
        new = validate(operation, new)
    try:
        old = json.loads(before)
    except ValueError:
        return new
    names = ("id",) if operation not in ("store_briefing", "record_activity") else ("date", "project")
    for name in names:
        if isinstance(old, dict) and name in old and new.get(name) != old[name]:
            raise InvalidInput(f"{name} can't be changed here; discard this operation and make a new one")
    return new


async def discard(store: Store, number: int, now: str) -> list[int]:
    """Takes a parked or a waiting row out for good (it stays in the journal), and with a create what waits behind it.

    Gives the numbers discarded. Raises NotFound, and UsageError for a waiting row that was sent.
    """
    behind = await dependents(store, number)

    async def job(connection: aiosqlite.Connection) -> list[int]:
        if await _exists(connection, "parked", number):
            await unpark(connection, number)
        elif not await _exists(connection, "queue", number, " AND synced_at IS NULL"):
            raise NotFound(f"there is no operation #{number} waiting or parked")
        else:
            found = list(await connection.execute_fetchall("SELECT sent_at FROM queue WHERE id = ?", (number,)))
            if found[0][0] is not None:
                raise UsageError(f"#{number} was sent and may be at the Hub; it can't be discarded")
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
    """A delete behind a dead create cancels both (and what stands between them); gives the numbers cancelled."""
    found = await store.read(
        "SELECT p.id, p.entity FROM parked p"
        " WHERE p.kind = 'dead' AND p.operation IN ('create_task', 'capture_insight')"
        " AND EXISTS (SELECT 1 FROM queue q WHERE q.synced_at IS NULL AND q.entity = p.entity AND q.id > p.id"
        " AND q.operation IN ('delete_task', 'delete_insight') AND q.sent_at IS NULL)"
    )
    numbers: list[int] = []
    for number, entity in found:
        later = await store.read(
            "SELECT id FROM queue WHERE synced_at IS NULL AND entity = ? AND id > ?", (entity, number)
        )
        numbers += [number, *(row[0] for row in later)]
    if not numbers:
        return []

    async def job(connection: aiosqlite.Connection) -> None:
        for number, _ in found:
            await unpark(connection, number)
        await connection.executemany(
            "UPDATE queue SET synced_at = ?, outcome = 'cancelled' WHERE id = ? AND synced_at IS NULL",
            [(now, one) for one in numbers],
        )

    await store.write(job)
    return numbers


async def resolve(
    store: Store, number: int, choice: str | Mapping[str, str], now: str, *, known: Mapping[str, Any] | None = None
) -> str:
    """Resolves a conflict: ``mine``, ``theirs``, ``both``, or by field; gives the entity's id.

    ``known``: the entity's fields as last seen, for a task that is gone at the Hub and is to live again.
    Raises NotFound and UsageError.
    """

    async def job(connection: aiosqlite.Connection) -> str:
        found = list(
            await connection.execute_fetchall(
                "SELECT operation, payload, base, current, entity, op_id FROM parked"
                " WHERE id = ? AND kind = 'conflict'",
                (number,),
            )
        )
        if not found:
            raise NotFound(f"#{number} is not in the conflict inbox")
        operation, payload, base, current, entity, op_id = found[0]
        case = _Case(
            number,
            operation,
            json.loads(payload),
            json.loads(base) if base else {},
            json.loads(current) if current else None,
            op_id,
        )
        await _Resolution(connection, case, now, known).take(choice)
        return str(entity).partition(":")[2]

    return await store.write(job)


class _Case:
    def __init__(
        self,
        number: int,
        operation: str,
        payload: dict[str, Any],
        base: dict[str, Any],
        theirs: dict[str, Any] | None,
        op_id: str,
    ) -> None:
        self.number, self.operation, self.payload, self.op_id = number, operation, payload, op_id
        self.base, self.theirs = base, theirs
        self.changes: dict[str, Any] = dict(payload.get("changes") or {})
        if operation == "complete_task":
            self.changes = {"status": "DONE"}
        elif operation in _CREATES:
            self.changes = {k: v for k, v in payload.items() if k not in ("id", "created_at", "captured_at")}

    @property
    def fields(self) -> list[str]:
        """The fields that really conflict."""
        if self.theirs is None:
            return list(self.changes)
        return [name for name in self.changes if differs(name, self.changes, self.base, self.theirs)]


class _Resolution:
    """One resolution inside one transaction."""

    def __init__(
        self, connection: aiosqlite.Connection, case: _Case, now: str, known: Mapping[str, Any] | None
    ) -> None:
        self.connection, self.case, self.now, self.known = connection, case, now, known

    async def take(self, choice: str | Mapping[str, str]) -> None:
        match choice:
            case "mine":
                await self._mine()
            case "theirs":
                await self._theirs()
            case "both":
                await self._both()
            case str():
                raise UsageError(f"{choice!r} is no resolution; say mine, theirs, both or a field")
            case _:
                await self._by_field(choice)

    async def _mine(self) -> None:
        """Again, on the base of what the Hub has now; what the Hub had is kept in the journal."""
        case = self.case
        if case.theirs is None and not case.operation.startswith("delete"):
            await self._live_again()
            return
        await self._keep_theirs()
        if case.operation in _CREATES:
            # The same id with other content: what is ours becomes an edit of what is there.
            await self._go(_update_of(case.operation), {"id": case.payload["id"], "changes": case.changes})
        else:
            await self._go(case.operation, case.payload)

    async def _theirs(self) -> None:
        await self._end("lost")

    async def _by_field(self, choice: Mapping[str, str]) -> None:
        case = self.case
        if unknown := [name for name in choice if name not in case.changes]:
            raise UsageError(f"this edit does not change {unknown[0]!r}; it changes {', '.join(case.changes)}")
        if bad := [value for value in choice.values() if value not in ("mine", "theirs")]:
            raise UsageError(f"{bad[0]!r} is neither mine nor theirs")
        kept = {
            name: value
            for name, value in case.changes.items()
            if choice.get(name, "theirs" if name in case.fields else "mine") == "mine"
        }
        if not kept:
            await self._theirs()
            return
        await self._keep_theirs()
        operation = _update_of(case.operation)
        await self._go(operation, {"id": case.payload["id"], "changes": kept})

    async def _both(self) -> None:
        """Long text: both texts, one after the other. Else a second task, and the Hub's stays as it is."""
        case = self.case
        theirs = case.theirs
        if theirs is not None and case.fields and set(case.fields) <= _LONG_TEXTS:
            merged = {n: f"{theirs.get(n) or ''}{SEPARATOR}{case.changes[n] or ''}" for n in case.fields}
            if all(len(text.encode()) <= TEXT_BYTES for text in merged.values()):
                changes = case.changes | merged
                await self._go(_update_of(case.operation), {"id": case.payload["id"], "changes": changes})
                return
        await self._copy(theirs or dict(self.known or {}), " (conflicted copy)")
        await self._end("lost")

    async def _live_again(self) -> None:
        """The task is gone at the Hub and its id with it: ours becomes a new one."""
        await self._copy(dict(self.known or {}), "")
        await self._end("edited")

    async def _copy(self, fields: dict[str, Any], suffix: str) -> None:
        case = self.case
        insight = case.operation.endswith("insight")
        names = (
            ("content", "project", "tags")
            if insight
            else ("title", "description", "priority", "status", "project_name", "due_date", "tags")
        )
        both = {**fields, **case.base, **case.changes} if not fields else {**fields, **case.changes}
        payload = {n: both[n] for n in names if both.get(n) not in (None, [], ())}
        if insight:
            payload["content"] = f"{payload.get('content', '')}{suffix}"
        else:
            payload["title"] = f"{payload.get('title', 'Task')[: 500 - len(suffix)]}{suffix}"
        new = new_id()
        payload = {"id": new, **payload, "captured_at" if insight else "created_at": self.now}
        await self._insert(new, "capture_insight" if insight else "create_task", payload, waiting=True)

    async def _go(self, operation: str, payload: dict[str, Any]) -> None:
        """Returns the row to its place, on the base of the Hub's copy."""
        case = self.case
        theirs = case.theirs or {}
        base = {name: theirs.get(name) for name in payload.get("changes", {})} or None
        text = json.dumps(payload, ensure_ascii=False)
        same = payload == case.payload and operation == case.operation
        await self.connection.execute(
            "UPDATE parked SET operation = ?, payload = ?, base = ?, base_version = ?, op_id = ?,"
            " edited_from = ifnull(?, edited_from) WHERE id = ?",
            (
                operation,
                text,
                json.dumps(base, ensure_ascii=False) if base else None,
                theirs.get("version"),
                case.op_id if same else new_id(),
                None if same else case.op_id,
                case.number,
            ),
        )
        await _return(self.connection, case.number)

    async def _end(self, outcome: str) -> None:
        """Into the journal."""
        await unpark(self.connection, self.case.number)
        await self.connection.execute(
            "UPDATE queue SET synced_at = ?, outcome = ? WHERE id = ?", (self.now, outcome, self.case.number)
        )

    async def _keep_theirs(self) -> None:
        """The Hub's values that are about to be replaced, as an edit in the journal."""
        case = self.case
        if case.theirs is None or not case.changes:
            return
        values = {name: case.theirs.get(name) for name in case.changes}
        key = new_id()
        payload = {"id": case.payload["id"], "changes": values}
        await self._insert(key, _update_of(case.operation), payload, waiting=False)

    async def _insert(self, key: str, operation: str, payload: dict[str, Any], *, waiting: bool) -> None:
        kind = "insight" if operation.endswith("insight") else "task"
        await self.connection.execute(
            "INSERT INTO queue(operation, payload, created_at, op_id, entity, origin, target, synced_at, outcome)"
            " SELECT ?, ?, ?, ?, ?, origin, target, ?, ? FROM parked WHERE id = ?",
            (
                operation,
                json.dumps(payload, ensure_ascii=False),
                self.now,
                key,
                f"{kind}:{payload['id']}",
                None if waiting else self.now,
                None if waiting else "lost",
                self.case.number,
            ),
        )


def _update_of(operation: str) -> str:
    return "update_insight" if operation.endswith("insight") else "update_task"


async def _return(connection: aiosqlite.Connection, number: int) -> None:
    await unpark(connection, number)
    await connection.execute("UPDATE queue SET attempts = 0, due = NULL, why = NULL WHERE id = ?", (number,))


async def _bring_back(connection: aiosqlite.Connection, number: int) -> bool:
    """What lost, or was discarded, as a new operation at the end of the queue."""
    cursor = await connection.execute(
        "INSERT INTO queue(operation, payload, created_at, op_id, entity, origin, target, edited_from)"
        " SELECT operation, payload, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?, entity, origin, target, op_id FROM queue"
        " WHERE id = ? AND outcome IN ('lost', 'discarded')",
        (new_id(), number),
    )
    return cursor.rowcount == 1


async def _exists(connection: aiosqlite.Connection, table: str, number: int, more: str = "") -> bool:
    sql = f"SELECT 1 FROM {table} WHERE id = ?{more}"  # noqa: S608
    return bool(list(await connection.execute_fetchall(sql, (number,))))
