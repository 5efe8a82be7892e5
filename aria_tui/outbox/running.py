"""What the other processes of a home see of a drain, through the queue's file."""

from __future__ import annotations

import os

from aria_tui.models import Frozen, SyncProgress, SyncReport


class Sending(Frozen, frozen=True, kw_only=True):
    """What is in flight: ``first`` and ``last`` bound the queue numbers; 0: nothing."""

    pid: int
    first: int = 0
    last: int = 0

    @property
    def alive(self) -> bool:
        """The process that sends is there. (The lock itself isn't asked: a look must not take it.)"""
        return _is_alive(self.pid)


class Running(Frozen, frozen=True, kw_only=True):
    """A drain, how far it is, and its report when it is over. ``run`` names it."""

    pid: int
    run: str
    progress: SyncProgress
    finished: SyncReport | None = None

    @property
    def alive(self) -> bool:
        """The process that drains is there."""
        return _is_alive(self.pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    return True
