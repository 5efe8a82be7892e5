"""Draining: what waits goes to its Hub, in order, in one lane of batches, under the drain lock (queue.md).

Rows are committed before an event is reported. Clock, sleep, randomness and transport are the caller's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

import msgspec

from aria_tui.config import Config
from aria_tui.errors import NotSaved, QueueUnavailable
from aria_tui.hub.client import Probe
from aria_tui.models import SyncProgress, SyncReport
from aria_tui.outbox import counters, folds, journal, parked, rows, state
from aria_tui.outbox.books import Delivered, Seen
from aria_tui.outbox.clock import Clock, seconds_until
from aria_tui.outbox.lane import FIRST_BATCH, SMALLEST, Lane
from aria_tui.outbox.link import Link
from aria_tui.outbox.rows import Row
from aria_tui.outbox.store import Store

_PAGE = 1000
_ROUNDS = 3
"""How often a drain begins anew because of what changed while it went on."""


class Portion(msgspec.Struct):
    """The next rows that may be sent, and the number up to which the queue was looked through; ``edits``: how often
    anybody had changed waiting rows before these were read (None: that isn't known)."""

    rows: list[Row]
    after: int
    edits: int | None = None


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
        self._after = 0
        """The number up to which the queue was looked through."""
        self._reading: asyncio.Task[Portion] | None = None

    async def run(self) -> SyncReport:
        """Drains and gives the report. Raises NotSaved where the queue's file can't be written."""
        self.books.run = f"{os.getpid()}-{id(self)}-{self.clock.steady()}"
        try:
            await self._drain()
        except NotSaved:
            with contextlib.suppress(NotSaved, QueueUnavailable):  # those who look on should hear of the end
                await self.books.finish(await self._report(), last_sync=False)
            raise
        return await self._finish()

    async def _drain(self) -> None:
        if await self._ready():
            await rows.adopt_strangers(self.store, self.link.target)
            await counters.mend(self.store)
            await parked.cancel_dead_pairs(self.store, self.link.now())
            await folds.commit(self.store, self.link.now(), self.link.target, plain=self.link.client.plain)
            self.books.total = await self._waiting()
            self._size = min(FIRST_BATCH, max(SMALLEST, -(-self.books.total // 2)))
            self._most = self._limits()[0]
            if self.books.total:
                await self._rounds()

    async def send_one(self, number: int) -> None:
        """Sends one row at once; what is in its way leaves it queued."""
        if not self.link.bound and not (await self._in_time(self.link.probe(self._timeout()))):
            return
        await rows.adopt_strangers(self.store, self.link.target)
        found = [row for row in await rows.page(self.store, number - 1, 1) if row.id == number]
        if not found or found[0].target != self.link.target:
            return
        if not await rows.heads(self.store, found[0].entity, number):
            return  # a new write never overtakes a waiting one of its entity
        gate = self.link.gate
        if not self.link.restored and (gate is None or gate.held(self.clock) == 0):
            async with self.books.paying_at_the_end():
                await self._lane(found)
            if number % journal.STEP == 0:
                await self._prune()

    async def _ready(self) -> bool:
        """Whether anything may be sent now: the gate, then one request that says who is there, unless that was said
        a moment ago."""
        gate = self.link.gate
        if gate is not None and gate.asked_for(self.clock):
            return False  # a manual sync ignores backoff, but never Retry-After
        if gate is not None and not self.manual and gate.seconds(self.clock):
            return False
        if self.link.fresh and await self._waiting():
            return True
        found: Probe | None = await self._in_time(self.link.probe(self._timeout()))
        if found is None or not found.may_send or self.link.restored:
            return False
        gate = self.link.gate  # of the account that just became known, perhaps
        return gate is None or not gate.asked_for(self.clock)

    # Passes

    async def _rounds(self) -> None:
        self.books.blocked = await self._parked_entities()
        for _ in range(_ROUNDS):
            async with self.books.paying_at_the_end():
                await self._pass()
            if not self.books.another_round():
                return

    async def _pass(self) -> None:
        """From the first row to the last, then on to what came meanwhile, until nothing new is there."""
        batch = await self._next_batch(0)
        while not self.stopping:
            self._after = batch.after
            if batch.rows:
                try:
                    goes_on = await self._lane(batch.rows, batch.edits)
                except BaseException:
                    with contextlib.suppress(NotSaved, QueueUnavailable):  # the first error is the one to be told
                        await self._read_meanwhile()
                    raise
                following = await self._read_meanwhile()
                if not goes_on:
                    return
                batch = following or await self._next_batch(self._after)
            if not batch.rows:
                await self.books.pay()
                await rows.adopt_strangers(self.store, self.link.target)
                batch = await self._next_batch(batch.after)
                if not batch.rows:
                    return

    def _under_way(self) -> None:
        """The next rows are read while these are on their way."""
        if self.books.run is not None and self._reading is None:
            self._reading = asyncio.create_task(self._read_on())

    async def _read_on(self) -> Portion:
        if await self.books.paid() is not None:  # for a commit has to wait for whoever reads
            return Portion([], self._after)  # the drain ends by it
        return await self._next_batch(self._after, growing=True)

    async def _read_meanwhile(self) -> Portion | None:
        """What was read while a request was under way; None: there was none, or it was for another number of rows."""
        reading, self._reading = self._reading, None
        return await reading if reading is not None else None

    async def _next_batch(self, after: int, *, growing: bool = False) -> Portion:
        """The next rows that may be sent, as many as fit.

        ``growing``: as many as may be sent at once if what is on its way is answered quickly.
        """
        operations, room = self._limits()
        wanted = min(self._size * 2 if growing else self._size, self._most, operations)
        batch: list[Row] = []
        edits = await state.get(self.store, "edits", int)
        size = self.link.client.batch_overhead(self._client_id())
        while True:
            page = await rows.page(self.store, after, max(100, min(wanted - len(batch), _PAGE)))
            for row in page:
                if not row.op_id:
                    # A stranger's that nobody has looked at yet: nothing of its entity goes first.
                    return Portion(batch, after, edits)
                if self._may_send(row):
                    weight = self._encode(row)
                    if batch and (len(batch) >= wanted or size + weight > room):
                        return Portion(batch, after, edits)
                    batch.append(row)
                    size += weight
                after = row.id
            if not page or len(batch) >= wanted:
                return Portion(batch, after, edits)

    def _may_send(self, row: Row) -> bool:
        """Decides about one row, in order; what stays behind blocks later rows of its entity."""
        if row.target != self.link.target or self.books.parked_ahead(row):
            return False
        if self.manual:
            return True
        held = row.why == "held_operation" and not self._learned(row)
        if held or seconds_until(self.clock, row.due, row.due_boot) > 0:
            self.books.block(row)
            return False
        return True

    def _learned(self, row: Row) -> bool:
        """The Hub says by now that it knows the operation."""
        known = self.link.known
        return known is not None and known.operations.get(row.operation, 0) >= row.schema_version

    async def _parked_entities(self) -> dict[str, int]:
        return dict(await self.store.read("SELECT entity, min(id) FROM parked GROUP BY entity"))

    async def _waiting(self) -> int:
        found = await self.store.read("SELECT total(waiting) FROM counters WHERE target = ?", (self.link.target,))
        return int(found[0][0])

    async def _report(self) -> SyncReport:
        remaining = int((await self.store.read("SELECT total(waiting) FROM counters"))[0][0])
        tally = self.books.tally
        return SyncReport(
            synced=tally.synced,
            superseded=tally.superseded,
            failed=tally.failed,
            remaining=remaining,
            dead_letters=tally.dead_letters,
            conflicts=tally.conflicts,
            hub=self.link.status,
            stopped=self._stop.is_set(),
        )

    async def _finish(self) -> SyncReport:
        report = await self._report()
        good = self.link.status.state in ("online", "slow", "embedded")
        if self.books.attempted or self.books.tally.done:
            await self.books.finish(report, last_sync=good and not report.stopped)
        await self._prune()
        return report

    async def _prune(self) -> None:
        """One step of what is too old for the journal goes. Somebody whose writes all go at once never has anything
        to drain; so a drain of nothing does it too, and every ``STEP``-th write."""
        with contextlib.suppress(NotSaved, QueueUnavailable):  # it can wait for another time
            await asyncio.shield(journal.prune(self.store, self.clock, self.config.queue.journal_days))
