"""The Hub on both engines: in this process behind an ASGI transport, or as real processes on loopback."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from aria_tui.hub.server import auth
from aria_tui.hub.server.app import HubApp, create_app
from aria_tui.hub.server.service import Hub, Options, now_ms
from aria_tui.hub.server.storage import open_storage
from aria_tui.hub.server.storage.base import Storage
from tests.hub.server.cluster import Cluster, Pooler, binaries
from tests.hub.server.processes import Served

ENGINES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL for the whole run. Skips only where its programs aren't installed."""
    if (folder := binaries()) is None:
        pytest.skip("initdb and pg_ctl are not installed")
    made = Cluster(folder)
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="session")
def shared_database(cluster: Cluster) -> str:
    """One migrated database for all tests that keep to an account of their own."""
    url = cluster.database()

    async def migrate() -> None:
        storage = await open_storage(url)
        await storage.migrate()
        await storage.close()

    asyncio.run(migrate())
    return url


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def database(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """An empty database's address, on each engine in turn."""
    if engine == "sqlite":
        return f"sqlite:///{tmp_path / 'hub.db'}"
    return str(request.getfixturevalue("cluster").database())


class HubUnderTest:
    """A Hub in this process. ``client`` is an account's, with a token that may write."""

    def __init__(self, stack: AsyncExitStack, storage: Storage, app: HubApp) -> None:
        self._stack, self.storage, self.app = stack, storage, app
        self.hub = app.hub
        self.now = now_ms()
        self.hub.clock = lambda: self.now
        self.account = ""
        self.token = ""

    async def make_token(self, account: str, scope: str = "write", expires_at: int | None = None) -> str:
        token, row = auth.mint(account, "test", scope, self.now, expires_at)
        await self.storage.ensure_account(account, self.now)
        await self.storage.add_token(row)
        return token

    async def connect(self, token: str | None, **more: Any) -> httpx.AsyncClient:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=True)
        client = httpx.AsyncClient(transport=transport, base_url="http://hub", headers=headers, **more)
        return await self._stack.enter_async_context(client)


MakeHub = Callable[..., Any]


@pytest.fixture
def hub_url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The database of the Hub in this process: a new file, or the shared PostgreSQL database."""
    return f"sqlite:///{tmp_path / 'hub.db'}" if engine == "sqlite" else request.getfixturevalue("shared_database")


@pytest.fixture
async def make_hub(hub_url: str) -> AsyncIterator[MakeHub]:
    """Makes a Hub with an account of its own; options as in ``service.Options``."""
    async with AsyncExitStack() as stack:

        async def make(**options: Any) -> HubUnderTest:
            storage = await open_storage(hub_url)
            stack.push_async_callback(storage.close)
            await storage.migrate()
            tested = HubUnderTest(stack, storage, await create_app(Hub(storage, Options(**options))))
            tested.account = f"a{uuid.uuid4().hex[:12]}"
            tested.token = await tested.make_token(tested.account)
            return tested

        yield make


@pytest.fixture
async def hub(make_hub: MakeHub) -> HubUnderTest:
    tested: HubUnderTest = await make_hub()
    return tested


@pytest.fixture
async def client(hub: HubUnderTest) -> httpx.AsyncClient:
    return await hub.connect(hub.token)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts ``aria hub serve`` processes; all are ended afterwards."""
    started: list[Served] = []

    def start(database: str, *args: str, port: int = 0, token: str | None = None) -> Served:
        home = tmp_path / "serve-home"
        started.append(Served(home, database, *args, port=port, token=token))
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def pooler(cluster: Cluster) -> Iterator[Callable[[str], Pooler]]:
    """Starts pgbouncer before a database; ended afterwards."""
    program = next((path for path in ("/usr/sbin/pgbouncer", "/usr/bin/pgbouncer") if os.path.exists(path)), None)
    if program is None:
        pytest.skip("pgbouncer is not installed")
    started: list[Pooler] = []

    def start(database: str) -> Pooler:
        started.append(Pooler(program, cluster, database))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ARIA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ARIA_HOME", str(tmp_path / "home"))
