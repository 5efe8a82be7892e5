"""An edit on top of waiting edits rests on their result (queue.md, "Conflicts"): when one of those is discarded or
gets another payload, what waits behind it rests on what is before it now. Else the user would be in conflict with
values that nobody ever sent.
"""

from __future__ import annotations

import json
from typing import Any

import aiosqlite

from aria_tui.outbox.overlay import change_of

_BEHIND = (
    "SELECT 'queue', id, operation, payload, base FROM queue WHERE entity = ?1 AND id > ?2 AND synced_at IS NULL"
    " UNION ALL SELECT 'parked', id, operation, payload, base FROM parked WHERE entity = ?1 AND id > ?2 ORDER BY id"
)


async def rebase(connection: aiosqlite.Connection, table: str, number: int, payload: str | None) -> None:
    """Before a row of ``table`` (queue, parked) gets ``payload``, or with None goes: mends what rests on it."""
    found = await connection.execute_fetchall(
        f"SELECT operation, payload, entity, base FROM {table} WHERE id = ?",  # noqa: S608
        (number,),
    )
    for operation, before, entity, base in found:
        if not entity:
            continue  # a row that nobody has looked at yet: nothing rests on it
        old = _sets(operation, before, entity)
        new = _sets(operation, payload, entity) if payload is not None else {}
        former: dict[str, Any] = json.loads(base) if base else {}
        changed = {name for name in old.keys() | new.keys() if name not in new or new[name] != old.get(name)}
        values = {name: {**former, **new}[name] for name in changed if name in new or name in former}
        await _mend(connection, entity, number, changed, values)


async def _mend(
    connection: aiosqlite.Connection, entity: str, number: int, changed: set[str], values: dict[str, Any]
) -> None:
    """``changed``: the fields that stand otherwise behind the row; ``values``: as what, where that is known. Of each,
    only the first row that sets it rests on that."""
    for table, later, operation, payload, base in list(await connection.execute_fetchall(_BEHIND, (entity, number))):
        based: dict[str, Any] = json.loads(base) if base else {}
        here = changed & (_sets(operation, payload, entity).keys() | based.keys())
        if stale := here & based.keys():
            kept = {name: value for name, value in based.items() if name not in stale}
            kept |= {name: values[name] for name in stale if name in values}
            text = json.dumps(kept, ensure_ascii=False) if kept else None
            await connection.execute(f"UPDATE {table} SET base = ? WHERE id = ?", (text, later))  # noqa: S608
        changed = changed - here


def _sets(operation: str, payload: str, entity: str) -> dict[str, Any]:
    change = change_of(operation, payload, entity, "")
    return change.fields if change is not None else {}
