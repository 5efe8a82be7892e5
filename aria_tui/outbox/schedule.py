"""When an automatic drain is worth the next try."""

from __future__ import annotations

from aria_tui.outbox.clock import Clock
from aria_tui.outbox.link import Link
from aria_tui.outbox.store import Store

LONGEST = 60.0
"""Seconds after which a drain is tried again at the latest, whatever kept the last ones from delivering anything."""
_FIRST_DUE = (
    "SELECT min(CASE WHEN due_boot = ?1 THEN ifnull(due, 0) ELSE 0 END) FROM queue q"
    " WHERE synced_at IS NULL AND target = ?2 AND ifnull(why, '') <> 'held_operation'"
    " AND NOT EXISTS (SELECT 1 FROM queue b WHERE b.synced_at IS NULL AND b.entity = q.entity AND b.id < q.id)"
    " AND NOT EXISTS (SELECT 1 FROM parked p WHERE p.entity = q.entity AND p.id < q.id)"
)


async def next_drain(store: Store, clock: Clock, link: Link, fruitless: int) -> float | None:
    """The steady moment of the next automatic drain after one that just ended; None: nothing waits that could go.

    ``fruitless``: how many drains before now delivered nothing. No file that can't be written and no Hub that answers
    oddly makes a hot loop of it.
    """
    if link.restored:
        return None
    now = clock.steady()
    pause = 0.2 if not fruitless else min(LONGEST, 2.0**fruitless)
    wait = link.gate.held(clock) if link.gate is not None else 0.0
    if wait:
        return now + max(wait, 0.2)
    first = (await store.read(_FIRST_DUE, (clock.boot, link.target)))[0][0]
    return None if first is None else max(float(first), now + pause)
