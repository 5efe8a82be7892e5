from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.sources.service import Service


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    made = await Service().start()
    yield made
    await made.close()
