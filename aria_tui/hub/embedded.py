"""The embedded Hub: the reference Hub in this process, over ``$ARIA_HOME/hub.db``, behind the same HTTP client.

Every command of a person without a server opens it, so everything heavy is imported within.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

ACCOUNT = "me"
FILE = "hub.db"


async def open_embedded(home: Path) -> tuple[httpx.AsyncBaseTransport, Callable[[], Awaitable[None]]]:
    """Opens the embedded Hub of ``home``: a transport that reaches it without a token, and what closes it.

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
    return httpx.ASGITransport(app=app), storage.close
