"""What a drain writes down: each attempt before it is sent, each result before it is told (queue.md, "Draining").

The results of a batch are owed until they are committed. Few are committed with the attempt of the next batch, in one
transaction: between two batches that is one sync to disk instead of two. Many are committed while the next request is
under way, for then it is their writing that takes time. When nothing follows they are committed alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import aiosqlite
import msgspec

from aria_tui.config import Config
from aria_tui.errors import NotSaved, QueueUnavailable
from aria_tui.hub.client import Outcome
from aria_tui.models import SyncProgress, SyncReport
from aria_tui.outbox import doubt, known, settle, state
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.gist import gist
from aria_tui.outbox.handing import finish
from aria_tui.outbox.known import Known, Made
from aria_tui.outbox.link import Link
from aria_tui.outbox.plain import map_id
from aria_tui.outbox.rows import Row
from aria_tui.outbox.running import Running, Sending
from aria_tui.outbox.settle import Judged, Tally
from aria_tui.outbox.store import Store
from aria_tui.outbox.verdict import Verdict

Delivered = Callable[[Sequence[Judged], Outcome | None], Awaitable[None]]
Seen = Callable[[str], Mapping[str, Any] | None]
"""An entity's name → its fields as last seen at the Hub."""
MANY = 100
"""Results that are written while the next request is under way."""


class Owed(msgspec.Struct, frozen=True):
    """Verdicts that are known and not yet committed. ``outcome``: the answer, which may bear the id that a plain Hub
    gave to what it just created; ``made``: what is known of a Hub that counts by them."""

    judged: Sequence[Judged]
    outcome: Outcome | None
    made: Made | None


