"""kill -9: what was acknowledged is there, what was not is there whole or not at all."""

from __future__ import annotations

import json
import random
import sqlite3
import time

import pytest

from tests.helpers.aria import Aria, Running
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, is_write
from tests.helpers.waiting import wait_until

KILLS = 50


def kill_when_queued_or_after(command: Running, seconds: float | None) -> bool:
    """Kills a command as soon as its output says queued (``seconds`` None), or at a moment of its life. Whether it
    had said queued by then."""
    out = command.process.stdout
    assert out is not None
    said = b""
    if seconds is None:
        while b"queued" not in said and (line := out.readline()):
            said += line
    else:
        time.sleep(seconds)  # the moment of the kill is the test's input, not a wait for something
    command.process.kill()
    said += command.process.communicate()[0]
    return b"queued" in said


@pytest.mark.case("Q01")
def test_killed_right_after_queued_nothing_acknowledged_is_missing(aria: Aria, hub: HubProcess) -> None:
    """Every other kill comes with the word "queued", the rest at random moments of the command's life."""
    aria.use(hub.url, hub.token)
    hub.stop()
    dice = random.Random(20261130)
    acknowledged = set()
    for n in range(KILLS):
        title = f"task {n}"
        moment = None if n % 2 == 0 else dice.uniform(0.05, 0.6)
        command = aria.start("task", "add", title, "--offline")
        if kill_when_queued_or_after(command, moment):
            acknowledged.add(title)
    assert len(acknowledged) >= KILLS // 2
    with sqlite3.connect(aria.queue_file) as db:
        rows = [(json.loads(payload)["title"], op) for payload, op in db.execute("SELECT payload, op_id FROM queue")]
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    titles = [title for title, _ in rows]
    assert acknowledged <= set(titles), acknowledged - set(titles)
    assert len(titles) == len(set(titles))
    assert aria.waiting() == len(titles)
    hub.start()
    aria("sync").ok()
    assert sorted(task["title"] for task in hub.all("tasks")) == sorted(titles)


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
