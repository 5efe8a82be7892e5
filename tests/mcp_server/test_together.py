"""The screen, ``aria sync`` and the assistant's tools at once on one queue."""

from __future__ import annotations

import json
import sqlite3

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.waiting import until
from tests.mcp_server.client import call, connected

ROWS = 200


async def test_three_drainers_deliver_each_row_once(aria: Aria, hub: HubProcess, terminal) -> None:  # type: ignore[no-untyped-def]
    aria.use(hub.url, hub.token)
    aria("task", "add", "known").ok()
    hub.stop()
    connection = sqlite3.connect(aria.queue_file, timeout=10)
    rows = [("capture_insight", json.dumps({"content": f"insight {number}"})) for number in range(ROWS)]
    connection.executemany("INSERT INTO queue(operation, payload) VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    screen = terminal(120, 40).run(aria)
    screen.wait_for("200 waiting")
    async with connected(aria) as client:
        assert (await call(client, "aria_queue_status"))["pending_total"] == ROWS
        hub.start()
        command = aria.start("sync", "--json")
        by_tool = await call(client, "aria_sync")
        by_command = command.wait()
        assert by_command.status in (0, 3), by_command
        await until(lambda: aria.waiting() == 0, 30, "nothing waits", every=0.2)
        assert by_tool["failed"] == 0 and by_command.json["failed"] == 0
        assert (await call(client, "aria_queue_status"))["dead_letters"] == 0
    screen.wait_for("0 waiting")
    contents = [insight["content"] for insight in hub.all("insights")]
    assert sorted(contents) == sorted(f"insight {number}" for number in range(ROWS))
    screen.keys("q")
    screen.wait_for("exit-status=0")
