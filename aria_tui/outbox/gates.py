"""What keeps a whole target's rows back: the Hub is away, refuses the token, or asked for time (queue.md).

A gate is shared between processes through the queue's file, so that each of them needn't find out for itself.
"""

from __future__ import annotations

from typing import Literal

from aria_tui.models import Frozen, HubState
from aria_tui.outbox import state
from aria_tui.outbox.clock import Clock, seconds_until
from aria_tui.outbox.store import Store

KNOWN_DOWN = 30.0
"""Seconds for which nobody tries a Hub at once that somebody just found away."""
REFUSED_PROBE = 300.0
"""Seconds between two tries with a token that was refused."""


Code = Literal["offline", "paused", "retry_after", "restored"]


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

    def seconds(self, clock: Clock) -> float:
        """Seconds until it may be tried again without anybody asking; 0 when it is over."""
        return seconds_until(clock, self.until, self.boot)


def _name(target: str) -> str:
    return f"gate:{target}"


async def load(store: Store, target: str) -> Gate | None:
    return await state.get(store, _name(target), Gate)


async def save(store: Store, target: str, gate: Gate | None) -> None:
    """Shuts the gate, or with None opens it; writes only what is new."""
    known = await load(store, target)
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
) -> Gate:
    """A gate shut for some seconds. An outage that goes on keeps the moment when it began."""
    same = known is not None and known.code == code
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
    )
