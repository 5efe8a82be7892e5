"""Waiting for something to become true, instead of sleeping and hoping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class StillNot(AssertionError):
    """The condition did not become true within its deadline."""


def wait_until(condition: Callable[[], T], deadline: float = 10.0, what: str = "", every: float = 0.03) -> T:
    """Polls ``condition`` until it gives something true, and gives that. ``deadline`` and ``every`` in seconds."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        if time.monotonic() > end:
            raise StillNot(f"not within {deadline} s: {what or condition}")
        time.sleep(every)
    return value


async def until(
    condition: Callable[[], T | Awaitable[T]], deadline: float = 10.0, what: str = "", every: float = 0.02
) -> T:
    """The same on an event loop; ``condition`` may be a coroutine function."""
    end = asyncio.get_running_loop().time() + deadline
    while True:
        value = condition()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        if asyncio.get_running_loop().time() > end:
            raise StillNot(f"not within {deadline} s: {what or condition}")
        await asyncio.sleep(every)
