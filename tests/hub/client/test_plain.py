"""Writes to a plain Hub: what it acknowledges, which id it hands out, and how its refusals are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aria_tui.errors import HubUnavailable
from aria_tui.hub.client import HubClient, Outcome
from tests.hub.client.conftest import TOKEN, Connect
from tests.hub.client.servers import PORTAL, Got, Wire, always, answer, hang, one_after_the_other, problem, serving


async def send(client: HubClient, operation: str = "create_task", direct: bool = False) -> Outcome:
    return await client.send_one(operation, "op-1", b'{"title":"x"}', timeout=2, direct=direct)


def said(status: int, body: Any, **more: Any) -> bytes:
    return answer(status, body, hub_id=None, **more)


@pytest.mark.parametrize(
    ("body", "server_id"),
    [
        ({"task": {"id": 142, "title": "x"}}, "142"),
        ({"task": {"id": "t-142"}}, "t-142"),
        ({"insight": {"id": 7}}, "7"),
        ({"id": 9, "title": "x", "status": "TODO"}, "9"),
        ({"task": {"id": 142}, "id": 5}, "142"),
        ({"ok": True}, None),
        ({"success": True, "error": None, "errors": []}, None),
        ({"task": {"id": None}}, None),
        ({"task": {"id": True}}, None),
        ({"task": {"id": 1.5}}, None),
        ({"task": [1], "insight": "x", "id": {"a": 1}}, None),
        ({"task": {"id": ""}}, None),
        ({"id": 2**70}, str(2**70)),
    ],
)
@pytest.mark.parametrize("status", [200, 201, 202])
async def test_acknowledged(connect: Connect, body: Any, server_id: str | None, status: int) -> None:
    async with serving(said(status, body)) as server:
        outcome = await send(connect(server.url, plain=True))
    assert (outcome.kind, outcome.state) == ("answered", "online")
    assert [(r.op_id, r.status) for r in outcome.results] == [("op-1", "applied")]
    if server_id == str(2**70):  # more digits than JSON readers keep: no id rather than a wrong one
        assert outcome.server_id in (server_id, None)
    else:
        assert outcome.server_id == server_id
        assert outcome.server_id_is_number is (server_id is not None and server_id.isdecimal())
    (got,) = server.requests
    assert (got.method, got.target) == ("POST", "/api/queue/create_task")
    assert (got.headers["idempotency-key"], got.body) == ('"op-1"', b'{"title":"x"}')


async def test_a_plain_hub_that_speaks_our_words_is_understood(connect: Connect) -> None:
    async with serving(said(200, {"op_id": "op-1", "status": "superseded", "entity": "briefing:x"})) as server:
        outcome = await send(connect(server.url, plain=True))
    assert [r.status for r in outcome.results] == ["superseded"]


@pytest.mark.parametrize(
    "data",
    [
        said(200, {}),
        said(200, []),
        said(200, ["x"]),
        said(200, "null"),
        said(200, b""),
        said(200, b'{"task": {"id"'),
        said(200, {"error": "no"}),
        said(200, {"errors": ["no"], "task": {"id": 1}}),
        said(200, {"ok": False}),
        said(200, {"success": False, "id": 1}),
        said(200, {"status": "error"}),
        said(200, {"title": "bad"}, media="application/problem+json"),
        said(204, b"", media=None),
        said(201, b'{"task": {"id": 1}}', length=99),
    ],
)
async def test_a_doubt(connect: Connect, data: bytes) -> None:
    async with serving(always(data, close=True)) as server:
        outcome = await send(connect(server.url, plain=True))
    assert (outcome.kind, outcome.results, outcome.server_id) == ("in_doubt", (), None)
    assert outcome.reason


@pytest.mark.parametrize(
    "data",
    [
        said(200, PORTAL, media="text/html"),
        said(401, PORTAL, media="text/html"),
        said(413, PORTAL, media="text/html"),
        said(422, PORTAL, media="text/html"),
        said(302, b"", Location="/login"),
        said(502, PORTAL, media="text/html"),
    ],
)
async def test_an_outage(connect: Connect, data: bytes) -> None:
    async with serving(data) as server:
        outcome = await send(connect(server.url, plain=True))
    assert outcome.kind == "unreachable"


async def test_silence_is_a_doubt(connect: Connect) -> None:
    async with serving(hang) as server:
        client = connect(server.url, plain=True)
        outcome = await client.send_one("create_task", "op-1", b"{}", timeout=0.3)
    assert (outcome.kind, outcome.reason) == ("in_doubt", "no answer in 0.3 s")


@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [
        (400, "refused", "validation"),
        (401, "paused", "unauthenticated"),
        (403, "paused", "forbidden"),
        (409, "refused", "conflict"),
        (412, "refused", "version"),
        (413, "too_large", "too-large"),
        (422, "refused", "validation"),
        (501, "refused", "unknown-operation"),
        (418, "refused", "validation"),
    ],
)
async def test_its_refusals_whatever_their_dialect(connect: Connect, status: int, kind: str, word: str) -> None:
    for body, detail in (
        ({"detail": "no title"}, "no title"),
        ({"error": "no title"}, "no title"),
        ({"message": "no title"}, "no title"),
        ({"error": {"message": "no title"}}, "no title"),
        ({"anything": 1}, ""),
        ({"detail": 7}, ""),
        ({"detail": TOKEN}, "[token]"),
    ):
        async with serving(said(status, body)) as server:
            outcome = await send(connect(server.url, plain=True))
        assert outcome.kind == kind
        assert outcome.problem is not None
        assert (outcome.problem.word, outcome.problem.detail, outcome.problem.status) == (word, detail, status)


async def test_field_errors_of_fastapi(connect: Connect) -> None:
    body = {"detail": [{"loc": ["body", "title", 0], "msg": "field required", "type": "x"}, "odd", {"msg": 5}]}
    async with serving(said(422, body)) as server:
        outcome = await send(connect(server.url, plain=True))
    assert outcome.problem is not None
    assert outcome.problem.errors == [
        {"field": "title.0", "message": "field required"},
        {"field": "", "message": "5"},
    ]


async def test_a_problem_document_of_its_own_is_kept(connect: Connect) -> None:
    async with serving(problem(422, "key-reused", hub_id=None)) as server:
        outcome = await send(connect(server.url, plain=True))
    assert outcome.problem is not None
    assert outcome.problem.word == "key-reused"


@pytest.mark.parametrize("status", [429, 503])
async def test_it_may_ask_to_wait(connect: Connect, status: int) -> None:
    async with serving(said(status, {"detail": "slow"}, Retry_After="3")) as server:
        outcome = await send(connect(server.url, plain=True))
    assert (outcome.kind, outcome.wait_s) == ("wait", 3.0)


# Endpoints


@pytest.mark.parametrize("status", [404, 405])
@pytest.mark.parametrize("media", ["application/json", "text/html"])
async def test_a_missing_queue_endpoint(connect: Connect, status: int, media: str) -> None:
    async with serving(said(status, {"detail": "Not Found"}, media=media)) as server:
        outcome = await send(connect(server.url, plain=True))
    assert (outcome.kind, outcome.state) == ("no_endpoint", "online")


async def test_a_missing_task_is_no_missing_endpoint(connect: Connect) -> None:
    async with serving(problem(404, "not-found", hub_id=None)) as server:
        outcome = await send(connect(server.url, plain=True), "update_task")
    assert outcome.kind == "refused"
    assert outcome.problem is not None
    assert outcome.problem.word == "not-found"


async def test_a_missing_direct_endpoint(connect: Connect) -> None:
    async with serving(said(404, {"error": "nothing here"})) as server:
        client = connect(server.url, plain=True)
        client.served.add("create_task")
        outcome = await send(client, direct=True)
    assert outcome.kind == "no_endpoint"


async def test_a_404_at_an_endpoint_that_worked_is_about_the_task(connect: Connect) -> None:
    answers = one_after_the_other(always(said(200, {"task": {"id": 1}})), always(said(404, {"error": "no such task"})))
    async with serving(answers) as server:
        client = connect(server.url, plain=True)
        assert (await send(client, "delete_task")).kind == "answered"
        gone = await send(client, "delete_task")
        other = await send(client, "update_task")
    assert (gone.kind, gone.problem and gone.problem.word) == ("refused", "not-found")
    assert other.kind == "no_endpoint"


@pytest.mark.parametrize(("operation", "path"), [("create_task", "/api/tasks"), ("capture_insight", "/api/insights")])
async def test_the_direct_endpoints(connect: Connect, operation: str, path: str) -> None:
    async with serving(said(201, {"task": {"id": 3}})) as server:
        outcome = await send(connect(server.url, plain=True), operation, direct=True)
    assert (outcome.kind, outcome.server_id) == ("answered", "3")
    assert (server.requests[0].target, server.requests[0].headers["idempotency-key"]) == (path, '"op-1"')


@pytest.mark.parametrize("operation", ["update_task", "complete_task", "delete_task", "store_briefing", "other"])
async def test_operations_without_a_direct_endpoint(connect: Connect, operation: str) -> None:
    async with serving(said(201, {"task": {"id": 3}})) as server:
        outcome = await send(connect(server.url, plain=True), operation, direct=True)
    assert (outcome.kind, server.requests) == ("no_endpoint", [])


# Looking a create up that is in doubt


async def listing(got: Got, wire: Wire) -> None:
    tasks = [{"id": n, "title": f"task {n % 3}"} for n in range(7)]
    tasks += [{"id": 8}, {"id": 9, "title": None}, "odd"]  # type: ignore[list-item]
    await wire.write(said(200, {"tasks": tasks}))


async def test_tasks_of_one_title(connect: Connect) -> None:
    async with serving(listing) as server:
        client = connect(server.url, plain=True)
        found = await client.find_tasks(" task 1 ", timeout=5)
        assert [task["id"] for task in found] == [1, 4]
        assert await client.find_tasks("task 9", timeout=5) == []
    assert all(got.target == "/api/tasks?limit=500" for got in server.requests)


async def paged(got: Got, wire: Wire) -> None:
    pages = {"": ("a", "p2"), "p2": ("b", "p3"), "p3": ("a", None)}
    content, following = pages[got.target.rpartition("cursor=")[2] if "cursor" in got.target else ""]
    await wire.write(said(200, {"insights": [{"id": content, "content": content}], "next_cursor": following}))


async def test_insights_of_one_text_over_all_pages(connect: Connect) -> None:
    async with serving(paged) as server:
        found = await connect(server.url, plain=True).find_insights("a", timeout=5)
    assert [insight["id"] for insight in found] == ["a", "a"]
    assert len(server.requests) == 3


async def test_a_hub_that_turns_in_circles_is_left(connect: Connect) -> None:
    async with serving(said(200, {"tasks": [{"title": "a"}], "next_cursor": "again"})) as server:
        await connect(server.url, plain=True).find_tasks("a", timeout=5)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "data", [said(200, PORTAL, media="text/html"), said(200, {"tasks": {}}), said(200, {"x": 1}), said(503, b"")]
)
async def test_not_knowing_is_not_finding_nothing(connect: Connect, data: bytes) -> None:
    async with serving(data) as server:
        with pytest.raises(HubUnavailable):
            await connect(server.url, plain=True).find_tasks("a", timeout=5)


async def test_reads_need_no_hub_id(connect: Connect) -> None:
    async with serving(said(200, {"tasks": [{"id": 1}]})) as server:
        assert await connect(server.url, plain=True).get("/api/tasks", timeout=5) == {"tasks": [{"id": 1}]}
    assert json.loads(json.dumps(server.requests[0].headers))["authorization"] == f"Bearer {TOKEN}"