class Books:
    """The record of one drain. The caller holds the drain lock.

    ``delivered`` is called with what was acknowledged, before that is committed: a crash in between leaves rows that
    are laid over twice, which does no harm; the other way round an edit would lack its base.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        link: Link,
        config: Config,
        *,
        report: Callable[[SyncProgress], None],
        delivered: Delivered,
        seen: Seen,
    ) -> None:
        self.store, self.clock, self.link, self.config = store, clock, link, config
        self._report, self._delivered, self._seen = report, delivered, seen
        self._owed: Owed | None = None
        self._paying: asyncio.Task[None] | None = None
        self._known: Known | None = None
        self._target = link.target
        self._started = clock.steady()
        self._first = self._last = 0
        self._current = ""
        self.tally = Tally()
        self.total = 0
        """Rows that waited at the start."""
        self.run: str | None = None
        """The drain's name for those who look on; None: the immediate send of one row, which is no drain to look at."""
        self.blocked: dict[str, int] = {}
        """Entity → the first of its rows that holds later ones up."""
        self.later: list[str] = []
        """Entities that are blocked for this round only."""
        self.acknowledged = self.attempted = False

    def block(self, row: Row) -> None:
        self.blocked[row.entity] = min(row.id, self.blocked.get(row.entity, row.id))

    def parked_ahead(self, row: Row) -> bool:
        blocker = self.blocked.get(row.entity)
        return blocker is not None and blocker <= row.id

    # Attempts and results

    async def begin(self, part: list[Row], edits: int | None = None) -> list[Row]:
        """Commits an attempt of the rows that still wait as they were read (``edits``: before how many changes), and
        what is owed unless it is much; gives those rows. The entities of those that changed since have to wait for
        another round."""
        later = self._owed if self._owed is not None and len(self._owed.judged) >= MANY else None
        now, owed, before = self.link.now(), None if later else self._take_owed(), self.tally

        async def job(connection: aiosqlite.Connection) -> tuple[tuple[list[Row], list[Row]], Tally, list[str]]:
            resolved: list[str] = []
            self.tally = before
            if owed is not None:
                self.tally, resolved = await self._write_down(connection, owed, before)
            kept, changed = await settle.mark_sent(connection, part, now, edits)
            self._first, self._last = (kept[0].id, kept[-1].id) if kept else (0, 0)
            self._current = gist(kept[0]) if kept else self._current
            await self._publish(connection, answered=later)
            return (kept, changed), self.tally, resolved

        kept: list[Row]
        kept, changed = await self._commit(job, before)
        for row in changed:
            if row.entity not in self.blocked:
                self.block(row)
                self.later.append(row.entity)
        self._note(later or owed)
        self._known, self._target = self.link.known, self.link.target
        self.attempted = self.attempted or bool(kept)
        self.tell()
        return kept

    async def owe(self, judged: Sequence[Judged], outcome: Outcome | None = None) -> None:
        """Takes note of verdicts: what they block is blocked at once, the rest is committed with what comes next."""
        if self._owed is not None:
            await self.pay()
        delivered: list[Judged] = []
        count = 0
        for pair in judged:
            if pair[1].fate == "delivered":
                delivered.append(pair)
                count += _made(pair)
            else:
                self.block(pair[0])
        if delivered:
            await self._delivered(delivered, outcome)
        made = Made(self._target, self._known, count) if self._known is not None else None
        self._owed = Owed(judged, outcome, made)
        self._note(self._owed)

    def pay_meanwhile(self) -> None:
        """What is still owed is committed while something else goes on, till ``paid``."""
        if self._owed is not None:
            self._paying = asyncio.create_task(self._pay(self._take_owed()), name="outbox results")

    async def paid(self) -> BaseException | None:
        """Awaits ``pay_meanwhile``, also when it is cancelled; gives what hindered that."""
        if self._paying is None:
            return None
        try:
            await asyncio.wait({self._paying})
        except asyncio.CancelledError:
            await finish(self._paying)
            self._paying.exception()  # which nobody asks for any more
            raise
        return self._paying.exception()

    @contextlib.asynccontextmanager
    async def paying_at_the_end(self) -> AsyncIterator[None]:
        """What is owed at the end is committed; where an error or a cancellation is the end, that is what is heard
        of."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(NotSaved, QueueUnavailable):
                await self.pay()
            raise
        await self.pay()

    async def pay(self) -> None:
        """Commits what is owed, if anything is, and that nothing is in flight any more."""
        owed = self._take_owed()
        if owed is not None or self._first:
            self._first = self._last = 0
            await self._pay(owed)

    async def _pay(self, owed: Owed | None) -> None:
        before = self.tally

        async def job(connection: aiosqlite.Connection) -> tuple[None, Tally, list[str]]:
            resolved: list[str] = []
            self.tally = before
            if owed is not None:
                self.tally, resolved = await self._write_down(connection, owed, before)
            await self._publish(connection)
            return None, self.tally, resolved

        await self._commit(job, before)
        self._note(owed)
        self.tell()

    async def settle(self, judged: Sequence[Judged], outcome: Outcome | None = None) -> None:
        """Commits verdicts at once."""
        await self.owe(judged, outcome)
        await self.pay()

    def _note(self, owed: Owed | None) -> None:
        """When it becomes known, and after each commit: the file, which did not say it yet, was read meanwhile,
        perhaps."""
        if owed is not None and owed.made is not None:
            self.link.note_changes(owed.made)

    def _take_owed(self) -> Owed | None:
        """It is tried once: what can't be committed is in doubt, and comes again with the same key."""
        owed, self._owed = self._owed, None
        return owed

    async def _commit(
        self, job: Callable[[aiosqlite.Connection], Awaitable[tuple[Any, Tally, list[str]]]], before: Tally
    ) -> Any:
        try:
            result, tally, resolved = await self.store.write(job, hurried=True)
        except BaseException:
            self.tally = before
            raise
        self.tally = tally
        self.acknowledged = self.acknowledged or tally.synced + tally.superseded > before.synced + before.superseded
        self.later += resolved
        return result

    def another_round(self) -> bool:
        """Whether something is to be tried again from the first row on: what was changed, or a conflict that was
        settled by policy, while the last round went on."""
        again, self.later = self.later, []
        for entity in again:
            self.blocked.pop(entity, None)
        return bool(again)

    async def _write_down(self, connection: aiosqlite.Connection, owed: Owed, before: Tally) -> tuple[Tally, list[str]]:
        """Writes owed verdicts; gives the tally with them, and the entities whose conflicts were settled."""
        now = self.link.now()
        done = await settle.settle(connection, self.clock, now, self.config.queue.max_attempts, owed.judged)
        if owed.outcome is not None and owed.outcome.server_id is not None:
            await map_id(connection, self.link.target, owed.judged[0][0], owed.outcome)
        if self.link.client.plain:
            await doubt.forget(connection, [row for row, verdict in owed.judged if verdict.fate == "delivered"])
        if owed.made is not None:
            await known.raise_in(connection, owed.made)
        resolved = await self._by_policy(connection, owed.judged, now)
        return before.plus(msgspec.structs.replace(done, conflicts=done.conflicts - len(resolved))), resolved

    async def _by_policy(self, connection: aiosqlite.Connection, judged: Sequence[Judged], now: str) -> list[str]:
        """Settles conflicts as ``[sync] conflicts`` says; the entities of those that it settled."""
        policy = self.config.sync.conflicts
        conflicts = [row for row, verdict in judged if verdict.fate == "conflict"]
        if policy == "ask" or not conflicts:
            return []
        from aria_tui.outbox import resolve

        return [
            row.entity for row in conflicts
            if await resolve.by_policy(connection, row.id, policy, now, known=self._seen(row.entity))
        ]  # fmt: skip

    # Attempts that came to nothing

    async def nothing_spent(self, part: list[Row], outcome: Outcome) -> None:
        """The Hub was away, refused the token, or asked for time: the rows are as they were before."""
        reached = outcome.kind != "unreachable" or outcome.status is not None

        async def job(connection: aiosqlite.Connection) -> None:
            await settle.unmark(connection, part, outcome.reason, reached=reached)
            await self._landed(connection)

        await self.store.write(job, hurried=True)

    async def put_back(self, part: list[Row], reason: str) -> None:
        """The last attempt's error on each row; they are in doubt, and nothing was spent."""

        async def job(connection: aiosqlite.Connection) -> None:
            await settle.note_error(connection, part, reason)
            await self._landed(connection)

        await self.store.write(job, hurried=True)

    async def spend(self, row: Row, outcome: Outcome) -> None:
        """One of the row's attempts is spent."""
        self.block(row)
        why = "in_doubt" if outcome.kind == "in_doubt" else "backoff"
        verdict = Verdict(fate="failed", error=outcome.reason)

        async def job(connection: aiosqlite.Connection) -> Tally:
            await self._landed(connection)
            return await settle.spend(
                connection, self.clock, self.link.now(), self.config.queue.max_attempts, row, verdict, why=why
            )

        self.tally = self.tally.plus(await self.store.write(job, hurried=True))
        self.tell()

    # What others see

    def progress(self) -> SyncProgress:
        done = self.tally.done
        elapsed = self.clock.steady() - self._started
        rate = done / elapsed if done and elapsed > 0 else None
        total = max(self.total, done)
        return SyncProgress(
            done=done,
            total=total,
            synced=self.tally.synced,
            superseded=self.tally.superseded,
            failed=self.tally.failed,
            conflicts=self.tally.conflicts,
            current=self._current,
            rate=rate,
            seconds_left=(total - done) / rate if rate else None,
        )

    def tell(self) -> None:
        self._report(self.progress())

    async def finish(self, report: SyncReport, *, last_sync: bool) -> None:
        """Commits the report, and with ``last_sync`` that the Hub was reached now."""

        async def job(connection: aiosqlite.Connection) -> None:
            await self._publish(connection, report)
            if last_sync:
                await state.put_in(connection, f"last_sync:{self.link.target}", self.link.now())

        await self.store.write(job, hurried=True)

    async def _publish(
        self, connection: aiosqlite.Connection, report: SyncReport | None = None, *, answered: Owed | None = None
    ) -> None:
        """What is in flight and how far it is, in the transaction that changes it, for the processes that look on.

        What was ``answered`` and is written down later counts as in flight till then.
        """
        pid, numbers = os.getpid(), [row.id for row, _ in answered.judged] if answered else []
        numbers += [number for number in (self._first, self._last) if number]
        facts: dict[str, object] = {
            "sending": Sending(pid=pid, first=min(numbers, default=0), last=max(numbers, default=0))
        }
        if self.run is not None:
            facts["drain"] = Running(pid=pid, run=self.run, progress=self.progress(), finished=report)
        await state.put_all_in(connection, facts)

    async def _landed(self, connection: aiosqlite.Connection) -> None:
        """The same when nothing is in flight any more."""
        self._first = self._last = 0
        await self._publish(connection)


def _made(judged: Judged) -> bool:
    """The Hub made a new thing, which is one change there for certain."""
    row, verdict = judged
    result = verdict.result
    new = row.operation in ("create_task", "capture_insight") and verdict.outcome == "applied"
    return bool(new and result is not None and result.version == 1)
