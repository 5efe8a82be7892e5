"""Ctrl-C: while modules are imported it ends the process at once, and afterwards what runs is unwound.

Python raises KeyboardInterrupt wherever it happens to be. In the middle of an import that is no good place: the trace
of a library comes on the screen, and an extension that swallows it is left half made and takes the process down later.
Until a command runs there is nothing to be unwound.
"""

import signal


def end_at_once() -> None:
    """Ctrl-C ends the process: the shell sees 130. One that is ignored (a job in the background) stays ignored."""
    _change(signal.default_int_handler, signal.SIG_DFL)


def unwind() -> None:
    """Ctrl-C is KeyboardInterrupt again, as ``asyncio.run`` and what cleans up after itself want it."""
    _change(signal.SIG_DFL, signal.default_int_handler)


def _change(before: object, after: "signal._HANDLER") -> None:
    if signal.getsignal(signal.SIGINT) is before:
        signal.signal(signal.SIGINT, after)
