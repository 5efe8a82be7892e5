"""The one lane on which operations go to a Hub: an attempt committed, a request, its verdicts committed (queue.md).

Even of one operation at a time only one request is under way: that keeps order, and batches beat concurrency.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from aria_tui.config import Config
from aria_tui.hub.client import Outcome
from aria_tui.models import SyncProgress
from aria_tui.outbox import rows
from aria_tui.outbox.books import Books, Delivered, Seen
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.link import Link
from aria_tui.outbox.plain import PlainLane
from aria_tui.outbox.rows import Row
from aria_tui.outbox.store import Store
from aria_tui.outbox.verdict import Verdict, in_words, of_problem, of_result

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


class Lane:
    """What a drain and the immediate send of one row have in common. The caller holds the drain lock.

    What it learns is written down by its ``books``, to which ``report``, ``delivered`` and ``seen`` go. ``limit_s``:
    seconds for the whole.
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
        self.books = Books(store, clock, link, config, report=report, delivered=delivered, seen=seen)
        self._stop = asyncio.Event()
        self._end = None if limit_s is None else clock.steady() + limit_s
        self._size = self._most = FIRST_BATCH
        self._alone, self._failures = False, 0
        self._encoded: dict[int, tuple[Row, bytes]] = {}
        """Rows that were found sendable, by number, with what goes over the wire."""

    def stop(self) -> None:
        """Ends it: what is in flight is awaited briefly, else it is in doubt; nothing is half marked."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set() or (self._end is not None and self.clock.steady() >= self._end)

    def _limits(self) -> tuple[int, int]:
        """Operations and bytes that one request may hold."""
        if self.link.client.plain:
            return 1, 2**31
        known = self.link.known
        return (known.limits.batch_ops, known.limits.body_bytes) if known else (1_000, 1024 * 1024)

    # Requests, one after another

    async def _lane(self, batch: list[Row], edits: int | None = None) -> bool:
        """Sends rows until each has its verdict; False: the pass is over. ``edits``: before how many changes of waiting
        rows they were read.

        A batch that failed as a whole is tried by its first row alone, and halved only after one alone succeeded.
        """
        pending = await self._without_unsendable(batch)
        self._alone, self._failures = False, 0
        while pending and not self.stopping:
            if self.books.blocked:
                pending = [row for row in pending if not self.books.parked_ahead(row)]
            part = pending[: 1 if self._alone else self._size]
            if not part:
                return True
            if not await self._respite():
                return False
            taken = len(part)
            outcome = await self._attempt(part, edits)
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
                await self.books.put_back(part, outcome.reason)
                self._size = max(1, len(part) // 2)
                if outcome.kind == "too_large":
                    self._most = self._size
                return False
            case "too_large":
                said = in_words(outcome.problem, outcome.reason)
                await self.books.settle([(part[0], Verdict(fate="dead", error=said, problem=outcome.problem))])
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
        unknown = [row for row in batch if self._encoded.get(row.id, (None,))[0] is not row]
        bad = [(row, Verdict(fate="dead", error=why)) for row in unknown if (why := rows.unsendable(row))]
        if bad:
            await self.books.settle(bad)
        dead = {row.id for row, _ in bad}
        return [row for row in batch if row.id not in dead]

    async def _attempt(self, part: list[Row], edits: int | None) -> Outcome | None:
        """Commits the attempt, sends, takes note of the results. Rows that were changed or taken away since they were
        read leave ``part``; None: all of them were."""
        part[:] = await self.books.begin(part, edits)
        if not part:
            return None
        self.books.pay_meanwhile()
        self._under_way()
        try:
            outcome = await self._request(part)
        finally:
            unpaid = await self.books.paid()
        restored = await self.link.note_epoch(outcome.epoch)
        if outcome.kind == "restored":
            await self.link.note_restored()
        try:
            if unpaid is None:
                await self._note(part, outcome, restored=restored)
        finally:  # what it says of the Hub holds whether its results can be kept or not
            await self.link.judge(outcome, operations=len(part))
        if unpaid is not None:
            raise unpaid  # and these rows stay in doubt, as those before them do
        return outcome

    async def _note(self, part: list[Row], outcome: Outcome, *, restored: bool) -> None:
        """Takes note of what an answer says of each row."""
        if outcome.kind == "answered":
            by_id = {result.op_id: result for result in outcome.results}
            judged = [(row, of_result(by_id.get(row.op_id), row.operation)) for row in part]
            if restored:  # what it finds fault with may be for want of what it lost
                judged = [(row, v if v.fate == "delivered" else _BEHIND) for row, v in judged]
            await self.books.owe(judged, outcome)
        elif outcome.kind in ("unreachable", "paused", "wait", "restored"):
            await self.books.nothing_spent(part, outcome)

    def _under_way(self) -> None:
        """A request is about to be sent: there is time for something else."""

    async def _request(self, part: list[Row]) -> Outcome:
        client, timeout = self.link.client, self._timeout(len(part))
        if client.plain:
            sending = PlainLane(self.store, self.link).send(part[0], timeout)
        else:
            ops = [self._on_the_wire(row) for row in part]
            ids = [row.op_id for row in part]
            sending = client.send_batch(
                ops, ids, client_id=self._client_id(), timeout=timeout, reached=self.link.reached
            )
        outcome: Outcome | None = await self._in_time(sending)
        return outcome or Outcome(kind="in_doubt", state="unknown", reason="stopped before the answer came")

    def _encode(self, row: Row) -> int:
        """Makes a row ready to be sent, if it can be; the bytes that it takes in a batch."""
        if self.link.client.plain or rows.unsendable(row):
            return 0
        operation = rows.encode_op(row)
        self._encoded[row.id] = (row, operation)
        return len(operation) + 1

    def _on_the_wire(self, row: Row) -> bytes:
        made, operation = self._encoded.pop(row.id, (None, b""))
        return operation if made is row else rows.encode_op(row)

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
        await self.books.pay()
        if self._end is not None and self.clock.steady() + pause >= self._end:
            return False
        await self._in_time(self.clock.sleep(pause))
        return not self.stopping

    async def _refused(self, row: Row, outcome: Outcome) -> None:
        """A refusal of a request that held one operation is about that operation."""
        if outcome.problem is None:
            await self.books.settle([(row, Verdict(fate="failed", error=outcome.reason))])
        else:
            await self.books.settle([(row, of_problem(outcome.problem, row.operation))])

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
        if self.stopping or not (self.books.acknowledged or await self._works()):
            return await self._give_up(part, outcome)
        await self.books.spend(part[0], outcome)
        self._failures += 1
        return await self._give_up(part, outcome) if self._failures >= PATIENCE else True

    async def _give_up(self, part: list[Row], outcome: Outcome) -> bool | None:
        """The pass is over; unless the user stopped it, the Hub is in trouble and gets some time."""
        await self.books.put_back(part, outcome.reason)
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

    def _client_id(self) -> str:
        return f"aria-{os.getpid()}"
