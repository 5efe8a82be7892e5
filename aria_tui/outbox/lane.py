"""The one lane on which operations go to a Hub: an attempt committed, a request, its verdicts committed (queue.md).

Even of one operation at a time only one request is under way: that keeps order, and batches beat concurrency.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import aiosqlite
import msgspec

from aria_tui.config import Config
from aria_tui.hub.client import Outcome
from aria_tui.models import Frozen, SyncProgress
from aria_tui.outbox import rows, settle, state
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.gist import gist
from aria_tui.outbox.link import Link
from aria_tui.outbox.plain import PlainLane, map_id
from aria_tui.outbox.rows import Row
from aria_tui.outbox.settle import Judged, Tally
from aria_tui.outbox.store import Store
from aria_tui.outbox.verdict import Verdict, of_problem, of_result

FIRST_BATCH = 500
SMALLEST = 50
"""Operations below which a batch is not made smaller because the answer took its time."""
QUICK = 1000.0
"""Milliseconds within which a batch should be answered: quicker ones grow, slower ones shrink."""
PER_OPERATION = 0.1
"""Seconds that each operation of a batch adds to the time that its answer may take."""
LET_GO = 1.0
"""Seconds for which what is in flight is awaited when the drain is stopped."""
PATIENCE = 8
"""Operations in a row that the Hub may fail alone before a pass gives up."""

_BEHIND = Verdict(fate="behind", error="the Hub was restored from a backup")
Delivered = Callable[[Sequence[Judged], Outcome | None], Awaitable[None]]
Seen = Callable[[str], Mapping[str, Any] | None]
"""An entity's name → its fields as last seen at the Hub."""


class Sending(Frozen, frozen=True, kw_only=True):
    """What is in flight, as other processes see it: ``first`` and ``last`` bound the queue numbers; 0: nothing."""

    pid: int
    first: int = 0
    last: int = 0

    @property
    def alive(self) -> bool:
        """The process that sends is there. (The lock itself isn't asked: a look must not take it.)"""
        return is_alive(self.pid)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True


