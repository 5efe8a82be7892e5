"""Twenty repositories, one of which answers after a minute, before the program as its user runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.aria import Aria
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until
from tests.system.test_repositories import git, repository

pytestmark = pytest.mark.case("G06")

NAMES = [f"project-{number:02}" for number in range(19)]
SLOW = "slow-one"
SHOWN, TIMED_OUT, LEFT = 3.0, 5.0, 2.0
"""Seconds: the others are shown, the slow one is given up, nothing is left after the end."""
TOGETHER = 8

WRAPPER = """#!/bin/sh
echo "+ $$ $(date +%s.%N) $PWD" >>'{log}'
case "$PWD" in */{slow}) sleep 60 ;; esac
'{git}' "$@"
status=$?
echo "- $$ $(date +%s.%N) $PWD" >>'{log}'
exit $status
"""


@dataclass
class Watched:
    """The repositories and what the git that stands before the real one wrote down."""

    roots: Path
    log: Path

    def events(self) -> list[tuple[str, str, float, str]]:
        """``+`` or ``-``, process, moment, repository; in the order in which they came."""
        text = self.log.read_text() if self.log.exists() else ""
        rows = [line.split(" ", 3) for line in text.splitlines()]
        return [(sign, pid, float(at), Path(folder).name) for sign, pid, at, folder in rows]

    @property
    def began(self) -> float:
        return self.events()[0][2]

    def most_at_once(self) -> tuple[int, int]:
        """How many git processes ran at once, and how many in one repository."""
        running: dict[str, set[str]] = defaultdict(set)
        most = most_in_one = 0
        for sign, pid, _, folder in self.events():
            (running[folder].add if sign == "+" else running[folder].discard)(pid)
            most = max(most, sum(map(len, running.values())))
            most_in_one = max(most_in_one, len(running[folder]))
        return most, most_in_one

    def left(self) -> list[str]:
        """Processes that work in one of the repositories."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdecimal() and (entry / "cwd").readlink().is_relative_to(self.roots):
                    found.append((entry / "cmdline").read_bytes().decode(errors="replace"))
            except OSError:
                continue
        return found


@pytest.fixture
def watched(aria: Aria, tmp_path: Path) -> Watched:
    made = Watched(tmp_path / "projects", tmp_path / "git.log")
    first = repository(made.roots / NAMES[0])
    for name in (*NAMES[1:], SLOW):
        shutil.copytree(first, made.roots / name)
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").write_text(WRAPPER.format(log=made.log, slow=SLOW, git=shutil.which("git")))
    (tools / "git").chmod(0o755)
    aria.env["PATH"] = f"{tools}:{os.environ['PATH']}"
    aria.home.mkdir()
    (aria.home / "config.toml").write_text(
        f"[projects]\nroots = [{json.dumps(str(made.roots))}]\n[docker]\nenabled = false\n"
    )
    assert "nothing to commit" in git(first, "status")
    return made


def test_nineteen_are_read_in_time_and_the_slow_one_is_given_up(aria: Aria, watched: Watched) -> None:
    done = aria("projects", "--json").ok()
    ended = time.time()
    projects = {project["name"]: project for project in done.json["projects"]}
    assert projects.pop(SLOW)["state"] == "timed out"
    assert sorted(projects) == NAMES
    assert {(one["state"], one["branch"]) for one in projects.values()} == {("ok", "trunk")}
    read = [at for sign, _, at, folder in watched.events() if sign == "-" and folder != SLOW]
    assert max(read) - watched.began <= SHOWN
    assert TIMED_OUT - 0.5 <= ended - watched.began <= TIMED_OUT + 2.0, "and the program's own end"
    most, most_in_one = watched.most_at_once()
    assert 1 < most <= TOGETHER and most_in_one == 1
    assert not watched.left()


def test_the_dashboard_shows_nineteen_and_leaves_nothing_when_it_is_left(
    aria: Aria, watched: Watched, terminal: Callable[..., Tmux]
) -> None:
    screen = terminal(160, 60).run(aria)
    screen.wait_for(*NAMES)
    assert time.time() - watched.began <= SHOWN
    assert any("sleep" in words for words in watched.left()), "the slow one is still being read"
    screen.keys("q")
    wait_until(lambda: not watched.left(), LEFT, "no process is left")
    screen.wait_for("exit-status=0")
    most, most_in_one = watched.most_at_once()
    assert most <= TOGETHER and most_in_one == 1


def test_the_dashboard_says_in_time_that_the_slow_one_timed_out(
    aria: Aria, watched: Watched, terminal: Callable[..., Tmux]
) -> None:
    screen = terminal(160, 60).run(aria)
    screen.wait_for(SLOW, "timed out")
    assert TIMED_OUT - 0.5 <= time.time() - watched.began <= TIMED_OUT + 2.0
    wait_until(lambda: not watched.left(), LEFT, "its git is gone")


@pytest.mark.parametrize(
    ("number", "ignored"),
    [(signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGINT, False), (signal.SIGTERM, True)],
)
def test_a_command_that_is_ended_from_outside_leaves_nothing(
    aria: Aria, watched: Watched, number: signal.Signals, ignored: bool
) -> None:
    """A closed terminal, a supervisor: the same as Ctrl-C. A shell's job in the background ignores Ctrl-C itself."""
    command = aria.command
    if ignored:
        aria.command = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command)
    running = aria.start("projects", "--json")
    wait_until(lambda: any("sleep" in words for words in watched.left()), 20, "the slow one is being read")
    if ignored:
        running.process.send_signal(signal.SIGINT)
    running.process.send_signal(number)
    assert running.wait(LEFT).status == 128 + number
    wait_until(lambda: not watched.left(), LEFT, "no process is left")
