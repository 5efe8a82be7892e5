"""Several processes over one queue at the same time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

import pytest

from tests.helpers.aria import Aria, Running
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until

ROWS = 200


def fill(aria: Aria, rows: int, *, tasks: int = 0) -> None:
    """Rows as another program writes them: insights, and for ``tasks`` tasks a create with edits behind it."""
    aria("queue", "status").ok()
    with sqlite3.connect(aria.queue_file, timeout=10) as db:
        db.executemany(
            "INSERT INTO queue (operation, payload) VALUES ('capture_insight', ?)",
            [(json.dumps({"content": f"insight {n:04}"}),) for n in range(rows)],
        )
    db.close()


def test_a_screen_and_a_sync_together_deliver_each_row_once(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Callable[..., Tmux]
) -> None:
    aria.use(proxy.url, hub.token)
    fill(aria, ROWS)
    screen = terminal().run(aria)
    sync = aria.start("sync", "--json")
    report = sync.wait()
    assert report.status == 0, report
    wait_until(lambda: aria.waiting() == 0, 30, "nothing waits")
    assert hub.count("insights") == ROWS
    assert len(proxy.sent_keys()) == len(set(proxy.sent_keys())) == ROWS
    assert screen.alive()


@pytest.mark.case("Q07")
def test_three_drainers_at_the_same_instant(aria: Aria, hub: HubProcess, proxy: FaultProxy) -> None:
    """Two commands and the assistant's tools; who finds the work taken says so and ends well."""
    aria.use(proxy.url, hub.token)
    fill(aria, ROWS)
    proxy.add("latency", seconds=0.05)
    drains: list[Running] = [aria.start("sync"), aria.start("sync", "--json"), aria.start("sync", "--quiet")]
    for drain in drains:
        done = drain.wait()
        assert done.status == 0, done
        assert "locked" not in (done.out + done.err).lower(), done
    assert hub.count("insights") == ROWS
    assert len(proxy.sent_keys()) == len(set(proxy.sent_keys())) == ROWS
    contents = [row["content"] for row in reversed(hub.all("insights"))]
    assert contents == sorted(contents)


WRITER = """
import asyncio, sys
from aria_tui.assistant import Assistant
from aria_tui.config import load

async def main(name, count):
    async with await Assistant.open(load(), origin="cli") as assistant:
        task = await assistant.create_task(f"{name} created", offline=True)
        for n in range(count - 1):
            if n % 2:
                await assistant.update_task(task.id, {"title": f"{name} {n:04}"}, offline=True)
            else:
                await assistant.capture_insight(f"{name} {n:04}", offline=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.case("S01")
def test_two_write_500_each_while_a_third_drains(aria: Aria, hub: HubProcess, proxy: FaultProxy) -> None:
    """1,000 acknowledged writes arrive; the order of each task is its writer's."""
    aria.use(proxy.url, hub.token)
    aria("queue", "status").ok()
    writers = [start_python(aria, WRITER, name, "500") for name in ("anna", "bert")]
    while any(writer.process.poll() is None for writer in writers):
        drain = aria("sync", "--json")
        assert drain.status in (0, 3), drain
    for writer in writers:
        done = writer.wait()
        assert done.status == 0, done
        assert "locked" not in done.err
    aria("sync").ok()
    assert hub.count("insights") == 500
    assert {task["title"] for task in hub.all("tasks")} == {"anna 0497", "bert 0497"}
    titles: dict[str, list[str]] = {"anna": [], "bert": []}
    for request in proxy.writes:
        for op in request.ops:
            title = op["payload"].get("title") or op["payload"].get("changes", {}).get("title")
            if title:
                titles[title.split()[0]].append(title)
    for name, seen in titles.items():
        edits = [title for title in seen if "created" not in title]
        assert edits == sorted(edits), name
    assert len(proxy.sent_keys()) == len(set(proxy.sent_keys()))


def start_python(aria: Aria, code: str, *args: str) -> Running:
    """A Python process over the program's home, ended with the others."""
    import sys
    from dataclasses import replace

    other = replace(aria, command=(sys.executable, "-c", code))
    return other.start(*args)
