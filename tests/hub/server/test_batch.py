"""Batches (hub-api.md, "Batch"): per-operation results, blocking, merge."""

from __future__ import annotations

import sqlite3
from typing import Any

import httpx
import pytest

from tests.hub.server.conftest import HubUnderTest

A = "0190f3c0-0000-7000-8000-00000000000a"
B = "0190f3c0-0000-7000-8000-00000000000b"
C = "0190f3c0-0000-7000-8000-00000000000c"


def op(op_id: str, operation: str, payload: Any, **more: Any) -> dict[str, Any]:
    return {"op_id": op_id, "operation": operation, "payload": payload, **more}


async def send(client: httpx.AsyncClient, *ops: Any) -> list[dict[str, Any]]:
    answer = await client.post("/api/queue", json={"client_id": "test", "ops": list(ops)})
    assert answer.status_code == 200, answer.text
    assert answer.json()["cursor"] and answer.json()["server_time"]
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


async def test_one_failure_undoes_only_itself_and_blocks_its_entity(client: httpx.AsyncClient) -> None:
    results = await send(
        client,
        op("1", "create_task", {"id": A, "title": "a"}, entity=f"task:{A}"),
        op("2", "create_task", {"id": B, "title": ""}),
        op("3", "complete_task", {"id": B}),
        op("4", "update_task", {"id": C, "changes": {"title": "c"}}),
        op("5", "delete_task", {"id": C}),
        op("6", "update_task", {"id": A, "changes": {"title": "b"}}),
        op("7", "capture_insight", {"content": "x"}),
    )
    assert [result["status"] for result in results] == [
        "applied", "rejected", "skipped", "conflict", "skipped", "applied", "applied",
    ]  # fmt: skip
    assert results[0] == {"op_id": "1", "status": "applied", "entity": f"task:{A}", "version": 1}
    assert results[1]["problem"]["errors"][0]["field"] == "title"
    assert (results[2]["problem"]["type"], results[2]["problem"]["blocked_by"]) == ("/problems/blocked", "2")
    assert (results[3]["problem"]["type"], "current" in results[3]) == ("/problems/not-found", False)
    assert results[4]["problem"]["blocked_by"] == "4"
    assert results[5]["version"] == 2


async def test_what_is_refused_is_judged_anew(client: httpx.AsyncClient) -> None:
    update = op("2", "update_task", {"id": A, "changes": {"title": "b"}})
    assert (await send(client, update))[0]["status"] == "conflict"
    assert (await client.get("/api/queue/ops/2")).status_code == 404
    await send(client, op("1", "create_task", {"id": A, "title": "a"}))
    assert (await send(client, update))[0]["status"] == "applied"


async def test_replay_in_a_batch_and_after_a_broken_predecessor(client: httpx.AsyncClient) -> None:
    create, update = (
        op("1", "create_task", {"id": A, "title": "a"}),
        op("2", "update_task", {"id": A, "changes": {"title": "b"}}),
    )
    await send(client, create, update)
    again = await send(client, create, create, update)
    assert [(r["status"], r["version"]) for r in again] == [("duplicate", 1), ("duplicate", 1), ("duplicate", 2)]
    other = await send(client, op("1", "create_task", {"id": A, "title": "z"}), update)
    assert [(r["status"], r.get("problem", {}).get("type")) for r in other] == [
        ("rejected", "/problems/key-reused"),
        ("duplicate", None),
    ]


async def test_broken_operations_and_envelopes(client: httpx.AsyncClient) -> None:
    results = await send(
        client,
        {"op_id": "1"},
        {"op_id": "2", "operation": "create_task", "payload": {"title": "x"}, "colour": "red"},
        {"op_id": "3", "operation": 7, "payload": {}},
        op("4", "create_task", {"title": "x"}, base_version="1"),
        op("5", "send_mail", {"to": "x"}, entity="mail:1"),
        op("6", "create_task", {"title": "x"}, schema_version=2),
        op("7", "create_task", {"id": A, "title": "x"}, entity=f"task:{B}"),
        op("8", "create_task", {"title": "x"}, occurred_at="soon"),
        op("9", "create_task", [1]),
        op("10", "create_task", {"title": "fine"}),
    )
    assert [result["status"] for result in results] == ["rejected"] * 9 + ["applied"]
    types = [result["problem"]["type"].rpartition("/")[2] for result in results[:9]]
    assert types == ["validation"] * 4 + ["unknown-operation", "unsupported-schema"] + ["validation"] * 3
    assert all(result["problem"]["status"] >= 400 and "retryable" in result["problem"] for result in results[:9])
    envelopes: list[dict[str, Any]] = [
        {}, {"ops": {}}, {"ops": [3]}, {"ops": [{"operation": "x"}]}, {"ops": [], "colour": 1},
        {"ops": [op("a b", "create_task", {})]}, {"ops": [op("", "create_task", {})]},
    ]  # fmt: skip
    for broken in envelopes:
        answer = await client.post("/api/queue", json=broken)
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/validation"), broken


async def test_sizes(client: httpx.AsyncClient) -> None:
    assert await send(client) == []
    many = [op(str(n), "delete_task", {"id": A}) for n in range(1001)]
    answer = await client.post("/api/queue", json={"ops": many})
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")
    assert len(await send(client, *many[:1000])) == 1000


