"""The system's own timers: a systemd user timer or a launchd job, as files and the commands that take them up."""

from __future__ import annotations

import os
import plistlib
import re
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

NAME = "aria-sync"
LABEL = "aria.tui.sync"


def words(minutes: int) -> str:
    """``15 min``, ``2 h``, ``1 d``."""
    if minutes % 1440 == 0:
        return f"{minutes // 1440} d"
    return f"{minutes // 60} h" if minutes % 60 == 0 else f"{minutes} min"


class Timer(ABC):
    """One kind of timer: its files, and the commands around them. Never two runs at once."""

    kind = ""

    def __init__(self, command: Sequence[str], home: str) -> None:
        self.command, self.home = tuple(command), home

    @abstractmethod
    def paths(self) -> list[Path]:
        """Where its files belong."""

    @abstractmethod
    def files(self, minutes: int) -> dict[Path, bytes]:
        """The files for an interval."""

    @abstractmethod
    def every(self) -> int | None:
        """The interval of the installed one in minutes, None where it can't be read."""

    @abstractmethod
    def active(self) -> bool:
        """Whether the system has taken it up."""

    @abstractmethod
    def start_commands(self) -> list[list[str]]: ...

    @abstractmethod
    def stop_commands(self) -> list[list[str]]: ...

    @abstractmethod
    def forget_commands(self) -> list[list[str]]: ...


class Systemd(Timer):
    """A user timer by the calendar: systemd.timer(5) catches up what was missed asleep, and with Persistent what was
    missed while the machine was off. A oneshot service is never started twice at once."""

    kind = "systemd"

    def paths(self) -> list[Path]:
        base = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
        folder = Path(base) / "systemd" / "user"
        return [folder / f"{NAME}.service", folder / f"{NAME}.timer"]

    def files(self, minutes: int) -> dict[Path, bytes]:
        service, timer = self.paths()
        return {
            service: (
                "[Unit]\nDescription=ARIA: send what waits to the Hub\n\n"
                "[Service]\nType=oneshot\n"
                f"Environment={_quoted(f'ARIA_HOME={self.home}')}\n"
                f"ExecStart={' '.join(_quoted(part, command=True) for part in self.command)}\n"
                "# 3: something still waits for the Hub, which is no failure of this unit\n"
                "SuccessExitStatus=3\nTimeoutStartSec=15min\nNice=10\n"
            ).encode(),
            timer: (
                "[Unit]\nDescription=ARIA: sync by the clock\n\n"
                f"[Timer]\nOnCalendar={_calendar(minutes)}\nPersistent=true\nAccuracySec=30s\n"
                "# Each machine at a moment of its own: a Hub of many should not hear from all of them at once\n"
                f"RandomizedDelaySec={min(minutes, 15)}min\nFixedRandomDelay=true\n\n"
                "[Install]\nWantedBy=timers.target\n"
            ).encode(),
        }

    def every(self) -> int | None:
        try:
            text = self.paths()[1].read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        found = re.search(r"^OnCalendar=(.+)$", text, re.MULTILINE)
        return _minutes_of(found[1]) if found else None

    def active(self) -> bool:
        return _succeeds(["systemctl", "--user", "is-active", "--quiet", f"{NAME}.timer"])

    def start_commands(self) -> list[list[str]]:
        return [
            ["systemctl", "--user", "daemon-reload"],
            ["systemctl", "--user", "enable", f"{NAME}.timer"],
            ["systemctl", "--user", "restart", f"{NAME}.timer"],
        ]

    def stop_commands(self) -> list[list[str]]:
        return [["systemctl", "--user", "disable", "--now", f"{NAME}.timer"]]

    def forget_commands(self) -> list[list[str]]:
        return [["systemctl", "--user", "daemon-reload"]]


class Launchd(Timer):
    """A launchd job: what was missed in sleep is run once on waking (launchd.plist(5)); one run at a time."""

    kind = "launchd"

    def paths(self) -> list[Path]:
        return [Path("~/Library/LaunchAgents").expanduser() / f"{LABEL}.plist"]

    def files(self, minutes: int) -> dict[Path, bytes]:
        job = {
            "Label": LABEL,
            "ProgramArguments": list(self.command),
            "EnvironmentVariables": {"ARIA_HOME": self.home},
            "StartInterval": minutes * 60,
            "RunAtLoad": True,
            "ProcessType": "Background",
        }
        return {self.paths()[0]: plistlib.dumps(job)}

    def every(self) -> int | None:
        try:
            job = plistlib.loads(self.paths()[0].read_bytes())
            return int(job["StartInterval"]) // 60
        except (OSError, KeyError, ValueError, plistlib.InvalidFileException):
            return None

    def active(self) -> bool:
        return _succeeds(["launchctl", "print", self._service()])

    def start_commands(self) -> list[list[str]]:
        return [["launchctl", "bootstrap", self._domain(), str(self.paths()[0])]]

    def stop_commands(self) -> list[list[str]]:
        return [["launchctl", "bootout", self._service()]]

    def forget_commands(self) -> list[list[str]]:
        return []

    def _domain(self) -> str:
        return f"gui/{os.getuid()}"

    def _service(self) -> str:
        return f"{self._domain()}/{LABEL}"


def _quoted(text: str, *, command: bool = False) -> str:
    """A word for a unit file: its own escapes, no specifiers, and in a command no variables (systemd.syntax(7))."""
    word = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{word.replace("$", "$$") if command else word}"'


def _calendar(minutes: int) -> str:
    """An interval as a calendar event (systemd.time(7))."""
    if minutes < 60:
        return f"*-*-* *:00/{minutes}:00"
    return f"*-*-* 00/{minutes // 60}:00:00" if minutes < 1440 else "*-*-* 00:00:00"


def _minutes_of(calendar: str) -> int | None:
    if found := re.search(r"\*:00/(\d+):00$", calendar):
        return int(found[1])
    if found := re.search(r"00/(\d+):00:00$", calendar):
        return int(found[1]) * 60
    return 1440 if calendar.endswith("00:00:00") else None


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
