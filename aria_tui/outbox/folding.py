"""Folding (coalescing): what needn't go over the wire one by one (queue.md, "Folding").

Pure: rows in, rows out. Only operations of ours that were never sent, of one entity, next to each other in its
order. The survivor keeps the first one's number, key and place. A store_briefing keeps nothing of the earlier one
but these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from aria_tui.outbox.rows import Row

_CREATES = {"create_task", "capture_insight"}
_UPDATES = {"update_task", "update_insight"}
_DELETES = {"delete_task", "delete_insight"}


class Folded(msgspec.Struct, frozen=True):
    """What folding makes of rows: every survivor with the numbers that went into it, and what cancels itself out."""

    survivors: tuple[tuple[Row, tuple[int, ...]], ...]
    cancelled: tuple[int, ...]

    @property
    def changed(self) -> list[tuple[Row, tuple[int, ...]]]:
        """The survivors that took something in."""
        return [(row, numbers) for row, numbers in self.survivors if len(numbers) > 1]


def fold(rows: Iterable[Row], *, plain: bool = False) -> Folded:
    """Folds waiting rows, given in order of their numbers. ``plain``: for a Hub that may ignore a create's status."""
    by_entity: dict[str, list[tuple[Row, tuple[int, ...]]]] = {}
    cancelled: list[int] = []
    for row in rows:
        kept = by_entity.setdefault(row.entity, [])
        merge = _merge(kept[-1][0], row, plain) if kept else None
        if merge is None:
            kept.append((row, (row.id,)))
            continue
        first, numbers = kept.pop()
        survivor = merge(first, row)
        if survivor is None:
            cancelled += [*numbers, row.id]
        else:
            kept.append((survivor, (*numbers, row.id)))
    survivors = sorted((pair for kept in by_entity.values() for pair in kept), key=lambda pair: pair[0].id)
    return Folded(tuple(survivors), tuple(sorted(cancelled)))


def may_fold(row: Row) -> bool:
    """An operation that was sent, or whose payload isn't ours, is never folded and never changed."""
    return row.ours and row.sent_at is None


def _merge(first: Row, second: Row, plain: bool) -> Callable[[Row, Row], Row | None] | None:
    """How two neighbours of one entity fold, or None: they don't."""
    if not (may_fold(first) and may_fold(second)) or first.target != second.target:
        return None
    before, after = first.operation, second.operation
    if plain and before in _CREATES and _sets_status(second):
        return None
    if before in _CREATES:
        if after in _UPDATES:
            return _create_update
        if after == "complete_task":
            return _create_complete
        if after in _DELETES:
            return _nothing
    elif before in _UPDATES:
        if after in _UPDATES:
            return _update_update
        if after in _DELETES:
            return _update_delete
    elif before == after == "store_briefing":
        return _last
    return None


def _sets_status(row: Row) -> bool:
    return row.operation == "complete_task" or "status" in row.arguments().get("changes", {})


def _create_update(first: Row, second: Row) -> Row:
    payload, changes = first.arguments(), second.arguments()["changes"]
    if changes.get("status", "DONE") != "DONE":
        payload.pop("completed_at", None)  # as the Hub does when a task is reopened
    payload.update(changes)
    return _with(first, {name: value for name, value in payload.items() if value is not None})


def _create_complete(first: Row, second: Row) -> Row:
    payload = first.arguments() | {"status": "DONE"}
    if at := second.arguments().get("completed_at"):
        payload["completed_at"] = at
    return _with(first, payload)


def _nothing(_: Row, __: Row) -> None:
    return None


def _update_update(first: Row, second: Row) -> Row:
    payload = first.arguments()
    payload["changes"] = payload["changes"] | second.arguments()["changes"]
    return msgspec.structs.replace(_with(first, payload), base=_earliest_base(first, second))


def _update_delete(first: Row, second: Row) -> Row:
    changed = _with(first, second.arguments())
    return msgspec.structs.replace(changed, operation=second.operation, base=_earliest_base(first, second))


def _last(first: Row, second: Row) -> Row:
    return msgspec.structs.replace(first, payload=second.payload)


def _earliest_base(first: Row, second: Row) -> str | None:
    """The former value of each field is what the first edit of it saw; where that one didn't know it, nobody did."""
    known = json.loads(first.base) if first.base else {}
    later: dict[str, Any] = json.loads(second.base) if second.base else {}
    touched = first.arguments().get("changes", {})
    merged = {**{name: value for name, value in later.items() if name not in touched}, **known}
    return json.dumps(merged, ensure_ascii=False) if merged else None


def _with(row: Row, payload: dict[str, Any]) -> Row:
    return msgspec.structs.replace(row, payload=json.dumps(payload, ensure_ascii=False))
