"""Token buckets: how fast an account may write, and how often an address may offer a token that isn't one."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable


class Buckets:
    """One bucket per name, ``burst`` deep, filling at ``rate`` a second. Each replica counts for itself."""

    def __init__(
        self, rate: float, burst: float, *, clock: Callable[[], float] = time.monotonic, names: int = 10_000
    ) -> None:
        self._rate, self._burst, self._clock, self._names = rate, burst, clock, names
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, count: float = 1) -> float:
        """Takes ``count`` and gives 0, or takes nothing and gives the seconds until that many are there.

        More than a whole bucket can never be there; it is taken from a full one.
        """
        now = self._clock()
        level, then = self._levels.pop(name, (self._burst, now))
        level = min(self._burst, level + (now - then) * self._rate)
        wanted = min(count, self._burst)
        short = wanted - level
        self._levels[name] = (level if short > 0 else level - wanted, now)
        if len(self._levels) > self._names:
            self._levels.popitem(last=False)
        return short / self._rate if short > 0 else 0.0
