"""Signals: the terminal is given back as it was, and the shell sees 128 + the signal's number."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

from aria_tui.ending import end_now

_ENDING = (
    *(signal.SIGTERM, signal.SIGHUP, signal.SIGINT),
    *(signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU),
)
"""Those that are meant for the end, and those that would bring it about, leaving a terminal without echo."""


class Ended(BaseException):
    """A signal came before the screen was there, or after it was gone."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextlib.contextmanager
def heeded(leave: Callable[[int], bool], *, unwinding: bool) -> Iterator[None]:
    """Has the signals end the dashboard in order, from before its loop runs until after that is gone.

    ``leave`` is given the exit status, and says whether there is anything to end in order. While there is not, nothing
    is on the screen yet, and the process ends, or (``unwinding``) what called it is unwound.

    One handler all along, and Python's own and not the loop's: it is heard too while the loop hangs.
    """

    def handle(number: int, _frame: object) -> None:
        if leave(128 + number):
            return
        if unwinding:
            raise Ended(number)
        end_now(128 + number)

    # What was started with SIGHUP ignored (``nohup``) goes on ignoring it.
    before = {n: signal.signal(n, handle) for n in _ENDING if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
