"""kill -9: what was acknowledged is there, what was not is there whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.aria import Aria, Running
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, is_write
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until

KILLS = 200
AT_ONCE = 10
LONGEST = 0.3
"""Seconds within which a command is killed."""


def rows_of(aria: Aria) -> list[tuple[int, str, dict[str, Any]]]:
    """Number, key and payload of every row, as they stand in the file; each payload must be whole."""
    with sqlite3.connect(aria.queue_file) as db:
        found = db.execute("SELECT id, op_id, payload FROM queue ORDER BY id").fetchall()
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    return [(number, key, json.loads(payload)) for number, key, payload in found]


def assert_the_same_after_a_restart(aria: Aria, row: tuple[int, str, dict[str, Any]]) -> None:
    number, key, payload = row
    state = aria.queue()
    assert (state["pending_total"], [item["id"] for item in state["items"]]) == (1, [number])
    shown = aria("queue", "show", str(number), "--json").ok().json
    assert (shown["op_id"], json.loads(shown["payload"])) == (key, payload)
    assert rows_of(aria) == [row], "nor is it changed by being looked at"


def assert_delivered_once(hub: HubProcess, proxy: FaultProxy, row: tuple[int, str, dict[str, Any]]) -> None:
    _, key, payload = row
    tasks = [(task["id"], task["title"]) for task in hub.all("tasks")]
    assert tasks == [(payload["id"], "Pagar DAS")]
    recorded = hub.keys()
    assert recorded.count(key) == 1
    sent = [op["op_id"] for request in proxy.writes for op in request.ops if op["operation"] == "create_task"]
    assert set(sent) == {key}


@pytest.mark.case("Q01")
@pytest.mark.parametrize("form", ["words", "json"])
def test_killed_as_soon_as_its_output_says_queued(aria: Aria, hub: HubProcess, proxy: FaultProxy, form: str) -> None:
    aria.use(proxy.url, hub.token)
    hub.stop()
    command = aria.start("task", "add", "Pagar DAS", *(["--json"] if form == "json" else []))
    assert command.process.stdout is not None
    said = command.process.stdout.readline()
    command.process.kill()
    assert b"queued" in said, said
    command.process.communicate()
    (row,) = rows_of(aria)
    if form == "json":
        answer = json.loads(said)
        assert (answer["queue_id"], answer["id"]) == (row[0], row[2]["id"])
    else:
        assert f"(#{row[0]})".encode() in said
    assert_the_same_after_a_restart(aria, row)
    hub.start()
    aria("sync").ok()
    assert_delivered_once(hub, proxy, row)


@pytest.mark.case("Q01")
@pytest.mark.parametrize("key", ["t", "n"], ids=["captured", "added in the list"])
def test_the_screen_killed_as_soon_as_its_notice_is_drawn(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Callable[..., Tmux], key: str
) -> None:
    aria.use(proxy.url, hub.token)
    hub.stop()
    screen = terminal(120, 40).run(aria)
    screen.wait_for("Briefing", "offline")
    (program,) = screen.pids()
    if key == "n":
        screen.keys("2")
    screen.keys(key)
    screen.wait_for("New task")
    screen.type("Pagar DAS")
    screen.wait_for("Pagar DAS")
    screen.keys("C-s")
    wait_until(lambda: "queued (#1)" in screen.screen(), 20, "the notice", every=0.005)
    os.kill(program, signal.SIGKILL)
    screen.wait_for("exit-status=137")
    (row,) = rows_of(aria)
    assert_the_same_after_a_restart(aria, row)
    again = terminal(120, 40).run(aria)
    again.wait_for("Pagar DAS", "offline", " waiting")
    assert_the_same_after_a_restart(aria, row)
    hub.start()
    wait_until(lambda: hub.count("tasks"), 30, "it is delivered by itself")
    again.keys("q")
    again.wait_for("exit-status=0")
    assert_delivered_once(hub, proxy, row)


def killed(commands: list[tuple[str, Running]], dice: random.Random) -> set[str]:
    """Kills each at a moment by chance, and gives the texts that were said to be queued before."""
    began, acknowledged = time.monotonic(), set()
    for moment, (text, command) in sorted((dice.uniform(0, LONGEST), pair) for pair in commands):
        # The moment of the kill is the test's input, not a wait for something.
        time.sleep(max(0.0, began + moment - time.monotonic()))
        command.process.kill()
        if b"queued" in command.process.communicate()[0]:
            acknowledged.add(text)
    return acknowledged


def holds(command: Running, file: Path) -> bool:
    """Whether a command has the file open, and so is about to write into it."""
    with contextlib.suppress(OSError):
        return any(link.readlink() == file for link in Path(f"/proc/{command.process.pid}/fd").iterdir())
    return False


@pytest.mark.case("Q01")
def test_of_two_hundred_killed_at_any_moment_nothing_acknowledged_is_missing(aria: Aria, hub: HubProcess) -> None:
    """Half of them from their start on, half from the moment on at which the file's lock, for which they wait, is free:
    that is where a save is made."""
    aria.use(hub.url, hub.token)
    hub.stop()
    aria("queue", "status").ok()
    dice = random.Random(20261130)
    acknowledged: set[str] = set()
    for first in range(0, KILLS, AT_ONCE):
        at_the_lock = first % (2 * AT_ONCE) == 0
        with contextlib.closing(sqlite3.connect(aria.queue_file, isolation_level=None, timeout=20)) as lock:
            if at_the_lock:
                lock.execute("BEGIN IMMEDIATE")
            texts = [f"task {first + number}" for number in range(AT_ONCE)]
            commands = [(text, aria.start("task", "add", text, "--offline")) for text in texts]
            if at_the_lock:
                everybody = [command for _, command in commands]
                wait_until(lambda all_=everybody: all(holds(one, aria.queue_file) for one in all_), 30, "all are there")
        acknowledged |= killed(commands, dice)
    there = [payload["title"] for _, _, payload in rows_of(aria)]
    assert acknowledged, "some live long enough"
    assert acknowledged <= set(there), acknowledged - set(there)
    assert len(there) == len(set(there)) == len({key for _, key, _ in rows_of(aria)})
    assert aria.waiting() == len(there)
    hub.start()
    aria("sync").ok()
    assert sorted(task["title"] for task in hub.all("tasks")) == sorted(there)


def test_killed_while_a_request_is_in_flight_it_is_sent_again_with_the_same_key(
    aria: Aria, hub: HubProcess, proxy: FaultProxy
) -> None:
    """No remembered "busy" keeps the queue shut after its owner died."""
    aria.use(proxy.url, hub.token)
    proxy.add("blackhole", when=is_write)
    command = aria.start("task", "add", "in flight")
    wait_until(lambda: proxy.writes, 20, "the request is under way")
    command.kill()
    state = aria.queue()
    assert state["pending_total"] == 1
    assert state["items"][0]["reason_code"] == "in_doubt"
    proxy.clear()
    report = aria("sync", "--json").ok()
    assert report.json["synced"] == 1
    assert hub.count("tasks") == 1
    assert len(set(proxy.sent_keys())) == 1
