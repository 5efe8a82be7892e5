"""Signals: the terminal is given back as it was, and the shell sees 128 + the signal's number."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NoReturn

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
def early() -> Iterator[None]:
    """For the moments before ``install`` and after the loop: the signals unwind the program instead of killing it."""

    def unwind(number: int, _frame: object) -> NoReturn:
        raise Ended(number)

    before = {number: signal.signal(number, unwind) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
