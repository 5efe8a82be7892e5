"""Leaving by ctrl+q at many moments: soon, with status 0, the terminal as it was, and nothing lost."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, is_write
from tests.helpers.waiting import StillNot, wait_until
from tests.tui.test_terminal import Pty, assert_restored, on_a_terminal

__all__ = ["on_a_terminal"]

WITHIN = 2.0
"""Seconds from the key, or the signal, to the end of the process (cases.md, T06)."""
LEAVE = "\x11"


def starts_up(terminal: Pty) -> None:
    """Leaves as soon as anything was drawn."""
    terminal.wait_for("\x1b[?1049h")


def looks_around(terminal: Pty) -> None:
    terminal.wait_for("Sync")


def types_a_task(terminal: Pty) -> None:
    terminal.wait_for("Sync")
    terminal.send("t")
    terminal.wait_for("New task")
    terminal.send("half a thought")
    terminal.wait_for("thought")


def saves_a_task(terminal: Pty) -> None:
    """The form's last key and the leaving come in one read."""
    terminal.wait_for("Sync")
    terminal.send("t")
    terminal.wait_for("New task")
    terminal.send("saved at the last moment")
    terminal.wait_for("moment")
    terminal.send("\r" + LEAVE)


def is_asked(terminal: Pty) -> None:
    terminal.wait_for("it waits")
    terminal.send("4d")
    terminal.wait_for("Discard #1")


def looks_for_a_command(terminal: Pty) -> None:
    terminal.wait_for("Sync")
    terminal.send("\x10")
    terminal.wait_for("Find a command")


def filters(terminal: Pty) -> None:
    terminal.wait_for("Sync")
    terminal.send("/kept")
    terminal.wait_for("/kept")


def syncs(terminal: Pty) -> None:
    """The leaving comes with the key that begins a sync."""
    terminal.wait_for("Sync")
    terminal.send("s")


def reads_again(terminal: Pty) -> None:
    terminal.wait_for("Sync")
    terminal.send("rrvr")


MOMENTS: tuple[Callable[[Pty], None], ...] = (
    starts_up, looks_around, types_a_task, saves_a_task, is_asked, looks_for_a_command, filters, syncs, reads_again,
)  # fmt: skip


@pytest.fixture
def silent() -> Iterator[str]:
    """A Hub that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def leave(terminal: Pty, *, by: int = 0) -> None:
    """Leaves by the key, or by a signal, and looks at how that went."""
    began = time.monotonic()
    if by:
        os.kill(terminal.pid, by)
    else:
        terminal.send(LEAVE)
    assert terminal.wait_end(20) == (128 + by if by else 0), terminal.text[-2000:]
    assert terminal.ended - began < WITHIN
    assert_restored(terminal)


@pytest.mark.case("T06")
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
def test_at_any_moment_while_the_hub_hangs(
    aria: Aria, on_a_terminal: Any, silent: str, moment: Callable[[Pty], None]
) -> None:
    aria.use(silent, "a-test-token")
    aria("insight", "add", "it waits", "--offline").ok()
    terminal = on_a_terminal()
    moment(terminal)
    leave(terminal)
    waiting = {item["operation"]: item["payload"] for item in aria.queue()["items"]}
    assert "it waits" in waiting["capture_insight"]
    if moment is saves_a_task:
        drafts = (aria.home / "drafts.json").read_text() if (aria.home / "drafts.json").exists() else ""
        assert "saved at the last moment" in waiting.get("create_task", "") + drafts, "in the queue, or kept as text"
    if moment is types_a_task:
        assert json.loads((aria.home / "drafts.json").read_text())["task"]["title"] == "half a thought"
    if moment is filters:
        assert json.loads((aria.home / "session.json").read_text())["tasks"]["filter"] == "kept"


def test_in_the_middle_of_a_sync_each_row_arrives_once(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, on_a_terminal: Any
) -> None:
    proxy.add("latency", when=is_write, seconds=0.5)
    aria.use(proxy.url, hub.token)
    for number in range(12):
        aria("insight", "add", f"number {number}", "--offline").ok()
    terminal = on_a_terminal()
    syncs(terminal)
    terminal.wait_for("Stop")
    leave(terminal)
    proxy.clear()
    aria("sync").ok()
    assert sorted(insight["content"] for insight in hub.all("insights")) == sorted(f"number {n}" for n in range(12))
    assert aria.waiting() == 0


def left_behind(root: Path) -> list[str]:
    """The command lines of processes that live in a test's home."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(root).encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().decode(errors="replace"))
    return found


