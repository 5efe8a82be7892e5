"""500 random fault schedules with fixed seeds: nothing lost, twice, reordered or silent."""

from __future__ import annotations

import pytest

from tests.faults.schedule import STEPS, run_schedule

SEEDS = 500
PART = 50
FAILED_ONCE: list[int] = []
"""Seeds that found something, kept for ever."""


def test_a_schedule_is_long_enough() -> None:
    assert STEPS >= 30


@pytest.mark.parametrize("first", range(0, SEEDS, PART))
async def test_whatever_happens_every_promise_holds(first: int) -> None:
    for seed in range(first, first + PART):
        await run_schedule(seed)


@pytest.mark.parametrize("seed", FAILED_ONCE)
async def test_what_failed_once(seed: int) -> None:
    await run_schedule(seed)
