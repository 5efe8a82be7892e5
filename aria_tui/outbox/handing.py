"""What is handed to the writer task, and how its caller waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import aiosqlite

from aria_tui.outbox import connecting
from aria_tui.outbox.inserting import Accepted, NewRow

T = TypeVar("T")
Job = Callable[[aiosqlite.Connection], Awaitable[T]]


class Patience:
    """How long another program's lock is waited for, from when something was handed in: also what stands behind it
    is answered in time."""

    __slots__ = ("until",)

    def __init__(self, *, brief: bool = False) -> None:
        self.until = time.monotonic() + (0.0 if brief else connecting.PATIENCE)

    @property
    def left(self) -> float:
        """Seconds; never below 0."""
        return max(0.0, self.until - time.monotonic())


class Insert(Patience):
    """A caller's row on its way: withdrawn while nobody took it, waited for once it was taken."""

    __slots__ = ("answered", "done", "over", "row", "taken", "withdrawn")

    def __init__(self, row: NewRow) -> None:
        super().__init__()
        self.row = row
        self.taken = self.withdrawn = self.answered = False
        self.done: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()
        self.over: asyncio.Future[None] | None = None

    def answer(self, outcome: Accepted | Exception) -> None:
        """Tells the caller, or one that was cancelled that it is over."""
        # The caller's cancellation reaches it a turn of the loop after it reached ``done``: what is answered in
        # between must not be waited for any more.
        self.answered = True
        if self.over is not None:
            self.over.set_result(None)
        elif not self.done.done():
            if isinstance(outcome, Exception):
                self.done.set_exception(outcome)
            else:
                self.done.set_result(outcome)


class Work(Patience):
    """A job for the writer. None: only see to it that the file is open; ``damage``: why it has to be put aside;
    ``hurried``: it doesn't wait for a lock that was just waited for in vain; ``brief``: nor for any."""

    def __init__(self, job: Job[Any] | None, damage: str = "", *, hurried: bool = False, brief: bool = False) -> None:
        super().__init__(brief=brief)
        self.job, self.damage, self.hurried, self.brief = job, damage, hurried, brief
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


async def finish(future: asyncio.Future[Any]) -> None:
    """Waits for the end of what can't be taken back, through further cancellations."""
    while not future.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([future])
