"""Text from outside is data: markup, escape sequences and lone brackets, on a real terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.aria import Aria, end
from tests.helpers.hub import HubProcess
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until
from tests.system.test_repositories import repository

TEXTS = ["[/x]", "[@click=app.quit]x[/]", "\x1b]52;c;aGk=\x07esc\x1b[2J", "["]
SHOWN = ["[/x]", "[@click=app.quit]x[/]", "]52;c;aGk=", "["]


def configured(aria: Aria, roots: Path) -> None:
    aria.home.mkdir(exist_ok=True)
    (aria.home / "config.toml").write_text(
        f"[projects]\nroots = [{json.dumps(str(roots))}]\n[docker]\nenabled = false\n"
    )


def projects(roots: Path) -> None:
    """Folders with the same names; one can't hold ``/``."""
    for name in ("[x]", "[@click=app.quit]x[", "\x1b[31mred", "["):
        repository(roots / name)


@pytest.mark.case("T01")
def test_odd_text_is_shown_exactly_everywhere(
    aria: Aria, hub: HubProcess, tmp_path: Path, terminal: Callable[..., Tmux]
) -> None:
    """As task title, insight and project; on the screen, in the toast after a capture; the click text does nothing."""
    projects(tmp_path / "projects")
    configured(aria, tmp_path / "projects")
    aria.use(hub.url, hub.token)
    for text in TEXTS:
        aria("task", "add", text, "-p", "[/project]").ok()
        aria("insight", "add", text, "--offline", "-p", "[").ok()
    screen = terminal(160, 60).run(aria)
    shown = screen.wait_for("[/x]", "[@click=app.quit]x[/]", "Queue")
    for text in SHOWN:
        assert text in shown, text
    assert "␛" in shown, "ESC has a visible stand-in"
    typed = "[@click=app.quit]typed[/x] ["
    screen.keys("t")
    screen.wait_for("itle")
    screen.type(typed)
    screen.keys("C-s")
    screen.wait_for("saved to Hub", typed)
    assert screen.alive()
    wait_until(lambda: sorted(task["title"] for task in hub.all("tasks")) == sorted([*TEXTS, typed]))
    screen.keys("q")
    screen.wait_for("exit-status=0")


def stream(aria: Aria, *args: str, until: bytes = b"", seconds: float = 30) -> bytes:
    """All that a command writes to a terminal, until it ends or a text has come."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [*aria.command, *args], env=aria.environment(), stdin=child, stdout=child, stderr=child,
        cwd=aria.root / "user", start_new_session=True,
    )  # fmt: skip
    os.close(child)
    seen = b""
    try:
        while select.select([parent], [], [], seconds)[0]:
            try:
                data = os.read(parent, 65536)
            except OSError:
                break
            if not data or (until and until in seen):
                break
            seen += data
    finally:
        end(process)
        os.close(parent)
    return seen


@pytest.mark.case("T02")
@pytest.mark.parametrize(
    "args", [("task", "list"), ("insight", "list"), ("queue", "list"), ("briefing", "--no-store"), ("projects",)]
)
def test_no_byte_of_data_steers_the_terminal_from_the_command_line(
    aria: Aria, hub: HubProcess, tmp_path: Path, args: tuple[str, ...]
) -> None:
    projects(tmp_path / "projects")
    configured(aria, tmp_path / "projects")
    aria.use(hub.url, hub.token)
    evil = "A\x1b]52;c;aGk=\x07B\x1b[2JC\x9b31mD\x0eE\rF\bG\u202eH"
    aria("task", "add", evil).ok()
    aria("insight", "add", evil).ok()
    aria("insight", "add", evil + "waiting", "--offline").ok()
    seen = stream(aria, *args)
    text = seen.decode()
    for bad in ("\x1b]52;c;aGk=", "\x1b[2JC", "\x9b", "\x0e", "\x1b[31mred", "\u202e", "\b", "\x07"):
        assert bad not in text, (bad, text)
    assert evil in json.loads(aria("task", "list", "--json").ok().out)["tasks"][0]["title"]
    assert hub.all("tasks")[0]["title"] == evil
