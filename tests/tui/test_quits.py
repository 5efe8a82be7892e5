"""Leaving by ctrl+q at many moments: soon, with status 0, the terminal as it was, and nothing lost."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, is_write
from tests.tui.test_terminal import Pty, assert_restored, on_a_terminal

__all__ = ["on_a_terminal"]

WITHIN = 2.0
"""Seconds that leaving may take: a promise to the user. The load of the machine is allowed for beside it."""
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


def leave(aria: Aria, terminal: Pty) -> None:
    began = time.monotonic()
    terminal.send(LEAVE)
    assert terminal.wait_end(20) == 0, terminal.text[-2000:]
    assert time.monotonic() - began < 3 * WITHIN
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
    leave(aria, terminal)
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
    leave(aria, terminal)
    proxy.clear()
    aria("sync").ok()
    assert sorted(insight["content"] for insight in hub.all("insights")) == sorted(f"number {n}" for n in range(12))
    assert aria.waiting() == 0
