"""The assistant's wire: one JSON-RPC message a line on standard input and output, and nothing else.

Looked at before the SDK: a line that is not UTF-8, that is no message of the protocol, or that holds what could never
be sent to a Hub (a lone surrogate, NaN, U+0000), is answered with an error here and goes no further: the SDK would say
nothing, and who asked would wait for ever. The process's own standard output is turned to
standard error, so that a stray print of whatever library can't break the protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import IO, Any, cast

import anyio
from mcp.server.stdio import stdio_server

from aria_tui import documents
from aria_tui.hub.contract import data_problem

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602  # JSON-RPC 2.0, section 5.1
ANSWER_SECONDS = 1.0
"""At the end of input, what was asked before is answered within this time: ``printf … | aria mcp`` gets its answers."""


@asynccontextmanager
async def streams(ended: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """The SDK's read and write streams over this process's standard input and output. ``ended`` is called, on a thread
    of the reader's, when the input is over."""
    reading, writing = _take_standard_streams()
    writer = _Writer(writing)
    reader = _Reader(reading, writer, ended)
    async with stdio_server(
        stdin=cast("anyio.AsyncFile[str]", reader), stdout=cast("anyio.AsyncFile[str]", writer)
    ) as pair:
        yield pair


def _take_standard_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The wire on two numbers of its own; 0 and 1 are left to whoever reads or prints by mistake."""
    sys.stdout.flush()
    reading, writing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    return reading, writing


class _Writer:
    """Lines to the client. A client that went away is no error: what it would have got is dropped."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._lock, self._open = file, asyncio.Lock(), True
        self._owed: set[int | str] = set()
        """Requests that were handed on and not answered yet."""
        self._paid = asyncio.Event()

    async def write(self, text: str) -> None:
        async with self._lock:
            if self._open:
                await asyncio.to_thread(self._put, documents.escape(text).encode())
        if self._owed:
            message = json.loads(text)
            if "method" not in message:
                self.settle(message.get("id"))

    def owe(self, number: int | str) -> None:
        """A request is handed on: its answer is to come."""
        self._owed.add(number)

    def settle(self, number: Any) -> None:
        """It was answered, or nobody waits for it any more."""
        self._owed.discard(number)
        self._paid.set()

    async def all_answered(self, seconds: float) -> None:
        """Waits until every request is, but no longer than that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._owed and self._open:
                    self._paid.clear()
                    await self._paid.wait()

    async def flush(self) -> None:
        """Each line is flushed as it is written."""

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._file.flush()
        except OSError:
            self._open = False

    async def error(self, number: Any, code: int, message: str) -> None:
        """An answer of the protocol's own: this message can't be taken."""
        answer = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
        await self.write(json.dumps(answer) + "\n")


class _Reader:
    """Lines from the client, read in a thread of their own that never keeps the process from ending."""

    def __init__(self, file: IO[bytes], writer: _Writer, ended: Callable[[], None]) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._writer, self._loop, self._ended = writer, asyncio.get_running_loop(), ended
        threading.Thread(target=self._read, args=(file,), name="standard input", daemon=True).start()

    def _read(self, file: IO[bytes]) -> None:
        line = b"-"
        while line:
            try:
                line = file.readline()
            except (OSError, ValueError):
                line = b""
            if not line:
                self._ended()
            try:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            except RuntimeError:  # the program has ended
                return

    def __aiter__(self) -> _Reader:
        return self

    async def __anext__(self) -> str:
        while line := await self._lines.get():
            if line.strip() and (text := await self._accepted(line)) is not None:
                return text
        await self._writer.all_answered(ANSWER_SECONDS)  # the SDK gives up what is under way when the input is over
        raise StopAsyncIteration

    async def _accepted(self, line: bytes) -> str | None:
        """The line as text, or None where it was answered with an error."""
        try:
            text = line.decode()
            message = json.loads(text)
        except (ValueError, RecursionError) as error:
            what = "not valid UTF-8" if isinstance(error, UnicodeDecodeError) else "not valid JSON"
            await self._writer.error(None, PARSE_ERROR, what)
            return None
        if problem := data_problem(message):
            await self._writer.error(_number(message), INVALID_PARAMS, f"invalid params: the message {problem}")
        elif wrong := _wrong(message):
            await self._writer.error(_number(message), INVALID_REQUEST, f"invalid request: {wrong}")
        else:
            self._note(message)
            return text
        return None

    def _note(self, message: dict[str, Any]) -> None:
        number = _number(message)
        if message.get("method") == "notifications/cancelled":
            params = message.get("params")
            self._writer.settle(_number({"id": params.get("requestId")}) if isinstance(params, dict) else None)
        elif number is not None and "method" in message:
            self._writer.owe(number)


def _number(message: Any) -> int | str | None:
    """A message's id, where it is one that an answer can bear."""
    number = message.get("id") if isinstance(message, dict) else None
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    return number if isinstance(number, str) and data_problem(number) is None else None


def _wrong(message: Any) -> str | None:
    """Why it is neither a request, a notification nor an answer (JSON-RPC 2.0, sections 4 and 5), or None."""
    if isinstance(message, list):
        return "one message a line, no batches"
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return 'a message is an object with "jsonrpc": "2.0"'
    if "id" in message and _number(message) is None and "error" not in message:
        return "an id is a text or a whole number"
    if "method" in message:
        return None if isinstance(message["method"], str) else "a method is a text"
    return None if "result" in message or "error" in message else "there is no method"
