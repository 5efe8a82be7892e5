"""Reads: data from the expected Hub, or an error that says which state it is in."""

from __future__ import annotations

from typing import Any

import pytest

from aria_tui.errors import AriaError, HubUnavailable, InvalidInput, NotFound
from aria_tui.hub.client import CursorExpired
from tests.hub.client.conftest import TOKEN, Connect
from tests.hub.client.servers import PORTAL, always, answer, problem, serving


async def test_data_and_parameters(connect: Connect) -> None:
    async with serving(answer(200, {"tasks": [{"id": "a"}], "next_cursor": None})) as server:
        client = connect(server.url)
        got = await client.get("/api/tasks", {"status": "TODO", "q": "a&b é", "cursor": None, "limit": 5}, timeout=5)
    assert got == {"tasks": [{"id": "a"}], "next_cursor": None}
    assert server.requests[0].target == "/api/tasks?status=TODO&q=a%26b+%C3%A9&limit=5"
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (problem(404, "not-found"), NotFound, "so it is"),
        (problem(410, "cursor-expired"), CursorExpired, "so it is"),
        (problem(422, errors=[{"field": "limit", "message": "too high"}]), InvalidInput, "limit: too high"),
        (problem(400), InvalidInput, "so it is"),
    ],
)
async def test_the_hubs_own_no(connect: Connect, data: bytes, error: type[AriaError], words: str) -> None:
    async with serving(data) as server:
        with pytest.raises(error, match=words):
            await connect(server.url).get("/api/tasks/x", timeout=5)


@pytest.mark.parametrize(
    ("data", "state"),
    [
        (answer(200, PORTAL, hub_id=None, media="text/html"), "not_the_hub"),
        (answer(200, {"tasks": []}, hub_id=None), "not_the_hub"),
        (answer(200, {"tasks": []}, hub_id="hub-b"), "not_the_hub"),
        (answer(200, []), "not_the_hub"),
        (answer(200, {}), "not_the_hub"),
        (answer(200, b"{"), "not_the_hub"),
        (answer(200, {"tasks": []}, media="text/html"), "not_the_hub"),
        (answer(200, b'{"tasks": []}', length=99), "offline"),
        (answer(302, b"", Location="/login"), "not_the_hub"),
        (answer(404, PORTAL, hub_id=None, media="text/html"), "not_the_hub"),
        (problem(404, "not-found", hub_id=None), "not_the_hub"),
        (problem(410, "cursor-expired", hub_id="hub-b"), "not_the_hub"),
        (problem(401, "unauthenticated"), "refused"),
        (problem(403, "forbidden"), "refused"),
        (answer(502, PORTAL, hub_id=None, media="text/html"), "offline"),
        (problem(503, "slow-down"), "offline"),
        (answer(500, b"Internal Server Error", hub_id=None, media="text/plain"), "online"),
    ],
)
async def test_no_data(connect: Connect, data: bytes, state: str) -> None:
    async with serving(always(data, close=True)) as server:
        with pytest.raises(HubUnavailable) as raised:
            await connect(server.url).get("/api/tasks", timeout=5)
    assert raised.value.state == state
    assert raised.value.reason


async def test_a_token_that_comes_back_is_not_repeated(connect: Connect) -> None:
    async with serving(problem(422, detail=TOKEN)) as server:
        with pytest.raises(InvalidInput) as raised:
            await connect(server.url).get("/api/tasks", timeout=5)
    assert TOKEN not in str(raised.value)


async def test_the_recorded_outcome_of_an_operation(connect: Connect) -> None:
    record = {"op_id": "op-1", "status": "applied", "entity": "task:1", "version": 1}
    async with serving(answer(200, record)) as server:
        assert await connect(server.url).op_outcome("op/1 é", 5) == record
    assert server.requests[0].target == "/api/queue/ops/op%2F1%20%C3%A9"


async def test_an_operation_that_the_hub_never_saw(connect: Connect) -> None:
    async with serving(problem(404, "not-found")) as server:
        assert await connect(server.url).op_outcome("op-1", 5) is None


@pytest.mark.parametrize(
    "data", [answer(404, PORTAL, hub_id=None, media="text/html"), problem(404, hub_id="hub-b"), problem(503)]
)
async def test_an_outage_does_not_mean_never_seen(connect: Connect, data: bytes) -> None:
    async with serving(data) as server:
        with pytest.raises(HubUnavailable):
            await connect(server.url).op_outcome("op-1", 5)


async def test_large_lists_are_read_whole(connect: Connect) -> None:
    tasks: list[dict[str, Any]] = [{"id": str(n), "title": "x" * 1000} for n in range(5000)]
    async with serving(answer(200, {"tasks": tasks})) as server:
        got = await connect(server.url).get("/api/tasks", timeout=20)
    assert got["tasks"] == tasks
