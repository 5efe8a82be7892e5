"""A real terminal: the program in a tmux session of its own, keys in, screen out."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.aria import Aria
from tests.helpers.waiting import StillNot, wait_until


@dataclass
class Tmux:
    """One session on a socket of its own, ended by ``close`` with all that runs in it."""

    width: int = 120
    height: int = 40
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="aria-tmux-")))

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self.folder / "socket"), "-f", "/dev/null", *args],
            capture_output=True, timeout=20, env={**os.environ, "LANG": "C.UTF-8", "TMUX": ""},
        )  # fmt: skip
        return done.stdout.decode(errors="replace")

    def run(self, aria: Aria, *args: str) -> Tmux:
        """Starts the program; the shell around it stays, so that what it leaves on the screen can be read."""
        env = aria.environment(COLORTERM="truecolor")
        words = shlex.join([*aria.command, *args])
        begin = shlex.join(["tmux", "-S", str(self.folder / "socket"), "wait-for", "recorded"])
        script = f"{begin}; {words}; echo exit-status=$?; exec cat"
        pairs = [f"{k}={v}" for k, v in env.items()]
        self._tmux(
            "new-session", "-d", "-x", str(self.width), "-y", str(self.height), "-c", str(aria.root / "user"),
            "env", "-i", *pairs, "TERM=screen-256color", "sh", "-c", script,
        )  # fmt: skip
        self._tmux("pipe-pane", "-t", "0", f"exec cat >{shlex.quote(str(self.folder / 'stream'))}")
        self._tmux("wait-for", "-S", "recorded")
        return self

    def stream(self) -> bytes:
        """Every byte that the program wrote to the terminal so far, as it left the pseudo-terminal."""
        return (self.folder / "stream").read_bytes()

    def click(self, column: int, row: int) -> None:
        """A left click on a cell, counted from 0, as the terminal reports it (SGR)."""
        self.type(f"\x1b[<0;{column + 1};{row + 1}M\x1b[<0;{column + 1};{row + 1}m")

    def keys(self, *keys: str) -> None:
        """Sends keys by tmux's names (``Enter``, ``C-s``, ``Escape``, a letter)."""
        self._tmux("send-keys", "-t", "0", *keys)

    def type(self, text: str) -> None:
        """Sends text as it stands, control characters too."""
        self._tmux("send-keys", "-t", "0", "-l", "--", text)

    def paste(self, text: str) -> None:
        """A bracketed paste."""
        file = self.folder / "paste"
        file.write_text(text, newline="")
        self._tmux("load-buffer", str(file))
        self._tmux("paste-buffer", "-p", "-r", "-t", "0")

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "0")

    def lines(self) -> list[str]:
        return self.screen().splitlines()

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-t", "0", "-x", str(width), "-y", str(height))

    def wait_for(self, *texts: str, deadline: float = 20) -> str:
        """Waits until every text is on the screen at once, and gives that screen."""
        seen = ""

        def there() -> str:
            nonlocal seen
            seen = self.screen()
            return seen if all(text in seen for text in texts) else ""

        try:
            return wait_until(there, deadline, every=0.05)
        except StillNot:
            raise StillNot(f"not on the screen within {deadline} s: {texts}\n{seen}") from None

    def wait_gone(self, text: str, deadline: float = 20) -> str:
        """Waits until a text is no longer on the screen."""
        try:
            return wait_until(lambda: (s := self.screen()) and text not in s and s, deadline, every=0.05)
        except StillNot:
            raise StillNot(f"still on the screen after {deadline} s: {text!r}\n{self.screen()}") from None

    def alive(self) -> bool:
        """Whether the program itself still runs."""
        return "exit-status=" not in self.screen() and bool(self._tmux("list-panes", "-a").strip())

    def pids(self) -> list[int]:
        """Process ids of the program (the shell's children)."""
        shell = self._tmux("list-panes", "-a", "-F", "#{pane_pid}").split()
        if not shell:
            return []
        out = subprocess.run(["ps", "-o", "pid=", "--ppid", shell[0]], capture_output=True, text=True).stdout
        return [int(pid) for pid in out.split()]

    def signal(self, number: int = signal.SIGTERM) -> None:
        for pid in self.pids():
            os.kill(pid, number)

    def close(self) -> None:
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        self._tmux("kill-server")
        shutil.rmtree(self.folder, ignore_errors=True)
