"""Servers that misbehave on purpose, over real sockets: they write exact bytes and remember what they got.

A server's ``script`` is called once per request with the request and a ``Wire``; what it does to the wire is the
fault. ``always(bytes)`` is the commonest one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, NamedTuple

HUB_ID = "hub-a"


class Got(NamedTuple):
    """A request as it came in. Header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


class Wire:
    """The server's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.open = True

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def close(self) -> None:
        """An orderly end (FIN)."""
        self.open = False
        self.writer.close()

    def reset(self) -> None:
        """A hard end (RST)."""
        self.open = False
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Script = Callable[[Got, Wire], Awaitable[None]]


class Server:
    """``url`` to reach it; ``requests`` in order; ``connections`` made; application ``bytes_in``."""

    def __init__(self, script: Script, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.script, self.host, self.tls = script, host, tls
        self.requests: list[Got] = []
        self.connections = 0
        self.bytes_in = 0
        self.wires: list[Wire] = []
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        wire = Wire(reader, writer)
        self.wires.append(wire)
        try:
            while wire.open:
                got = await self._read(reader, self.connections)
                self.requests.append(got)
                await self.script(got, wire)
        except (asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass  # the client went away, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, connection: int) -> Got:
        first = await reader.readexactly(1)
        self.bytes_in += 1
        head = first + await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {n.strip().lower(): v.strip() for n, _, v in (line.partition(":") for line in lines[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.bytes_in += len(head) - 1 + len(body)
        return Got(method, target, headers, body, connection)


@contextlib.asynccontextmanager
async def serving(
    script: Script | bytes, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[Server]:
    """A running server, ended with all its connections."""
    server = Server(always(script) if isinstance(script, bytes) else script, host=host, tls=tls)
    listening = await asyncio.start_server(server._serve, host, port, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        tasks = list(server._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for wire in server.wires:
            wire.writer.transport.abort()
        await asyncio.sleep(0)


# Answers


def answer(
    status: int = 200,
    body: bytes | str | object = b"",
    *,
    hub_id: str | None = HUB_ID,
    media: str | None = "application/json",
    length: int | None = None,
    **headers: str,
) -> bytes:
    """The bytes of an HTTP answer; ``headers`` with _ for -. ``length`` lies about the body's."""
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever"]
    if media is not None:
        lines.append(f"Content-Type: {media}")
    if hub_id is not None:
        lines.append(f"Aria-Hub-Id: {hub_id}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if not any(n.lower() == "transfer_encoding" for n in headers):
        lines.append(f"Content-Length: {len(data) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def problem(status: int, word: str = "validation", *, hub_id: str | None = HUB_ID, **more: Any) -> bytes:
    """A problem document (RFC 9457) as a Hub sends it."""
    document = {"type": f"/problems/{word}", "title": word, "status": status, "detail": "so it is", **more}
    return answer(status, document, hub_id=hub_id, media="application/problem+json")


META = {
    "hub_id": HUB_ID,
    "epoch": "1",
    "seq": 7,
    "account": "me",
    "api": 1,
    "operations": {"create_task": 1},
    "limits": {"batch_ops": 1000, "body_bytes": 1048576},
    "retention": {"key_days": 90, "delta_days": 90},
    "server_time": "2026-11-30T08:00:00Z",
}
PORTAL = "<!doctype html><title>Hotel</title><form action=/login>Room number</form>"


def op_ids_of(got: Got) -> list[str]:
    """The keys of a request: of a batch's operations, or the one of a single write."""
    if got.target == "/api/queue":
        return [op["op_id"] for op in json.loads(got.body)["ops"]]
    return [got.headers["idempotency-key"].strip('"')]


def acknowledgement(got: Got, status: str = "applied") -> dict[str, Any]:
    """The body by which a Hub acknowledges all of a request."""
    results = [{"op_id": op_id, "status": status, "entity": "task:1", "version": 1} for op_id in op_ids_of(got)]
    return {"results": results, "cursor": "9", "server_time": "x"} if got.target == "/api/queue" else results[0]


# Scripts


def always(data: bytes, *, close: bool = False) -> Script:
    async def script(_: Got, wire: Wire) -> None:
        await wire.write(data)
        if close:
            wire.close()

    return script


async def hub(got: Got, wire: Wire) -> None:
    """A Hub that is well: itself at /api/meta and /readyz, an acknowledgement for each write."""
    if got.method == "GET":
        await wire.write(answer(200, META if got.target == "/api/meta" else {"ok": True, "tasks": []}))
    else:
        await wire.write(answer(200, acknowledgement(got)))


async def hang(_: Got, wire: Wire) -> None:
    """Reads and says nothing, until the client gives up."""
    await wire.reader.read()
    wire.open = False


async def drop(_: Got, wire: Wire) -> None:
    """Reads the request and closes."""
    wire.close()


async def reset(_: Got, wire: Wire) -> None:
    """Reads the request and resets."""
    wire.reset()


def drip(data: bytes, pause: float = 0.02) -> Script:
    """One byte at a time, so that no single read ever times out."""

    async def script(_: Got, wire: Wire) -> None:
        for n in range(len(data)):
            await wire.write(data[n : n + 1])
            await asyncio.sleep(pause)
        wire.close()

    return script


def one_after_the_other(*scripts: Script) -> Script:
    """The first script for the first request, and so on; the last one for all that follow."""
    left = list(scripts)

    async def script(got: Got, wire: Wire) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(got, wire)

    return script


@contextlib.contextmanager
def black_hole(host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """A port that never answers a SYN: its queue of connections is full. Gives the port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(family))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(20):
            filler = stack.enter_context(socket.socket(family))
            filler.settimeout(0.2)
            try:
                filler.connect(address)
            except TimeoutError:
                yield address[1]
                return
        raise RuntimeError("this system's queue of connections doesn't fill")


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def header_of(data: bytes, name: str) -> str:
    """A header's value in raw bytes of an answer."""
    found = re.search(rb"(?mi)^" + name.encode() + rb":\s*(.*?)\r$", data)
    return found[1].decode() if found else ""
