"""The program as its user runs it: a real process with a home of its own and nothing inherited."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

ROOT = Path(__file__).resolve().parents[2]


ZONE = "America/Fortaleza"
"""Where the program's user lives: for some hours of each day the date there isn't the one in UTC."""


def today() -> date:
    """The day that the program's user has."""
    return datetime.now(ZoneInfo(ZONE)).date()


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """An environment with a fresh HOME and ARIA_HOME below ``home``, a fixed zone and language, no ARIA_* of ours."""
    env = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(home / "user"),
        "ARIA_HOME": str(home / "aria"),
        "TZ": ZONE,
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PYTHONPATH": str(ROOT),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    return {**env, **more}


@dataclass(frozen=True)
class Done:
    """A finished run."""

    args: tuple[str, ...]
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"{self.args} did not print one JSON document: {self}") from None

    def ok(self) -> Done:
        assert self.status == 0, self
        return self


@dataclass
class Aria:
    """Runs ``python -m aria_tui`` over one home. Everything started through it is ended by ``close``."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    command: tuple[str, ...] = (sys.executable, "-m", "aria_tui")

    def __post_init__(self) -> None:
        (self.root / "user").mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / "aria"

    @property
    def queue_file(self) -> Path:
        return self.home / "queue.db"

    def use(self, url: str = "", token: str = "") -> Aria:
        """Points the program at a Hub by its environment (nothing for the embedded one)."""
        for name, value in (("ARIA_HUB_URL", url), ("ARIA_HUB_TOKEN", token)):
            if value:
                self.env[name] = value
            else:
                self.env.pop(name, None)
        return self

    def environment(self, **more: str) -> dict[str, str]:
        return clean_environment(self.root, **{**self.env, **more})

    def __call__(
        self, *args: str | bytes, timeout: float = 60, stdin: bytes | None = None, env: dict[str, str] | None = None
    ) -> Done:
        """Runs one command to its end. A traceback on its standard error is a failure of whichever test sees it."""
        done = subprocess.run(
            [*self.command, *args],
            env=self.environment(**(env or {})),
            cwd=self.root / "user",
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=timeout,
        )
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        shown = tuple(os.fsdecode(a) for a in args)
        assert "Traceback (most recent call last)" not in err + out, f"{shown} showed a traceback:\n{err}"
        return Done(shown, done.returncode, out, err)

    def start(self, *args: str, env: dict[str, str] | None = None, stdin: Any = subprocess.DEVNULL) -> Running:
        """Starts one command and leaves it running, its output readable while it runs."""
        process = subprocess.Popen(
            [*self.command, *args],
            env=self.environment(**(env or {})),
            cwd=self.root / "user",
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.running.append(process)
        return Running(process, tuple(args))

    def queue(self) -> dict[str, Any]:
        """``aria queue status --json``."""
        return dict(self("queue", "status", "--json").ok().json)

    def waiting(self) -> int:
        return int(self.queue()["pending_total"])

    def close(self) -> None:
        for process in self.running:
            end(process)


@dataclass
class Running:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    args: tuple[str, ...]

    def wait(self, timeout: float = 60) -> Done:
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill_group(self.process)
            out, err = self.process.communicate()
            raise AssertionError(f"{self.args} did not end within {timeout} s: {out!r} {err!r}") from None
        text, errors = out.decode(errors="replace"), err.decode(errors="replace")
        assert "Traceback (most recent call last)" not in text + errors, f"{self.args} showed a traceback:\n{errors}"
        return Done(self.args, self.process.returncode, text, errors)

    def kill(self) -> None:
        """SIGKILL to it and its children, and nothing more."""
        kill_group(self.process)
        self.process.communicate()


def kill_group(process: subprocess.Popen[bytes], with_signal: int = signal.SIGKILL) -> None:
    try:
        os.killpg(process.pid, with_signal)
    except (ProcessLookupError, PermissionError):
        if process.poll() is None:
            process.send_signal(with_signal)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process for good and gives its pipes back."""
    if process.poll() is None:
        kill_group(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
