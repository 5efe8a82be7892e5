"""Conflicts: mine, theirs, field by field, or both (queue.md, "Conflicts"). Each inside one transaction.

What loses is kept in the journal, from where ``parked.retry`` brings it back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import aiosqlite

from aria_tui.errors import NotFound, UsageError
from aria_tui.hub.contract import TEXT_BYTES, TITLE_CHARACTERS
from aria_tui.outbox.accept import former_values
from aria_tui.outbox.ids import new_id
from aria_tui.outbox.settle import unpark
from aria_tui.outbox.store import Store
from aria_tui.outbox.views import differs, new_values

SEPARATOR = "\n\n---\n\n"
COPY = " (conflicted copy)"
_LONG_TEXTS = {"description", "content"}
_TASK = ("title", "description", "priority", "status", "project_name", "due_date", "tags")
_INSIGHT = ("content", "project", "tags")
Choice = str | Mapping[str, str]


class Resolved(NamedTuple):
    """The entity that the conflict was about, and the row that is to be sent now, if there is one."""

    entity: str
    number: int | None


async def resolve(
    store: Store, number: int, choice: Choice, now: str, *, known: Mapping[str, Any] | None = None
) -> Resolved:
    """Settles a conflict: ``mine``, ``theirs``, ``both``, or by field.

    ``known``: the entity's fields as last seen, for a task that is gone at the Hub and is to live again.
    Raises NotFound and UsageError.
    """

    async def job(connection: aiosqlite.Connection) -> Resolved:
        return await _Resolution(connection, await _read(connection, number), now, known).take(choice)

    return await store.write(job)


async def by_policy(
    connection: aiosqlite.Connection, number: int, policy: str, now: str, *, known: Mapping[str, Any] | None
) -> bool:
    """Settles a conflict that was just parked, inside the caller's transaction; False: it needs the user."""
    case = await _read(connection, number)
    named = (
        case.theirs is not None or policy == "theirs" or bool({**(known or {}), **case.base, **case.mine}.get("title"))
    )
    if case.candidates or not named:
        return False
    await _Resolution(connection, case, now, known).take(policy)
    return True


class _Case:
    """A conflict as it is kept."""

    def __init__(self, number: int, row: tuple[Any, ...]) -> None:
        self.number = number
        operation, payload, base, current, entity, self.op_id, self.target = row
        self.operation, self.entity = str(operation), str(entity)
        self.payload: dict[str, Any] = json.loads(payload)
        self.base: dict[str, Any] = json.loads(base) if base else {}
        self.theirs: dict[str, Any] | None = json.loads(current) if current else None
        self.candidates: list[dict[str, Any]] = (self.theirs or {}).get("candidates") or []
        self.mine = new_values(self.operation, self.payload)

    @property
    def create(self) -> bool:
        return self.operation in ("create_task", "capture_insight")

    @property
    def delete(self) -> bool:
        return self.operation.startswith("delete_")

    @property
    def insight(self) -> bool:
        return self.operation.endswith("insight")

    @property
    def update(self) -> str:
        return "update_insight" if self.insight else "update_task"

    @property
    def names(self) -> tuple[str, ...]:
        return _INSIGHT if self.insight else _TASK

    @property
    def fields(self) -> list[str]:
        """The fields that really conflict."""
        if self.theirs is None:
            return list(self.mine)
        return [name for name in self.mine if differs(name, self.mine, self.base, self.theirs)]


async def _read(connection: aiosqlite.Connection, number: int) -> _Case:
    found = list(
        await connection.execute_fetchall(
            "SELECT operation, payload, base, current, entity, op_id, target FROM parked"
            " WHERE id = ? AND kind = 'conflict'",
            (number,),
        )
    )
    if not found:
        raise NotFound(f"#{number} is not in the conflict inbox")
    return _Case(number, tuple(found[0]))


