"""The workbench as a fixture, with one home open."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.outbox.bench import Bench, Home


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with Bench() as made:
        yield made


@pytest.fixture
async def home(bench: Bench) -> Home:
    """A home whose Hub is known already."""
    made = await bench.home()
    await bench.run(made.assistant.hub_status())
    return made
