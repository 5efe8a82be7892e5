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
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.aria import Aria
from tests.helpers.waiting import wait_until

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
        if self.fd < 0:
            time.sleep(seconds)
        elif select.select([self.fd], [], [], seconds)[0]:
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

    def hang_up(self) -> None:
        """Closes the window."""
        os.close(self.fd)
        self.fd = -1

    def close(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.fd >= 0:
            self.hang_up()


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
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGQUIT, 131), (signal.SIGUSR1, 138)],
    ids=str,
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


@pytest.mark.case("T07")
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


def patched(aria: Aria, module: str, *lines: str) -> dict[str, str]:
    """The environment of a program in which lines are run just before one of its modules is imported."""
    patch = aria.root / "patch"
    patch.mkdir()
    body = "\n".join(f"            {line}" for line in lines)
    (patch / "sitecustomize.py").write_text(
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            sys.meta_path.remove(self)\n"
        f"{body}\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    return {"PYTHONPATH": os.pathsep.join([str(patch), aria.environment().get("PYTHONPATH", "")])}


@pytest.mark.case("T07")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=str)
def test_a_signal_between_the_terminal_and_the_first_screen_ends_in_order(
    aria: Aria, on_a_terminal: Any, number: int
) -> None:
    """The terminal is taken, and nothing is mounted yet: the start is finished first, without an error."""
    env = patched(
        aria, "aria_tui.tui.wallclock",
        "import os; from textual.drivers.linux_driver import LinuxDriver as D; begin = D.start_application_mode",
        f"D.start_application_mode = lambda self: (begin(self), os.kill(os.getpid(), {int(number)}))",
    )  # fmt: skip
    terminal = on_a_terminal(**env)
    assert terminal.wait_end() == 128 + number, terminal.text
    assert_restored(terminal)
    assert "ERROR" not in (aria.home / "log" / "aria.log").read_text()


@pytest.mark.case("T07")
@pytest.mark.parametrize("module", ["argparse", "msgspec", "textual.app"])
def test_ctrl_c_in_the_middle_of_an_import_is_the_end_without_a_word(
    aria: Aria, on_a_terminal: Any, module: str
) -> None:
    terminal = on_a_terminal(**patched(aria, module, f"import os; os.kill(os.getpid(), {int(signal.SIGINT)})"))
    assert terminal.wait_end() == 130
    assert terminal.seen == b""


@pytest.mark.case("T07")
@pytest.mark.parametrize("ignored", [False, True], ids=["SIGHUP", "no signal"])
@pytest.mark.parametrize("seen", ["\x1b[?1049h", "Sync"], ids=["starting", "running"])
def test_a_closed_window_is_the_end_with_129(aria: Aria, on_a_terminal: Any, seen: str, ignored: bool) -> None:
    """Every byte that is written fails from now on. With ``nohup`` nothing else tells of it."""
    aria("task", "add", "kept").ok()
    command = aria.command
    if ignored:
        aria.command = ("sh", "-c", f"trap '' HUP; exec {' '.join(command)}")
    terminal = on_a_terminal()
    aria.command = command
    terminal.wait_for(seen)
    if seen == "Sync":
        terminal.send("t")
        terminal.wait_for("New task")
        terminal.send("half a thought")
        terminal.wait_for("thought")
    terminal.hang_up()
    began = time.monotonic()
    assert terminal.wait_end() == 129
    assert terminal.ended - began < 2
    assert "ERROR" not in (aria.home / "log" / "aria.log").read_text()
    assert [task["title"] for task in aria("task", "list", "--json").ok().json["tasks"]] == ["kept"]
    if seen == "Sync":
        assert "half a thought" in (aria.home / "drafts.json").read_text()


