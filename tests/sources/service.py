"""A small HTTP service on a loopback port, told by the test what to answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    path: str
    headers: dict[str, str]


@dataclass
class Service:
    """``answers`` by path with query: a value as JSON, bytes as they are, or a function of the request that gives the
    whole answer's bytes. ``statuses`` by path. ``hang``: it accepts and never answers; ``hangs``: at these paths."""

    answers: dict[str, Any] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    hangs: set[str] = field(default_factory=set)
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    _server: asyncio.Server | None = None
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def start(self, *, socket_path: str | None = None) -> Service:
        if socket_path is not None:
            self._server = await asyncio.start_unix_server(self._serve, socket_path)
        else:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.transport.abort()
            await self._server.wait_closed()
            self._server = None
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
                request = Request(head[0].split(" ")[1], headers)
                self.requests.append(request)
                if self.hang or request.path in self.hangs:
                    await asyncio.sleep(3600)
                writer.write(self._answer(request))
                await writer.drain()
                if callable(self.answers.get(request.path)):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, request: Request) -> bytes:
        answer = self.answers.get(request.path)
        if callable(answer):
            whole: Callable[[Request], bytes] = answer
            return whole(request)
        status = self.statuses.get(request.path, 200 if request.path in self.answers else 404)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
        lines += [f"{key}: {value}" for key, value in self.headers.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
