"""Q07: the screen, ``aria sync`` and the assistant's tools drain one queue at the same instant."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, Request, is_write
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import until
from tests.mcp_server.client import call, connected

TASKS, EDITS, INSIGHTS = 20, 5, 180
ROWS = TASKS * (1 + EDITS) + INSIGHTS
BATCH = 40
"""The Hub's word for how many operations a batch may hold, so that the drain takes several."""


def rows() -> list[tuple[str, str]]:
    """Rows as another program writes them: nothing of them is folded, so the order of each task can be seen."""
    ids = [str(uuid.uuid4()) for _ in range(TASKS)]
    tasks = [("create_task", {"id": one, "title": f"task {number}"}) for number, one in enumerate(ids)]
    edits = [
        ("update_task", {"id": one, "changes": {"description": f"edit {edit}"}}) for edit in range(EDITS) for one in ids
    ]
    insights = [("capture_insight", {"content": f"insight {number:03}"}) for number in range(INSIGHTS)]
    return [(operation, json.dumps(payload)) for operation, payload in (*tasks, *insights, *edits)]


def fill(aria: Aria) -> None:
    with sqlite3.connect(aria.queue_file, timeout=10) as db:
        db.executemany("INSERT INTO queue(operation, payload) VALUES (?, ?)", rows())
    db.close()


def small_batches(_request: Request, answer: bytes) -> bytes:
    """``/api/meta`` with a lower limit, in as many bytes: what the limit's number loses becomes blanks."""
    head, _, body = answer.partition(b"\r\n\r\n")
    meta = json.loads(body)
    meta["limits"]["batch_ops"] = BATCH
    text = json.dumps(meta, separators=(",", ":")).encode()
    return head + b"\r\n\r\n" + text.ljust(len(body))


def received(proxy: FaultProxy) -> list[dict[str, Any]]:
    """The operations that reached the Hub, in the order of arrival, but for the screen's own briefing."""
    ops = [op for request in proxy.writes for op in request.ops]
    return [op for op in ops if op["operation"] != "store_briefing"]


def by_task(ops: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What each task's operations wrote into its description."""
    found: dict[str, list[str]] = {}
    for payload in (op["payload"] for op in ops if op["operation"] != "capture_insight"):
        changes = payload.get("changes", {"description": "created"})
        found.setdefault(payload["id"], []).append(changes["description"])
    return found


@pytest.mark.case("Q07")
async def test_the_screen_a_command_and_the_assistants_tools_drain_at_once(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Callable[..., Tmux]
) -> None:
    aria.use(proxy.url, hub.token)
    aria("queue", "status").ok()
    fill(aria)
    proxy.add("refuse")  # nobody may begin before all three are there
    screen = terminal(120, 40).run(aria)
    screen.wait_for(f"{ROWS} waiting", "offline")
    async with connected(aria) as client:
        assert (await call(client, "aria_queue_status"))["pending_total"] == ROWS
        proxy.clear()
        proxy.add("rewrite", when=lambda request: request.path == "/api/meta", rewrite=small_batches)
        proxy.add("latency", when=is_write, seconds=0.3)  # the others arrive while the first one is at work
        screen.keys("s")
        commands = [aria.start("sync", *form) for form in ((), ("--json",))]
        by_tool = await call(client, "aria_sync")
        in_words, in_json = [command.wait() for command in commands]
        await until(lambda: aria.waiting() == 0, 30, "nothing waits", every=0.2)
        for done in (in_words, in_json):
            assert done.status == 0 and not done.err, done
        assert in_words.out.startswith((f"{ROWS} delivered\n", "nothing to send\n")), in_words
        for told in (by_tool, in_json.json):
            assert told["synced"] in (0, ROWS) and told["hub"]["state"] in ("online", "slow"), told
            assert not any(told[name] for name in ("failed", "remaining", "dead_letters", "conflicts")), told
        assert (await call(client, "aria_queue_status"))["pending_total"] == 0
    shown = screen.wait_for("Waiting 0", "Dead 0", "Conflicts 0", f"{ROWS} delivered")
    assert "locked" not in shown and "unexpected" not in shown and "Traceback" not in shown, shown
    screen.keys("q")
    screen.wait_for("exit-status=0")
    assert_at_the_hub_once_and_in_order(hub, proxy)


def assert_at_the_hub_once_and_in_order(hub: HubProcess, proxy: FaultProxy) -> None:
    ops = received(proxy)
    keys = [op["op_id"] for op in ops]
    assert len(keys) == len(set(keys)) == ROWS and set(keys) <= set(hub.keys())
    assert len([request for request in proxy.writes if request.ops]) >= ROWS / BATCH
    order = ["created", *(f"edit {number}" for number in range(EDITS))]
    assert list(by_task(ops).values()) == [order] * TASKS
    tasks = hub.all("tasks")
    assert len(tasks) == TASKS and {task["description"] for task in tasks} == {order[-1]}
    insights = [insight["content"] for insight in reversed(hub.all("insights"))]
    assert insights == [f"insight {number:03}" for number in range(INSIGHTS)]
