"""Runs another program to its end, or kills it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence


async def run(
    words: Sequence[str], timeout: float, *, environ: Mapping[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """Exit status, standard output and standard error of a command that gets no input.

    Raises OSError when it can't be started, TimeoutError after ``timeout`` seconds; it, and what it started, is then
    gone.
    """
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=None if environ is None else dict(environ),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return process.returncode or 0, output, errors