@pytest.mark.case("T07")
def test_a_terminal_that_takes_no_more_bytes_holds_no_end_up(aria: Aria, on_a_terminal: Any) -> None:
    """A connection that hangs: the whole program waits to write, and is told to go."""
    terminal = on_a_terminal()
    terminal.wait_for("Sync")
    for _ in range(100):
        terminal.send("T\t")  # the whole screen again, each time
    counts: list[int] = []

    def full() -> bool:
        counts.append(unread(terminal))
        return counts[-1] > 0 and len(set(counts[-20:])) == 1 and len(counts) > 20

    wait_until(full, 10, "nothing to be written any more")
    began = time.monotonic()
    os.kill(terminal.pid, signal.SIGTERM)
    pid, status = 0, 0
    while not pid and time.monotonic() < began + 10:
        pid, status = os.waitpid(terminal.pid, os.WNOHANG)
        time.sleep(0.01)
    assert pid and time.monotonic() - began < 2
    terminal.status = os.waitstatus_to_exitcode(status)
    assert terminal.status == 143
    assert termios.tcgetattr(terminal.fd)[3] & termios.ECHO


def unread(terminal: Pty) -> int:
    """Bytes that were written to the terminal and not read."""
    return int(struct.unpack("i", fcntl.ioctl(terminal.fd, termios.FIONREAD, b"\0" * 4))[0])


@pytest.mark.case("T07")
def test_a_program_that_hangs_heeds_a_signal_all_the_same(aria: Aria, on_a_terminal: Any) -> None:
    env = patched(aria, "aria_tui.tui.screens.help", "print('it hangs', file=sys.__stderr__, flush=True)",
                  "import time; time.sleep(60)")  # fmt: skip
    terminal = on_a_terminal(**env)
    terminal.wait_for("Sync")
    terminal.send("?")
    terminal.wait_for("it hangs")
    began = time.monotonic()
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.wait_end() == 143
    assert terminal.ended - began < 2
    assert_restored(terminal)


@pytest.mark.case("T07")
def test_stopped_and_woken_it_is_drawn_again_and_gives_the_right_terminal_back(aria: Aria, on_a_terminal: Any) -> None:
    """SIGCONT comes to what was not stopped too (systemd sends it after SIGTERM, a debugger after SIGSTOP)."""
    terminal = on_a_terminal()
    terminal.wait_for("Sync")
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.send("?")
    terminal.wait_for("Everywhere")
    terminal.seen = b""
    terminal.send("\x1b")
    terminal.wait_for("Sync")
    os.kill(terminal.pid, signal.SIGTSTP)
    wait_until(lambda: state(terminal.pid) == "T", 10, "the stop")
    terminal.wait_for("\x1b[?1049l")
    assert termios.tcgetattr(terminal.fd)[3] & termios.ECHO
    terminal.seen = b""
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.wait_for("\x1b[?1049h")
    terminal.wait_for("Sync")
    os.kill(terminal.pid, signal.SIGTERM)
    os.kill(terminal.pid, signal.SIGCONT)
    assert terminal.wait_end() == 143
    assert_restored(terminal)


def state(pid: int) -> str:
    """A process's state by the system: S it waits, T it is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.case("T07")
def test_an_exception_in_a_handler_ends_in_one_sentence_and_a_trace_in_the_log(aria: Aria, on_a_terminal: Any) -> None:
    env = patched(
        aria, "aria_tui.tui.screens.help", "from aria_tui.tui.widgets import lines",
        "def broken(self, *a): raise RuntimeError('broken on purpose')", "lines.RowList.on_click = broken",
    )  # fmt: skip
    terminal = on_a_terminal(**env)
    terminal.wait_for("Sync")
    terminal.send("?")
    terminal.wait_for("Everywhere")
    terminal.send("\x1b[<0;10;10M\x1b[<0;10;10m")
    assert terminal.wait_end() == 1
    assert_restored(terminal)
    assert "aria had to end because of an unexpected error" in terminal.text
    log = (aria.home / "log" / "aria.log").read_text()
    assert "Traceback" in log and "broken on purpose" in log


@pytest.mark.case("T06")
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
    assert terminal.ended - began < 2
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
