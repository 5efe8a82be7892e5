"""What the Hub itself refuses: a token, one operation of several."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, Request, is_write


def stranger(aria: Aria, operation: str, payload: object) -> None:
    """A row as another program of the user's writes it."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    with sqlite3.connect(aria.queue_file, timeout=10) as db:
        db.execute("INSERT INTO queue (operation, payload) VALUES (?, ?)", (operation, text))
    db.close()


@pytest.mark.case("Q05")
def test_a_refused_token_costs_one_request_pauses_the_queue_and_kills_nothing(
    aria: Aria, hub: HubProcess, proxy: FaultProxy
) -> None:
    aria.use(proxy.url, "not-the-token")
    for n in range(20):
        aria("insight", "add", f"idea {n}", "--offline").ok()
    before = len(proxy.requests)
    report = aria("sync", "--json")
    assert report.status == 3
    assert report.json["hub"]["state"] == "refused"
    assert len(proxy.requests) - before == 1, [(r.method, r.path) for r in proxy.requests[before:]]
    state = aria.queue()
    assert (state["paused"], state["dead_letters"], state["pending_total"]) == (True, 0, 20)
    assert state["items"][0]["reason_code"] == "paused"
    assert "sign" in state["items"][0]["reason"].lower() or "token" in state["items"][0]["reason"].lower()
    aria.use(proxy.url, hub.token)
    assert aria("sync", "--json").ok().json["synced"] == 20
    assert hub.count("insights") == 20
    for file in aria.home.rglob("*"):
        if file.is_file():
            assert b"not-the-token" not in file.read_bytes(), file
            assert hub.token.encode() not in file.read_bytes(), file


@pytest.mark.case("Q04")
def test_one_of_three_is_refused_the_others_go_and_it_is_a_dead_letter_with_its_reason(
    aria: Aria, hub: HubProcess
) -> None:
    aria.use(hub.url, hub.token)
    aria("insight", "add", "a fine one", "--offline").ok()
    bad = '{"title":  "bad", "priority": "SOON"}'
    stranger(aria, "create_task", bad)
    aria("task", "add", "another fine one", "--offline").ok()
    report = aria("sync", "--json")
    assert (report.status, report.json["synced"], report.json["dead_letters"]) == (3, 2, 1), report
    assert (hub.count("insights"), hub.count("tasks")) == (1, 1)
    dead = aria("queue", "list", "--dead", "--json").ok().json
    rows = dead if isinstance(dead, list) else dead["items"]
    assert [row["id"] for row in rows] == [2]
    assert rows[0]["payload"] == bad, "byte for byte"
    assert "priority" in (rows[0]["error"] or "") + rows[0]["reason"]
    assert aria.queue()["pending_total"] == 0


@pytest.mark.case("Q04")
def test_the_hub_s_own_422_for_one_row_does_the_same(aria: Aria, hub: HubProcess, proxy: FaultProxy) -> None:
    """The Hub refuses what the client thought fine (a rule that is newer than the client)."""

    def refuse_b(request: Request, given: bytes) -> bytes:
        document = json.loads(given.partition(b"\r\n\r\n")[2])
        names = {op["op_id"]: op["payload"].get("content") for op in request.ops}
        for result in document["results"]:
            if names[result["op_id"]] == "B":
                problem = {"type": "/problems/validation", "title": "Not accepted", "status": 422,
                           "detail": "content: B is not liked here", "errors": [
                               {"field": "content", "message": "B is not liked here"}]}  # fmt: skip
                result.update(status="rejected", problem=problem)
        return hub.says(document)

    aria.use(proxy.url, hub.token)
    for word in "ABC":
        aria("insight", "add", word, "--offline").ok()
    with proxy.toxic("rewrite", when=is_write, rewrite=refuse_b):
        report = aria("sync", "--json")
    assert (report.status, report.json["synced"], report.json["dead_letters"]) == (3, 2, 1)
    shown = aria("queue", "show", "2", "--json").ok().json
    assert "B is not liked here" in json.dumps(shown)
    assert shown["attempts"] <= 1
    text = aria("status")
    assert "1" in text.out and "needs attention" in text.out.lower(), text.out
    aria("queue", "retry", "2").ok()
    aria("sync").ok()
    assert aria.queue()["dead_letters"] == 0


B = "01a22f9a-f010-7718-a320-9c6ecefe7361"


def a_large_one_between_fine_ones(aria: Aria, size: int) -> str:
    """A, a stranger's insight B and an edit of it, and C; gives B's payload."""
    aria("insight", "add", "A", "--offline").ok()
    payload = json.dumps({"id": B, "content": "x" * size}, indent=1)
    stranger(aria, "capture_insight", payload)
    stranger(aria, "update_insight", {"id": B, "changes": {"project": "menthos"}})
    aria("task", "add", "C", "--offline").ok()
    return payload


def assert_parked(aria: Aria, hub: HubProcess, payload: str, reason: str) -> None:
    """B is a dead letter after one attempt and as it was, what is of its entity waits, the others are there."""
    assert ([row["content"] for row in hub.all("insights")], hub.count("tasks")) == (["A"], 1)
    dead = aria("queue", "show", "2", "--json").ok().json
    assert (dead["reason_code"], dead["attempts"], dead["payload"]) == ("dead", 1, payload)
    assert reason in dead["error"] and reason in dead["reason"], dead["error"]
    (waiting,) = aria.queue()["items"]
    assert (waiting["id"], waiting["reason_code"]) == (3, "parked_ahead") and "#2" in waiting["reason"]
    assert "needs attention: 1" in aria("status").out


