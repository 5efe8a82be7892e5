"""What keeps a whole target's rows back: the Hub is away, refuses the token, or asked for time (queue.md).

A gate is shared between processes through the queue's file, so that each of them needn't find out for itself.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from aria_tui.models import Frozen, HubState
from aria_tui.outbox import state
from aria_tui.outbox.clock import Clock, seconds_until
from aria_tui.outbox.store import Store

KNOWN_DOWN = 30.0
"""Seconds for which nobody tries a Hub at once that somebody just found away."""
REFUSED_PROBE = 300.0
"""Seconds between two tries with a token that was refused."""


Code = Literal["offline", "backoff", "paused", "retry_after", "restored"]


class Gate(Frozen, frozen=True, kw_only=True):
    """``code`` is the reason code of every row behind it. ``until``: a steady moment of ``boot``."""

    code: Code
    hub_state: HubState
    reason: str
    since: str
    until: float
    boot: str
    tries: int = 0
    credential: str = ""
    """A digest of the token that was refused: another token opens the gate."""
    unknown: bool = False
    """Nobody knew the token (401), so that nothing was ever meant for an account of its."""
    reads: bool = False
    """The token may read (403): that a read is answered says nothing about what may be written."""
    write: bool = False
    """Shut by what a write was answered, without any time asked for: backoff, which no answered read cuts short."""
    asked: float = 0.0
    """The steady moment before which the Hub asked to be sent nothing (Retry-After). It outlives what is met
    meanwhile, an outage too: neither a portal nor a dead way to the Hub takes back what the Hub said."""
    asked_why: str = ""

    def seconds(self, clock: Clock) -> float:
        """Seconds until it may be tried again without anybody asking; 0 when it is over."""
        return seconds_until(clock, self.until, self.boot)

    def asked_for(self, clock: Clock) -> float:
        """Seconds for which nothing may be sent, whoever wants it."""
        return seconds_until(clock, self.asked, self.boot)

    def held(self, clock: Clock) -> float:
        """Seconds until something may be sent without anybody asking."""
        return max(self.seconds(clock), self.asked_for(clock))


def in_backoff(gate: Gate) -> Gate:
    """A gate shut by a write when reads are answered: the Hub isn't away, and writes are tried again in their time."""
    return msgspec.structs.replace(gate, code="backoff")


def still_asked(clock: Clock, known: Gate) -> Gate:
    """What is left of a gate when the Hub answers again before the time that it asked for is over."""
    seconds, why = known.asked_for(clock), known.asked_why
    return msgspec.structs.replace(
        known, code="retry_after", hub_state="slow", reason=why, until=clock.steady() + seconds, credential="",
        unknown=False, reads=False,
    )  # fmt: skip


def _name(target: str) -> str:
    return f"gate:{target}"


async def load(store: Store, target: str) -> Gate | None:
    return await state.get(store, _name(target), Gate)


async def save(store: Store, target: str, gate: Gate | None) -> None:
    """Shuts the gate, or with None opens it; writes only what is new. What another process was asked stays."""
    known = await load(store, target)
    if gate is not None and known is not None and known.boot == gate.boot and known.asked > gate.asked:
        gate = msgspec.structs.replace(gate, asked=known.asked, asked_why=known.asked_why)
    if known != gate:
        await state.put(store, _name(target), gate)


def shut(
    clock: Clock,
    known: Gate | None,
    code: Code,
    *,
    hub_state: HubState,
    reason: str,
    seconds: float,
    since: str,
    credential: str = "",
    unknown: bool = False,
    reads: bool = False,
    write: bool = False,
    asked_s: float = 0.0,
) -> Gate:
    """A gate shut for some seconds. An outage that goes on keeps the moment when it began.

    ``asked_s``: seconds for which the Hub asks to be sent nothing; what ``known`` says of that holds as well.
    """
    same = known is not None and (known.code == code or (known.write and write))
    asked_why = reason if asked_s else ""
    if known is not None and known.asked_for(clock) > asked_s:
        asked_s, asked_why = known.asked_for(clock), known.asked_why
    return Gate(
        code=code,
        hub_state=hub_state,
        reason=reason,
        since=known.since if known and same else since,
        until=clock.steady() + seconds,
        boot=clock.boot,
        tries=known.tries + 1 if known and same else 1,
        credential=credential,
        unknown=unknown,
        reads=reads,
        write=write,
        asked=clock.steady() + asked_s if asked_s else 0.0,
        asked_why=asked_why,
    )
