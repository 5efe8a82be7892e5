"""The counters of what waits, held against a count.

Triggers keep them through whatever other programs do; one way past a trigger is left (``UPDATE OR REPLACE`` of a
number), and a drain reads every row anyway.
"""

from __future__ import annotations

import aiosqlite

from aria_tui.outbox.store import Store

_SUMS = "SELECT (SELECT total(waiting) FROM counters) = (SELECT count(*) FROM queue WHERE synced_at IS NULL)"
_COUNT = "SELECT CAST(operation AS TEXT), ifnull(target, ''), count(*) FROM queue WHERE synced_at IS NULL GROUP BY 1, 2"

ANEW = (
    "DELETE FROM counters",
    "INSERT INTO counters SELECT operation, ifnull(target, ''), count(*) FROM queue"
    " WHERE synced_at IS NULL GROUP BY 1, 2",
)
"""The statements that count everything."""


async def mend(store: Store, *, thoroughly: bool = False) -> bool:
    """Puts the counters right where they are wrong; whether they were.

    What goes past a trigger goes missing as a whole, so that the sum tells; ``thoroughly``: each counter is looked at.
    """
    if not thoroughly and (await store.read(_SUMS))[0][0]:
        return False
    counted = await store.read(_COUNT)
    kept = await store.read("SELECT CAST(operation AS TEXT), target, waiting FROM counters WHERE waiting <> 0")
    if sorted(counted) == sorted(kept):
        return False

    async def job(connection: aiosqlite.Connection) -> None:
        for statement in ANEW:
            await connection.execute(statement)

    await store.write(job)
    return True