async def test_merge_by_field(client: httpx.AsyncClient) -> None:
    await send(
        client,
        op("1", "create_task", {"id": A, "title": "a", "priority": "LOW"}),
        op("2", "update_task", {"id": A, "changes": {"title": "theirs"}}),
    )
    base = {"title": "a", "priority": "LOW"}
    results = await send(
        client, op("3", "update_task", {"id": A, "changes": {"priority": "HIGH"}}, base_version=1, base=base)
    )
    assert (results[0]["status"], results[0]["version"]) == ("applied", 3)
    results = await send(
        client, op("4", "update_task", {"id": A, "changes": {"title": "mine"}}, base_version=1, base=base)
    )
    assert (results[0]["status"], results[0]["problem"]["type"]) == ("conflict", "/problems/conflict")
    assert (results[0]["current"]["title"], results[0]["current"]["version"]) == ("theirs", 3)
    assert [error["field"] for error in results[0]["problem"]["errors"]] == ["title"]
    results = await send(client, op("5", "update_task", {"id": A, "changes": {"title": "theirs"}}, base=base))
    assert (results[0]["status"], results[0]["version"]) == ("applied", 3)
    results = await send(
        client, op("6", "update_task", {"id": A, "changes": {"title": "mine"}}, base_version=3, base=base)
    )
    assert results[0]["status"] == "applied"
    results = await send(client, op("7", "update_task", {"id": A, "changes": {"title": "last writer"}}))
    assert (results[0]["status"], results[0]["version"]) == ("applied", 5)


async def test_base_version_alone_knows_which_fields_changed_since(client: httpx.AsyncClient) -> None:
    await send(
        client,
        op("1", "create_task", {"id": A, "title": "a"}),
        op("2", "update_task", {"id": A, "changes": {"title": "b"}}),
        op("3", "update_task", {"id": A, "changes": {"due_date": "2026-12-01"}}),
    )
    fine = await send(client, op("4", "update_task", {"id": A, "changes": {"title": "c"}}, base_version=2))
    assert fine[0]["status"] == "applied"
    clash = await send(client, op("5", "update_task", {"id": A, "changes": {"due_date": None}}, base_version=2))
    assert clash[0]["status"] == "conflict"


async def test_delete_and_complete_look_at_their_base(client: httpx.AsyncClient) -> None:
    await send(
        client,
        op("1", "create_task", {"id": A, "title": "a"}),
        op("2", "update_task", {"id": A, "changes": {"title": "b", "status": "CANCELLED"}}),
    )
    results = await send(
        client,
        op("3", "delete_task", {"id": A}, base_version=1, base={"title": "a"}),
    )
    assert (results[0]["status"], results[0]["current"]["title"]) == ("conflict", "b")
    results = await send(client, op("4", "complete_task", {"id": A}, base_version=1, base={"status": "TODO"}))
    assert results[0]["status"] == "conflict"
    assert (await send(client, op("5", "delete_task", {"id": A}, base_version=1)))[0]["status"] == "conflict"
    assert (await send(client, op("6", "delete_task", {"id": A}, base_version=1, base={"title": "b"})))[0][
        "status"
    ] == "applied"
    late = await send(client, op("7", "create_task", {"id": A, "title": "a"}))
    assert (late[0]["status"], "current" in late[0]) == ("superseded", False)


async def test_a_late_briefing_in_a_batch(client: httpx.AsyncClient) -> None:
    results = await send(
        client,
        op("1", "store_briefing", {"date": "2026-11-30", "content": "new"}, occurred_at="2026-11-30T09:00:00Z"),
        op("2", "store_briefing", {"date": "2026-11-30", "content": "old"}, occurred_at="2026-11-30T08:00:00Z"),
        op("3", "store_briefing", {"date": "2026-11-30", "content": "newer"}, occurred_at="2026-11-30T10:00:00Z"),
    )
    assert [result["status"] for result in results] == ["applied", "superseded", "applied"]
    assert results[1]["current"]["content"] == "new"
    again = await send(client, op("2", "store_briefing", {"date": "2026-11-30", "content": "old"}, occurred_at="x"))
    assert again[0]["status"] == "superseded"


async def test_rows_that_the_database_refuses_fail_alone(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    """One operation's failure undoes only itself, whatever the database has against it."""
    refuse = "BEFORE INSERT ON entities {} WHEN (NEW.folded LIKE '%unlucky%') "
    if "Sqlite" in type(hub.storage).__name__:
        connection = sqlite3.connect(hub.storage.path)  # type: ignore[attr-defined]
        connection.execute(f"CREATE TRIGGER luck {refuse.format('')} BEGIN SELECT RAISE(ABORT, 'no'); END")
        connection.close()
    else:
        await hub.storage._change(  # type: ignore[attr-defined]
            "CREATE OR REPLACE FUNCTION luck() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '23514'; END $$"
        )
        trigger = refuse.format("FOR EACH ROW")
        await hub.storage._change(f"CREATE OR REPLACE TRIGGER luck {trigger} EXECUTE FUNCTION luck()")  # type: ignore[attr-defined]
    unlucky = {"id": A, "content": "unlucky"}
    results = await send(
        client,
        op("1", "create_task", {"title": "a"}),
        op("2", "capture_insight", unlucky),
        op("3", "update_insight", {"id": A, "changes": {"tags": ["x"]}}),
        op("4", "create_task", {"title": "b"}),
    )
    assert [result["status"] for result in results] == ["applied", "retry", "skipped", "applied"]
    single = await client.post("/api/insights", json=unlucky, headers={"Idempotency-Key": "2"})
    assert (single.status_code, single.json()["retryable"]) == (500, True)
    assert (await client.get("/api/queue/ops/2")).status_code == 404
    assert len((await client.get("/api/tasks")).json()["tasks"]) == 2


@pytest.mark.parametrize("status", ["TODO", "DONE"])
async def test_a_batch_s_cursor_is_one_of_changes(client: httpx.AsyncClient, status: str) -> None:
    answer = await client.post("/api/queue", json={"ops": [op("1", "create_task", {"title": "x", "status": status})]})
    after = await client.get("/api/changes", params={"since": answer.json()["cursor"]})
    assert (after.status_code, after.json()["changes"]) == (200, [])
