"""Lists, cursors, the delta and the summary (hub-api.md, "Endpoints"), on both engines."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.hub.server.conftest import HubUnderTest, MakeHub
from tests.hub.server.test_batch import op, send


def uid(number: int) -> str:
    return f"0190f3c0-0000-7000-8000-{number:012}"


async def everything(client: httpx.AsyncClient, path: str, name: str, **query: Any) -> list[Any]:
    """A list's pages, put together."""
    found: list[Any] = []
    while True:
        page = (await client.get(path, params=query)).json()
        found += page[name]
        if page["next_cursor"] is None:
            return found
        query["cursor"] = page["next_cursor"]


async def test_tasks_newest_first_filtered_and_paged(client: httpx.AsyncClient) -> None:
    ops = []
    for number in range(25):
        task = {
            "id": uid(number),
            "title": f"t{number}",
            "created_at": f"2026-11-30T10:00:{number // 2:02}{'.5' if number % 2 else ''}Z",
            "status": ("TODO", "DONE", "IN_PROGRESS")[number % 3],
            "priority": ("HIGH", "LOW")[number % 2],
            "project": ("casa", "aria")[number % 2],
        }
        ops.append(op(f"c{number}", "create_task", task))
    await send(client, *reversed(ops))
    newest = [f"t{number}" for number in reversed(range(25))]
    assert [task["title"] for task in await everything(client, "/api/tasks", "tasks", limit=7)] == newest
    assert [task["title"] for task in (await client.get("/api/tasks")).json()["tasks"]] == newest
    todo = await everything(client, "/api/tasks", "tasks", status="TODO", limit=2)
    assert [task["title"] for task in todo] == newest[::3]
    casa = await everything(client, "/api/tasks", "tasks", project="casa", priority="HIGH", limit=3)
    assert [task["title"] for task in casa] == newest[::2]
    exact = (await client.get("/api/tasks", params={"limit": 25})).json()
    assert exact["next_cursor"] is None


async def test_insights_by_time_project_and_words(client: httpx.AsyncClient) -> None:
    for number, content in enumerate(["Reunião 50% a_b", "REUNIÃO 60!", "Ωmega ß", "x"]):
        payload = {
            "content": content,
            "captured_at": f"2026-11-{10 + number}T12:00:00Z",
            "project": "p" if number else "q",
        }
        await send(client, op(str(number), "capture_insight", payload))

    async def found(**query: str) -> list[str]:
        return [insight["content"] for insight in await everything(client, "/api/insights", "insights", **query)]

    assert await found() == ["x", "Ωmega ß", "REUNIÃO 60!", "Reunião 50% a_b"]
    assert await found(q="reunião") == ["REUNIÃO 60!", "Reunião 50% a_b"]
    assert await found(q="50%") == ["Reunião 50% a_b"]
    assert await found(q="A_B") == ["Reunião 50% a_b"]
    assert await found(q="0! ") == []
    assert await found(q="60!") == ["REUNIÃO 60!"]
    assert await found(q="ωMEGA SS") == ["Ωmega ß"]
    assert await found(since="2026-11-12T12:00:00Z") == ["x", "Ωmega ß"]
    assert await found(since="2026-11-13") == ["x"]
    assert await found(project="q") == ["Reunião 50% a_b"]


async def test_briefings_and_activity(client: httpx.AsyncClient) -> None:
    for day in (28, 29, 30):
        await client.put(f"/api/briefings/2026-11-{day}", json={"content": str(day), "data": {"n": day}})
        record = {"project": "aria", "date": f"2026-11-{day}", "commits": day}
        await client.post("/api/queue/record_activity", json=record)
    before = (await client.get("/api/briefings", params={"before": "2026-11-30", "limit": 5})).json()["briefings"]
    assert [(briefing["content"], briefing["data"]) for briefing in before] == [("29", {"n": 29}), ("28", {"n": 28})]
    since = (await client.get("/api/activity", params={"since": "2026-11-29", "project": "aria"})).json()["activity"]
    assert [found["commits"] for found in since] == [30, 29]
    assert (await client.get("/api/activity", params={"project": "other"})).json() == {"activity": []}


