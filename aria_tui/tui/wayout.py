"""The way out: told to go, by a key or a signal, the program is gone within two seconds, whatever hangs.

In order first: what was accepted is committed, what runs is stopped, the terminal is given back. A thread looks on and
ends the process where that takes too long. Nothing is lost by it: what was acknowledged is on disk.
"""

from __future__ import annotations

import _thread
import asyncio
import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

IN_ORDER = 0.9
"""Seconds for what must be awaited: writes under way, a drain's answer in flight, files that are written."""
WITHIN = 1.4
"""Seconds after which the process is ended: two are promised (cases.md, T06), and a busy machine takes some of it."""


class WayOut:
    """How a program ends. The first status counts, but a signal's goes over 0.

    ``hard``: what ends the process in time, called with the status; None where something outside waits for the end.
    """

    def __init__(self) -> None:
        self.hard: Callable[[int], None] | None = None
        self.status: int | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._began = 0.0
        self._over = False

    def begin(self, status: int) -> int:
        """Notes how the program is to end, and from now on looks on. Safe in a signal handler and in any thread."""
        if self.status is None:
            self._began = time.monotonic()
            self.status = status
            if self.hard is not None:
                # Not ``threading``: a handler may have interrupted just that, and would wait for its lock for ever.
                _thread.start_new_thread(self._look_on, ())
        elif self.status == 0:
            self.status = status
        return self.status

    @property
    def begun(self) -> bool:
        return self.status is not None

    def left(self, of: float = IN_ORDER) -> float:
        """Seconds that are left of so many since the program was told to go."""
        return max(0.0, self._began + of - time.monotonic()) if self.begun else of

    def over(self) -> None:
        """The dashboard has ended: what called it goes on."""
        self._over = True

    def _look_on(self) -> None:
        time.sleep(WITHIN)
        if not self._over and self.hard is not None:
            log.warning("ended without waiting any longer for: %s", ", ".join(self._still_running()) or "a thread")
            time.sleep(0.03)  # for the log's own thread
            self.hard(self.status or 0)

    def _still_running(self) -> list[str]:
        try:
            return sorted(task.get_name() for task in asyncio.all_tasks(self.loop)) if self.loop is not None else []
        except RuntimeError:  # they are changing just now
            return ["several things"]