class _Resolution:
    def __init__(
        self, connection: aiosqlite.Connection, case: _Case, now: str, known: Mapping[str, Any] | None
    ) -> None:
        self.connection, self.case, self.now, self.known = connection, case, now, known

    async def take(self, choice: Choice) -> Resolved:
        match choice:
            case "mine":
                number = await self._mine()
            case "theirs":
                number = await self._theirs()
            case "both":
                number = await self._both()
            case str():
                raise UsageError(f"{choice!r} is no resolution; say mine, theirs, both or a field")
            case _:
                number = await self._by_field(choice)
        return Resolved(self.case.entity, number)

    async def _mine(self) -> int | None:
        """Again, on the base of what the Hub has now; what the Hub had is kept in the journal."""
        case = self.case
        if case.candidates:
            return await self._go(case.operation, case.payload)  # none of them: it is made
        if case.theirs is None and not case.delete:
            return await self._live_again()
        await self._keep_theirs()
        if case.create:
            # The same id with other content: what is ours becomes an edit of what is there.
            return await self._go(case.update, {"id": case.payload["id"], "changes": case.mine})
        return await self._go(case.operation, case.payload)

    async def _theirs(self) -> int | None:
        case = self.case
        if case.candidates:
            # The newest of them is ours: that is what the Hub made of our create.
            await self._end("duplicate")
            await self.connection.execute(
                "INSERT OR REPLACE INTO id_map VALUES (?, ?, ?)", (case.target, case.entity, case.candidates[0]["id"])
            )
        else:
            await self._end("lost")
        return None

    async def _by_field(self, choice: Mapping[str, str]) -> int | None:
        case = self.case
        if unknown := [name for name in choice if name not in case.mine]:
            changed = ", ".join(case.mine) or "no field"
            raise UsageError(f"this operation does not change {unknown[0]!r}; it changes {changed}")
        if bad := [value for value in choice.values() if value not in ("mine", "theirs")]:
            raise UsageError(f"{bad[0]!r} is neither mine nor theirs")
        kept = {
            name: value
            for name, value in case.mine.items()
            if choice.get(name, "theirs" if name in case.fields else "mine") == "mine"
        }
        if not kept:
            return await self._theirs()
        if case.theirs is None:
            return await self._live_again()
        await self._keep_theirs()
        return await self._go(case.update, {"id": case.payload["id"], "changes": kept})

    async def _both(self) -> int | None:
        """Long text: both texts, one after the other. Else a second task, and the Hub's stays as it is."""
        case = self.case
        if case.delete:
            raise UsageError("a delete has nothing to keep beside the Hub's version; say mine or theirs")
        if case.theirs is not None and case.fields and set(case.fields) <= _LONG_TEXTS:
            merged = {n: f"{case.theirs.get(n) or ''}{SEPARATOR}{case.mine[n] or ''}" for n in case.fields}
            if all(len(text.encode()) <= TEXT_BYTES for text in merged.values()):
                await self._keep_theirs()
                return await self._go(case.update, {"id": case.payload["id"], "changes": case.mine | merged})
        number = await self._copy(COPY)
        await self._end("lost")
        return number

    async def _live_again(self) -> int:
        """The task is gone at the Hub and its id with it: ours becomes a new one, and what waits for it follows."""
        case = self.case
        number = await self._copy("")
        made = await self.connection.execute_fetchall("SELECT entity FROM queue WHERE id = ?", (number,))
        new = str(next(iter(made))[0])
        later = await self.connection.execute_fetchall(
            "SELECT id, operation, payload, op_id FROM queue WHERE synced_at IS NULL AND entity = ? AND id > ?"
            " ORDER BY id",
            (case.entity, case.number),
        )
        for old, operation, payload, op_id in list(later):
            text = json.dumps({**json.loads(payload), "id": new.partition(":")[2]}, ensure_ascii=False)
            # At the end of the queue, for the new task's create stands there.
            await self.connection.execute(
                "INSERT INTO queue(operation, payload, created_at, op_id, entity, origin, target, edited_from)"
                " SELECT ?, ?, created_at, ?, ?, origin, target, ? FROM queue WHERE id = ?",
                (operation, text, new_id(), new, op_id, old),
            )
            await self._close(old, "edited")
        await self._end("edited")
        return number

    async def _copy(self, suffix: str) -> int:
        """A new thing with the fields of the Hub's, or of the last seen, and ours over them."""
        case = self.case
        fields = {**(case.theirs or self.known or {}), **({} if case.theirs else case.base), **case.mine}
        if not fields.get("content" if case.insight else "title"):
            raise UsageError("what it said is not known here any more; say theirs, and write it anew")
        payload = {name: fields[name] for name in case.names if fields.get(name) not in (None, [], ())}
        if case.insight:
            payload["content"] = f"{payload.get('content', '')}{suffix}"
        else:
            payload["title"] = f"{payload['title'][: TITLE_CHARACTERS - len(suffix)]}{suffix}"
        return await self._insert_create(payload, waiting=True)

    async def _go(self, operation: str, payload: dict[str, Any]) -> int:
        """Returns the row to its place, on the base of the Hub's copy."""
        case = self.case
        version, base = former_values(operation, payload, case.theirs if not case.candidates else None)
        same = payload == case.payload and operation == case.operation
        await self.connection.execute(
            "UPDATE parked SET operation = ?, payload = ?, base = ?, base_version = ?, op_id = ?,"
            " edited_from = ifnull(?, edited_from) WHERE id = ?",
            (
                operation,
                json.dumps(payload, ensure_ascii=False),
                base,
                version,
                case.op_id if same else new_id(),
                None if same else case.op_id,
                case.number,
            ),
        )
        await unpark(self.connection, case.number)
        return case.number

    async def _end(self, outcome: str) -> None:
        await unpark(self.connection, self.case.number)
        await self._close(self.case.number, outcome)

    async def _close(self, number: int, outcome: str) -> None:
        """Into the journal."""
        await self.connection.execute(
            "UPDATE queue SET synced_at = ?, outcome = ? WHERE id = ?", (self.now, outcome, number)
        )

    async def _keep_theirs(self) -> None:
        """The Hub's values that are about to be replaced, as an operation in the journal that would bring them back."""
        case = self.case
        if case.theirs is None:
            return
        if case.delete:
            kept = {name: case.theirs[name] for name in case.names if case.theirs.get(name) not in (None, [])}
            await self._insert_create(kept, waiting=False)
        else:
            values = {name: case.theirs.get(name) for name in case.mine}
            payload = {"id": case.payload["id"], "changes": values}
            await self._insert(case.update, payload, case.entity, waiting=False)

    async def _insert_create(self, fields: dict[str, Any], *, waiting: bool) -> int:
        insight = self.case.insight
        new = new_id()
        payload = {"id": new, **fields, "captured_at" if insight else "created_at": self.now}
        operation, kind = ("capture_insight", "insight") if insight else ("create_task", "task")
        return await self._insert(operation, payload, f"{kind}:{new}", waiting=waiting)

    async def _insert(self, operation: str, payload: dict[str, Any], entity: str, *, waiting: bool) -> int:
        cursor = await self.connection.execute(
            "INSERT INTO queue(operation, payload, created_at, op_id, entity, origin, target, synced_at, outcome)"
            " SELECT ?, ?, ?, ?, ?, origin, target, ?, ? FROM parked WHERE id = ?",
            (
                operation,
                json.dumps(payload, ensure_ascii=False),
                self.now,
                new_id(),
                entity,
                None if waiting else self.now,
                None if waiting else "lost",
                self.case.number,
            ),
        )
        return int(cursor.lastrowid or 0)
