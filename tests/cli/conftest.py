"""These tests share one Hub, and most of them one process that forks their commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli import forking
from tests.cli.one_hub import hub, one_hub
from tests.helpers.aria import Aria

__all__ = ["hub", "one_hub"]
AS_STARTED = {"test_entry", "test_readme", "test_short"}
"""Modules about the start of the command itself, or about what others wrote of it."""


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with forking.command(tmp_path_factory.mktemp("forking")) as program:
        yield program


@pytest.fixture
def aria(make_aria: Callable[[str], Aria]) -> Aria:
    """The program over an empty home."""
    return make_aria("")


@pytest.fixture
def make_aria(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Aria]]:
    """More homes: ``make_aria("laptop")``."""
    made: list[Aria] = []
    as_started = request.module.__name__.rpartition(".")[2] in AS_STARTED
    command = None if as_started else request.getfixturevalue("forked")

    def make(name: str) -> Aria:
        made.append(Aria(tmp_path / name))
        if command:
            made[-1].command = (command,)
        return made[-1]

    yield make
    for program in made:
        program.close()