@pytest.mark.case("Z01")
async def test_summary_knows_the_day_of_the_zone(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    hub.now = round(datetime(2026, 12, 1, 1, 30, tzinfo=UTC).timestamp() * 1000)
    await send(
        client,
        op(
            "1", "create_task", {"title": "due on 30 Nov", "due_date": "2026-11-30", "priority": "HIGH", "project": "a"}
        ),
        op("2", "create_task", {"title": "due on 1 Dec", "due_date": "2026-12-01", "status": "IN_PROGRESS"}),
        op("3", "create_task", {"title": "done 23:00 local", "status": "DONE", "completed_at": "2026-12-01T02:00:00Z"}),
        op("4", "create_task", {"title": "done before", "status": "DONE", "completed_at": "2026-11-30T02:59:59Z"}),
        op("5", "create_task", {"title": "off", "status": "CANCELLED", "due_date": "2026-11-30"}),
    )
    here = (await client.get("/api/summary", params={"tz": "America/Fortaleza"})).json()
    assert here == {
        "open": 2, "in_progress": 1, "overdue": 0, "due_today": 1, "done_today": 1,
        "by_project": {"": 1, "a": 1}, "by_priority": {"URGENT": 0, "HIGH": 1, "MEDIUM": 1, "LOW": 0},
        "as_of": "2026-12-01T01:30:00Z",
    }  # fmt: skip
    utc = (await client.get("/api/summary")).json()
    assert (utc["overdue"], utc["due_today"], utc["done_today"]) == (1, 1, 1)
    hub.now += 24 * 3600 * 1000
    assert (await client.get("/api/summary")).json()["overdue"] == 2


async def test_changes_is_a_delta_with_tombstones(client: httpx.AsyncClient) -> None:
    start = (await client.get("/api/changes")).json()
    assert (start["changes"], start["has_more"]) == ([], False)
    await send(
        client,
        op("1", "create_task", {"id": uid(1), "title": "a"}),
        op("2", "capture_insight", {"id": uid(2), "content": "i"}),
        op("3", "store_briefing", {"date": "2026-11-30", "content": "b"}),
        op("4", "record_activity", {"project": "p", "date": "2026-11-30", "commits": 1}),
        op("5", "update_task", {"id": uid(1), "changes": {"title": "b"}}),
    )
    delta = (await client.get("/api/changes", params={"since": start["cursor"]})).json()
    assert [(change["entity"], change["version"]) for change in delta["changes"]] == [
        (f"insight:{uid(2)}", 1), ("briefing:2026-11-30", 1), ("activity:p:2026-11-30", 1), (f"task:{uid(1)}", 2),
    ]  # fmt: skip
    assert delta["changes"][0]["insight"]["content"] == "i"
    assert delta["changes"][3]["task"]["title"] == "b"
    await send(client, op("6", "delete_task", {"id": uid(1)}))
    gone = (await client.get("/api/changes", params={"since": delta["cursor"]})).json()
    assert gone["changes"] == [{"entity": f"task:{uid(1)}", "version": 3, "deleted": True}]
    nothing = await client.get("/api/changes", params={"since": gone["cursor"]})
    assert nothing.json() == {"changes": [], "cursor": gone["cursor"], "has_more": False}
    assert len(nothing.content) < 150


async def test_changes_come_in_pages(client: httpx.AsyncClient) -> None:
    await send(client, *(op(str(n), "create_task", {"id": uid(n), "title": "x"}) for n in range(1000)))
    await send(client, *(op(f"i{n}", "capture_insight", {"id": uid(n), "content": "x"}) for n in range(200)))
    seen, cursor = [], ""
    while True:
        page = (await client.get("/api/changes", params={"since": cursor})).json()
        seen += [change["entity"] for change in page["changes"]]
        cursor = page["cursor"]
        if not page["has_more"]:
            break
    assert len(seen) == len(set(seen)) == 1200


async def test_a_cursor_of_another_life_is_expired(
    make_hub: MakeHub, client: httpx.AsyncClient, hub: HubUnderTest
) -> None:
    await send(client, op("1", "create_task", {"title": "a"}))
    cursor = (await client.get("/api/changes")).json()["cursor"]
    other = await hub.connect(await hub.make_token("another"))
    for who, given in ((other, cursor), (client, "garbage"), (client, cursor + "x")):
        answer = await who.get("/api/changes", params={"since": given})
        assert (answer.status_code, answer.json()["type"]) == (410, "/problems/cursor-expired")


async def test_meta(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    await send(client, op("1", "create_task", {"title": "a"}), op("2", "create_task", {"title": ""}))
    meta = (await client.get("/api/meta")).json()
    assert meta["seq"] == 1
    assert (meta["account"], meta["api"], meta["hub_id"], meta["epoch"]) == (
        hub.account,
        1,
        hub.hub.hub_id,
        hub.hub.epoch,
    )
    assert meta["limits"] == {"batch_ops": 1000, "body_bytes": 1024 * 1024}
    assert meta["retention"]["key_days"] >= 90
    assert set(meta["operations"].values()) == {1}


async def test_a_new_epoch_is_seen_and_ends_cursors(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    before = (await client.get("/api/meta")).json()
    cursor = (await client.get("/api/changes")).json()["cursor"]
    epoch = await hub.storage.new_epoch()
    after = await client.get("/api/meta")
    assert after.json()["epoch"] == epoch != before["epoch"]
    assert after.headers["aria-hub-epoch"] == epoch
    assert after.json()["hub_id"] == before["hub_id"]
    assert (await client.get("/api/changes", params={"since": cursor})).status_code == 410
