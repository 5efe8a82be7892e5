"""Delivered rows stay for some days, then go in small steps, whatever brought them to the Hub (queue.md)."""

from __future__ import annotations

import pytest

from aria_tui.outbox import journal
from tests.outbox.bench import Bench, Home

DAY = 24 * 3600.0


def kept(home: Home) -> list[int]:
    return [row[0] for row in home.rows("SELECT id FROM queue ORDER BY id")]


async def test_a_sync_with_nothing_to_send_forgets_what_is_too_old(bench: Bench, home: Home) -> None:
    await home.assistant.capture_insight("old")
    bench.clock.advance(29 * DAY)
    await home.assistant.capture_insight("young")
    await home.sync()
    assert kept(home) == [1, 2]
    bench.clock.advance(2 * DAY)
    assert (await home.sync()).remaining == 0
    assert kept(home) == [2]


async def test_writes_that_go_at_once_forget_a_step_now_and_then(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "STEP", 3)
    for number in range(4):
        await home.assistant.capture_insight(f"old {number}")
    bench.clock.advance(31 * DAY)
    assert (await home.assistant.capture_insight("five")).status == "synced"
    assert kept(home) == [1, 2, 3, 4, 5]
    assert (await home.assistant.capture_insight("six")).status == "synced"
    assert kept(home) == [4, 5, 6], "a step is as long as the way to the next one"


async def test_what_waits_is_never_too_old(bench: Bench, home: Home) -> None:
    await home.assistant.capture_insight("waits", offline=True)
    home.weather.down = True
    bench.clock.advance(400 * DAY)
    await home.sync()
    assert kept(home) == [1] and [item.id for item in await home.waiting()] == [1]
