"""What a served Hub does now and then: forgets keys past their retention, in small steps, and copies an SQLite file."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from types import TracebackType
from typing import Self

from aria_tui.errors import AriaError
from aria_tui.hub.server import copies
from aria_tui.hub.server.service import Options, now_ms
from aria_tui.hub.server.storage.base import Storage

log = logging.getLogger("aria_tui.hub")
EVERY_SECONDS = 6 * 3600.0
STEP = 500
PAUSE_SECONDS = 0.05
DAY_MS = 86_400_000


class Upkeep:
    """A background task for as long as the context lasts."""

    def __init__(self, storage: Storage, options: Options, file: Path | None = None) -> None:
        """``file``: an SQLite file that is to be copied daily."""
        self._storage, self._options, self._file = storage, options, file
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="hub-upkeep")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            try:
                await expire(self._storage, self._options.key_days)
                if self._file is not None and copies.is_due(self._file):
                    await asyncio.to_thread(copies.make_daily, self._file)
            except AriaError as error:
                log.warning("upkeep", extra={"fields": {"error": str(error)}})
            await asyncio.sleep(EVERY_SECONDS)


async def expire(storage: Storage, key_days: int, *, steps: int | None = None) -> None:
    """Forgets keys and tasks' former versions that are older than the keys' retention, a step at a time.

    With ``steps`` it does so many for each account without a pause: keys are UUIDv7 as a rule, so the oldest are first.
    """
    before = now_ms() - key_days * DAY_MS
    for account in await storage.accounts():
        key: str | None = ""
        done = 0
        while key is not None and done != steps:
            key = await storage.expire_keys(account, before, key, STEP)
            await storage.expire_revisions(account, before, STEP)
            done += 1
            if steps is None:
                await asyncio.sleep(PAUSE_SECONDS)