@pytest.mark.case("Q04")
@pytest.mark.parametrize("hub_s_word", [False, True], ids=["over the known limit", "over another limit"])
def test_a_stranger_s_row_that_the_hub_calls_too_large_is_parked_and_stops_nothing(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, hub_s_word: bool
) -> None:
    """2 MiB are over what the Hub itself allows; a smaller row over what it would take that day without having said so:
    first the batch is refused, and in the end the row alone."""
    aria.use(proxy.url, hub.token)
    refusal = {"type": "/problems/too-large", "title": "Too large", "status": 413, "detail": "over today's limit"}
    if hub_s_word:
        raw = hub.says(refusal, 413)
        proxy.add("answer", when=lambda request: request.write and len(request.body) > 50_000, raw=raw)
    payload = a_large_one_between_fine_ones(aria, 60_000 if hub_s_word else 2 * 1024 * 1024)
    reason = "over today's limit" if hub_s_word else "the body is over 1048576 bytes"
    report = aria("sync", "--json")
    told = report.json
    assert (report.status, told["synced"], told["dead_letters"], told["remaining"]) == (3, 2, 1, 1), report
    assert_parked(aria, hub, payload, reason)
    alone = [request for request in proxy.writes if len(request.body) > 50_000 and len(request.ops) == 1]
    assert len(alone) == 1, "after one attempt"
    for _ in range(2):
        assert aria("sync", "--json").json["remaining"] == 1
    assert_parked(aria, hub, payload, reason)
    assert len([request for request in proxy.writes if len(request.body) > 50_000 and len(request.ops) == 1]) == 1
    aria("queue", "retry", "2").ok()
    aria("sync", "--json")
    dead = aria("queue", "show", "2", "--json").ok().json
    assert (dead["reason_code"], dead["payload"]) == ("dead", payload), (
        "tried again since the user asked, and parked again"
    )
    aria("queue", "edit", "2", "--payload", json.dumps({"id": B, "content": "shorter"})).ok()
    assert aria("sync", "--json").ok().json["synced"] == 2
    edited = {row["content"]: row["project"] for row in hub.all("insights")}
    assert edited == {"A": None, "shorter": "menthos"}
    assert "needs attention" not in aria("status").out


@pytest.mark.case("Q04")
def test_a_row_that_is_too_large_goes_when_its_user_discards_it_and_what_rests_on_it_is_offered(
    aria: Aria, hub: HubProcess
) -> None:
    aria.use(hub.url, hub.token)
    a_large_one_between_fine_ones(aria, 2 * 1024 * 1024)
    assert aria("sync", "--json").json["dead_letters"] == 1
    aria("queue", "discard", "2", "--yes").ok()
    state = aria.queue()
    assert state["dead_letters"] == 0
    aria("insight", "add", "D").ok()
    assert sorted(row["content"] for row in hub.all("insights")) == ["A", "D"]


def test_a_stranger_s_payload_that_is_no_json_object_is_parked_and_stops_nothing(aria: Aria, hub: HubProcess) -> None:
    aria.use(hub.url, hub.token)
    aria("insight", "add", "A", "--offline").ok()
    for text in ("", "{", "[1]", "null", '"text"', '{"content": NaN}', '{"content": "\\ud83d"}', "\x00"):
        stranger(aria, "capture_insight", text)
    aria("insight", "add", "C", "--offline").ok()
    report = aria("sync", "--json")
    assert (report.json["synced"], report.json["dead_letters"], report.json["remaining"]) == (2, 8, 0)
    assert {row["content"] for row in hub.all("insights")} == {"A", "C"}


def test_a_stranger_s_rows_are_delivered_once_each_and_the_table_takes_a_fourth(aria: Aria, hub: HubProcess) -> None:
    aria.use(hub.url, hub.token)
    aria("queue", "status").ok()
    stranger(
        aria,
        "capture_insight",
        {
            "content": "from the other program",
            "project": "menthos",
            "tags": ["auth"],
            "captured_at": "2026-02-21T08:14:22Z",
        },
    )
    stranger(aria, "store_briefing", {"date": "2026-02-21", "content": "# Morning"})
    stranger(aria, "create_task", {"title": "Pagar DAS"})
    for _ in range(2):
        aria("sync", "--json").ok()
    insights, tasks = hub.all("insights"), hub.all("tasks")
    assert [(i["content"], i["project"], i["tags"], i["captured_at"][:19]) for i in insights] == [
        ("from the other program", "menthos", ["auth"], "2026-02-21T08:14:22")
    ]
    assert [t["title"] for t in tasks] == ["Pagar DAS"]
    assert hub.get("/api/briefings/2026-02-21")["briefing"]["content"] == "# Morning"
    stranger(aria, "create_task", {"title": "a fourth"})
    assert aria.waiting() == 1
    aria("sync").ok()
    assert hub.count("tasks") == 2
