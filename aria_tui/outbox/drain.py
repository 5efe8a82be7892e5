"""Draining: what waits goes to its Hub, in order, in one lane of batches, under the drain lock (queue.md).

Rows are committed before an event is reported. Clock, sleep, randomness and transport are the caller's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import aiosqlite

from aria_tui.config import Config
from aria_tui.hub.client import Probe
from aria_tui.models import Frozen, SyncProgress, SyncReport
from aria_tui.outbox import counters, folds, journal, parked, rows, state
from aria_tui.outbox.clock import Clock, seconds_until
from aria_tui.outbox.lane import FIRST_BATCH, SMALLEST, Delivered, Lane, Seen, is_alive
from aria_tui.outbox.link import Link
from aria_tui.outbox.rows import Row
from aria_tui.outbox.store import Store

_PAGE = 1000
_ROUNDS = 3
"""How often a drain begins anew because a conflict was settled by policy."""


class Running(Frozen, frozen=True, kw_only=True):
    """A drain as other processes see it. ``run`` names it."""

    pid: int
    run: str
    progress: SyncProgress
    finished: SyncReport | None = None

    @property
    def alive(self) -> bool:
        """The process that drains is there."""
        return is_alive(self.pid)


class Drain(Lane):
    """One drain of one Hub. Make a new one for each; it ends by itself or by ``stop``."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        link: Link,
        config: Config,
        *,
        manual: bool,
        report: Callable[[SyncProgress], None],
        delivered: Delivered,
        seen: Seen,
        limit_s: float | None = None,
    ) -> None:
        super().__init__(store, clock, link, config, report=report, delivered=delivered, seen=seen, limit_s=limit_s)
        self.manual = manual
        self._run: str | None = None

    async def run(self) -> SyncReport:
        """Drains and gives the report. Raises NotSaved where the queue's file can't be written."""
        self._run = f"{os.getpid()}-{id(self)}-{self._started}"
        if await self._ready():
            await rows.adopt_strangers(self.store, self.link.target)
            await counters.mend(self.store)
            await parked.cancel_dead_pairs(self.store, self.link.now())
            await folds.commit(self.store, self.link.now(), self.link.target, plain=self.link.client.plain)
            self._total = await self._waiting()
            self._size = min(FIRST_BATCH, max(SMALLEST, -(-self._total // 2)))
            self._most = self._limits()[0]
            if self._total:
                await self._rounds()
        return await self._finish()

    async def send_one(self, number: int) -> None:
        """Sends one row at once; what is in its way leaves it queued."""
        found = [row for row in await rows.page(self.store, number - 1, 1) if row.id == number]
        if not found or found[0].target != self.link.target:
            return
        if not await rows.heads(self.store, found[0].entity, number):
            return  # a new write never overtakes a waiting one of its entity
        if not self.link.bound and not (await self._in_time(self.link.probe(self._timeout()))):
            return
        gate = self.link.gate
        if not self.link.restored and (gate is None or gate.seconds(self.clock) == 0):
            await self._lane(found)

    async def _ready(self) -> bool:
        """Whether anything may be sent now: the gate, then one request that says who is there."""
        gate = self.link.gate
        if gate is not None and gate.code == "retry_after" and gate.seconds(self.clock):
            return False  # a manual sync ignores backoff, but never Retry-After
        if gate is not None and not self.manual and gate.seconds(self.clock):
            return False
        found: Probe | None = await self._in_time(self.link.probe(self._timeout()))
        return found is not None and found.may_send and not self.link.restored

    # Passes

    async def _rounds(self) -> None:
        self._blocked = await self._parked_entities()
        for _ in range(_ROUNDS):
            self._settled_again = False
            await self._pass()
            if not self._settled_again:
                return

    async def _pass(self) -> None:
        """From the first row to the last, then on to what came meanwhile, until nothing new is there."""
        batch, after = await self._next_batch(0)
        while not self.stopping:
            if batch:
                # The next rows are read while these are on their way.
                reading = asyncio.ensure_future(self._next_batch(after, growing=True))
                try:
                    goes_on = await self._lane(batch)
                finally:
                    following = (await asyncio.gather(reading, return_exceptions=True))[0]
                if not goes_on:
                    return
                if isinstance(following, BaseException):
                    raise following
                batch, after = following
            if not batch:
                await rows.adopt_strangers(self.store, self.link.target)
                batch, after = await self._next_batch(after)
                if not batch:
                    return

    async def _next_batch(self, after: int, *, growing: bool = False) -> tuple[list[Row], int]:
        """The next rows that may be sent, as many as fit, and the number up to which the queue was looked through.

        ``growing``: as many as may be sent at once if what is on its way is answered quickly.
        """
        operations, room = self._limits()
        wanted = min(self._size * 2 if growing else self._size, self._most, operations)
        batch: list[Row] = []
        size = self.link.client.batch_overhead(self._client_id())
        while True:
            page = await rows.page(self.store, after, max(100, min(wanted - len(batch), _PAGE)))
            for row in page:
                if self._may_send(row):
                    weight = _weight(row)
                    if batch and (len(batch) >= wanted or size + weight > room):
                        return batch, after
                    batch.append(row)
                    size += weight
                after = row.id
            if not page or len(batch) >= wanted:
                return batch, after

    def _may_send(self, row: Row) -> bool:
        """Decides about one row, in order; what stays behind blocks later rows of its entity."""
        if row.target != self.link.target or not row.op_id:
            return False
        if self._parked_ahead(row):
            return False
        known = self.link.known.operations if self.link.known else None
        learned = known is not None and known.get(row.operation, 0) >= row.schema_version
        held = row.why == "held_operation" and not self.manual and not learned
        waits = not self.manual and seconds_until(self.clock, row.due, row.due_boot) > 0
        if held or waits:
            self._block(row)
            return False
        return True

    async def _parked_entities(self) -> dict[str, int]:
        return dict(await self.store.read("SELECT entity, min(id) FROM parked GROUP BY entity"))

    async def _waiting(self) -> int:
        found = await self.store.read("SELECT total(waiting) FROM counters WHERE target = ?", (self.link.target,))
        return int(found[0][0])

    async def _publish(self, connection: aiosqlite.Connection, report: SyncReport | None = None) -> None:
        await super()._publish(connection)
        if self._run is not None:  # the immediate send of one row is no drain to look at
            running = Running(pid=os.getpid(), run=self._run, progress=self._progress(), finished=report)
            await state.put_in(connection, "drain", running)

    async def _finish(self) -> SyncReport:
        remaining = int((await self.store.read("SELECT total(waiting) FROM counters"))[0][0])
        tally = self._tally
        report = SyncReport(
            synced=tally.synced,
            superseded=tally.superseded,
            failed=tally.failed,
            remaining=remaining,
            dead_letters=tally.dead_letters,
            conflicts=tally.conflicts,
            hub=self.link.status,
            stopped=self._stop.is_set(),
        )
        good = self.link.status.state in ("online", "slow", "embedded")

        async def job(connection: aiosqlite.Connection) -> None:
            await self._publish(connection, report)
            if good and not report.stopped:
                await state.put_in(connection, f"last_sync:{self.link.target}", self.link.now())

        if self._attempted or tally.done:
            await self.store.write(job)
            await asyncio.shield(journal.prune(self.store, self.clock, self.config.queue.journal_days))
        return report


def _weight(row: Row) -> int:
    """An upper bound of the bytes that a row takes in a batch."""
    text = f"{row.operation}{row.payload}{row.base or ''}{row.entity}{row.op_id}"
    return 200 + (len(text) if text.isascii() else len(text.encode(errors="surrogateescape")))
