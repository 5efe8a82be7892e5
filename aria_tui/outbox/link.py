"""The way to one Hub: who is there, whether it may be sent to, and what each answer says about it.

Keeps the gate of the target, the binding of its address, and what the Hub said about itself, all in the queue's
file, so that every process of the home knows the same.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Awaitable
from datetime import timedelta

import aiosqlite
import msgspec

from aria_tui.errors import NotSaved, QueueUnavailable
from aria_tui.hub._reasons import TOKEN_LACKS, TOKEN_REFUSED
from aria_tui.hub.client import HubClient, Outcome, Probe
from aria_tui.hub.contract import IF_REACHED, Meta, write_time
from aria_tui.models import HubState, HubStatus
from aria_tui.outbox import backoff, gates, known, names, state, targets
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.gates import Gate
from aria_tui.outbox.known import Known, Made
from aria_tui.outbox.store import Store

_GOOD: set[HubState] = {"online", "slow", "embedded"}
_SPARK = 60
_SLOWEST = 60.0
FRESH = 30.0
"""Seconds for which the Hub's word about itself is good enough to send a batch without asking once more."""
NEW_EPOCH = "the Hub was restored from a backup (it has a new epoch)"
VERIFY = "run `aria queue verify` before anything is sent"


class Link:
    """One per program and Hub. ``load`` before anything else.

    What can't be kept in the queue's file (a full disk, a file that can't be opened) is known to this process alone.
    """

    def __init__(self, store: Store, clock: Clock, client: HubClient, *, address: str, credential: str) -> None:
        self.store, self.clock, self.client = store, clock, client
        self.address, self.credential = address, credential
        self.target = names.unbound(address)
        self.known: Known | None = None
        self.gate: Gate | None = None
        self._others = False
        """The gate was shut by another token's refusal; this one may be let in, and then it is open for everybody."""
        self.status = HubStatus(url="" if client.embedded else client.url)
        self._latencies: deque[float | None] = deque(maxlen=_SPARK)
        self._good_since: str | None = None
        self._asked = float("-inf")
        self._noted = 0
        """How often something was learned of the Hub by its answers: what the file said before is older."""
        self._gate_is_ours = False
        """The gate could not be written to the file, so it is this process's alone."""
        self.slow_until = 0.0
        """The steady moment before which a healthy Hub asked not to be sent more (Aria-Backoff)."""

    @property
    def restored(self) -> str:
        """Why nothing may be sent until `aria queue verify`, or empty."""
        return self.known.restored if self.known is not None else ""

    @property
    def bound(self) -> bool:
        """Whether it is known who lives at the address, so that an answer's Hub id can be held against it."""
        return self.client.embedded or self.client.plain or self.known is not None

    @property
    def reached(self) -> str:
        """Where the Hub was when it was last heard of, for one that then refuses to write when it was restored since;
        else empty."""
        known = self.known
        return f"{known.epoch}.{known.seq}" if known is not None and IF_REACHED in known.features else ""

    @property
    def fresh(self) -> bool:
        """The Hub said a moment ago, to this process, who it is and that it takes writes; nothing went wrong since.
        That is enough to write to it without asking once more, if it can tell by itself that it was restored."""
        asked = self._asked <= self.clock.steady() < self._asked + FRESH
        good = self.gate is None and not self.restored and self.status.state in _GOOD
        return asked and good and bool(self.reached)

    def now(self) -> str:
        return write_time(self.clock.now())

    async def load(self) -> None:
        """Reads what the home's processes know of this Hub."""
        try:
            self.target = await targets.resolve(self.store, self.address)
            noted = None
            while noted != self._noted:  # else what is read is older than what was noted while it was read
                noted = self._noted
                found = await state.get(self.store, f"hub:{self.target}", Known)
            self.known = found
        except QueueUnavailable:
            return  # what doesn't need the queue works without it
        if self.known is not None and not self.client.embedded:
            self.client.expected_hub_id = self.known.hub_id
        gate = await self._load_gate()
        if not (self._gate_is_ours and self.gate is not None and self.gate.asked_for(self.clock)):
            self.gate = gate
        if self.gate is not None:
            self._show(self.gate.hub_state, self.gate.reason, since=self.gate.since)

    async def _load_gate(self) -> Gate | None:
        gate = await gates.load(self.store, self.target)
        self._others = gate is not None and gate.code == "paused" and gate.credential != self.credential
        if gate is not None and self._others:  # what the Hub asked for it asked of every token
            return gates.still_asked(self.clock, gate) if gate.asked_for(self.clock) else None
        return gate

    async def probe(self, timeout: float) -> Probe:
        """Asks the Hub who it is and keeps the answer: binding, gate, limits, restored or not."""
        before = self.known
        found = await self.client.probe(timeout)
        self._latencies.append(found.latency_ms if found.state in _GOOD else None)
        if found.meta is not None and found.state == "not_the_hub" and not self.client.embedded:
            # Another Hub of ours lives at this address now and took our token: its rows are its own.
            self.client.expected_hub_id = None
            found = await self.client.probe(timeout)
        if found.may_send:
            await self._bind(found, before)
            if self.gate is not None and self.gate.reads:
                self._show(self.gate.hub_state, self.gate.reason, since=self.gate.since)
                return found
            if self._others or (self.gate is not None and self.gate.code in ("offline", "paused")):
                await self._let_in()
            self._asked = self.clock.steady()
            self._show(found.state, found.reason, latency_ms=found.latency_ms)
        else:
            await self._shut_by(found.state, found.reason, found.wait_s)
        return found

    async def _bind(self, found: Probe, before: Known | None) -> None:
        if found.meta is not None:
            former, gate = self.target, self.gate
            if not self.client.embedded:
                self.target = names.named(found.meta.hub_id, found.meta.account)
                await self._keep(targets.bind(self.store, self.address, found.meta.hub_id, found.meta.account))
            if self.target != former:
                with contextlib.suppress(QueueUnavailable):
                    self.known = await state.get(self.store, f"hub:{self.target}", Known)
                    self.gate = await self._load_gate()
                if self.gate is None and gate is not None and gate.asked_for(self.clock):
                    self.gate = gate  # asked of whoever writes to this address
                    await self._keep_gate(gate)
            await self._remember(found.meta, before)
        elif found.plain:
            await self._keep(targets.bind_plain(self.store, self.address))
            self.target = names.unbound(self.address)

    async def _keep(self, writing: Awaitable[object]) -> bool:
        try:
            await writing
        except (NotSaved, QueueUnavailable):
            return False
        return True

    async def _keep_gate(self, gate: Gate | None) -> None:
        self._gate_is_ours = not await self._keep(gates.save(self.store, self.target, gate))

    async def _know(self, new: Known) -> None:
        """Takes note of what the Hub is known to be now, here and in the file. Whoever loads it meanwhile reads what
        was there before, so it is set once more afterwards."""
        self.known = new
        await self._keep(state.put(self.store, f"hub:{self.target}", new))
        self.known, self._noted = new, self._noted + 1

    async def _remember(self, meta: Meta, before: Known | None) -> None:
        """Keeps the Hub's word about itself; a change number that went back, or another epoch, means restored.

        ``before``: what was known when it was asked. What was acknowledged while its answer was on the way raised the
        number that is known by now, and the answer may be older than that.
        """
        old = self.known
        restored, seq = (old.restored, old.seq) if old else ("", 0)
        if old is not None and old.epoch != meta.epoch:
            if before is not None and before.epoch == meta.epoch:
                return  # of before a restoration that was noticed meanwhile
            restored, seq = NEW_EPOCH, meta.seq
        elif old is not None and before is not None and before.same(meta) and meta.seq < min(before.seq, old.seq):
            restored = f"the Hub was restored from a backup (its last change is {meta.seq}, {before.seq} was seen)"
            seq = meta.seq
        new = Known(
            hub_id=meta.hub_id,
            account=meta.account,
            epoch=meta.epoch,
            seq=max(seq, meta.seq),
            api=meta.api,
            operations=meta.operations,
            limits=meta.limits,
            key_days=meta.retention.key_days,
            features=meta.features,
            restored=restored,
        )
        if new == old:
            return
        if new.restored or old is None or new.epoch != old.epoch:
            await self._know(new)
        else:
            await self._keep(self.store.write(lambda c: known.put_in(c, self.target, new), hurried=True))
            self.known, self._noted = new.over(self.known), self._noted + 1

    async def note_epoch(self, epoch: str) -> bool:
        """An answer named its epoch; whether that says that the Hub was restored since it last told of itself."""
        known = self.known
        if known is None or not epoch or epoch == known.epoch:
            return False
        await self._know(msgspec.structs.replace(known, epoch=epoch, seq=0, restored=NEW_EPOCH))
        return True

    async def note_restored(self) -> None:
        """The Hub refused to write because it isn't where it was."""
        if self.known is not None and not self.known.restored:
            restored = f"the Hub was restored from a backup (it is behind change {self.known.seq}, which was seen)"
            await self._know(msgspec.structs.replace(self.known, restored=restored))

    def note_changes(self, made: Made) -> None:
        """Things were made at the Hub by a request, so its last change number is higher by that many at least than
        before it: a lower one later means that it was restored. A probe that came meanwhile has counted them already,
        and done twice it is the same."""
        if not made.count or self.known is None or self.target != made.target:
            return
        if self.known.epoch == made.before.epoch:
            self.known = msgspec.structs.replace(self.known, seq=max(self.known.seq, made.seq))
            self._noted += 1

    async def waive_restored(self) -> None:
        """The user verified, or doesn't mind: draining goes on."""
        if self.known is not None and self.known.restored:
            self.known = msgspec.structs.replace(self.known, seq=0, restored="")  # counted anew from the next answer
            await state.put(self.store, f"hub:{self.target}", self.known)

    async def open_gate(self) -> None:
        self.gate, self._others = None, False
        await self._keep_gate(None)

    async def _let_in(self) -> None:
        """The Hub answers; what it asked for before, this process or another, holds all the same."""
        asked, gate = await self._asked_gate(), self.gate
        if asked is not None:
            gate = gates.still_asked(self.clock, asked)
        elif gate is not None and gate.write:
            gate = gates.in_backoff(gate)
        else:
            await self.open_gate()
            return
        self.gate, self._others = gate, False
        await self._keep_gate(gate)

    async def _asked_gate(self) -> Gate | None:
        """The gate, in memory or in the file, by which the Hub asked for the longest time from now on, if any did."""
        known = [self.gate]
        with contextlib.suppress(QueueUnavailable):
            known.append(await gates.load(self.store, self.target))
        asking = [gate for gate in known if gate is not None and gate.asked_for(self.clock)]
        return max(asking, key=lambda gate: gate.asked, default=None)

    async def judge(self, outcome: Outcome, *, operations: int = 1) -> None:
        """Keeps what an answer to a write says about the Hub. How long a batch took says nothing of how near it is."""
        if outcome.kind in ("answered", "refused", "too_large", "no_endpoint"):
            if self._others or self.gate is not None:
                await self.open_gate()
            if outcome.slow_down_s:
                self.slow_until = self.clock.steady() + min(outcome.slow_down_s, _SLOWEST)
            latency = outcome.latency_ms if operations == 1 else self.status.latency_ms
            self._show(outcome.state, "", latency_ms=latency)
        elif outcome.kind == "restored":
            self._show(outcome.state, outcome.reason)
        elif outcome.kind == "wait":
            await self._wait(outcome.reason, outcome.wait_s, write=True)
        elif outcome.kind in ("unreachable", "paused"):
            await self._shut_by(outcome.state, outcome.reason, None)

    async def in_trouble(self, reason: str) -> None:
        """The Hub answers, but not well (5xx, no answer, and not ready): like an outage, with backoff."""
        tries = self.gate.tries if self.gate is not None else 0
        await self._shut("offline", "offline", reason, max(1.0, backoff.delay(self.clock, tries)), write=True)

    async def _shut_by(self, hub_state: HubState, reason: str, wait_s: float | None) -> None:
        if wait_s is not None:
            await self._wait(reason, wait_s)
        elif hub_state == "refused":
            await self._shut("paused", hub_state, reason, gates.REFUSED_PROBE)
        else:
            await self._shut("offline", hub_state, reason, gates.KNOWN_DOWN)

    async def _wait(self, reason: str, wait_s: float | None, *, write: bool = False) -> None:
        tries = self.gate.tries if self.gate is not None else 0
        seconds = backoff.delay(self.clock, tries, retry_after=wait_s)
        await self._shut(
            "retry_after" if wait_s else "offline", "slow" if wait_s else "offline", reason, seconds,
            write=write and not wait_s, asked_s=min(wait_s or 0.0, backoff.RETRY_AFTER_CAP),
        )  # fmt: skip

    async def _shut(
        self,
        code: gates.Code,
        hub_state: HubState,
        reason: str,
        seconds: float,
        *,
        write: bool = False,
        asked_s: float = 0.0,
    ) -> None:
        self.gate = shut = gates.shut(
            self.clock,
            self.gate,
            code,
            hub_state=hub_state,
            reason=reason,
            seconds=seconds,
            since=self.now(),
            credential=self.credential,
            unknown=reason == TOKEN_REFUSED,
            reads=reason == TOKEN_LACKS,
            write=write,
            asked_s=asked_s,
        )
        await self._keep_gate(shut)
        if self.gate is shut:  # else a newer answer came meanwhile, and says more
            self._show(hub_state, reason, since=shut.since)

    async def away(self, hub_state: HubState, reason: str) -> None:
        """A read found the Hub away; the next one needn't find out for itself."""
        if hub_state not in _GOOD:
            await self._shut_by(hub_state, reason, None)

    def _show(
        self, hub_state: HubState, reason: str, *, latency_ms: float | None = None, since: str | None = None
    ) -> None:
        if hub_state in _GOOD:
            if self.status.state not in _GOOD or self._good_since is None:
                self._good_since = self.now()
            since = self._good_since
        known = self.known
        if self.restored:
            reason = f"{self.restored}; {VERIFY}"
        self.status = msgspec.structs.replace(
            self.status,
            state=hub_state,
            reason=reason,
            since=since or self.now(),
            latency_ms=latency_ms if hub_state in _GOOD else None,
            latencies_ms=tuple(self._latencies),
            hub_id=known.hub_id if known else "",
            account=known.account if known else "",
            api=known.api if known else None,
        )

    async def note_uptime(self, watched: int, answered: int) -> None:
        """Adds seconds that were watched, and those in which the Hub answered, to this hour's; forgets what is older
        than 8 days."""
        hour = self.clock.now().strftime("%Y-%m-%dT%H")
        old = (self.clock.now() - timedelta(days=8)).strftime("%Y-%m-%dT%H")

        async def job(connection: aiosqlite.Connection) -> None:
            await connection.execute(
                "INSERT INTO uptime VALUES (?, ?, ?, ?) ON CONFLICT(target, hour) DO UPDATE SET"
                " probes = probes + excluded.probes, answered = answered + excluded.answered",
                (self.target, hour, watched, answered),
            )
            await connection.execute("DELETE FROM uptime WHERE hour < ?", (old,))

        await self.store.write(job, hurried=True)

    async def refresh_uptime(self) -> None:
        """Puts the share of the last 7 days, as far as they were watched, in which the Hub answered into ``status``."""
        first = (self.clock.now() - timedelta(days=7)).strftime("%Y-%m-%dT%H")
        found = await self.store.read(
            "SELECT sum(probes), sum(answered) FROM uptime WHERE target = ? AND hour >= ?", (self.target, first)
        )
        probes, answered = found[0] if found else (None, None)
        last = await state.get(self.store, f"last_sync:{self.target}", str)
        share = answered / probes if probes else None
        self.status = msgspec.structs.replace(self.status, uptime_7d=share, last_sync=last)
