"""The embedded Hub: the reference Hub in this process, over ``$ARIA_HOME/hub.db``, behind the same HTTP client.

Every command of a person without a server opens it, so everything heavy is imported within.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from aria_tui.errors import AriaError

if TYPE_CHECKING:
    import httpx

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

    async def close() -> None:
        await storage.close()
        await _copy_daily(home / FILE)

    return transport, close


async def _copy_daily(path: Path) -> None:
    """Today's copy, once a day and at the end, so that no command starts later for it."""
    if (path.parent / "backups" / f"{path.stem}-{datetime.now(UTC).date()}.db").exists():
        return
    import asyncio

    from aria_tui.hub.server import copies

    try:
        await asyncio.to_thread(copies.make_daily, path)
    except AriaError as error:
        logging.getLogger("aria_tui.hub").warning("no daily copy: %s", error)
