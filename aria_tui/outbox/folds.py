"""Folding, applied: planned for the eye, or committed in one transaction at the start of a drain (queue.md)."""

from __future__ import annotations

import json
from typing import Any

import aiosqlite

from aria_tui.outbox import rows, state
from aria_tui.outbox.folding import Folded, fold
from aria_tui.outbox.rows import COLUMNS, Row, id_list
from aria_tui.outbox.store import Store


async def off(store: Store) -> bool:
    """Folding is off once a stranger marked rows that we did not see acknowledged: a create that it delivered
    would be left standing by a delete that was folded away."""
    return bool(await state.get(store, "foreign_marks", int))


async def plan(store: Store, target: str, after: int = 0, limit: int = 10_000) -> dict[str, Any]:
    """What would go over the wire, as `aria sync --plan --json` prints it. Writes nothing."""
    waiting = [row for row in await rows.page(store, after, limit) if row.target in (target, "") or not row.target]
    folded = Folded(tuple((row, (row.id,)) for row in waiting), ()) if await off(store) else fold(waiting)
    operations = [
        {
            "op_id": row.op_id,
            "operation": row.operation,
            "entity": row.entity,
            "payload": _read(row.payload),
            "from": list(numbers),
        }
        for row, numbers in folded.survivors
    ]
    return {"operations": operations, "cancelled": list(folded.cancelled)}


async def commit(store: Store, now: str, target: str) -> int:
    """Folds what waits for a target, in one transaction under the drain lock; how many rows were folded away."""
    candidates = await store.read(
        "SELECT entity FROM queue WHERE synced_at IS NULL"
        " GROUP BY entity HAVING count(*) > 1 AND sum(sent_at IS NULL) > 1"
    )
    if not candidates or await off(store):
        return 0
    entities = json.dumps([row[0] for row in candidates])

    async def job(connection: aiosqlite.Connection) -> int:
        found = await connection.execute_fetchall(
            f"SELECT {COLUMNS} FROM queue WHERE synced_at IS NULL AND target = ?"  # noqa: S608
            " AND entity IN (SELECT value FROM json_each(?)) ORDER BY id",
            (target, entities),
        )
        folded = fold(Row(*row) for row in found)
        away = 0
        for survivor, numbers in folded.changed:
            absorbed = numbers[1:]
            away += len(absorbed)
            await connection.execute(
                "UPDATE queue SET synced_at = ?, outcome = 'folded', folded_into = ?"
                " WHERE id IN (SELECT value FROM json_each(?))",
                (now, survivor.id, id_list(absorbed)),
            )
            await connection.execute(
                "UPDATE queue SET operation = ?, payload = ?, base_version = ?, base = ? WHERE id = ?",
                (survivor.operation, survivor.payload, survivor.base_version, survivor.base, survivor.id),
            )
        if folded.cancelled:
            await connection.execute(
                "UPDATE queue SET synced_at = ?, outcome = 'cancelled' WHERE id IN (SELECT value FROM json_each(?))",
                (now, id_list(folded.cancelled)),
            )
        return away + len(folded.cancelled)

    return await store.write(job)


def _read(payload: str) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return payload
