"""The drain lock: nothing is sent and nothing is folded without it (queue.md).

One for all processes, an operating system lock on a file beside the queue, so that it is free when its holder dies
and no stored flag can block the queue for ever.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock


class DrainLock:
    """Held by at most one task of one process. ``acquire`` never waits."""

    def __init__(self, queue: Path) -> None:
        self.path = queue.with_name(queue.name + ".lock")
        self._lock: BaseFileLock | None = None
        self._held = False

    def acquire(self) -> bool:
        """True: it is ours until ``release``. Raises OSError where the file can't be made or locked."""
        if self._held:
            return False
        from filelock import FileLock, Timeout

        if self._lock is None:
            self._lock = FileLock(self.path, mode=0o600, blocking=False, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            return False
        except NotImplementedError as error:
            raise OSError(f"the file system does not lock files: {self.path}") from error
        self._held = True
        return True

    def release(self) -> None:
        if self._held and self._lock is not None:
            self._held = False
            self._lock.release()

    @property
    def held(self) -> bool:
        """True while this process holds it."""
        return self._held

    def taken(self) -> bool:
        """True while anybody, this process too, holds it."""
        if self._held:
            return True
        if self.acquire():
            self.release()
            return False
        return True

    def __enter__(self) -> DrainLock:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
