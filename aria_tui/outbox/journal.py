"""The journal of delivered rows: kept for some days, then gone in small steps; asked again after a restore."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import aiosqlite

from aria_tui.hub.client import HubClient
from aria_tui.hub.contract import read_time, write_time
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.ids import new_id
from aria_tui.outbox.restoring import decided, left_of
from aria_tui.outbox.store import Store
from aria_tui.outbox.targets import UNVERSIONED

STEP = 500
_NEWEST = 2**62
_SENT = """
SELECT id, op_id, entity, operation, payload, journalled FROM (
  SELECT id, op_id, entity, operation, CAST(payload AS TEXT) AS payload, target, 1 AS journalled FROM queue
    WHERE synced_at >= ?1 AND outcome IN (SELECT value FROM json_each(?2))
  UNION ALL SELECT id, op_id, entity, operation, CAST(payload AS TEXT), target, 0 FROM queue
    WHERE synced_at IS NULL AND sent_at IS NOT NULL
  UNION ALL SELECT id, op_id, entity, operation, payload, target, 0 FROM parked WHERE sent_at IS NOT NULL)
WHERE target = ?3 AND id < ?4 AND op_id IS NOT NULL ORDER BY id DESC LIMIT ?5"""
"""What the Hub acknowledged, and what it may have done without an answer: that decides too, if the Hub did it."""
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
    under its old number with its key, without what a later operation decided that the Hub does have. Raises
    HubUnavailable.
    """
    cutoff = write_time(clock.now() - timedelta(days=key_days))
    asked, before = 0, _NEWEST
    missing: list[tuple[int, str, str | None]] = []
    later: dict[str, set[str]] = {}
    while True:
        # From the newest to the oldest, so that of each it is known what was decided after it.
        found = await store.read(_SENT, (cutoff, json.dumps(_DELIVERED), target, before, STEP))
        for number, op_id, entity, operation, text, journalled in found:
            asked += journalled
            payload = _object(text)
            if await client.op_outcome(op_id, timeout) is not None:
                later.setdefault(entity, set()).update(decided(operation, payload))
            elif journalled and (left := left_of(operation, payload, later.get(entity, ()))) is not None:
                missing.append((number, op_id, None if left == payload else json.dumps(left, ensure_ascii=False)))
        if len(found) < STEP:
            break
        before = found[-1][0]
    missing.reverse()
    resent = await _send_again(store, missing) if resend else 0
    return {"asked": asked, "missing": [number for number, _, _ in missing], "resent": resent}


def _object(text: str) -> dict[str, Any]:
    """A payload that the Hub took was an object; a stranger may have written over it since."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


async def forget_versions(store: Store, target: str) -> None:
    """What waits for a Hub that was restored rests on versions of another past: an equal number there would say that
    nothing changed. The former values still tell what others changed."""

    async def job(connection: aiosqlite.Connection) -> None:
        await connection.execute(
            "UPDATE queue SET base_version = NULL WHERE synced_at IS NULL AND target = ?", (target,)
        )
        await connection.execute(f"UPDATE parked SET {UNVERSIONED} WHERE target = ?", (target,))  # noqa: S608

    await store.write(job)


async def _send_again(store: Store, missing: Sequence[tuple[int, str, str | None]]) -> int:
    """Back into the queue, in place: a payload that lost something has a new key, linked to the old."""

    async def job(connection: aiosqlite.Connection) -> int:
        await connection.executemany(
            "UPDATE queue SET synced_at = NULL, outcome = NULL, why = 'in_doubt', attempts = 0 WHERE id = ?",
            [(number,) for number, _, _ in missing],
        )
        await connection.executemany(
            "UPDATE queue SET payload = ?, op_id = ?, edited_from = ? WHERE id = ?",
            [(text, new_id(), op_id, number) for number, op_id, text in missing if text is not None],
        )
        return len(missing)

    return await store.write(job) if missing else 0
