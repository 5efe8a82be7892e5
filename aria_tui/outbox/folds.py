"""Folding, applied: planned for the eye, or committed in one transaction at the start of a drain (queue.md)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiosqlite

from aria_tui.outbox import rows, state
from aria_tui.outbox.connecting import shown
from aria_tui.outbox.folding import fold
from aria_tui.outbox.parked import PAIRS
from aria_tui.outbox.rows import COLUMNS, Row, id_list
from aria_tui.outbox.store import Store
from aria_tui.outbox.transfer import EXPORTED

_PAGE = 1000
_ALL = 2**62


async def off(store: Store) -> bool:
    """Folding is off once a stranger marked rows that we did not see acknowledged: a create that it delivered
    would be left standing by a delete that was folded away."""
    return bool(await state.get(store, "foreign_marks", int))


async def as_they_are(store: Store) -> int:
    """The number up to which nothing is folded: what was exported may be sent from elsewhere under the same keys."""
    return _ALL if await off(store) else await state.get(store, EXPORTED, int) or 0


async def plan(store: Store, target: str, *, plain: bool = False) -> dict[str, Any]:
    """What would go over the wire, as `aria sync --plan --json` prints it. Writes nothing.

    What stands behind a parked operation stays where it is; a dead create whose delete waits is cancelled with it.
    """
    parked = dict(await store.read("SELECT entity, min(id) FROM parked GROUP BY entity"))
    pairs = await store.read(PAIRS)
    gone = {create: delete if refused else delete - 1 for create, delete, refused in pairs}
    cancelled = list(gone)
    waiting = []
    async for row in _all(store):
        head = parked.get(row.entity)
        if row.target != target or (head is not None and head < row.id and head not in gone):
            continue
        if head is not None and head in gone and row.id <= gone[head]:
            cancelled.append(row.id)
        else:
            waiting.append(row)
    last = await as_they_are(store)
    whole = [(row, (row.id,)) for row in waiting if row.id <= last]
    folded = fold([row for row in waiting if row.id > last], plain=plain)
    operations = [
        {
            "op_id": row.op_id,
            "operation": shown(row.operation),
            "entity": row.entity,
            "payload": _read(row.payload),
            "from": list(numbers),
        }
        for row, numbers in (*whole, *folded.survivors)
    ]
    return {"operations": operations, "cancelled": sorted([*cancelled, *folded.cancelled])}


async def _all(store: Store) -> AsyncIterator[Row]:
    after = 0
    while page := await rows.page(store, after, _PAGE):
        for row in page:
            yield row
        after = page[-1].id


async def commit(store: Store, now: str, target: str, *, plain: bool = False) -> int:
    """Folds what waits for a target, in one transaction under the drain lock; how many rows were folded away."""
    candidates = await store.read(
        # "likelihood": else SQLite takes the index of all that waits, and sorts it by entity.
        "SELECT entity FROM (SELECT entity FROM queue WHERE likelihood(synced_at IS NULL, 0.99)"
        " GROUP BY entity HAVING count(*) > 1) AS e"
        " WHERE 1 < (SELECT count(*) FROM queue q WHERE synced_at IS NULL AND q.entity = e.entity AND sent_at IS NULL)"
    )
    last = await as_they_are(store) if candidates else _ALL
    if last == _ALL:
        return 0
    entities = json.dumps([row[0] for row in candidates])

    async def job(connection: aiosqlite.Connection) -> int:
        found = await connection.execute_fetchall(
            f"SELECT {COLUMNS} FROM queue WHERE synced_at IS NULL AND target = ? AND id > ?"  # noqa: S608
            " AND entity IN (SELECT value FROM json_each(?)) ORDER BY id",
            (target, last, entities),
        )
        folded = fold((Row(*row) for row in found), plain=plain)
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
        return shown(payload)
