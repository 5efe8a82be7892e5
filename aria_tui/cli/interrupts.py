"""Ctrl-C, and the signals that end a program from outside: while modules are imported it ends the process at once, and
afterwards what runs is unwound, so that no git, no calendar's reader and no token's command outlives it.

Python raises KeyboardInterrupt wherever it happens to be. In the middle of an import that is no good place: the trace
of a library comes on the screen, and an extension that swallows it is left half made and takes the process down later.
Until a command runs there is nothing to be unwound.
"""

import os
import signal
import time
from types import FrameType

_FROM_OUTSIDE = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_LONG_ENOUGH = 2.0
"""Seconds for the unwinding, after which a further signal ends the process at once. A terminal that closes sends its
own more than once."""
_ended_by, _ended_at = signal.SIGINT, 0.0


def end_at_once() -> None:
    """Ctrl-C ends the process: the shell sees 130. One that is ignored (a job in the background) stays ignored."""
    _change(signal.default_int_handler, signal.SIG_DFL)


def unwind() -> None:
    """Ctrl-C is KeyboardInterrupt again, as ``asyncio.run`` and what cleans up after itself want it."""
    _change(signal.SIG_DFL, signal.default_int_handler)


def heed_the_end() -> None:
    """A request to end and a closed terminal are the same as Ctrl-C, for an ``asyncio.run`` that comes now. What was
    started with them ignored (``nohup``) goes on ignoring them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and hasattr(signal, "pthread_sigmask"):
        # A job in the background. Ctrl-C isn't meant for it, but it is what a loop is ended by, whoever wants that.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in _FROM_OUTSIDE:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def status() -> int:
    """The exit status after a KeyboardInterrupt, as a shell expects it: 128 + the signal's number."""
    return 128 + _ended_by


def _interrupt(number: int, _frame: FrameType | None) -> None:
    global _ended_by, _ended_at
    if _ended_at:
        if time.monotonic() - _ended_at > _LONG_ENOUGH:
            os._exit(128 + number)
        return
    _ended_by, _ended_at = signal.Signals(number), time.monotonic()
    there = hasattr(signal, "sigpending") and signal.SIGINT in signal.sigpending()
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if not there:
        signal.raise_signal(signal.SIGINT)


def _change(before: object, after: "signal._HANDLER") -> None:
    if signal.getsignal(signal.SIGINT) is before:
        signal.signal(signal.SIGINT, after)
