"""Blocking calls that may hang for long, on threads that nobody has to wait for at exit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def call(function: Callable[[], T]) -> T:
    """The function's value, or its exception; the caller may be cancelled while it goes on.

    Not ``asyncio.to_thread``: the loop waits for that one's threads at exit, and a name server that doesn't answer
    holds ``getaddrinfo`` for half a minute.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value, error = None, None
        try:
            value = function()
        except BaseException as caught:  # noqa: BLE001 - handed to the caller
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="aria-background", daemon=True).start()
    return await future
