"""Midnight, another zone, a long sleep: seen with the next tick, once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import time_machine

from aria_tui.tui.wallclock import WallClock
from tests.tui.conftest import until


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 23, 59, 30, tzinfo=timezone(timedelta(hours=-3)))
        self.steady = 0.0

    def pass_(self, seconds: float, *, steady: float | None = None) -> None:
        self.now += timedelta(seconds=seconds)
        self.steady += seconds if steady is None else steady


def test_ordinary_seconds_change_nothing() -> None:
    clock = Clock()
    wall = WallClock(lambda: clock.now, lambda: clock.steady)
    for _ in range(20):
        clock.pass_(1)
        assert wall.tick()[1] is False


@pytest.mark.case("Z03")
def test_midnight_a_new_zone_and_a_long_sleep_are_seen_once() -> None:
    clock = Clock()
    wall = WallClock(lambda: clock.now, lambda: clock.steady)
    clock.pass_(31)
    assert wall.tick() == (clock.now, True)
    clock.pass_(1)
    assert wall.tick()[1] is False
    clock.pass_(8 * 3600, steady=1)
    assert wall.tick()[1] is True
    clock.pass_(1)
    assert wall.tick()[1] is False
    clock.now = clock.now.astimezone(UTC)
    assert wall.tick()[1] is True
    clock.pass_(-3600, steady=1)
    assert wall.tick()[1] is True


@pytest.mark.case("Z01")
async def test_the_screen_follows_midnight_and_due_dates_do_not_move(dashboard: Any) -> None:
    with time_machine.travel(datetime(2026, 12, 1, 2, 59, 0, tzinfo=UTC), tick=True) as traveller:
        async with dashboard() as running:
            await running.assistant.create_task("due on the first", due="2026-12-01")
            running.app.live.ask("tasks")
            await running.sees("Monday 30 November · 23:59", "due on the first", "tomorrow")
            gathered = []
            start = running.app.screen.start_briefing
            running.app.screen.start_briefing = lambda: gathered.append(start())
            traveller.shift(timedelta(minutes=2))
            await running.sees("Tuesday 1 December · 00:01", "today")
            assert "tomorrow" not in running.screen_text
            await until(lambda: gathered)
            assert len(gathered) == 1, "one refresh, not a burst"
            assert running.app.live.shown_tasks()[0].due_date == "2026-12-01"
