"""Signals: the terminal is given back as it was, and the shell sees 128 + the signal's number."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Ended(BaseException):
    """A signal came before the screen was there (or after it was gone)."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


def install(app: App[int]) -> None:
    """Has the signals end the app in order. Elsewhere than on the main thread nothing is installed."""
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, partial(app.exit, None, 128 + number))


@contextlib.contextmanager
def early(app: App[int], *, unwinding: bool) -> Iterator[None]:
    """For the moments before ``install`` and after the loop.

    While nothing is on the screen yet there is nothing to give back: the process ends, or (``unwinding``) what called
    it is unwound. Once the terminal was touched, the app ends in order.
    """

    def unwind(number: int, _frame: object) -> None:
        if app._driver is not None and app._running:
            app.exit(None, return_code=128 + number)
        elif unwinding:
            raise Ended(number)
        else:
            os._exit(128 + number)

    before = {number: signal.signal(number, unwind) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
