"""Who sends, when: the immediate send of one row, a whole drain, or looking on while another process drains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from aria_tui.config import Config
from aria_tui.errors import NotSaved, QueueUnavailable
from aria_tui.models import SyncEvent, SyncFinished, SyncProgress, SyncReport
from aria_tui.outbox import names, state
from aria_tui.outbox.books import Delivered, Seen
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.drain import Drain
from aria_tui.outbox.link import Link
from aria_tui.outbox.lock import DrainLock
from aria_tui.outbox.running import Running
from aria_tui.outbox.store import Store

LOOK = 0.1
"""Seconds between two looks at what another process does."""
_GOOD = ("online", "slow", "embedded")


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
        delivered: Delivered,
        seen: Seen,
    ) -> None:
        self.store, self.clock, self.lock, self.config = store, clock, lock, config
        self._link, self._embedded, self._delivered, self._seen = link, embedded, delivered, seen
        self._drain: Drain | None = None
        self._draining: asyncio.Task[None] | None = None
        self._unfollow = asyncio.Event()
        self._lane = asyncio.Lock()
        """Held while this process sends, so that closing can wait for its end."""

    async def close(self) -> None:
        """Stops what runs and waits for it."""
        self.stop()
        async with self._lane:
            return

    @property
    def busy(self) -> bool:
        """This process is sending."""
        return self._drain is not None

    def stop(self) -> None:
        """Ends the running drain, or the looking on; what is in flight is awaited briefly."""
        self._unfollow.set()
        if self._drain is not None:
            self._drain.stop()

    async def send_now(self, number: int, budget: float) -> None:
        """Tries to get a row that was just accepted to the Hub within ``budget`` seconds.

        Where somebody else holds the drain lock, the row is theirs to find, and is waited for.
        """
        end = self.clock.steady() + budget
        try:
            async with asyncio.timeout(budget):
                link = await self._link()
        except TimeoutError:
            return  # a token's command takes its time; the next drain has it
        if link.restored or (link.gate is not None and link.gate.held(self.clock)):
            return
        while (left := end - self.clock.steady()) > 0:
            if self.lock.acquire():
                try:
                    async with self._lane:
                        self._drain = self._new_drain(link, manual=False, report=_nobody, limit_s=left)
                        await self._drain.send_one(number)
                finally:
                    self._drain = None
                    self.lock.release()
                return
            await self.clock.sleep(min(0.03, left))
            if not await self.store.read("SELECT 1 FROM queue WHERE id = ? AND synced_at IS NULL", (number,)):
                return

    async def within(self, budget: float) -> None:
        """Drains for at most ``budget`` seconds, as before Hub data is read; silently leaves what doesn't fit."""
        try:
            if not await self._anything_waits() or self.busy or not self.lock.acquire():
                return
        except (QueueUnavailable, OSError):
            return  # a queue that can't be used takes nothing from the read
        try:
            link = await self._link()
            async with self._lane:
                self._drain = self._new_drain(link, manual=False, report=_nobody, limit_s=budget)
                await self._drain.run()
        except (NotSaved, QueueUnavailable):
            return  # the rows wait as before, and the read is worth having
        finally:
            self._drain = None
            self.lock.release()

    async def events(self, *, manual: bool) -> AsyncIterator[SyncEvent]:
        """A drain as a stream of events, the last a SyncFinished. Leaving the stream stops the drain.

        Raises QueueUnavailable (also where the drain lock can't be had), HubUnavailable (no way to the Hub).
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
                if self._draining is task:
                    self.stop()
                else:
                    task.cancel()  # it only looked on
                await asyncio.wait({task})

    async def _run(self, manual: bool, tell: Callable[[SyncEvent | BaseException], None]) -> None:
        try:
            tell(await self._drain_or_follow(manual, tell))
        except Exception as error:  # noqa: BLE001 - raised again by whoever reads the stream
            tell(error)

    async def _drain_or_follow(self, manual: bool, tell: Callable[[SyncEvent], None]) -> SyncFinished:
        """Drains; where another process does, looks on until it lets go, and then does what that one left."""
        try:
            free = self.lock.acquire()
        except OSError as error:
            raise self.store.unavailable(error) from error
        if not free:
            followed = await self._follow(tell, manual)
            if followed is not None:
                return SyncFinished(report=followed, own=False)
        try:
            self._draining = asyncio.current_task()
            async with self._lane:
                return SyncFinished(report=await self._drain_all(manual, tell))
        finally:
            self._draining = self._drain = None
            self.lock.release()

    async def _follow(self, tell: Callable[[SyncEvent], None], manual: bool) -> SyncReport | None:
        """Draws another drain until it is over, and gives its report. None: the lock is ours, and something is left to
        do: what held the lock was no drain, or died, or (of a manual sync) left rows."""
        before = await state.get(self.store, "drain", Running)
        last: SyncProgress | None = None
        self._unfollow.clear()
        while not self.lock.acquire():
            running = await state.get(self.store, "drain", Running)
            if running is not None and running.finished is None:
                progress = msgspec.structs.replace(running.progress, own=False)
                if progress != last:
                    last = progress
                    tell(progress)
            if self._unfollow.is_set():
                return await self._left_alone()
            await self.clock.sleep(LOOK)
        try:
            running = await state.get(self.store, "drain", Running)
            remaining = await self._count()
        except BaseException:
            self.lock.release()
            raise
        fresh = running is not None and (before is None or before.finished is None or before.run != running.run)
        if running is None or running.finished is None or not fresh or (remaining and manual):
            return None
        self.lock.release()
        report = msgspec.structs.replace(running.finished, remaining=remaining)
        return msgspec.structs.replace(report, sentence=sentence(report))

    async def _left_alone(self) -> SyncReport:
        link = await self._link()
        return SyncReport(
            remaining=await self._count(), hub=link.status, stopped=True, sentence="another program goes on sending"
        )

    async def _drain_all(self, manual: bool, tell: Callable[[SyncEvent], None]) -> SyncReport:
        link = await self._link()
        try:
            if link.address != names.EMBEDDED and await self._waits_for(names.EMBEDDED):
                # What was written for the embedded Hub goes there first (queue.md, "Target").
                self._drain = self._new_drain(await self._embedded(), manual=manual, report=tell)
                await self._drain.run()
            self._drain = self._new_drain(link, manual=manual, report=tell)
            report = await self._drain.run()
        except NotSaved as error:
            why = f"nothing was sent: {error.reason}"
            if self._drain is not None and self._drain.books.attempted:
                # Delivered perhaps, but that can't be noted: the same key again later makes the repeat harmless.
                why = f"what was sent could not be noted ({error.reason}); it will be sent again with the same keys"
            return SyncReport(failed=1, remaining=await self._count(), hub=link.status, sentence=why, problem=why)
        return msgspec.structs.replace(report, sentence=sentence(report))

    def _new_drain(
        self, link: Link, *, manual: bool, report: Callable[[SyncProgress], None], limit_s: float | None = None
    ) -> Drain:
        return Drain(
            self.store,
            self.clock,
            link,
            self.config,
            manual=manual,
            report=report,
            delivered=self._delivered,
            seen=self._seen,
            limit_s=limit_s,
        )

    async def _anything_waits(self) -> bool:
        return bool(await self.store.read("SELECT 1 FROM queue WHERE synced_at IS NULL LIMIT 1"))

    async def _waits_for(self, target: str) -> bool:
        found = await self.store.read("SELECT total(waiting) FROM counters WHERE target = ?", (target,))
        return bool(found[0][0])

    async def _count(self) -> int:
        return int((await self.store.read("SELECT total(waiting) FROM counters"))[0][0])


def _nobody(_: SyncProgress) -> None:
    return None


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
        why = report.hub.reason or ("" if report.hub.state in _GOOD else report.hub.state.replace("_", " "))
        parts.append(f"{report.remaining} still waiting" + (f" ({why})" if why else ""))
    if not report.remaining and not any((report.synced, report.superseded, report.dead_letters, report.conflicts)):
        return "nothing to send"
    return ", ".join(parts) + (" (stopped)" if report.stopped else "")
