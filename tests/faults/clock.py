"""A clock that a test owns: time passes only when it says so."""

from __future__ import annotations

import asyncio
import heapq
import random
from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 30, 11, 0, tzinfo=UTC)


class SimulatedClock:
    """The outbox's ``Clock``. Wall clock and steady clock move together by ``advance``, apart by ``jump``."""

    def __init__(self, seed: int = 0) -> None:
        self.boot = "simulated"
        self._steady = 1000.0
        self._wall = START
        self._dice = random.Random(seed)
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def now(self) -> datetime:
        return self._wall

    def steady(self) -> float:
        return self._steady

    def uniform(self, low: float, high: float) -> float:
        return self._dice.uniform(low, high)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._steady + seconds, self._count, waiting))
        await waiting

    def advance(self, seconds: float) -> None:
        """Lets time pass; whoever slept until then wakes."""
        end = self._steady + seconds
        self._wall += timedelta(seconds=seconds)
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, waiting = heapq.heappop(self._sleepers)
            self._steady = max(self._steady, due)
            if not waiting.done():
                waiting.set_result(None)
        self._steady = end

    def advance_to_next(self) -> bool:
        """Lets time pass until the next sleeper wakes; False when nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        if not self._sleepers:
            return False
        self.advance(max(0.0, self._sleepers[0][0] - self._steady))
        return True

    def jump(self, seconds: float) -> None:
        """Sets the wall clock forth or back; the steady clock doesn't notice."""
        self._wall += timedelta(seconds=seconds)
