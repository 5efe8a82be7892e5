"""A Hub that closes connections, through the real client, the whole queue and real sockets: nobody notices."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from aria_tui.models import WriteResult
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import Request, read_request

pytestmark = pytest.mark.case("H06")

WRITES = 200
IDLE = 0.02
"""Seconds after which the Hub closes a connection on which nothing comes, in the place of the case's 5 s."""


class Closing:
    """Stands before the Hub and passes requests on; ``idle`` and ``drops`` say when it closes a connection.

    ``drops(request, number)``: the request, the ``number``-th on its connection, is read, and the connection closed.
    """

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.idle: float | None = None
        self.drops: Callable[[Request, int], bool] = lambda _request, _number: False
        self.sent: Counter[str] = Counter()
        """How often each key arrived."""
        self.closed = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> Closing:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        number = 0
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            try:
                while (request := await self._next(reader, kept=number > 0)) is not None:
                    number += 1
                    self.sent.update(request.keys)
                    if self.drops(request, number):
                        break
                    writer.write(await self._ask(request))
                    await writer.drain()
            finally:
                self.closed += 1
                writer.close()

    async def _next(self, reader: asyncio.StreamReader, *, kept: bool) -> Request | None:
        """Only a connection that was used is idle, and only until a request begins."""
        try:
            begun = await asyncio.wait_for(reader.read(1), self.idle if kept else None)
        except TimeoutError:
            return None
        return await read_request(reader, begun) if begun else None

    async def _ask(self, request: Request) -> bytes:
        """The Hub's answer, with the connection left open."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        kept = [f"{k}: {v}" for k, v in request.headers.items() if k not in ("connection", "content-length")]
        head = [f"{request.method} {request.path} HTTP/1.1", *kept, "connection: close"]
        head.append(f"content-length: {len(request.body)}")
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + request.body)
        given = await reader.read()
        writer.close()
        await writer.wait_closed()
        return given.replace(b"connection: close\r\n", b"", 1)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory where that can be: 200 writes one after another are 200 waits for a disk, for Hub and program."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="aria-idle-", dir=memory)) if memory.is_dir() else tmp_path
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
async def closing(hub: HubProcess) -> AsyncIterator[Closing]:
    made = await Closing(hub.port).start()
    yield made
    await made.close()


@pytest.fixture
async def assistant(hub: HubProcess, closing: Closing, tmp_path: Path) -> AsyncIterator[Assistant]:
    """The program, with its own clock, over the way that closes connections."""
    config = Config(hub=HubConfig(url=closing.url, token=hub.token))
    async with await Assistant.open(config, home=tmp_path / "home") as made:
        yield made


async def write(assistant: Assistant, number: int) -> WriteResult:
    """One write: new things of both kinds, and edits."""
    if number % 4 == 3:
        return await assistant.capture_insight(f"idea {number}")
    return await assistant.create_task(f"task {number}")


async def assert_all_there_once(assistant: Assistant, hub: HubProcess, closing: Closing) -> None:
    assert hub.count("tasks") + hub.count("insights") == WRITES == len(hub.keys())
    assert len(closing.sent) == WRITES and max(closing.sent.values()) <= 2, "no write needed more than one retry"
    status = await assistant.queue_status()
    assert (status.pending_total, status.dead_letters, status.conflicts) == (0, 0, 0)
    assert (await assistant.hub_status(probe=False)).state == "online"


async def test_idle_connections_are_closed_just_when_they_are_used(
    assistant: Assistant, hub: HubProcess, closing: Closing
) -> None:
    closing.idle = IDLE
    pace = random.Random(6)
    for number in range(WRITES):
        made = await write(assistant, number)
        assert (made.status, made.message) == ("synced", "saved to Hub"), number
        await asyncio.sleep(IDLE * pace.uniform(0.9, 1.1))  # the pace of the writes, which is what the case is about
    assert closing.closed > WRITES / 4, "the Hub did close connections"
    await assert_all_there_once(assistant, hub, closing)


async def test_a_kept_connection_is_closed_after_the_request_was_read(
    assistant: Assistant, hub: HubProcess, closing: Closing
) -> None:
    closing.drops = lambda _request, number: number > 1
    for number in range(WRITES):
        made = await write(assistant, number)
        assert (made.status, made.message) == ("synced", "saved to Hub"), number
    assert closing.closed >= WRITES - 1
    await assert_all_there_once(assistant, hub, closing)
    assert max(closing.sent.values()) == 2, "the race was met"


async def test_several_kept_connections_that_are_all_dead_cost_one_retry(
    assistant: Assistant, hub: HubProcess, closing: Closing
) -> None:
    """As a dashboard has them, which reads several things at once."""
    await assistant.hub_status()
    closing.drops = lambda request, number: request.write and number > 1
    for number in range(WRITES // 8):
        await asyncio.gather(*(assistant.list_activity() for _ in range(6)))
        assert (await write(assistant, number)).status == "synced"
    assert max(closing.sent.values()) == 2
    assert hub.count("tasks") + hub.count("insights") == WRITES // 8


async def test_each_first_try_is_read_and_closed(assistant: Assistant, hub: HubProcess, closing: Closing) -> None:
    """On a new connection too: then it is in doubt, waits, and goes again under its key."""
    closing.drops = lambda request, _number: request.write and max(closing.sent[key] for key in request.keys) == 1
    for number in range(WRITES):
        made = await write(assistant, number)
        assert made.status == "synced" or (made.status, "not confirmed" in made.message) == ("queued", True), made
    async for _event in assistant.sync():
        pass
    await assert_all_there_once(assistant, hub, closing)
