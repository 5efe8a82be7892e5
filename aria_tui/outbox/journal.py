"""The journal of delivered rows: kept for some days, then gone in small steps; asked again after a restore."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import aiosqlite

from aria_tui.hub.client import HubClient
from aria_tui.hub.contract import read_time, write_time
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.store import Store

STEP = 500
_DELIVERED = ("applied", "duplicate", "superseded", "delivered")


async def prune(store: Store, clock: Clock, days: int) -> int:
    """Deletes one step of delivered rows older than ``days``; how many. 0: there is nothing left to do."""
    cutoff = clock.now() - timedelta(days=days)
    found = await store.read("SELECT id, synced_at FROM queue WHERE synced_at IS NOT NULL ORDER BY id LIMIT ?", (STEP,))
    old = []
    for number, at in found:
        try:
            if read_time(str(at)) < cutoff:
                old.append(number)
        except ValueError:
            old.append(number)  # a stranger's word for "delivered" that is no time: nothing is lost with it
    if not old:
        return 0

    async def job(connection: aiosqlite.Connection) -> int:
        await connection.executemany(
            "DELETE FROM queue WHERE id = ? AND synced_at IS NOT NULL", [(number,) for number in old]
        )
        return len(old)

    return await store.write(job)


async def verify(
    store: Store, clock: Clock, client: HubClient, target: str, *, key_days: int, resend: bool, timeout: float
) -> dict[str, Any]:
    """Asks the Hub for each journalled operation younger than its key retention (queue.md, "Hub restored").

    Gives ``{"asked", "missing": [queue numbers], "resent"}``; with ``resend`` what is missing goes back into the queue
    under its old number with its key. Raises HubUnavailable.
    """
    cutoff = write_time(clock.now() - timedelta(days=key_days))
    asked, after = 0, 0
    missing: list[int] = []
    deleted: dict[str, int] = {}
    names: dict[int, str] = {}
    while True:
        found = await store.read(
            "SELECT id, op_id, outcome, entity, operation FROM queue WHERE synced_at IS NOT NULL"
            " AND synced_at >= ? AND id > ? AND target = ? AND op_id IS NOT NULL ORDER BY id LIMIT ?",
            (cutoff, after, target, STEP),
        )
        for number, op_id, outcome, entity, operation in found:
            if outcome in _DELIVERED:
                asked += 1
                if await client.op_outcome(op_id, timeout) is None:
                    missing.append(number)
                    names[number] = entity
                elif operation.startswith("delete_"):
                    deleted[entity] = number
        if len(found) < STEP:
            break
        after = found[-1][0]
    # What was deleted after it, in an operation that the Hub does have, must not come to life again.
    missing = [number for number in missing if deleted.get(names[number], 0) < number]
    resent = await _send_again(store, missing) if resend else 0
    return {"asked": asked, "missing": missing, "resent": resent}


async def _send_again(store: Store, numbers: list[int]) -> int:
    async def job(connection: aiosqlite.Connection) -> int:
        await connection.executemany(
            "UPDATE queue SET synced_at = NULL, outcome = NULL, why = 'in_doubt', attempts = 0 WHERE id = ?",
            [(number,) for number in numbers],
        )
        return len(numbers)

    return await store.write(job) if numbers else 0
