"""Many commands without an interpreter's start for each: a process that has everything imported forks for every one.

Each command still is a process of its own, with its own arguments, environment, folder and standard streams, and runs
from ``main`` on as always. What the start itself is like is shown where the real command is used (``test_entry``,
``test_short``, ``test_readme``, and the tests of other folders).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

READY = "ready"
BEFOREHAND = (
    "aria_tui.assistant", "aria_tui.briefing", "aria_tui.cli.entry", "aria_tui.cli.checks_hub", "aria_tui.cli.words",
    "aria_tui.dates", "aria_tui.hub.client", "aria_tui.hub.embedded", "aria_tui.hub.server.manage",
    "aria_tui.locale.formats", "aria_tui.outbox.drain", "aria_tui.outbox.mirror", "aria_tui.outbox.syncer",
    "aria_tui.outbox.transfer", "aria_tui.outbox.views", "aria_tui.sources", "filelock", "httpx",
)  # fmt: skip
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as wire:
    wire.connect({path!r})
    order = [sys.argv[1:], dict(os.environ), os.getcwd()]
    socket.send_fds(wire, [json.dumps(order).encode()], [0, 1, 2])
    answer = wire.recv(1)
os._exit(answer[0] if answer else 70)
"""


@contextlib.contextmanager
def command(folder: Path) -> Iterator[str]:
    """The path of a program that is ``aria``, as long as the context lasts."""
    path = folder / "wire"
    program = folder / "aria"
    program.write_text(CLIENT.format(python=sys.executable, path=str(path)))
    program.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.forking", str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2], text=True,
    )  # fmt: skip
    assert server.stdin and server.stdout
    with server.stdin, server.stdout:
        try:
            assert server.stdout.readline().strip() == READY
            yield str(program)
        finally:
            server.kill()
            server.wait()


def serve(path: str) -> None:
    """Forks for each connection until it is killed."""
    from aria_tui.cli.parser import COMMANDS

    for name in (*BEFOREHAND, *(module for module, _text in COMMANDS.values())):
        import_module(name)
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(path)
        listening.listen(64)
        os.write(1, f"{READY}\n".encode())
        while True:
            wire, _address = listening.accept()
            if os.fork() == 0:
                listening.close()
                _run(wire)
            wire.close()


def _reap(_number: int, _frame: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run(wire: socket.socket) -> None:
    """One command, to its end and this process's."""
    from aria_tui.cli import main

    status = 70
    try:
        order, streams, _flags, _address = socket.recv_fds(wire, 1 << 20, 3)
        arguments, environment, folder = json.loads(order)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, given in enumerate(streams):
            os.dup2(given, number)
            os.close(given)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        time.tzset()
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        sys.argv = ["aria", *arguments]
        status = main(arguments)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        with contextlib.suppress(OSError):
            wire.send(bytes([status & 0xFF]))
        os._exit(status)


if __name__ == "__main__":
    serve(sys.argv[1])
