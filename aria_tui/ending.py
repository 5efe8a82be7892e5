"""The end of the process where nothing is waited for any more: what it started goes with it."""

import contextlib
import os
import signal
from pathlib import Path

_THREADS = Path("/proc/self/task")
"""Where Linux lists each thread's children, those too that nobody has taken down yet."""


def end_now(status: int) -> None:
    """Ends the process with ``status``, without unwinding anything. Its children are killed; those that have a session
    of their own, as all of ours have, with what they started.

    Where the system has no such list (macOS) a child that was only just started may outlive it.
    """
    for child in children():
        with contextlib.suppress(OSError):
            if os.getpgid(child) == child:
                os.killpg(child, signal.SIGKILL)
            else:
                os.kill(child, signal.SIGKILL)
    os._exit(status)


def children() -> set[int]:
    """The processes that this one started and that are there still, where the system tells."""
    found: set[int] = set()
    for listed in _THREADS.glob("*/children"):
        with contextlib.suppress(OSError):
            found.update(map(int, listed.read_text().split()))
    return found