BY = pytest.mark.parametrize("by", [0, signal.SIGTERM], ids=["key", "SIGTERM"])


@pytest.mark.case("T06")
@BY
def test_while_another_program_holds_the_queue_s_lock(aria: Aria, on_a_terminal: Any, by: int) -> None:
    """What was typed is in the queue or kept as text, and no form had to wait for it."""
    aria("insight", "add", "known").ok()
    terminal = on_a_terminal()
    terminal.wait_for("Sync")
    other = sqlite3.connect(aria.queue_file, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        terminal.send("t")
        terminal.wait_for("New task")
        terminal.send("in nobody's way\r")
        terminal.wait_for("in nobody's way")
        leave(terminal, by=by)
    finally:
        other.close()
    drafts = json.loads((aria.home / "drafts.json").read_text())
    kept = [draft["title"] for key, draft in drafts.items() if key.startswith("task")]
    tasks = [task["title"] for task in aria("task", "list", "--json").ok().json["tasks"]]
    assert kept + tasks == ["in nobody's way"]


@pytest.mark.case("T06")
@BY
def test_while_a_drain_hangs(aria: Aria, hub: HubProcess, proxy: FaultProxy, on_a_terminal: Any, by: int) -> None:
    proxy.add("blackhole", when=is_write)
    aria.use(proxy.url, hub.token)
    for number in range(4):
        aria("insight", "add", f"number {number}", "--offline").ok()
    terminal = on_a_terminal()
    syncs(terminal)
    terminal.wait_for("Stop")
    leave(terminal, by=by)
    proxy.clear()
    aria("sync").ok()
    assert sorted(insight["content"] for insight in hub.all("insights")) == sorted(f"number {n}" for n in range(4))


@pytest.mark.case("T06")
@BY
def test_while_every_source_hangs(aria: Aria, on_a_terminal: Any, silent: str, tmp_path: Any, by: int) -> None:
    """A git that never ends, a Docker and a calendar that never answer, a secret that is never printed."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").write_text(f"#!/bin/sh\necho begun >> {tmp_path}/git-begun\nexec sleep 60\n")
    (tools / "git").chmod(stat.S_IRWXU)
    (tmp_path / "work" / "one" / ".git").mkdir(parents=True)
    (tmp_path / "work" / "one" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    with socket.socket(socket.AF_UNIX) as docker:
        docker.bind(str(tmp_path / "docker.sock"))
        docker.listen()
        aria.home.mkdir(mode=0o700)
        (aria.home / "config.toml").write_text(
            f'[projects]\nroots = ["{tmp_path}/work"]\n[docker]\nhost = "unix://{tmp_path}/docker.sock"\n'
            f'[calendar]\nsources = [{{ url = "{silent}/a.ics" }}, {{ url = {{ command = "sleep 60" }} }}]\n'
            f'[finance]\nkind = "http"\nurl = "{silent}"\n'
        )
        aria.env["PATH"] = f"{tools}{os.pathsep}{aria.environment()['PATH']}"
        terminal = on_a_terminal()
        terminal.wait_for("Sync")
        wait_until((tmp_path / "git-begun").exists, 20, "the scan to begin", every=0.01)
        leave(terminal, by=by)
        with contextlib.suppress(StillNot):
            wait_until(lambda: not left_behind(tmp_path), WITHIN)
        assert left_behind(tmp_path) == []


@pytest.mark.case("T06")
@BY
def test_while_an_address_is_tried_that_never_answers(aria: Aria, on_a_terminal: Any, silent: str, by: int) -> None:
    terminal = on_a_terminal()
    terminal.wait_for("Sync")
    terminal.send("c")
    terminal.wait_for("Connect to a Hub")
    terminal.send(f"{silent}\t" + "a-test-token" + "\r")
    terminal.wait_for("testing")
    leave(terminal, by=by)


@pytest.mark.case("T06")
@BY
def test_while_the_token_s_command_hangs(aria: Aria, on_a_terminal: Any, silent: str, by: int) -> None:
    aria.home.mkdir(mode=0o700)
    (aria.home / "config.toml").write_text(f'[hub]\nurl = "{silent}"\ntoken_command = "sleep 60"\n')
    terminal = on_a_terminal()
    terminal.wait_for("Sync")
    leave(terminal, by=by)
    wait_until(lambda: not left_behind(aria.root), WITHIN, "what it had started to be gone")
