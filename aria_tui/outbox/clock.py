"""Time, sleep and randomness as one argument, so that a simulation can own them.

Waiting is measured on a clock that a jump of the wall clock neither freezes nor hurries. It is shared by the
processes of one boot, so a wait that one process wrote down is understood by the next: a moment on it is kept
together with the boot's id (``Due``), and a moment of another boot is over.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """What the outbox needs of the world beside files and the Hub."""

    boot: str
    """Names the run of the steady clock; moments of another run can't be compared."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def steady(self) -> float:
        """Seconds on a clock that only goes forward, through sleep of the machine too where there is one."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def uniform(self, low: float, high: float) -> float:
        """A random number between the two."""
        ...


class SystemClock:
    """The real world."""

    def __init__(self) -> None:
        self._source = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
        try:
            self.boot = _BOOT_ID.read_text().strip()
        except OSError:
            # Elsewhere a wait is known to the process that chose it only; others find it over and try once more.
            self.boot = os.urandom(8).hex()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def steady(self) -> float:
        return time.monotonic() if self._source is None else time.clock_gettime(self._source)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def uniform(self, low: float, high: float) -> float:
        import random  # few programs ever wait

        return random.uniform(low, high)  # noqa: S311 - jitter is no secret


def seconds_until(clock: Clock, due: float | None, boot: str | None) -> float:
    """Seconds until a moment that was written down as (steady, boot); 0 when it is over or of another boot."""
    if due is None or boot != clock.boot:
        return 0.0
    return max(0.0, due - clock.steady())
