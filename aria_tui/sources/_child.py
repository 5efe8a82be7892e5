"""A function in a process of its own: for code that may hang, crash or hold the interpreter. Killed at its deadline.

The child is a new interpreter (never a fork of a program with threads) that sees the same modules as this one. The job
goes in as JSON, the answer comes out as JSON over a pipe that nothing the job prints can reach. It can be started ahead
of its job, so that its imports are done by the time the job is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Mapping
from importlib import import_module
from types import TracebackType
from typing import Any

ANSWER_BYTES = 32 * 1024 * 1024
_START = (
    "import json,sys;head=json.loads(sys.stdin.buffer.readline());sys.path[:]=head['path'];"
    "from aria_tui.sources._child import serve;serve(head['module'])"
)


class ChildFailed(Exception):
    """The child gave no answer; ``str()`` says why."""


async def call(
    target: str, arguments: Mapping[str, Any], timeout: float, *, environ: Mapping[str, str] | None = None
) -> Any:
    """What ``target`` (``module:function``) gives for ``arguments`` in a new process.

    Raises ChildFailed, or TimeoutError after ``timeout`` seconds; either way no process is left.
    """
    async with Child(target, environ=environ) as child:
        return await child.call(arguments, timeout)


class Child:
    """One process for one call of ``target``, as an asynchronous context: started on entry, gone on exit."""

    def __init__(self, target: str, *, environ: Mapping[str, str] | None = None) -> None:
        self._module, _, self._function = target.partition(":")
        self._environ = None if environ is None else dict(environ)

    async def __aenter__(self) -> Child:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", _START,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self._environ,
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._in.write(_json({"path": sys.path, "module": self._module}) + b"\n")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        """Kills the child and whatever it started, and waits until it is gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._in.close()
        await self._process.wait()

    async def call(self, arguments: Mapping[str, Any], timeout: float) -> Any:
        """The answer. Raises ChildFailed, TimeoutError."""
        async with asyncio.timeout(timeout):
            job = {"function": self._function, "arguments": arguments, "seconds": timeout}
            output = await self._exchange(_json(job))
            status = await self._process.wait()
        return _answer(output, status)

    async def _exchange(self, job: bytes) -> bytes:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._in.write(job)
            await self._in.drain()
            self._in.close()
        parts, size = [], 0
        while part := await self._out.read(256 * 1024):
            size += len(part)
            if size > ANSWER_BYTES:
                raise ChildFailed("gave more than 32 MiB")
            parts.append(part)
        return b"".join(parts)


def serve(module: str) -> None:
    """The child's side: imports, waits for the job, runs it, writes the answer, and leaves without waiting for what the
    job left behind."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(Exception):  # it is tried again below, where its failure is the answer
        import_module(module)
    given = sys.stdin.buffer.read()
    if not given:
        os._exit(0)
    job = json.loads(given)
    _end_by_itself(job["seconds"])
    try:
        answer = {"value": getattr(import_module(module), job["function"])(**job["arguments"])}
        encoded = json.dumps(answer).encode()
    except BaseException as error:  # noqa: BLE001 - also SystemExit: it is told to the parent
        first = (str(error).strip().splitlines() or [""])[0]
        encoded = json.dumps({"error": type(error).__name__, "text": first[:500]}).encode()
    answers.write(encoded)
    answers.close()
    os._exit(0)


def _end_by_itself(seconds: float) -> None:
    """A child whose parent died without killing it ends a moment after its deadline, even in an endless loop."""
    import resource

    limit = math.ceil(seconds) + 2
    with contextlib.suppress(ValueError, OSError):  # a lower limit holds already
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    clock = threading.Timer(seconds + 2, os._exit, (1,))
    clock.daemon = True
    clock.start()


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _answer(output: bytes, status: int | None) -> Any:
    try:
        answer = json.loads(output)
        if "error" in answer:
            raise ChildFailed(f"{answer['error']}: {answer['text']}".rstrip(": "))
        return answer["value"]
    except (ValueError, KeyError, TypeError, RecursionError):
        ended = f"signal {-status}" if status and status < 0 else f"exit status {status}"
        raise ChildFailed(f"ended without an answer ({ended})") from None
