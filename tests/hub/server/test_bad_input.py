"""What can't be accepted gets a problem document, never a 5xx and never a traceback."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

ID = "0190f3c0-0000-7000-8000-000000000002"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b'{"title": "\\ud83d"}', b'{"title": NaN}', b'\xef\xbb\xbf{"title": "x"}', b"[" * 100_000],
)
async def test_not_json_is_400(client: httpx.AsyncClient, body: bytes) -> None:
    for path in ("/api/tasks", "/api/queue"):
        answer = await client.post(path, content=body)
        assert answer.status_code == 400, (path, answer.text)
        assert answer.json()["type"] == "/problems/validation"
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({}, "title"),
        ({"title": ""}, "title"),
        ({"title": "x" * 501}, "title"),
        ({"title": "x\u0000y"}, "title"),
        ({"title": 3}, "title"),
        ({"title": "x", "colour": "red"}, "colour"),
        ({"title": "x", "colour": None}, "colour"),
        ({"title": "x", "priority": "high"}, "priority"),
        ({"title": "x", "due_date": "2026-02-30"}, "due_date"),
        ({"title": "x", "id": "not-a-uuid"}, "id"),
        ({"title": "x", "tags": ["t"] * 21}, "tags"),
        ({"title": "x", "created_at": "yesterday"}, "created_at"),
        ({"title": "x", "version": 3}, "version"),
        ({"title": "x", "description": "é" * 40_000}, "description"),
    ],
)
async def test_fields_are_named(client: httpx.AsyncClient, payload: dict[str, Any], field: str) -> None:
    answer = await client.post("/api/tasks", json=payload)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert (await client.get("/api/tasks")).json()["tasks"] == []


@pytest.mark.parametrize("body", [b"[]", b"null", b'"x"', b"3"])
async def test_a_payload_is_an_object(client: httpx.AsyncClient, body: bytes) -> None:
    for path in ("/api/tasks", "/api/queue/create_task", "/api/queue"):
        assert (await client.post(path, content=body)).status_code == 422


async def test_changes(client: httpx.AsyncClient) -> None:
    for changes in ({}, {"id": ID}, {"version": 3}, {"created_at": "2026-01-01T00:00:00Z"}, {"tags": None}):
        answer = await client.patch(f"/api/tasks/{ID}", json=changes)
        assert answer.status_code == 422, changes


async def test_what_the_path_says_is_not_contradicted(client: httpx.AsyncClient) -> None:
    answer = await client.put("/api/briefings/2026-11-30", json={"date": "2026-11-29", "content": "x"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "date")
    assert (await client.put("/api/briefings/someday", json={"content": "x"})).status_code == 422


async def test_body_over_the_limit(client: httpx.AsyncClient) -> None:
    for path in ("/api/tasks", "/api/queue"):
        answer = await client.post(path, content=b" " * (1024 * 1024 + 1))
        assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")
    exactly = b'{"title": "x"}'.ljust(1024 * 1024)
    assert (await client.post("/api/tasks", content=exactly)).status_code == 201


@pytest.mark.parametrize("given", ["", '""', "a b", "x" * 256, '"é"'])
async def test_keys_that_are_none(client: httpx.AsyncClient, given: str) -> None:
    headers = [(b"idempotency-key", given.encode())]
    answer = await client.post("/api/tasks", json={"title": "x"}, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/validation")


@pytest.mark.parametrize(
    "query",
    [
        "/api/tasks?limit=0", "/api/tasks?limit=501", "/api/tasks?limit=x", "/api/tasks?limit=9999999999999999999999",
        "/api/tasks?status=todo", "/api/tasks?priority=1", "/api/tasks?cursor=x", "/api/tasks?colour=red",
        "/api/tasks?status=TODO&status=DONE", "/api/tasks?project=%00", "/api/insights?since=soon",
        "/api/insights?q=%00",
        "/api/briefings?before=x", "/api/activity?since=2026-13-01", "/api/summary?tz=Mars/Olympus",
        "/api/summary?tz=../../etc/passwd", "/api/summary?tz=America", "/api/meta?x=1",
    ],
)  # fmt: skip
async def test_queries(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.get(query)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/validation")


@pytest.mark.parametrize("path", ["/api/tasks/%00", "/api/tasks/%ff", "/api/queue/ops/%00", "/api/briefings/x"])
async def test_names_that_nothing_has(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_numbers_of_any_size_in_a_briefing_s_data(client: httpx.AsyncClient) -> None:
    huge = b'{"content": "x", "data": {"n": 123456789012345678901234567890, "z": -0.0}}'
    assert (await client.put("/api/briefings/2026-11-30", content=huge)).status_code == 201
    assert (await client.get("/api/briefings/2026-11-30")).json()["briefing"]["data"][
        "n"
    ] == 123456789012345678901234567890
    deep = b'{"content": "x", "data": ' + b"[" * 500 + b"]" * 500 + b"}"
    assert (await client.put("/api/briefings/2026-11-30", content=deep)).status_code == 422
    assert (
        await client.put("/api/briefings/2026-11-30", content=b'{"content": "x", "data": 1e999}')
    ).status_code == 400
