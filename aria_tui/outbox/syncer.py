"""Who sends, when: the immediate send of one row, a whole drain, or looking on while another process drains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import msgspec

from aria_tui.config import Config
from aria_tui.errors import NotSaved
from aria_tui.models import SyncEvent, SyncFinished, SyncProgress, SyncReport
from aria_tui.outbox import state, targets
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.drain import Drain, Running
from aria_tui.outbox.link import Link
from aria_tui.outbox.lock import DrainLock
from aria_tui.outbox.settle import Judged
from aria_tui.outbox.store import Store

LOOK = 0.1
"""Seconds between two looks at what another process does."""


class Syncer:
    """One per program. ``link`` gives the way to the configured Hub, ``embedded`` the way to the embedded one."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        lock: DrainLock,
        config: Config,
        *,
        link: Callable[[], Awaitable[Link]],
        embedded: Callable[[], Awaitable[Link]],
        delivered: Callable[[Sequence[Judged]], Awaitable[None]],
    ) -> None:
        self.store, self.clock, self.lock, self.config = store, clock, lock, config
        self._link, self._embedded, self._delivered = link, embedded, delivered
        self._drain: Drain | None = None
        self._lane = asyncio.Lock()
        """Held while a drain of this process runs, so that closing can wait for its end."""

    async def close(self) -> None:
        """Stops what runs and waits for it."""
        self.stop()
        async with self._lane:
            return

    @property
    def busy(self) -> bool:
        """A drain of this process is running."""
        return self._drain is not None

    def stop(self) -> None:
        """Ends the running drain; what is in flight is awaited briefly."""
        if self._drain is not None:
            self._drain.stop()

    async def send_now(self, number: int, budget: float) -> None:
        """Tries to get a row that was just accepted to the Hub within ``budget`` seconds.

        Where somebody else holds the drain lock, the row is theirs to find, and is waited for.
        """
        link = await self._link()
        if link.gate is not None and link.gate.seconds(self.clock):
            return
        end = self.clock.steady() + budget
        while (left := end - self.clock.steady()) > 0:
            if self.lock.acquire():
                try:
                    async with self._lane:
                        drain = self._new_drain(link, manual=False, report=lambda _: None, limit_s=left)
                        await drain.send_one(number)
                finally:
                    self.lock.release()
                return
            await self.clock.sleep(min(0.03, left))
            if await self.store.read("SELECT 1 FROM queue WHERE id = ? AND synced_at IS NULL", (number,)) == []:
                return

    async def within(self, budget: float) -> None:
        """Drains for at most ``budget`` seconds, as before Hub data is read; silently leaves what doesn't fit."""
        if not await self._anything_waits() or self.busy or not self.lock.acquire():
            return
        try:
            link = await self._link()
            async with self._lane:
                self._drain = self._new_drain(link, manual=False, report=lambda _: None, limit_s=budget)
                await self._drain.run()
        except NotSaved:
            return  # the rows wait as before, and the read is worth having
        finally:
            self._drain = None
            self.lock.release()

    async def events(self, *, manual: bool) -> AsyncIterator[SyncEvent]:
        """A drain as a stream of events, the last a SyncFinished. Leaving the stream stops the drain.

        Raises QueueUnavailable, and OSError where the drain lock can't be had.
        """
        stream: asyncio.Queue[SyncEvent | BaseException] = asyncio.Queue()
        task = asyncio.create_task(self._run(manual, stream.put_nowait), name="drain")
        try:
            while True:
                event = await stream.get()
                if isinstance(event, BaseException):
                    raise event
                yield event
                if isinstance(event, SyncFinished):
                    return
        finally:
            if not task.done():
                self.stop()
                await asyncio.wait({task})

    async def _run(self, manual: bool, tell: Callable[[SyncEvent | BaseException], None]) -> None:
        try:
            if self.lock.acquire():
                try:
                    async with self._lane:
                        report = await self._drain_all(manual, tell)
                finally:
                    self._drain = None
                    self.lock.release()
                tell(SyncFinished(report=report))
            else:
                tell(await self._follow(tell))
        except Exception as error:  # noqa: BLE001 - raised again by whoever reads the stream
            tell(error)

    async def _drain_all(self, manual: bool, tell: Callable[[SyncEvent], None]) -> SyncReport:
        link = await self._link()
        if link.address != targets.EMBEDDED and await self._waits_for(targets.EMBEDDED):
            # What was written for the embedded Hub goes there first (queue.md, "Target").
            self._drain = self._new_drain(await self._embedded(), manual=manual, report=tell)
            await self._drain.run()
        self._drain = self._new_drain(link, manual=manual, report=tell)
        try:
            report = await self._drain.run()
        except NotSaved as error:
            # Delivered perhaps, but that can't be noted: the same key again later makes the repeat harmless.
            await link.in_trouble(str(error)) if await self._can_write() else None
            remaining = await self._count()
            said = f"what was sent could not be noted ({error.reason}); it will be sent again with the same keys"
            return SyncReport(failed=1, remaining=remaining, hub=link.status, sentence=said)
        return msgspec.structs.replace(report, sentence=sentence(report))

    async def _follow(self, tell: Callable[[SyncEvent], None]) -> SyncFinished:
        """Draws another process's drain until it lets go of the lock."""
        last: SyncProgress | None = None
        running: Running | None = None
        while self.lock.taken():
            running = await state.get(self.store, "drain", Running)
            if running is not None and running.finished is None:
                progress = msgspec.structs.replace(running.progress, own=False)
                if progress != last:
                    last = progress
                    tell(progress)
            await self.clock.sleep(LOOK)
        running = await state.get(self.store, "drain", Running)
        if running is not None and running.finished is not None:
            report = running.finished
        else:
            link = await self._link()
            report = SyncReport(hub=link.status)
        report = msgspec.structs.replace(report, remaining=await self._count())
        return SyncFinished(report=msgspec.structs.replace(report, sentence=sentence(report)), own=False)

    def _new_drain(
        self, link: Link, *, manual: bool, report: Callable[[SyncProgress], None], limit_s: float | None = None
    ) -> Drain:
        return Drain(
            self.store,
            self.clock,
            link,
            self.lock,
            self.config,
            manual=manual,
            report=report,
            delivered=self._delivered,
            limit_s=limit_s,
        )

    async def _anything_waits(self) -> bool:
        return bool(await self.store.read("SELECT 1 FROM queue WHERE synced_at IS NULL LIMIT 1"))

    async def _waits_for(self, target: str) -> bool:
        found = await self.store.read("SELECT total(waiting) FROM counters WHERE target = ?", (target,))
        return bool(found[0][0])

    async def _count(self) -> int:
        return int((await self.store.read("SELECT total(waiting) FROM counters"))[0][0])

    async def _can_write(self) -> bool:
        try:
            await state.put(self.store, "writable", True)
        except NotSaved:
            return False
        return True


def sentence(report: SyncReport) -> str:
    """The end of a sync in one English sentence."""
    parts = [f"{report.synced} delivered"]
    if report.superseded:
        parts.append(f"{report.superseded} superseded by newer ones")
    if report.dead_letters:
        parts.append(f"{report.dead_letters} rejected")
    if report.conflicts:
        parts.append(f"{report.conflicts} in conflict")
    if report.remaining:
        why = report.hub.reason or report.hub.state.replace("_", " ")
        good = report.hub.state in ("online", "slow", "embedded")
        parts.append(f"{report.remaining} still waiting" + ("" if good else f" ({why})"))
    if not report.remaining and not any((report.synced, report.superseded, report.dead_letters, report.conflicts)):
        return "nothing to send"
    return ", ".join(parts) + (" (stopped)" if report.stopped else "")
