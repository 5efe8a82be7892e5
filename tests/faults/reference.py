"""The real Hub in this process, over a real SQLite file, with what happens to Hubs: restart, backup, restoration."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import httpx

from aria_tui.hub.server.app import HubApp, create_app
from aria_tui.hub.server.auth import mint
from aria_tui.hub.server.service import Hub, Options, now_ms
from aria_tui.hub.server.storage.sqlite import SqliteStorage

URL = "http://127.0.0.1:1"


class ReferenceHub:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._backups = 0

    @classmethod
    async def start(cls, path: Path) -> ReferenceHub:
        hub = cls(path)
        await hub._open()
        return hub

    async def _open(self) -> None:
        self.storage = await SqliteStorage.open(self.path)
        await self.storage.migrate()
        self.app: HubApp = await create_app(Hub(self.storage, Options()))
        self.transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)

    async def close(self) -> None:
        await self.storage.close()

    async def restart(self) -> None:
        await self.close()
        await self._open()

    async def token(self, account: str) -> str:
        token, row = mint(account, "test", "write", now_ms())
        await self.storage.ensure_account(account, now_ms())
        await self.storage.add_token(row)
        return token

    async def backup(self) -> Path:
        self._backups += 1
        copy = self.path.with_name(f"backup-{self._backups}.db")
        with sqlite3.connect(self.path) as db, sqlite3.connect(copy) as there:
            db.backup(there)
        db.close()
        there.close()
        return copy

    async def restore(self, backup: Path, *, new_epoch: bool = True) -> None:
        await self.close()
        with sqlite3.connect(backup) as db, sqlite3.connect(self.path) as there:
            db.backup(there)
        db.close()
        there.close()
        await self._open()
        if new_epoch:
            await self.storage.new_epoch()
            await self.restart()

    async def get(self, entity: str, account: str) -> dict[str, Any] | None:
        """The Hub's copy of an entity as it stands in its table, or None."""
        row = await self.storage.row(account, entity)
        return json.loads(row.doc) if row and row.doc and row.deleted_at is None else None


class Way(httpx.AsyncBaseTransport):
    """A client's transport to whatever the Hub is now; requests to a Hub that just restarts are refused."""

    def __init__(self, hub: ReferenceHub) -> None:
        self.hub = hub

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self.hub.transport.handle_async_request(request)
