"""The client against a plain Hub in a process of its own, from nothing to a task that was renamed, done and deleted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aria_tui.errors import HubUnavailable
from aria_tui.hub.client import HubClient, Outcome
from tests.helpers.plain_hub import running
from tests.hub.client.conftest import TOKEN, Connect


async def send(client: HubClient, operation: str, payload: dict[str, Any], key: str, direct: bool = False) -> Outcome:
    return await client.send_one(operation, key, json.dumps(payload).encode(), timeout=5, direct=direct)


async def met(connect: Connect, url: str, **config: Any) -> HubClient:
    client = connect(url, expected=None, kind="plain", **config)
    probe = await client.probe(5)
    assert (probe.state, probe.plain, probe.may_send) == ("online", True, True)
    return client


async def test_the_life_of_a_task(connect: Connect, tmp_path: Path) -> None:
    with running(tmp_path / "plain.db") as hub:
        client = await met(connect, hub.url)
        made = await send(
            client, "create_task", {"id": "0193-x", "title": "Pagar DAS", "odd": 1, "project": "fin"}, "k1"
        )
        assert (made.kind, made.server_id) == ("answered", "1")
        renamed = await send(client, "update_task", {"id": made.server_id, "changes": {"title": "Pagar"}}, "k2")
        assert (renamed.kind, renamed.server_id) == ("answered", "1")
        (task,) = (await client.get("/api/tasks", {"status": "TODO", "project": "fin"}, timeout=5))["tasks"]
        assert (task["id"], task["title"]) == (1, "Pagar")
        assert (await send(client, "complete_task", {"id": 1}, "k3")).kind == "answered"
        assert hub.rows("SELECT status FROM tasks") == [("DONE",)]
        assert (await send(client, "delete_task", {"id": 1}, "k4")).kind == "answered"
        gone = await send(client, "delete_task", {"id": 1}, "k5")
        assert (gone.kind, gone.problem and gone.problem.word) == ("refused", "not-found")
        bad = await send(client, "create_task", {"title": " "}, "k6")
        assert (bad.kind, bad.problem and bad.problem.detail) == ("refused", "a task needs a title")
        assert hub.keys() == ["k1", "k2", "k3", "k4", "k5", "k6"]


async def test_insights_and_briefings(connect: Connect, tmp_path: Path) -> None:
    with running(tmp_path / "plain.db") as hub:
        client = await met(connect, hub.url)
        made = await send(client, "capture_insight", {"content": "a thought", "tags": ["x"]}, "k1")
        assert (made.kind, made.server_id) == ("answered", "1")
        stored = await send(client, "store_briefing", {"date": "2026-11-30", "content": "x", "data": {"y": 1}}, "k2")
        assert stored.kind == "answered"
        assert (await client.get("/api/insights", {"q": "THOUGHT"}, timeout=5))["insights"][0]["tags"] == ["x"]
        assert [b["date"] for b in (await client.get("/api/briefings", timeout=5))["briefings"]] == ["2026-11-30"]
        unknown = await send(client, "record_activity", {"project": "x"}, "k3")
        assert unknown.kind == "no_endpoint"


async def test_only_direct_endpoints(connect: Connect, tmp_path: Path) -> None:
    with running(tmp_path / "plain.db", "--no-queue-endpoint") as hub:
        client = await met(connect, hub.url)
        assert (await send(client, "create_task", {"title": "x"}, "k1")).kind == "no_endpoint"
        made = await send(client, "create_task", {"title": "x"}, "k1", direct=True)
        assert (made.kind, made.server_id) == ("answered", "1")
        assert (await send(client, "capture_insight", {"content": "x"}, "k2", direct=True)).server_id == "1"
        assert (await send(client, "update_task", {"id": 1, "changes": {}}, "k3")).kind == "no_endpoint"
        assert (await send(client, "update_task", {"id": 1, "changes": {}}, "k3", direct=True)).kind == "no_endpoint"
        assert hub.rows("SELECT count(*) FROM tasks") == [(1,)]


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key"])
async def test_tokens(connect: Connect, tmp_path: Path, header: str) -> None:
    with running(tmp_path / "plain.db", "--token", TOKEN, "--token-header", header) as hub:
        await met(connect, hub.url, token_header=header)
        wrong = connect(hub.url, expected=None, kind="plain", token_header=header, token="wrong")
        probe = await wrong.probe(5)
        assert (probe.state, probe.may_send) == ("refused", False)
        wrong.plain = True
        assert (await send(wrong, "create_task", {"title": "x"}, "k1")).kind == "paused"
        with pytest.raises(HubUnavailable) as raised:
            await wrong.get("/api/tasks", timeout=5)
        assert raised.value.state == "refused"
        assert hub.rows("SELECT count(*) FROM requests") == [(0,)]


async def test_a_create_in_doubt_is_found_again(connect: Connect, tmp_path: Path) -> None:
    with running(tmp_path / "plain.db", "--drop-after-apply", "2") as hub:
        client = await met(connect, hub.url)
        assert await client.find_tasks("Pagar DAS", timeout=5) == []
        lost = await send(client, "create_task", {"title": "Pagar DAS"}, "k1")
        assert (lost.kind, lost.server_id) == ("in_doubt", None)
        (found,) = await client.find_tasks("Pagar DAS", timeout=5)
        assert found["id"] == 1
        assert (await send(client, "capture_insight", {"content": "a thought"}, "k2")).kind == "in_doubt"
        (found,) = await client.find_insights("a thought", timeout=5)
        assert found["id"] == 1
        again = await send(client, "create_task", {"title": "Pagar DAS"}, "k1")
        assert (again.kind, again.server_id) == ("answered", "2")
        assert len(await client.find_tasks("Pagar DAS", timeout=5)) == 2
        assert hub.keys() == ["k1", "k2", "k1"]


async def test_a_plain_hub_that_honours_keys(connect: Connect, tmp_path: Path) -> None:
    with running(tmp_path / "plain.db", "--drop-after-apply", "1", "--honours-keys") as hub:
        client = await met(connect, hub.url)
        assert (await send(client, "create_task", {"title": "x"}, "k1")).kind == "in_doubt"
        again = await send(client, "create_task", {"title": "x"}, "k1")
        assert (again.kind, again.server_id) == ("answered", "1")
        assert hub.rows("SELECT count(*) FROM tasks") == [(1,)]


async def test_many_insights_are_searched_to_the_end(connect: Connect, tmp_path: Path) -> None:
    with running(tmp_path / "plain.db") as hub:
        client = await met(connect, hub.url)
        import sqlite3

        connection = sqlite3.connect(tmp_path / "plain.db")
        connection.executemany(
            "INSERT INTO insights (content, captured_at) VALUES (?, '2026-11-30T08:00:00Z')",
            [(f"thought {n}",) for n in range(1200)],
        )
        connection.commit()
        connection.close()
        assert [found["id"] for found in await client.find_insights("thought 3", timeout=10)] == [4]


async def test_its_state_outlives_it(connect: Connect, tmp_path: Path) -> None:
    with running(tmp_path / "plain.db") as hub:
        await send(await met(connect, hub.url), "create_task", {"title": "x"}, "k1")
    with running(tmp_path / "plain.db") as hub:
        client = await met(connect, hub.url)
        assert len(await client.find_tasks("x", timeout=5)) == 1
