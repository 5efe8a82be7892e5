"""``aria hub serve``: the Hub in a process of its own, by uvicorn, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import msgspec
import uvicorn
from starlette.types import ASGIApp

from aria_tui.errors import AriaError, UsageError
from aria_tui.hub.server import logs
from aria_tui.hub.server.address import is_loopback
from aria_tui.hub.server.app import HubApp, create_app
from aria_tui.hub.server.service import Hub, Options, now_ms
from aria_tui.hub.server.storage import open_storage, prepare, sqlite_path
from aria_tui.hub.server.upkeep import Upkeep

KEEP_ALIVE_SECONDS = 75
DRAIN_SECONDS = 20
"""How long requests in flight may still take after SIGTERM."""


class Serving(msgspec.Struct, kw_only=True):
    """What to serve, where."""

    database: str
    host: str = "127.0.0.1"
    port: int = 8765
    faults: Path | None = None
    options: Options = Options()


def run(serving: Serving) -> int:
    """Serves until a signal; 0 after a graceful end. Raises AriaError."""
    if not is_loopback(serving.host):
        for refused, what in ((serving.faults, "--faults"), (serving.options.open_account, "--no-token")):
            if refused is not None:
                raise UsageError(f"{what} is for tests on this machine: it is refused on {serving.host}")
    logs.configure()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(serving))


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop


async def _serve(serving: Serving) -> int:
    storage = await open_storage(serving.database)
    try:
        await prepare(storage, serving.database)
        hub = Hub(storage, serving.options)
        if serving.options.open_account is not None:
            await storage.ensure_account(serving.options.open_account, now_ms())
        served = _tortured(await create_app(hub), serving.faults)
        config = uvicorn.Config(
            served,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        listener = _listen(serving.host, serving.port)
        async with Upkeep(storage, serving.options, sqlite_path(serving.database)):
            await _Server(config, listener).serve(sockets=[listener])
    finally:
        await storage.close()
    return 0


def _tortured(app: HubApp, faults: Path | None) -> ASGIApp:
    if faults is None:
        return app
    from aria_tui.hub.server.faults import read
    from aria_tui.hub.server.torture import Torture

    return Torture(app, read(faults))


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise AriaError(f"can't listen on {host}:{port}: {getattr(error, 'strerror', None) or error}") from None


class _Server(uvicorn.Server):
    """Says on standard output when it listens, and takes a signal as the wish to end well (exit status 0)."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket) -> None:
        super().__init__(config)
        self._listener = listener

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        host, port = self._listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        sys.stdout.write(f"Hub listening on http://{shown}:{port}\n")
        sys.stdout.flush()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.handle_exit, name, None)
        try:
            yield
        finally:
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(name)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.should_exit = True
