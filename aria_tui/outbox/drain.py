"""Draining: what waits goes to its Hub, in order, in one lane of batches, under the drain lock (queue.md).

Rows are committed before an event is reported. Clock, sleep, randomness and transport are the caller's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiosqlite

from aria_tui.config import Config
from aria_tui.hub.client import Outcome
from aria_tui.models import Frozen, SyncProgress, SyncReport
from aria_tui.outbox import folds, rows, settle, state
from aria_tui.outbox.clock import Clock, seconds_until
from aria_tui.outbox.gist import gist
from aria_tui.outbox.link import Link
from aria_tui.outbox.lock import DrainLock
from aria_tui.outbox.plain import PlainLane
from aria_tui.outbox.rows import Row
from aria_tui.outbox.settle import Judged, Tally
from aria_tui.outbox.store import Store
from aria_tui.outbox.verdict import Verdict, of_problem, of_result

FIRST_BATCH = 500
QUICK = 1000.0
"""Milliseconds within which a batch must be answered for the next to grow."""
LET_GO = 2.0
"""Seconds for which what is in flight is awaited when the drain is stopped."""
PATIENCE = 8
"""Operations in a row that the Hub may fail alone before a pass gives up."""


class Running(Frozen, frozen=True, kw_only=True):
    """The drain as other processes see it. ``first`` and ``last`` bound the queue numbers in flight."""

    pid: int
    progress: SyncProgress
    first: int = 0
    last: int = 0
    finished: SyncReport | None = None


class Drain:
    """One drain of one Hub. Make a new one for each; it ends by itself or by ``stop``.

    ``delivered`` is called with what was acknowledged, after it was committed. ``limit_s``: seconds for the whole.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        link: Link,
        lock: DrainLock,
        config: Config,
        *,
        manual: bool,
        report: Callable[[SyncProgress], None],
        delivered: Callable[[Sequence[Judged]], Awaitable[None]],
        limit_s: float | None = None,
    ) -> None:
        self.store, self.clock, self.link, self.lock, self.config = store, clock, link, lock, config
        self.manual = manual
        self._report, self._delivered = report, delivered
        self._stop = asyncio.Event()
        self._started = clock.steady()
        self._end = None if limit_s is None else self._started + limit_s
        self._tally = Tally()
        self._total = 0
        self._size = FIRST_BATCH
        self._blocked: dict[str, int] = {}
        self._acknowledged = False
        self._first = self._last = 0
        self._current = ""

    def stop(self) -> None:
        """Ends the drain: what is in flight is awaited briefly, else it is in doubt; nothing is half marked."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set() or (self._end is not None and self.clock.steady() >= self._end)

    async def run(self) -> SyncReport:
        """Drains under the lock, which the caller holds, and gives the report."""
        ready = await self._ready()
        if ready:
            await rows.adopt_strangers(self.store, self.link.target)
            await folds.commit(self.store, self.link.now(), self.link.target)
            self._total = await self._waiting()
            self._tell()
            await self._passes()
        return await self._finish()

    async def send_one(self, number: int) -> None:
        """Sends one row at once, under the lock, which the caller holds; what is in its way leaves it queued."""
        self._blocked = await self._parked_entities()
        found = [row for row in await rows.page(self.store, number - 1, 1) if row.id == number]
        if not found or found[0].target != self.link.target or self._parked_ahead(found[0]):
            return
        if (await rows.of_entity(self.store, found[0].entity))[0].id != number:
            return  # a new write never overtakes a waiting one of its entity
        if not self.link.bound and not (await self._in_time(self.link.probe(self._timeout()))):
            return
        restored = self.link.known is not None and self.link.known.restored
        gate = self.link.gate
        if not restored and (gate is None or gate.seconds(self.clock) == 0):
            await self._lane(found)

    async def _ready(self) -> bool:
        """Whether anything may be sent now: the gate, then one request that says who is there."""
        gate = self.link.gate
        if gate is not None and gate.code == "retry_after" and gate.seconds(self.clock):
            return False  # a manual sync ignores backoff, but never Retry-After
        if gate is not None and not self.manual and gate.seconds(self.clock):
            return False
        found = await self._in_time(self.link.probe(self._timeout()))
        if found is None or not found.may_send:
            return False
        return not (self.link.known is not None and self.link.known.restored)

    # Passes

    async def _passes(self) -> None:
        """One pass from the first row to the last, then on to what came meanwhile, until nothing new is there."""
        after = 0
        self._blocked = await self._parked_entities()
        while not self.stopping:
            batch, after = await self._next_batch(after)
            if not batch:
                if await rows.adopt_strangers(self.store, self.link.target):
                    continue
                return
            if not await self._lane(batch):
                return

    async def _next_batch(self, after: int) -> tuple[list[Row], int]:
        """The next rows that may be sent, as many as fit, and the number up to which the queue was looked through."""
        limits = self._limits()
        batch: list[Row] = []
        size = self.link.client.batch_overhead(self._client_id())
        while True:
            page = await rows.page(self.store, after, 1000)
            for row in page:
                if self._may_send(row):
                    weight = _weight(row)
                    if batch and (len(batch) >= min(self._size, limits[0]) or size + weight > limits[1]):
                        return batch, after
                    batch.append(row)
                    size += weight
                after = row.id
            if len(page) < 1000:
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

    def _parked_ahead(self, row: Row) -> bool:
        blocker = self._blocked.get(row.entity)
        return blocker is not None and blocker <= row.id

    def _block(self, row: Row) -> None:
        self._blocked.setdefault(row.entity, row.id)

    async def _parked_entities(self) -> dict[str, int]:
        found = await self.store.read("SELECT entity, min(id) FROM parked GROUP BY entity")
        return dict(found)

    def _limits(self) -> tuple[int, int]:
        if self.link.client.plain:
            return 1, 2**31
        known = self.link.known
        return (known.limits.batch_ops, known.limits.body_bytes) if known else (1_000, 1024 * 1024)

    # The lane: one request at a time

    async def _lane(self, batch: list[Row]) -> bool:
        """Sends rows until each has its verdict; False: the pass is over.

        A batch that failed as a whole is tried by its first row alone, and halved only after one alone succeeded.
        """
        pending = await self._without_unsendable(batch)
        alone, failures = False, 0
        while pending and not self.stopping:
            pending = [row for row in pending if not self._parked_ahead(row)]
            part = pending[:1] if alone else pending[: self._size]
            if not part:
                return True
            outcome = await self._attempt(part)
            if outcome.kind == "answered":
                failures = 0
                pending = pending[len(part) :]
                self._resize(alone, len(part), outcome)
                alone = False
                await self._slow_down(outcome)
            elif outcome.kind == "too_large" or (outcome.kind == "refused" and len(part) > 1):
                if len(part) == 1:
                    await self._dead(part[0], outcome)
                    pending = pending[1:]
                else:
                    await self._put_back(part, outcome.reason)
                    self._size = max(1, len(part) // 2)
            elif outcome.kind == "refused":
                await self._refused(part[0], outcome)
                failures, alone, pending = 0, False, pending[1:]
            elif outcome.kind in ("in_doubt", "server_error"):
                if len(part) > 1:
                    if outcome.kind == "in_doubt" and not await self._works():
                        await self.link.in_trouble(outcome.reason)
                        return False
                    if outcome.kind == "in_doubt":
                        self._size = max(1, len(part) // 2)
                    else:
                        alone = True
                    continue
                failures += 1
                if not await self._failed_alone(part[0], outcome) or failures >= PATIENCE:
                    return False
                pending = pending[1:]
            else:
                return False
        return not self.stopping

    async def _without_unsendable(self, batch: list[Row]) -> list[Row]:
        bad = [(row, Verdict(fate="dead", error=why)) for row in batch if (why := rows.unsendable(row))]
        if bad:
            await self._settle(bad)
        dead = {row.id for row, _ in bad}
        return [row for row in batch if row.id not in dead]

    async def _attempt(self, part: list[Row]) -> Outcome:
        """Commits the attempt, sends, commits the results."""
        self._first, self._last, self._current = part[0].id, part[-1].id, gist(part[0])
        now = self.link.now()

        async def begin(connection: aiosqlite.Connection) -> None:
            await settle.mark_sent(connection, part, now)
            await self._publish(connection)

        await self.store.write(begin)
        self._tell()
        outcome = await self._request(part)
        if outcome.kind == "answered":
            by_id = {result.op_id: result for result in outcome.results}
            judged = [(row, of_result(by_id.get(row.op_id), row.operation)) for row in part]
            await self._settle(judged, handed_out=outcome.server_id)
        elif outcome.kind in ("unreachable", "paused", "wait"):
            await self._nothing_spent(part, outcome)
        await self.link.judge(outcome)
        return outcome

    async def _request(self, part: list[Row]) -> Outcome:
        client, timeout = self.link.client, self._timeout()
        if client.plain:
            sending = PlainLane(self.store, self.link).send(part[0], timeout)
        else:
            ops = [rows.encode_op(row) for row in part]
            ids = [row.op_id for row in part]
            sending = client.send_batch(ops, ids, client_id=self._client_id(), timeout=timeout)
        outcome = await self._in_time(sending)
        return outcome or Outcome(kind="in_doubt", state="unknown", reason="stopped before the answer came")

    async def _in_time(self, request: Any) -> Any:
        """Awaits a request unless the drain is stopped; then it gets a little longer, and is given up (None)."""
        task = asyncio.ensure_future(request)
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task}, timeout=LET_GO)
            return task.result() if task.done() else None
        finally:
            for one in (task, stop):
                if not one.done():
                    one.cancel()
            await asyncio.gather(task, stop, return_exceptions=True)

    def _timeout(self) -> float:
        longest = self.config.hub.timeout
        return longest if self._end is None else max(0.1, min(longest, self._end - self.clock.steady()))

    def _resize(self, alone: bool, sent: int, outcome: Outcome) -> None:
        if alone:
            self._size = max(1, self._size // 2)
        elif sent >= self._size and (outcome.latency_ms or 0) < QUICK:
            self._size = min(self._size * 2, self._limits()[0])

    async def _slow_down(self, outcome: Outcome) -> None:
        """A healthy Hub may ask for time between two batches (Aria-Backoff)."""
        if outcome.slow_down_s and not self.stopping:
            pause = asyncio.ensure_future(self.clock.sleep(min(outcome.slow_down_s, 60.0)))
            stop = asyncio.ensure_future(self._stop.wait())
            await asyncio.wait({pause, stop}, return_when=asyncio.FIRST_COMPLETED)
            for one in (pause, stop):
                one.cancel()
            await asyncio.gather(pause, stop, return_exceptions=True)

    # Verdicts, committed

    async def _settle(self, judged: Sequence[Judged], *, handed_out: str | None = None) -> None:
        """``handed_out``: the id that a plain Hub gave to the one thing that was just created there."""
        for row, verdict in judged:
            if verdict.fate != "delivered":
                self._block(row)
        self._first = self._last = 0
        now = self.link.now()

        async def job(connection: aiosqlite.Connection) -> Tally:
            done = await settle.settle(connection, self.clock, now, self.config.queue.max_attempts, judged)
            if handed_out is not None:
                await _map_id(connection, self.link.target, judged[0][0], handed_out)
            self._tally = self._tally.plus(done)
            await self._publish(connection)
            return done

        before = self._tally
        try:
            await self.store.write(job)
        except BaseException:
            self._tally = before
            raise
        delivered = [pair for pair in judged if pair[1].fate == "delivered"]
        if delivered:
            self._acknowledged = True
            await self._delivered(delivered)
        self._tell()

    async def _nothing_spent(self, part: list[Row], outcome: Outcome) -> None:
        async def job(connection: aiosqlite.Connection) -> None:
            if outcome.kind == "unreachable" and outcome.status is None:
                await settle.unmark(connection, part, outcome.reason)
            else:
                await settle.note_error(connection, part, outcome.reason)

        await self.store.write(job)

    async def _put_back(self, part: list[Row], reason: str) -> None:
        async def job(connection: aiosqlite.Connection) -> None:
            await settle.note_error(connection, part, reason)

        await self.store.write(job)

    async def _dead(self, row: Row, outcome: Outcome) -> None:
        await self._settle([(row, Verdict(fate="dead", error=outcome.reason, problem=outcome.problem))])

    async def _refused(self, row: Row, outcome: Outcome) -> None:
        """A refusal of a request that held one operation is about that operation."""
        if outcome.problem is None:
            await self._settle([(row, Verdict(fate="failed", error=outcome.reason))])
        else:
            await self._settle([(row, of_problem(outcome.problem, row.operation))])

    async def _failed_alone(self, row: Row, outcome: Outcome) -> bool:
        """5xx or no answer for one operation. An attempt is spent only if the Hub is known to work: it acknowledged
        another operation in this pass, or says that it is ready; else it is an outage and the pass is over."""
        works = self._acknowledged or await self._works()
        if self.stopping or not works:
            await self._put_back([row], outcome.reason)
            if not self.stopping:
                await self.link.in_trouble(outcome.reason)
            return False
        self._block(row)
        why = "in_doubt" if outcome.kind == "in_doubt" else "backoff"
        verdict = Verdict(fate="failed", error=outcome.reason)

        async def job(connection: aiosqlite.Connection) -> Tally:
            return await settle.spend(
                connection, self.clock, self.link.now(), self.config.queue.max_attempts, row, verdict, why=why
            )

        self._tally = self._tally.plus(await self.store.write(job))
        self._tell()
        return True

    async def _works(self) -> bool:
        """The Hub says that it is ready; a plain Hub has no such word, but a list of tasks is one."""
        client = self.link.client
        if client.plain:
            found = await self._in_time(client.probe(self._timeout()))
            return bool(found and found.may_send)
        return bool(await self._in_time(client.ready(self._timeout())))

    # What others see

    def _progress(self) -> SyncProgress:
        done = self._tally.done
        elapsed = self.clock.steady() - self._started
        rate = done / elapsed if done and elapsed > 0 else None
        total = max(self._total, done)
        return SyncProgress(
            done=done,
            total=total,
            synced=self._tally.synced,
            superseded=self._tally.superseded,
            failed=self._tally.failed,
            conflicts=self._tally.conflicts,
            current=self._current,
            rate=rate,
            seconds_left=(total - done) / rate if rate else None,
        )

    def _tell(self) -> None:
        self._report(self._progress())

    async def _publish(self, connection: aiosqlite.Connection) -> None:
        """The progress, in the transaction that made it, for the processes that look on."""
        running = Running(pid=os.getpid(), progress=self._progress(), first=self._first, last=self._last)
        await state.put_in(connection, "drain", running)

    async def _waiting(self) -> int:
        found = await self.store.read("SELECT total(waiting) FROM counters WHERE target = ?", (self.link.target,))
        return int(found[0][0])

    def _client_id(self) -> str:
        return f"aria-{os.getpid()}"

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
        running = Running(pid=os.getpid(), progress=self._progress(), finished=report)
        good = self.link.status.state in ("online", "slow", "embedded")

        async def job(connection: aiosqlite.Connection) -> None:
            await state.put_in(connection, "drain", running)
            if good and not report.stopped:
                await state.put_in(connection, f"last_sync:{self.link.target}", self.link.now())

        if tally.done or tally.failed or self._total:
            await self.store.write(job)
        return report


async def _map_id(connection: aiosqlite.Connection, target: str, row: Row, handed_out: str) -> None:
    if row.entity.partition(":")[2] != handed_out and row.operation in ("create_task", "capture_insight"):
        await connection.execute("INSERT OR REPLACE INTO id_map VALUES (?, ?, ?)", (target, row.entity, handed_out))


def _weight(row: Row) -> int:
    """An upper bound of the bytes that a row takes in a batch."""
    return len(row.payload.encode()) + len((row.base or "").encode()) + len(row.entity.encode()) + 400
