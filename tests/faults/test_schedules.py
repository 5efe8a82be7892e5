"""500 random fault schedules with fixed seeds: nothing lost, twice, reordered or silent."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from multiprocessing.pool import Pool

import pytest

from tests.faults.schedule import STEPS, outcome, run_schedule

SEEDS = 500
PART = 50
FAILED_ONCE = [11, 25, 234, 250, 5_000_021, 5_000_060, 5_001_120, 5_002_048, 5_002_237, 100_018_088]
"""Seeds that found something, in the program or in the harness, kept for ever."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Pool]:
    """Two processes, each with its own worlds."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        yield pool


def test_a_schedule_is_long_enough() -> None:
    assert STEPS >= 30


@pytest.mark.parametrize("first", range(0, SEEDS, PART))
def test_whatever_happens_every_promise_holds(first: int, workers: Pool) -> None:
    wrong = [story for _, _, story in workers.map(outcome, range(first, first + PART), chunksize=5) if story]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("small", [False, True], ids=["whole", "in small portions"])
@pytest.mark.parametrize("seed", FAILED_ONCE)
async def test_what_failed_once(seed: int, small: bool) -> None:
    await run_schedule(seed, small=small)
