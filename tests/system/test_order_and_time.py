"""Order is by id whatever clocks and failures do, and the queue goes again by itself."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, Request, answer, is_write
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until
from tests.system.test_refusals import stranger


@pytest.mark.case("Z02")
def test_rows_made_after_the_clock_went_back_keep_their_place(aria: Aria, hub: HubProcess, proxy: FaultProxy) -> None:
    aria.use(proxy.url, hub.token)
    aria("queue", "status").ok()
    with sqlite3.connect(aria.queue_file) as db:
        db.execute("INSERT INTO sqlite_sequence (name, seq) SELECT 'queue', 40 WHERE NOT EXISTS "
                   "(SELECT 1 FROM sqlite_sequence WHERE name = 'queue')")  # fmt: skip
        for created, word in (("2026-02-21T08:14:22Z", "41"), ("2026-02-21 10:32:11", "42"),
                              ("2026-02-21T08:05:01Z", "43")):  # fmt: skip
            db.execute(
                "INSERT INTO queue (operation, payload, created_at) VALUES ('capture_insight', ?, ?)",
                (json.dumps({"content": word}), created),
            )
    db.close()
    state = aria.queue()
    assert [json.loads(item["payload"])["content"] for item in state["items"]] == ["41", "42", "43"]
    assert [item["id"] for item in state["items"]] == [41, 42, 43]
    assert state["oldest"] == "2026-02-21T08:14:22Z"
    told = aria("queue").out + aria("queue", "list").out
    assert "-1" not in told.replace("2026-11", "").replace("-12", ""), told
    aria("sync").ok()
    assert [op["payload"]["content"] for request in proxy.writes for op in request.ops] == ["41", "42", "43"]


@pytest.mark.case("Q03")
def test_what_follows_a_create_in_doubt_waits_for_it_and_others_go(
    aria: Aria, hub: HubProcess, proxy: FaultProxy
) -> None:
    """create T is in doubt, then T is renamed and completed offline, U created; the Hub can't do T's create twice."""
    aria.use(proxy.url, hub.token)
    with proxy.toxic("drop", when=is_write):
        task = aria("task", "add", "T first", "--json").ok().json["id"]
    aria("task", "edit", task, "--title", "T second", "--offline").ok()
    aria("task", "done", task, "--offline").ok()
    aria("task", "add", "U", "--offline").ok()

    def not_t_now(request: Request) -> bytes:
        results, head = [], ""
        for op in request.ops:
            if op["payload"].get("id") != task:
                results.append(hub.apply(op))
            elif head:
                results.append(result(op, "skipped", "blocked", blocked_by=head))
            else:
                head = op["op_id"]
                results.append(result(op, "retry", "slow-down"))
        return hub.says({"results": results, "cursor": "", "server_time": "2026-11-30T08:00:00Z"})

    for _ in range(2):
        with proxy.toxic("answer", when=is_write, reply=not_t_now):
            assert aria("sync", "--json").status == 3
        assert [t["title"] for t in hub.all("tasks")] == ["U"]
        assert aria.queue()["dead_letters"] == 0
    online = aria("task", "edit", task, "--title", "T last", "--json").ok()
    assert online.json["status"] == "queued", "it does not overtake what waits"
    wait_until(lambda: aria("sync", "--json").json["remaining"] == 0, 30, every=0.5)
    done = next(t for t in hub.all("tasks") if t["id"] == task)
    assert (done["title"], done["status"]) == ("T last", "DONE")
    reached = [op for r in proxy.writes if not r.toxic for op in r.ops if op["payload"].get("id") == task]
    assert [op["operation"] for op in reached] == ["create_task", "update_task", "complete_task", "update_task"]
    assert 404 not in {request.status for request in proxy.writes}


def result(op: dict[str, Any], status: str, word: str, **more: str) -> dict[str, Any]:
    problem = {"type": f"/problems/{word}", "title": "not now", "status": 503, "retryable": True, **more}
    return {"op_id": op["op_id"], "status": status, "entity": f"task:{op['payload']['id']}", "problem": problem}


@pytest.mark.case("Q06")
def test_a_running_screen_delivers_after_one_503_with_no_action(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Callable[..., Tmux]
) -> None:
    aria.use(proxy.url, hub.token)
    proxy.add("answer", when=is_write, times=1, raw=answer(503, b"", "", Retry_After="1"))
    aria("queue", "status").ok()
    stranger(aria, "capture_insight", {"content": "by itself"})
    screen = terminal().run(aria)
    screen.wait_for("Queue")
    wait_until(lambda: hub.count("insights") == 1, 30, "delivered within a backoff step")
    wait_until(lambda: aria.waiting() == 0, 10)


@pytest.mark.case("Q06")
def test_a_row_in_flight_at_sigkill_is_delivered_by_the_next_screen(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Callable[..., Tmux]
) -> None:
    aria.use(proxy.url, hub.token)
    proxy.add("blackhole", when=is_write)
    command = aria.start("insight", "add", "in flight")
    wait_until(lambda: proxy.writes, 20)
    command.kill()
    proxy.clear()
    terminal().run(aria)
    wait_until(lambda: hub.count("insights") == 1, 60, "delivered with no action")
    wait_until(lambda: aria.waiting() == 0, 10)
    assert len(set(proxy.sent_keys())) == 1
