"""A function in a process of its own: for code that may hang, crash or hold the interpreter. Killed at its deadline.

The child is a new interpreter (never a fork of a program with threads) that sees the same modules as this one. The job
goes in as JSON, the answer comes out as JSON over a pipe that nothing the job prints can reach.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

ANSWER_BYTES = 32 * 1024 * 1024
_START = (
    "import json,sys;job=json.loads(sys.stdin.buffer.read());sys.path[:]=job['path'];"
    "from aria_tui.sources._child import serve;serve(job)"
)


class ChildFailed(Exception):
    """The child gave no answer; ``str()`` says why."""


async def call(
    target: str, arguments: Mapping[str, Any], timeout: float, *, environ: Mapping[str, str] | None = None
) -> Any:
    """What ``target`` (``module:function``) gives for ``arguments`` in a new process.

    Raises ChildFailed, or TimeoutError after ``timeout`` seconds; either way no process is left.
    """
    job = json.dumps({"path": sys.path, "target": target, "arguments": arguments}).encode("utf-8", "surrogateescape")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", _START,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=None if environ is None else dict(environ),
        start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(timeout):
            output = await _exchange(process, job)
            await process.wait()
    finally:
        await _end(process)
    return _answer(output, process.returncode)


def serve(job: dict[str, Any]) -> None:
    """The child's side: runs the job, writes the answer, and leaves without waiting for what the job left behind."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    module, _, attribute = job["target"].partition(":")
    try:
        answer: dict[str, Any] = {"value": getattr(import_module(module), attribute)(**job["arguments"])}
        encoded = json.dumps(answer).encode()
    except BaseException as error:  # noqa: BLE001 - also SystemExit: it is told to the parent
        first = (str(error).strip().splitlines() or [""])[0]
        encoded = json.dumps({"error": type(error).__name__, "text": first[:500]}).encode()
    answers.write(encoded)
    answers.close()
    os._exit(0)


async def _exchange(process: asyncio.subprocess.Process, job: bytes) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(job)
        await process.stdin.drain()
        process.stdin.close()
    parts, size = [], 0
    while part := await process.stdout.read(256 * 1024):
        size += len(part)
        if size > ANSWER_BYTES:
            raise ChildFailed("gave more than 32 MiB")
        parts.append(part)
    return b"".join(parts)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kills the child and whatever it started, and waits until it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _answer(output: bytes, status: int | None) -> Any:
    try:
        answer = json.loads(output)
        if "error" in answer:
            raise ChildFailed(f"{answer['error']}: {answer['text']}".rstrip(": "))
        return answer["value"]
    except (ValueError, KeyError, TypeError, RecursionError):
        ended = f"signal {-status}" if status and status < 0 else f"exit status {status}"
        raise ChildFailed(f"ended without an answer ({ended})") from None
