"""The tests are tested: each planted bug makes the suite fail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.planted import PLANTS, VARIABLE

HERE = Path(__file__).parent


def suite_with(name: str) -> subprocess.CompletedProcess[str]:
    """The tests that are meant to catch a plant, in a process of their own that has it."""
    _, file = PLANTS[name]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-x", "-p", "tests.faults.planted", "--tb=line", str(HERE / file)],
        env={**os.environ, VARIABLE: name}, cwd=HERE.parents[1], capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.fixture(scope="module")
def runs() -> Iterator[dict[str, Future[subprocess.CompletedProcess[str]]]]:
    """All of them, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(suite_with, name) for name in PLANTS}


def test_there_are_twelve() -> None:
    assert len(PLANTS) == 12


@pytest.mark.parametrize("name", PLANTS)
def test_the_suite_fails_on(name: str, runs: dict[str, Future[subprocess.CompletedProcess[str]]]) -> None:
    run = runs[name].result()
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, f"{name} survived: {run.stdout[-3000:]}{run.stderr[-2000:]}"
