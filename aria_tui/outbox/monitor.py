"""The work in the background of a program that stays: probes, drains by itself, notices what others wrote.

Nothing of it polls content: another process's commit is seen by ``PRAGMA data_version`` (queue.md, "Seeing it").
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from aria_tui.config import Config
from aria_tui.errors import AriaError
from aria_tui.models import Change, SyncFinished, SyncReport
from aria_tui.outbox import journal, schedule, state
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.link import Link
from aria_tui.outbox.running import Running
from aria_tui.outbox.store import Store
from aria_tui.outbox.syncer import Syncer

TICK = 0.25
GOOD_PROBE = 20.0
"""Seconds between two probes of a Hub that answers."""
AWAY_PROBES = (1.0, 2.0, 4.0, 8.0)
"""Seconds before the next probe of a Hub that is away: a Hub that is back is noticed within 10 s."""
SOON = 0.3
"""Seconds before rows that just came are drained: whoever wrote them is given the time to send them himself."""
STANDS_FOR = 40
"""Seconds that one probe may stand for: not for the hours in which the machine slept."""
KEPT_AFTER = 60
"""Seconds of uptime that are kept in memory only."""
_PRUNE_STEPS = 10
_log = logging.getLogger("aria.outbox")


class Monitor:
    """Runs while ``changes`` is iterated. ``link`` gives the way to the Hub, loaded."""

    def __init__(
        self, store: Store, clock: Clock, config: Config, syncer: Syncer, link: Callable[[], Awaitable[Link]]
    ) -> None:
        self.store, self.clock, self.config, self.syncer = store, clock, config, syncer
        self._link = link
        self._news: dict[str, Change] = {}
        self._fresh = asyncio.Event()
        self._versions = (-1, -1)
        self._foreign: Running | None = None
        self._foreign_told = False
        self._look_at = self._probe_at = 0.0
        self._drain_at: float | None = 0.0
        self._failures = self._fruitless = 0
        self._unsaved = (0, 0)
        self._probed: float | None = None
        self._said: dict[str, str] = {}

    async def changes(self) -> AsyncIterator[Change]:
        """What changed, for ever; bursts collapse into the newest of each kind."""
        task = asyncio.create_task(self._work(), name="outbox monitor")
        task.add_done_callback(lambda _: self._fresh.set())
        try:
            while True:
                await self._fresh.wait()
                self._fresh.clear()
                news, self._news = self._news, {}
                for change in news.values():
                    yield change
                if task.done():
                    task.result()
                    return
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def poke(self) -> None:
        """Probes at once, and drains if something may go."""
        self._probe_at = 0.0
        self._failures = self._fruitless = 0
        self._drain_soon()

    def wrote(self) -> None:
        """This process wrote something that waits."""
        self._drain_soon()

    def _drain_soon(self) -> None:
        soon = self.clock.steady() + SOON
        self._drain_at = soon if self._drain_at is None else min(self._drain_at, soon)

    def tell(self, change: Change) -> None:
        """Hands a change to whoever iterates; a newer one of its kind takes its place, but no end of a sync."""
        ended = isinstance(change.sync, SyncFinished)
        if ended:
            self._news.pop("sync", None)
        self._news[f"{change.what}{'-end' if ended else ''}"] = change
        self._fresh.set()

    async def _work(self) -> None:
        probe: asyncio.Task[None] | None = None
        drain: asyncio.Task[None] | None = None
        try:
            while True:
                now = self.clock.steady()
                if now >= self._look_at:
                    await self._quietly("queue", self._look)
                if now >= self._probe_at and not self.syncer.busy and (probe is None or probe.done()):
                    probe = asyncio.create_task(self._quietly("hub", self._probe))
                if self._may_drain(now) and (drain is None or drain.done()):
                    self._drain_at = None
                    drain = asyncio.create_task(self._quietly("sync", self._drain))
                await self.clock.sleep(TICK)
        finally:
            for task in (probe, drain):
                if task is not None and not task.done():
                    task.cancel()
            await asyncio.gather(*(t for t in (probe, drain) if t is not None), return_exceptions=True)

    async def _quietly(self, name: str, step: Callable[[], Awaitable[None]]) -> None:
        """A step that fails says so once and doesn't end the others: the queue may be locked or gone for a while."""
        try:
            await step()
            self._said.pop(name, None)
            return
        except (AriaError, OSError) as error:
            said = str(error)
        except Exception as error:  # noqa: BLE001 - a fault of the program is told, and the others go on
            _log.exception("a step in the background failed")
            said = f"{name}: {type(error).__name__}: {error}"
        if self._said.get(name) != said:
            self._said[name] = said
            self.tell(Change(what="notice", text=said))
        later = self.clock.steady() + AWAY_PROBES[-1]
        match name:
            case "queue":
                self._look_at = later
            case "hub":
                self._probe_at = later
            case _:
                self._drain_at = later

    # What others did

    async def _look(self) -> None:
        """Other connections' commits, and other processes' drains."""
        if self.store.notice and self._said.get("file") != self.store.notice:
            self._said["file"] = self.store.notice
            self.tell(Change(what="notice", text=self.store.notice))
        if self._foreign is not None and not self._foreign.alive:
            await self._foreign_ended(self._foreign)
        versions = await self.store.versions()
        if versions == self._versions:
            return
        before, self._versions = self._versions, versions
        self.tell(Change(what="queue"))
        if versions[1] == before[1] or before[1] == -1:
            return  # our own commits
        running = await state.get(self.store, "drain", Running)
        if running is not None and running.pid != os.getpid():
            self._foreign_drain(running)
        if running is None or running.finished is not None or not running.alive:
            self._drain_soon()

    def _foreign_drain(self, running: Running) -> None:
        if running.finished is None and running.alive:
            self._foreign = running
            self._foreign_told = True
            self.tell(Change(what="sync", sync=msgspec.structs.replace(running.progress, own=False)))
        elif running.finished is not None and self._foreign_told:
            self._foreign, self._foreign_told = None, False
            self.tell(Change(what="sync", sync=SyncFinished(report=running.finished, own=False)))
            self._tell_lists()

    async def _foreign_ended(self, dead: Running) -> None:
        """The process that drained is gone, without a word."""
        self._foreign, self._foreign_told = None, False
        running = await state.get(self.store, "drain", Running)
        if running is not None and running.run == dead.run and running.finished is None:
            link = await self._link()
            report = SyncReport(hub=link.status, stopped=True, sentence="the other program ended before its sync did")
            self.tell(Change(what="sync", sync=SyncFinished(report=report, own=False)))
            self._drain_soon()

    def _tell_lists(self) -> None:
        self.tell(Change(what="tasks"))
        self.tell(Change(what="insights"))

    # Probes

    async def _probe(self) -> None:
        link = await self._link()
        before, knew = link.status.state, link.known
        found = await link.probe(min(5.0, self.config.hub.timeout))
        good = found.may_send
        self._failures = 0 if good else self._failures + 1
        self._probe_at = self.clock.steady() + self._pause(link, good)
        await self._count_probe(link, good)
        self._tell_hub(link)
        if link.restored and (knew is None or not knew.restored or "restored" not in self._said):
            self._said["restored"] = link.restored
            self.tell(Change(what="notice", text=link.status.reason))
        learned = knew is not None and link.known is not None and knew.operations != link.known.operations
        if good and (learned or before not in ("online", "slow", "embedded")):
            self._fruitless = 0
            self._drain_at = self.clock.steady()
            self._tell_lists()

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
        self.tell(Change(what="hub", hub=status))

    async def _count_probe(self, link: Link, good: bool) -> None:
        """A probe stands for the time since the one before it, for while the Hub is away they come more often.

        Uptime is written about once a minute: it isn't worth a sync to disk each time.
        """
        now = self.clock.steady()
        stands_for = 1 if self._probed is None else max(1, min(round(now - self._probed), STANDS_FOR))
        first, self._probed = self._probed is None, now
        watched, answered = self._unsaved[0] + stands_for, self._unsaved[1] + stands_for * good
        self._unsaved = (watched, answered)
        if watched >= KEPT_AFTER or first:
            self._unsaved = (0, 0)
            await link.note_uptime(watched, answered)
            for _ in range(_PRUNE_STEPS):
                if not await journal.prune(self.store, self.clock, self.config.queue.journal_days):
                    break
        await link.refresh_uptime()

    # Drains

    def _may_drain(self, now: float) -> bool:
        due = self._drain_at is not None and now >= self._drain_at
        return due and self.config.sync.automatic and not self.syncer.busy

    async def _drain(self) -> None:
        """Drains by itself when something may go; afterwards the next time is when the first row is due."""
        link = await self._link()
        gate = link.gate
        if gate is not None and gate.code == "paused" and not gate.reads:
            return  # the next probe says whether the token is let in, and that is one request enough
        if gate is not None and (wait := gate.held(self.clock)):
            self._drain_at = self.clock.steady() + wait
            return
        if not await self.store.read("SELECT 1 FROM queue WHERE synced_at IS NULL LIMIT 1"):
            return
        told, last = False, SyncFinished(report=SyncReport())
        async for event in self.syncer.events(manual=False):
            if isinstance(event, SyncFinished):
                last = event
            else:
                told = True
                self.tell(Change(what="sync", sync=event))
        done = last.report.synced + last.report.superseded
        if told or done:
            self.tell(Change(what="sync", sync=last))
            self._tell_lists()
        self._fruitless = 0 if done else self._fruitless + 1
        self._tell_hub(link)
        next_at = await schedule.next_drain(self.store, self.clock, await self._link(), self._fruitless)
        if next_at is not None:
            self._drain_at = next_at if self._drain_at is None else min(self._drain_at, next_at)
