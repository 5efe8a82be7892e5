"""One command on a pseudo-terminal: what a person at it would get, as bytes."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time

from tests.helpers.aria import Aria, end


def on_a_terminal(aria: Aria, *args: str, typed: bytes = b"", deadline: float = 30) -> tuple[int, bytes]:
    """Exit status and everything written to the terminal; ``typed`` is put in at once, as type-ahead."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*aria.command, *args], env=aria.environment(COLUMNS="100"), cwd=aria.root / "user",
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    if typed:
        os.write(ours, typed)
    stream, until = b"", time.monotonic() + deadline
    try:
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                stream += piece
        return process.wait(5), stream
    finally:
        end(process)
        os.close(ours)
