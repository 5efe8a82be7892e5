"""The terminal itself, through a pty: given back after every kind of end; data never steers it; quitting is quick."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import termios
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.aria import Aria

RESTORED = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[?25h")


class Pty:
    """The program on a terminal whose every byte is kept."""

    def __init__(self, aria: Aria, *args: str, size: tuple[int, int] = (120, 40), **env: str) -> None:
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(aria.command[0], [*aria.command, *args], {**aria.environment(), **env})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(self.fd)
        self.status: int | None = None
        self.ended = 0.0

    def read(self, seconds: float = 0.05) -> None:
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.fd, 65536)
            except OSError:
                time.sleep(seconds)

    def wait_for(self, text: str, deadline: float = 20) -> None:
        end = time.monotonic() + deadline
        while text.encode() not in self.seen:
            assert time.monotonic() < end, f"{text!r} not in {self.text[-3000:]}"
            self.read()

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen.decode(errors="replace"))

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def wait_end(self, deadline: float = 10) -> int:
        """The exit status as a shell sees it."""
        end = time.monotonic() + deadline
        while self.status is None:
            assert time.monotonic() < end, f"still running: {self.text[-2000:]}"
            self.read(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.ended = time.monotonic()
                self.status = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        for _ in range(5):
            self.read(0.02)
        return self.status

    def close(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def on_a_terminal(aria: Aria) -> Iterator[Any]:
    made: list[Pty] = []

    def start(*args: str, **kind: Any) -> Pty:
        made.append(Pty(aria, *args, **kind))
        return made[-1]

    yield start
    for terminal in made:
        terminal.close()


def assert_restored(terminal: Pty) -> None:
    tail = terminal.seen[terminal.seen.rindex(b"\x1b[?1049l") - 1500 :]
    for sequence in RESTORED:
        assert sequence in tail, sequence
    for sequence in (b"\x1b[?1000h", b"\x1b[?1003h", b"\x1b[?2004h", b"\x1b[?1049h", b"\x1b[?25l"):
        assert tail.rfind(sequence) < tail.rindex(b"\x1b[?1049l"), sequence
    after = termios.tcgetattr(terminal.fd)
    assert after[3] & (termios.ECHO | termios.ICANON | termios.ISIG) == terminal.before[3] & (
        termios.ECHO | termios.ICANON | termios.ISIG
    )
    assert after[3] & termios.ECHO and after[3] & termios.ICANON
    assert "Traceback" not in terminal.text


@pytest.mark.case("T07")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)], ids=str
)
def test_a_signal_gives_the_terminal_back_and_is_seen_by_the_shell(
    aria: Aria, on_a_terminal: Any, number: int, status: int
) -> None:
    aria("task", "add", "kept").ok()
    terminal = on_a_terminal()
    terminal.wait_for("kept")
    os.kill(terminal.pid, number)
    assert terminal.wait_end() == status
    assert_restored(terminal)
    assert [task["title"] for task in aria("task", "list", "--json").ok().json["tasks"]] == ["kept"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=str)
def test_a_signal_at_any_moment_of_the_start_leaves_no_traceback(aria: Aria, on_a_terminal: Any, number: int) -> None:
    for delay in 0.35, 0.5, 0.65, 0.9:  # the interpreter itself needs the first moments
        terminal = on_a_terminal()
        end = time.monotonic() + delay
        while time.monotonic() < end:
            terminal.read(0.01)
        os.kill(terminal.pid, number)
        assert terminal.wait_end() == 128 + number, terminal.text
        assert "Traceback" not in terminal.text, terminal.text
        if b"\x1b[?1049h" in terminal.seen:
            assert_restored(terminal)


@pytest.mark.case("T07")
def test_an_exception_in_a_handler_ends_in_one_sentence_and_a_trace_in_the_log(aria: Aria, on_a_terminal: Any) -> None:
    patch = aria.root / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'aria_tui.tui.screens.help':\n"
        "            from aria_tui.tui.widgets import lines\n"
        "            def broken(self, *a): raise RuntimeError('broken on purpose')\n"
        "            lines.RowList.on_click = broken\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    path = os.pathsep.join([str(patch), aria.environment().get("PYTHONPATH", "")])
    terminal = on_a_terminal(PYTHONPATH=path)
    terminal.wait_for("Sync")
    terminal.send("?")
    terminal.wait_for("Everywhere")
    terminal.send("\x1b[<0;10;10M\x1b[<0;10;10m")
    assert terminal.wait_end() == 1
    assert_restored(terminal)
    assert "aria had to end because of an unexpected error" in terminal.text
    log = (aria.home / "log" / "aria.log").read_text()
    assert "Traceback" in log and "broken on purpose" in log


def test_q_ends_with_0_within_two_seconds_even_while_the_hub_hangs(aria: Aria, on_a_terminal: Any) -> None:
    silent = socket.create_server(("127.0.0.1", 0))  # connections are taken by the system and never answered
    aria.use(f"http://127.0.0.1:{silent.getsockname()[1]}", "a-token-that-stays-secret")
    terminal = on_a_terminal()
    terminal.wait_for("Sync")
    terminal.send("t")
    terminal.wait_for("New task")
    terminal.send("shown at once\r")
    terminal.wait_for("1 waiting")
    terminal.send("q")
    began = time.monotonic()
    assert terminal.wait_end() == 0
    assert time.monotonic() - began < 6, "far more than the two seconds that it may take"
    assert_restored(terminal)
    silent.close()
    assert aria.queue()["pending_total"] == 1
    for file in aria.home.rglob("*"):
        if file.is_file():
            assert b"a-token-that-stays-secret" not in file.read_bytes(), file


@pytest.mark.case("S05")
def test_a_home_that_cannot_be_used_is_said_on_the_screen(aria: Aria, on_a_terminal: Any) -> None:
    aria.home.parent.mkdir(parents=True, exist_ok=True)
    aria.home.write_text("not a folder")
    terminal = on_a_terminal()
    terminal.wait_for("queue unavailable")
    terminal.send("t")
    terminal.wait_for("New task")
    terminal.send("typed\r")
    terminal.wait_for("not saved")
    terminal.send("\x1b")
    time.sleep(0.3)
    terminal.send("q")
    assert terminal.wait_end() == 0
    assert "Traceback" not in terminal.text


def test_a_form_s_text_survives_a_kill(aria: Aria, on_a_terminal: Any) -> None:
    terminal = on_a_terminal()
    terminal.wait_for("Sync")
    terminal.send("t")
    terminal.wait_for("New task")
    terminal.send("half a thought")
    drafts = aria.home / "drafts.json"
    end = time.monotonic() + 15
    while not (drafts.exists() and "half a thought" in drafts.read_text()):
        assert time.monotonic() < end
        terminal.read()
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.wait_end()
    assert drafts.stat().st_mode & 0o777 == 0o600
    again = on_a_terminal()
    again.wait_for("Sync")
    again.send("t")
    again.wait_for("half a thought")
