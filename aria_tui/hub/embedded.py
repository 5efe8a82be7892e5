"""The embedded Hub: the reference Hub in this process, over ``$ARIA_HOME/hub.db``, behind the same HTTP client.

Every command of a person without a server opens it, so everything heavy is imported within.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aria_tui.errors import AriaError

if TYPE_CHECKING:
    import httpx

    from aria_tui.hub.server.storage.sqlite import SqliteStorage

ACCOUNT = "me"
FILE = "hub.db"


async def open_embedded(home: Path) -> tuple[httpx.AsyncBaseTransport, Callable[[], Awaitable[None]]]:
    """Opens the embedded Hub of ``home``: a transport that reaches it without a token, and what closes it.

    The transport's ``notice`` is a sentence for the user where the file was found damaged, else empty.
    Raises StorageUnavailable (can't be opened, locked), NewerSchema (made by a newer version).
    """
    import httpx

    from aria_tui.hub.server.app import create_app
    from aria_tui.hub.server.service import Hub, Options, now_ms
    from aria_tui.hub.server.storage.sqlite import SqliteStorage

    storage = await SqliteStorage.open(home / FILE)
    try:
        await storage.migrate()
        await storage.ensure_account(ACCOUNT, now_ms())
        app = await create_app(Hub(storage, Options(open_account=ACCOUNT)))
    except BaseException:
        await storage.close()
        raise
    transport = httpx.ASGITransport(app=app)
    transport.notice = storage.notice  # type: ignore[attr-defined]
    every_hour = asyncio.create_task(_every_hour(storage), name="hub-upkeep")

    async def close() -> None:
        every_hour.cancel()
        await asyncio.wait([every_hour])
        try:
            await _once_a_day(storage)
        finally:
            await storage.close()

    return transport, close


async def _every_hour(storage: SqliteStorage) -> None:
    """For a program that is open for days."""
    while True:
        await asyncio.sleep(3600)
        await _once_a_day(storage)


async def _once_a_day(storage: SqliteStorage) -> None:
    """Today's copy, and some of what is past its retention; at a command's end, so that none starts later for it."""
    path = storage.path
    if (path.parent / "backups" / f"{path.stem}-{datetime.now(UTC).date()}.db").exists():
        return
    from aria_tui.hub.server import copies, upkeep
    from aria_tui.hub.server.service import Options

    try:
        await upkeep.expire(storage, Options().key_days, steps=10)
        await asyncio.to_thread(copies.make_daily, path)
    except AriaError as error:
        logging.getLogger("aria_tui.hub").warning("no daily copy: %s", error)