class Lane:
    """What a drain and the immediate send of one row have in common. The caller holds the drain lock.

    ``delivered`` is called with what was acknowledged, before that is committed: a crash in between leaves rows that
    are laid over twice, which does no harm; the other way round an edit would lack its base. ``limit_s``: seconds for
    the whole.
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
        limit_s: float | None = None,
    ) -> None:
        self.store, self.clock, self.link, self.config = store, clock, link, config
        self._report, self._delivered, self._seen = report, delivered, seen
        self._stop = asyncio.Event()
        self._started = clock.steady()
        self._end = None if limit_s is None else self._started + limit_s
        self._tally = Tally()
        self._total = 0
        self._size = self._most = FIRST_BATCH
        self._alone, self._failures = False, 0
        self._blocked: dict[str, int] = {}
        self._settled_again = False
        self._acknowledged = self._attempted = False
        self._first = self._last = 0
        self._current = ""

    def stop(self) -> None:
        """Ends it: what is in flight is awaited briefly, else it is in doubt; nothing is half marked."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set() or (self._end is not None and self.clock.steady() >= self._end)

    def _parked_ahead(self, row: Row) -> bool:
        blocker = self._blocked.get(row.entity)
        return blocker is not None and blocker <= row.id

    def _block(self, row: Row) -> None:
        self._blocked.setdefault(row.entity, row.id)

    def _limits(self) -> tuple[int, int]:
        """Operations and bytes that one request may hold."""
        if self.link.client.plain:
            return 1, 2**31
        known = self.link.known
        return (known.limits.batch_ops, known.limits.body_bytes) if known else (1_000, 1024 * 1024)

    # Requests, one after another

    async def _lane(self, batch: list[Row]) -> bool:
        """Sends rows until each has its verdict; False: the pass is over.

        A batch that failed as a whole is tried by its first row alone, and halved only after one alone succeeded.
        """
        pending = await self._without_unsendable(batch)
        self._alone, self._failures = False, 0
        while pending and not self.stopping:
            pending = [row for row in pending if not self._parked_ahead(row)]
            part = pending[: 1 if self._alone else self._size]
            if not part:
                return True
            if not await self._respite():
                return False
            taken = len(part)
            outcome = await self._attempt(part)
            done = outcome is None or await self._judge(part, outcome)
            if done is None:
                return False
            pending = pending[taken:] if done else pending
        return not self.stopping

    async def _judge(self, part: list[Row], outcome: Outcome) -> bool | None:
        """What comes of a request for the lane. True: these rows are done with for now; False: again, in other
        portions; None: the pass is over."""
        several = len(part) > 1
        if self.link.restored:
            return None
        match outcome.kind:
            case "answered":
                self._resize(len(part), outcome)
                self._alone, self._failures = False, 0
                return True
            case "too_large" | "refused" if several:
                await self._put_back(part, outcome.reason)
                self._size = max(1, len(part) // 2)
                if outcome.kind == "too_large":
                    self._most = self._size
                return False
            case "too_large":
                await self._settle([(part[0], Verdict(fate="dead", error=outcome.reason, problem=outcome.problem))])
                return True
            case "refused":
                await self._refused(part[0], outcome)
                self._alone, self._failures = False, 0
                return True
            case "in_doubt" | "server_error":
                return await (self._failed_together if several else self._failed_alone)(part, outcome)
            case _:
                return None

    async def _without_unsendable(self, batch: list[Row]) -> list[Row]:
        bad = [(row, Verdict(fate="dead", error=why)) for row in batch if (why := rows.unsendable(row))]
        if bad:
            await self._settle(bad)
        dead = {row.id for row, _ in bad}
        return [row for row in batch if row.id not in dead]

    async def _attempt(self, part: list[Row]) -> Outcome | None:
        """Commits the attempt, sends, commits the results. Rows that were changed or taken away since they were read
        leave ``part``; None: all of them were."""
        now = self.link.now()

        async def begin(connection: aiosqlite.Connection) -> list[Row]:
            kept = await settle.still_there(connection, part)
            if kept:
                self._first, self._last, self._current = kept[0].id, kept[-1].id, gist(kept[0])
                await settle.mark_sent(connection, kept, now)
                await self._publish(connection)
            return kept

        part[:] = await self.store.write(begin)
        if not part:
            return None
        self._attempted = True
        self._tell()
        outcome = await self._request(part)
        restored = await self.link.note_epoch(outcome.epoch)
        if outcome.kind == "answered":
            by_id = {result.op_id: result for result in outcome.results}
            judged = [(row, of_result(by_id.get(row.op_id), row.operation)) for row in part]
            if restored:  # what it finds fault with may be for want of what it lost
                judged = [(row, v if v.fate == "delivered" else _BEHIND) for row, v in judged]
            await self._settle(judged, outcome=outcome)
        elif outcome.kind in ("unreachable", "paused", "wait"):
            await self._nothing_spent(part, outcome)
        await self.link.judge(outcome, operations=len(part))
        return outcome

    async def _request(self, part: list[Row]) -> Outcome:
        client, timeout = self.link.client, self._timeout(len(part))
        if client.plain:
            sending = PlainLane(self.store, self.link).send(part[0], timeout)
        else:
            ops = [rows.encode_op(row) for row in part]
            ids = [row.op_id for row in part]
            sending = client.send_batch(ops, ids, client_id=self._client_id(), timeout=timeout)
        outcome: Outcome | None = await self._in_time(sending)
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

    def _timeout(self, operations: int = 1) -> float:
        longest = self.config.hub.timeout + PER_OPERATION * (operations - 1)
        return longest if self._end is None else max(0.1, min(longest, self._end - self.clock.steady()))

    def _resize(self, sent: int, outcome: Outcome) -> None:
        latency = outcome.latency_ms or 0.0
        if self._alone:
            self._size = max(1, self._size // 2)
        elif latency > QUICK:
            # A way that is long for every request is no reason for small ones; a timeout is.
            self._size = max(min(sent, SMALLEST), int(sent * QUICK / latency))
        elif sent >= self._size:
            self._size = min(self._size * 2, self._most)

    async def _respite(self) -> bool:
        """A healthy Hub may have asked for time before the next request (Aria-Backoff); False: it's not to be had."""
        pause = self.link.slow_until - self.clock.steady()
        if pause <= 0:
            return True
        if self._end is not None and self.clock.steady() + pause >= self._end:
            return False
        await self._in_time(self.clock.sleep(pause))
        return not self.stopping

    # Verdicts, committed

    async def _settle(self, judged: Sequence[Judged], *, outcome: Outcome | None = None) -> None:
        """``outcome``: the answer, which may bear the id that a plain Hub gave to what it just created."""
        for row, verdict in judged:
            if verdict.fate != "delivered":
                self._block(row)
        now, before, known = self.link.now(), self._tally, self.link.known

        async def job(connection: aiosqlite.Connection) -> tuple[Tally, list[str]]:
            done = await settle.settle(connection, self.clock, now, self.config.queue.max_attempts, judged)
            if outcome is not None and outcome.server_id is not None:
                await map_id(connection, self.link.target, judged[0][0], outcome)
            await self.link.note_changes(connection, known, sum(map(_made, judged)))
            resolved = await self._by_policy(connection, judged, now)
            done = msgspec.structs.replace(done, conflicts=done.conflicts - len(resolved))
            self._tally = before.plus(done)
            await self._landed(connection)
            return done, resolved

        delivered = [pair for pair in judged if pair[1].fate == "delivered"]
        if delivered:
            await self._delivered(delivered, outcome)
        try:
            done, resolved = await self.store.write(job)
        except BaseException:
            self._tally = before
            raise
        self._tally = before.plus(done)
        for entity in resolved:
            self._blocked.pop(entity, None)
            self._settled_again = True
        self._acknowledged = self._acknowledged or bool(delivered)
        self._tell()

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

    async def _nothing_spent(self, part: list[Row], outcome: Outcome) -> None:
        """The Hub was away, refused the token, or asked for time: the rows are as they were before."""
        reached = outcome.kind != "unreachable" or outcome.status is not None

        async def job(connection: aiosqlite.Connection) -> None:
            await settle.unmark(connection, part, outcome.reason, reached=reached)
            await self._landed(connection)

        await self.store.write(job)

    async def _put_back(self, part: list[Row], reason: str) -> None:
        async def job(connection: aiosqlite.Connection) -> None:
            await settle.note_error(connection, part, reason)
            await self._landed(connection)

        await self.store.write(job)

    async def _refused(self, row: Row, outcome: Outcome) -> None:
        """A refusal of a request that held one operation is about that operation."""
        if outcome.problem is None:
            await self._settle([(row, Verdict(fate="failed", error=outcome.reason))])
        else:
            await self._settle([(row, of_problem(outcome.problem, row.operation))])

    async def _failed_together(self, part: list[Row], outcome: Outcome) -> bool | None:
        """Several failed as a whole: halved after a timeout, tried by its first alone after 5xx."""
        if self.stopping:
            return await self._give_up(part, outcome)
        if outcome.kind == "server_error":
            self._alone = True
            return False
        if not await self._works():
            return await self._give_up(part, outcome)
        self._size = max(1, len(part) // 2)
        return False

    async def _failed_alone(self, part: list[Row], outcome: Outcome) -> bool | None:
        """5xx or no answer for one operation. An attempt is spent only if the Hub is known to work: it acknowledged
        another operation in this pass, or says that it is ready; else it is an outage and the pass is over."""
        if self.stopping or not (self._acknowledged or await self._works()):
            return await self._give_up(part, outcome)
        row = part[0]
        self._block(row)
        why = "in_doubt" if outcome.kind == "in_doubt" else "backoff"
        verdict = Verdict(fate="failed", error=outcome.reason)

        async def job(connection: aiosqlite.Connection) -> Tally:
            await self._landed(connection)
            return await settle.spend(
                connection, self.clock, self.link.now(), self.config.queue.max_attempts, row, verdict, why=why
            )

        self._tally = self._tally.plus(await self.store.write(job))
        self._tell()
        self._failures += 1
        return await self._give_up(part, outcome) if self._failures >= PATIENCE else True

    async def _give_up(self, part: list[Row], outcome: Outcome) -> bool | None:
        """The pass is over; unless the user stopped it, the Hub is in trouble and gets some time."""
        await self._put_back(part, outcome.reason)
        if not self._stop.is_set():
            await self.link.in_trouble(outcome.reason)
        return None

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
        """What is in flight, in the transaction that changes it, for the processes that look on."""
        sending = Sending(pid=os.getpid(), first=self._first, last=self._last)
        await state.put_in(connection, "sending", sending)

    async def _landed(self, connection: aiosqlite.Connection) -> None:
        """The same when nothing is in flight any more."""
        self._first = self._last = 0
        await self._publish(connection)

    def _client_id(self) -> str:
        return f"aria-{os.getpid()}"


def _made(judged: Judged) -> bool:
    """The Hub made a new thing, which is one change there for certain."""
    row, verdict = judged
    result = verdict.result
    new = row.operation in ("create_task", "capture_insight") and verdict.outcome == "applied"
    return bool(new and result is not None and result.version == 1)
