"""How long to wait before the next try: exponential with full jitter (queue.md, "When it fails")."""

from __future__ import annotations

from aria_tui.outbox.clock import Clock

BASE, CAP = 2.0, 300.0
RETRY_AFTER_CAP = 3600.0


def delay(clock: Clock, tries: int, *, retry_after: float | None = None) -> float:
    """Seconds before try number ``tries`` + 1: random between 0 and min(cap, base · 2^tries), Retry-After as floor.

    Full jitter spreads clients that failed together over the whole interval, so that a Hub that comes back is not
    met by all of them at once.
    """
    ceiling = min(CAP, BASE * 2 ** min(tries, 30))
    return max(clock.uniform(0, ceiling), min(retry_after or 0.0, RETRY_AFTER_CAP))
