"""Ctrl-C, and the signals that end a program from outside: while modules are imported it ends the process at once, and
afterwards what runs is unwound, so that no git, no calendar's reader and no token's command outlives it.

Python raises KeyboardInterrupt wherever it happens to be. In the middle of an import that is no good place: the trace
of a library comes on the screen, and an extension that swallows it is left half made and takes the process down later.
Until a command runs there is nothing to be unwound.
"""

import signal
import time
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_LONG_ENOUGH = 2.0
"""Seconds for the unwinding, after which a further signal ends the process at once. Sooner it would break off what
closes files, and wait for that for ever; and a terminal that closes sends its own signal more than once."""
_ended_by, _ended_at = signal.SIGINT, 0.0


def end_at_once() -> None:
    """Ctrl-C ends the process: the shell sees 130. One that is ignored (a job in the background) stays ignored."""
    _change(signal.default_int_handler, signal.SIG_DFL)


def unwind() -> None:
    """Ctrl-C is KeyboardInterrupt again, as what cleans up after itself wants it."""
    _change(signal.SIG_DFL, signal.default_int_handler)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run``, cancelled in order by Ctrl-C, a request to end or a closed terminal: then KeyboardInterrupt.

    What was started with one of them ignored (``nohup``, a job in the background) goes on ignoring it.
    """
    import asyncio

    task: asyncio.Task[Any] | None = None

    async def main() -> T:
        nonlocal task
        task = asyncio.current_task()
        return await coroutine

    def end(number: int, _frame: FrameType | None) -> None:
        global _ended_by, _ended_at
        if _ended_at:
            if time.monotonic() - _ended_at > _LONG_ENOUGH:
                from aria_tui.ending import end_now  # nobody is patient often

                end_now(128 + number)
            return
        _ended_by, _ended_at = signal.Signals(number), time.monotonic()
        if task is None or task.done():
            raise KeyboardInterrupt
        task.get_loop().call_soon_threadsafe(task.cancel)

    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, end)
    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        if not _ended_at:
            raise
        raise KeyboardInterrupt from None


def status() -> int:
    """The exit status after a KeyboardInterrupt, as a shell expects it: 128 + the signal's number."""
    return 128 + _ended_by


def _change(before: object, after: "signal._HANDLER") -> None:
    if signal.getsignal(signal.SIGINT) is before:
        signal.signal(signal.SIGINT, after)
