"""The wall clock as a dashboard needs it: local, aware of midnight, of a new zone, and of having slept."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from aria_tui.locale import _

LEAP = 60.0
"""Seconds by which wall and steady clock may drift apart between two ticks before it counts as a leap."""


_zone: ZoneInfo | None = None


def use_zone(name: str) -> str:
    """Takes the configured zone for the whole screen; why it can't be used, else an empty text."""
    global _zone
    _zone = None
    if name:
        try:
            _zone = ZoneInfo(name)
        except (OSError, ValueError, LookupError):
            return _("[briefing] timezone: no such zone: {name}").format(name=name)
    return ""


def local_now() -> datetime:
    """The time here. The system's zone is looked up again each time, so that a change of it is seen."""
    if _zone is not None:
        return datetime.now(_zone)
    if hasattr(time, "tzset"):
        time.tzset()
    return datetime.now().astimezone()


class WallClock:
    """Ticks about once a second. ``tick`` says whether what is shown as "today" or "ago" must be made anew."""

    def __init__(self, now: Callable[[], datetime] = local_now, steady: Callable[[], float] = time.monotonic) -> None:
        self._read, self._steady = now, steady
        self.now = now()
        self._steady_at = steady()

    def tick(self) -> tuple[datetime, bool]:
        """The time, and whether the day or the zone changed or the clock leapt since the last tick."""
        before, before_steady = self.now, self._steady_at
        self.now, self._steady_at = self._read(), self._steady()
        leapt = abs((self.now - before).total_seconds() - (self._steady_at - before_steady)) > LEAP
        # A machine that slept may have stopped both clocks' ticking; then only their distance grew.
        slept = self._steady_at - before_steady > LEAP
        moved = self.now.utcoffset() != before.utcoffset() or self.now.tzname() != before.tzname()
        return self.now, leapt or slept or moved or self.now.date() != before.date()

    @property
    def period(self) -> str:
        """The part of the day, as briefing.md has it: morning 05–12, afternoon 12–18, evening."""
        hour = self.now.hour
        return "morning" if 5 <= hour < 12 else "afternoon" if 12 <= hour < 18 else "evening"
