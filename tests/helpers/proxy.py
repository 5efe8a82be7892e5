"""A proxy before the Hub that does what networks do: named toxics, and a record of every request that passed.

It reads whole HTTP requests, so that it can say for each which idempotency keys it bore and be told what to do with
it; what it does to bytes (cut, refuse, silence) it does to real sockets. It runs on an event loop in a thread of its
own, so that a test may wait for processes meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

T = TypeVar("T")
Name = Literal[
    "refuse", "latency", "drop", "cut_answer", "cut_after", "blackhole", "answer", "duplicate", "rewrite"
]  # fmt: skip


@dataclass
class Request:
    """A request that reached the proxy."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic)
    toxic: str = ""
    status: int = 0
    answer: bytes = b""

    @property
    def write(self) -> bool:
        return self.method not in ("GET", "HEAD", "OPTIONS")

    @property
    def keys(self) -> list[str]:
        """Idempotency keys: of the header (bare or quoted) or of each operation of a batch."""
        if key := self.headers.get("idempotency-key"):
            return [key.strip('"')]
        return [op["op_id"] for op in self.ops]

    @property
    def ops(self) -> list[dict[str, Any]]:
        try:
            return list(json.loads(self.body)["ops"])
        except (ValueError, KeyError, TypeError):
            return []


@dataclass
class Toxic:
    """One fault. ``when`` picks the requests, ``times`` bounds how often (None: for as long as it is there).

    ``rewrite`` changes the Hub's answer, after the Hub did its work; ``raw`` or ``reply`` answer in the Hub's place.
    """

    name: Name
    times: int | None = None
    when: Callable[[Request], bool] = lambda request: True
    seconds: float = 0.0
    bytes: int = 0
    raw: bytes = b""
    rewrite: Callable[[Request, bytes], bytes] = lambda request, answer: answer
    reply: Callable[[Request], bytes] | None = None

    def takes(self, request: Request) -> bool:
        if self.times == 0 or not self.when(request):
            return False
        if self.times is not None:
            self.times -= 1
        return True


def answer(status: int, body: bytes = b"", content_type: str = "text/html", reason: str = "X", **headers: str) -> bytes:
    """A whole HTTP/1.1 answer as bytes."""
    lines = [f"HTTP/1.1 {status} {reason}", f"Content-Length: {len(body)}", "Connection: close"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def is_write(request: Request) -> bool:
    return request.write


class FaultProxy:
    """Listens on a loopback port and passes on to ``upstream`` (host, port), unless a toxic says otherwise."""

    def __init__(self, upstream_port: int, port: int = 0) -> None:
        self.upstream_port = upstream_port
        self.requests: list[Request] = []
        self.toxics: list[Toxic] = []
        self.connections = 0
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._call(self._listen())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # -- what a test does with it

    def add(self, name: Name, **settings: Any) -> Toxic:
        """Adds a toxic; ``refuse`` closes the port itself."""
        toxic = Toxic(name, **settings)
        if name == "refuse":
            self._call(self._deafen())
        self.toxics.append(toxic)
        return toxic

    def clear(self) -> None:
        """No toxics any more; the port is open again."""
        self.toxics.clear()
        self._call(self._listen())

    @contextlib.contextmanager
    def toxic(self, name: Name, **settings: Any) -> Iterator[Toxic]:
        try:
            yield self.add(name, **settings)
        finally:
            self.clear()

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.write]

    def sent_keys(self) -> list[str]:
        """Every key of every write, in the order of arrival, repeats too."""
        return [key for request in self.writes for key in request.keys]

    def close(self) -> None:
        self._call(self._deafen())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    # -- its own loop

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=8 * 1024 * 1024)
            self.port = int(self._server.sockets[0].getsockname()[1])

    async def _deafen(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                self.requests.append(request)
                if not await self._handle(request, writer):
                    break
        except (OSError, EOFError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _handle(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; False when the connection is to be closed."""
        toxic = next((t for t in self.toxics if t.takes(request)), None)
        request.toxic = toxic.name if toxic else ""
        match toxic:
            case Toxic(name="latency"):
                await asyncio.sleep(toxic.seconds)
            case Toxic(name="drop" | "refuse"):
                reset(writer)
                return False
            case Toxic(name="blackhole"):
                await asyncio.sleep(toxic.seconds or 3600)
                return False
            case Toxic(name="answer"):
                writer.write(toxic.reply(request) if toxic.reply else toxic.raw)
                await writer.drain()
                return False
        given = await self._ask_upstream(request)
        if toxic and toxic.name == "duplicate":
            given = await self._ask_upstream(request)
        request.answer = given
        request.status = int(given.split(b" ", 2)[1]) if given.startswith(b"HTTP/") else 0
        if toxic and toxic.name == "cut_answer":
            reset(writer)
            return False
        if toxic and toxic.name == "rewrite":
            given = toxic.rewrite(request, given)
        if toxic and toxic.name == "cut_after":
            writer.write(given[: toxic.bytes])
            await writer.drain()
            reset(writer)
            return False
        if not given:
            return False
        writer.write(given)
        await writer.drain()
        return b"connection: close" not in given.split(b"\r\n\r\n")[0].lower()

    async def _ask_upstream(self, request: Request) -> bytes:
        """One request on a connection of its own; the answer's bytes with its framing made plain."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.upstream_port)
        try:
            kept = [f"{k}: {v}" for k, v in request.headers.items() if k not in ("connection", "content-length")]
            head = [f"{request.method} {request.path} HTTP/1.1", *kept, "connection: close"]
            if request.body or request.write:
                head.append(f"content-length: {len(request.body)}")
            writer.write("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + request.body)
            await writer.drain()
            return (await reader.read(-1)).replace(b"connection: close\r\n", b"", 1)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


def reset(writer: asyncio.StreamWriter) -> None:
    """Closes a connection by RST, as a dying peer does."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    writer.transport.abort()


async def read_request(reader: asyncio.StreamReader, begun: bytes = b"") -> Request | None:
    """One whole HTTP/1.1 request, or None at the end of the connection. ``begun``: what was read of it already."""
    try:
        head = (begun + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
    if "chunked" in headers.get("transfer-encoding", ""):
        body = b""
        while size := int((await reader.readline()).strip() or b"0", 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
        del headers["transfer-encoding"]
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body)


class RawServer(FaultProxy):
    """A server that answers every request by bytes that a test wrote; nothing stands behind it."""

    def __init__(self, reply: Callable[[Request], bytes], port: int = 0) -> None:
        self.reply = reply
        super().__init__(0, port)

    async def _ask_upstream(self, request: Request) -> bytes:
        return self.reply(request)
