"""A program on a pseudo terminal of 120×40, for measuring: what it writes, how soon, how large it is."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from types import TracebackType


class OnTerminal:
    """Use as a context manager; the program is ended afterwards."""

    def __init__(self, command: Sequence[str], env: dict[str, str], *, width: int = 120, height: int = 40) -> None:
        self._parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=env, stdin=child, stdout=child, stderr=child, start_new_session=True
        )  # fmt: skip
        os.close(child)
        self.seen = b""

    def __enter__(self) -> OnTerminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._parent)

    def read(self, seconds: float) -> bytes:
        """The next bytes, or nothing after some seconds."""
        if not select.select([self._parent], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self._parent, 1 << 20)
        except OSError:
            return b""
        self.seen += data
        return data

    def until(self, text: bytes, seconds: float = 60) -> float:
        """Reads until a text has come; seconds since the start of the program."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if not self.read(1) and (time.monotonic() > end or self.process.poll() is not None):
                raise AssertionError(f"{text!r} never came: {self.seen[-3000:]!r}")
        return time.perf_counter() - self.started

    def quiet(self, seconds: float, longest: float = 30) -> None:
        """Reads until nothing was written for some seconds."""
        end = time.monotonic() + longest
        while self.read(seconds) and time.monotonic() < end:
            pass

    def answer_time(self, key: bytes) -> float:
        """Seconds from a key to the first bytes that are written after it."""
        start = time.perf_counter()
        os.write(self._parent, key)
        if not self.read(10):
            raise AssertionError(f"no answer to {key!r}")
        took = time.perf_counter() - start
        self.quiet(0.05, 2)
        return took

    def memory(self) -> float:
        """Resident memory in MiB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            line = next(line for line in file if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
