"""The work in the background of a program that stays: probes, drains by itself, notices what others wrote.

Nothing of it polls content: another process's commit is seen by ``PRAGMA data_version`` (queue.md, "Seeing it").
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from aria_tui.config import Config
from aria_tui.errors import AriaError
from aria_tui.models import Change, HubStatus, SyncFinished
from aria_tui.outbox import journal, state
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.drain import Running
from aria_tui.outbox.link import Link
from aria_tui.outbox.store import Store
from aria_tui.outbox.syncer import Syncer

TICK = 0.25
GOOD_PROBE = 20.0
"""Seconds between two probes of a Hub that answers."""
AWAY_PROBES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before the next probe of a Hub that is away: a Hub that is back is noticed within 10 s."""
_AWAY = {"offline", "not_the_hub", "unknown", "slow"}


class Monitor:
    """Runs while ``changes`` is iterated. ``link`` gives the way to the Hub, loaded."""

    def __init__(
        self, store: Store, clock: Clock, config: Config, syncer: Syncer, link: Callable[[], Awaitable[Link]]
    ) -> None:
        self.store, self.clock, self.config, self.syncer = store, clock, config, syncer
        self._link = link
        self._news: dict[str, Change] = {}
        self._fresh = asyncio.Event()
        self._version = -1
        self._foreign = ""
        self._probe_at = 0.0
        self._drain_at: float | None = 0.0
        self._failures = 0
        self._unsaved: tuple[int, int] = (0, 0)
        self._status = HubStatus()
        self._rounds = 0

    async def changes(self) -> AsyncIterator[Change]:
        """What changed, for ever; bursts collapse into the newest of each kind."""
        task = asyncio.create_task(self._work(), name="outbox monitor")
        try:
            while True:
                await self._fresh.wait()
                self._fresh.clear()
                news, self._news = self._news, {}
                for change in news.values():
                    yield change
                if task.done():
                    task.result()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def poke(self) -> None:
        """Probes at once."""
        self._probe_at = 0.0
        self._failures = 0

    def tell(self, change: Change) -> None:
        """Hands a change to whoever iterates; a newer one of its kind takes its place, but no end of a sync."""
        ended = isinstance(change.sync, SyncFinished)
        self._news[f"{change.what}{'-end' if ended else ''}"] = change
        self._fresh.set()

    async def _work(self) -> None:
        drain: asyncio.Task[None] | None = None
        probe: asyncio.Task[None] | None = None
        try:
            while True:
                now = self.clock.steady()
                await self._quietly(self._look())
                if probe is None or probe.done():
                    if now >= self._probe_at and not self.syncer.busy:
                        probe = asyncio.create_task(self._quietly(self._probe()))
                    else:
                        probe = None
                if self._may_drain(now) and (drain is None or drain.done()):
                    self._drain_at = None
                    drain = asyncio.create_task(self._quietly(self._drain()))
                await self.clock.sleep(TICK)
        finally:
            for task in (probe, drain):
                if task is not None and not task.done():
                    task.cancel()
            await asyncio.gather(*(t for t in (probe, drain) if t is not None), return_exceptions=True)

    async def _quietly(self, step: Awaitable[None]) -> None:
        """A step that fails says so and doesn't end the others: the queue may be locked or gone for a while."""
        try:
            await step
        except (AriaError, OSError) as error:
            self.tell(Change(what="notice", text=str(error)))
            self._probe_at = max(self._probe_at, self.clock.steady() + AWAY_PROBES[-1])

    async def _look(self) -> None:
        """Other connections' commits, and other processes' drains."""
        version = await self.store.data_version()
        if version == self._version:
            return
        first, self._version = self._version == -1, version
        self.tell(Change(what="queue"))
        running = await state.get(self.store, "drain", Running)
        if running is not None and not self.syncer.busy and not first:
            self._foreign_drain(running)
        if self._drain_at is None and not self.syncer.busy:
            self._drain_at = self.clock.steady() + 0.5

    def _foreign_drain(self, running: Running) -> None:
        mark = f"{running.pid} {running.progress.done} {running.finished is not None}"
        if mark == self._foreign:
            return
        self._foreign = mark
        if running.finished is None:
            self.tell(Change(what="sync", sync=msgspec.structs.replace(running.progress, own=False)))
        else:
            self.tell(Change(what="sync", sync=SyncFinished(report=running.finished, own=False)))
            self.tell(Change(what="tasks"))
            self.tell(Change(what="insights"))

    async def _probe(self) -> None:
        link = await self._link()
        before = link.status.state
        found = await link.probe(min(5.0, self.config.hub.timeout))
        good = found.may_send
        self._failures = 0 if good else self._failures + 1
        self._probe_at = self.clock.steady() + self._pause(link, good)
        await self._count_probe(link, good)
        self._tell_hub(link)
        if good and before not in ("online", "slow", "embedded"):
            self._drain_at = self.clock.steady()
            self.tell(Change(what="tasks"))
            self.tell(Change(what="insights"))

    def _pause(self, link: Link, good: bool) -> float:
        gate = link.gate
        if gate is not None and gate.code in ("paused", "retry_after"):
            return max(1.0, gate.seconds(self.clock))
        if good:
            return GOOD_PROBE
        longest = AWAY_PROBES[min(self._failures, len(AWAY_PROBES)) - 1]
        return longest * self.clock.uniform(0.8, 1.0)

    def _tell_hub(self, link: Link) -> None:
        status = msgspec.structs.replace(link.status, next_probe_in=max(0.0, self._probe_at - self.clock.steady()))
        self._status = status
        self.tell(Change(what="hub", hub=status))

    async def _count_probe(self, link: Link, good: bool) -> None:
        """Uptime is written about once a minute: it isn't worth a sync to disk each time."""
        self._unsaved = (self._unsaved[0] + 1, self._unsaved[1] + good)
        self._rounds += 1
        if self._unsaved[0] >= 3 or self._rounds == 1:
            probes, answered = self._unsaved
            self._unsaved = (0, 0)
            await link.note_uptime(probes, answered)
            await journal.prune(self.store, self.clock, self.config.queue.journal_days)
        await link.refresh_uptime()

    def _may_drain(self, now: float) -> bool:
        return (
            self.config.sync.automatic and self._drain_at is not None and now >= self._drain_at and not self.syncer.busy
        )

    async def _drain(self) -> None:
        """Drains by itself when something may go; afterwards the next time is when the first row is due."""
        link = await self._link()
        if link.gate is not None and link.gate.seconds(self.clock):
            self._drain_at = self.clock.steady() + link.gate.seconds(self.clock)
            return
        if not await self.store.read("SELECT 1 FROM queue WHERE synced_at IS NULL LIMIT 1"):
            return
        last: SyncFinished | None = None
        async for event in self.syncer.events(manual=False):
            if isinstance(event, SyncFinished):
                last = event
            elif event.total:
                self.tell(Change(what="sync", sync=event))
        if last is not None and (last.report.synced or last.report.failed or last.report.superseded):
            self.tell(Change(what="sync", sync=last))
            self.tell(Change(what="tasks"))
            self.tell(Change(what="insights"))
        self._tell_hub(link)
        await self._plan_next(link)

    async def _plan_next(self, link: Link) -> None:
        found = await self.store.read(
            "SELECT min(due) FROM queue WHERE synced_at IS NULL AND why IN ('backoff', 'in_doubt') AND due_boot = ?",
            (self.clock.boot,),
        )
        now = self.clock.steady()
        wait = link.gate.seconds(self.clock) if link.gate is not None else 0.0
        if found[0][0] is not None:
            self._drain_at = max(now + wait, float(found[0][0]), now + 0.2)
        elif wait:
            self._drain_at = now + wait
