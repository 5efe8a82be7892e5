"""Single and direct writes (hub-api.md, "Endpoints", "Operations and payloads"), on both engines."""

from __future__ import annotations

import uuid

import httpx
import pytest

from tests.hub.server.conftest import HubUnderTest

ID = "0190f3c0-0000-7000-8000-000000000001"


def key(name: str) -> dict[str, str]:
    return {"Idempotency-Key": f'"{name}"'}


async def test_direct_and_queue_are_the_same_handler(client: httpx.AsyncClient) -> None:
    made = await client.post("/api/tasks", json={"id": ID, "title": "Pagar DAS", "project": "casa"}, headers=key("c"))
    assert made.status_code == 201
    body = made.json()
    assert {name: body[name] for name in ("op_id", "status", "entity", "version")} == {
        "op_id": "c",
        "status": "applied",
        "entity": f"task:{ID}",
        "version": 1,
    }
    assert body["task"]["project_name"] == "casa"
    assert body["task"] | {"title": "Pagar DAS", "priority": "MEDIUM", "status": "TODO", "tags": []} == body["task"]
    changed = await client.patch(f"/api/tasks/{ID}", json={"priority": "HIGH"}, headers=key("u"))
    assert (changed.status_code, changed.json()["task"]["priority"]) == (200, "HIGH")
    done = await client.post(f"/api/tasks/{ID}/complete", headers=key("d"))
    assert done.json()["task"]["status"] == "DONE"
    assert done.json()["task"]["completed_at"]
    seen = (await client.get(f"/api/tasks/{ID}")).json()["task"]
    assert seen == done.json()["task"]
    gone = await client.delete(f"/api/tasks/{ID}", headers=key("g"))
    assert (gone.status_code, gone.json()["status"]) == (200, "applied")
    assert (await client.get(f"/api/tasks/{ID}")).status_code == 404


async def test_an_absent_id_is_the_operation_s(client: httpx.AsyncClient) -> None:
    made = await client.post("/api/queue/capture_insight", json={"content": "x"}, headers=key(ID))
    assert (made.status_code, made.json()["entity"]) == (201, f"insight:{ID}")
    minted = await client.post("/api/queue/capture_insight", json={"content": "x"})
    assert minted.json()["op_id"] and minted.json()["entity"] != f"insight:{ID}"


async def test_same_create_by_id_is_a_duplicate_and_another_a_conflict(client: httpx.AsyncClient) -> None:
    first = {"id": ID, "title": "a", "tags": ["x"]}
    await client.post("/api/tasks", json=first, headers=key("1"))
    await client.patch(f"/api/tasks/{ID}", json={"title": "b"}, headers=key("2"))
    again = await client.post("/api/tasks", json=first, headers=key("3"))
    assert (again.status_code, again.json()["status"]) == (200, "duplicate")
    other = await client.post("/api/tasks", json={**first, "title": "b"}, headers=key("4"))
    assert (other.status_code, other.json()["type"]) == (409, "/problems/conflict")
    assert other.json()["current"]["title"] == "b"
    await client.delete(f"/api/tasks/{ID}", headers=key("5"))
    late = await client.post("/api/tasks", json=first, headers=key("6"))
    assert (late.status_code, late.json()["status"]) == (200, "superseded")
    assert (await client.get(f"/api/tasks/{ID}")).status_code == 404


async def test_two_equal_payloads_with_two_keys_are_both_kept(client: httpx.AsyncClient) -> None:
    for name in ("1", "2"):
        assert (await client.post("/api/insights", json={"content": "x"}, headers=key(name))).status_code == 201
    assert len((await client.get("/api/insights")).json()["insights"]) == 2


async def test_delete_and_complete_are_idempotent_and_update_of_the_gone_is_not_found(
    client: httpx.AsyncClient,
) -> None:
    assert (await client.delete(f"/api/tasks/{ID}", headers=key("0"))).json()["status"] == "applied"
    missing = await client.patch(f"/api/tasks/{ID}", json={"title": "b"}, headers=key("1"))
    assert (missing.status_code, missing.json()["type"], missing.json()["op_id"]) == (404, "/problems/not-found", "1")
    await client.post("/api/tasks", json={"id": ID, "title": "a"}, headers=key("2"))
    at = "2026-11-01T10:00:00Z"
    first = await client.post(f"/api/tasks/{ID}/complete", json={"completed_at": at}, headers=key("3"))
    second = await client.post(f"/api/tasks/{ID}/complete", json={}, headers=key("4"))
    assert first.json()["task"] == second.json()["task"]
    assert first.json()["task"]["completed_at"] == at
    for name in ("5", "6"):
        assert (await client.delete(f"/api/tasks/{ID}", headers=key(name))).json()["status"] == "applied"


async def test_status_and_completed_at_go_together(client: httpx.AsyncClient) -> None:
    made = await client.post("/api/tasks", json={"id": ID, "title": "a", "status": "DONE"}, headers=key("1"))
    assert made.json()["task"]["completed_at"]
    back = await client.patch(f"/api/tasks/{ID}", json={"status": "IN_PROGRESS"}, headers=key("2"))
    assert back.json()["task"]["completed_at"] is None
    done = await client.patch(f"/api/tasks/{ID}", json={"status": "DONE"}, headers=key("3"))
    assert done.json()["task"]["completed_at"]


async def test_if_match(client: httpx.AsyncClient) -> None:
    none = await client.patch(f"/api/tasks/{ID}", json={"title": "b"}, headers={**key("0"), "If-Match": '"1"'})
    assert none.status_code == 404
    made = await client.post("/api/tasks", json={"id": ID, "title": "a"}, headers={**key("1"), "If-Match": '"1"'})
    assert (made.status_code, made.json()["type"]) == (412, "/problems/version")
    await client.post("/api/tasks", json={"id": ID, "title": "a"}, headers=key("2"))
    fine = await client.patch(f"/api/tasks/{ID}", json={"title": "b"}, headers={**key("3"), "If-Match": '"1"'})
    assert fine.json()["version"] == 2
    late = await client.patch(f"/api/tasks/{ID}", json={"title": "c"}, headers={**key("4"), "If-Match": '"1"'})
    assert (late.status_code, late.json()["current"]["title"]) == (412, "b")
    replay = await client.patch(f"/api/tasks/{ID}", json={"title": "b"}, headers={**key("3"), "If-Match": '"1"'})
    assert (replay.status_code, replay.content) == (200, fine.content)
    for bad in ("1", '"x"', 'W/"1"', '"0"'):
        refused = await client.patch(f"/api/tasks/{ID}", json={"title": "d"}, headers={"If-Match": bad})
        assert refused.status_code == 400, bad
    star = await client.delete(f"/api/tasks/{ID}", headers={"If-Match": "*"})
    assert star.status_code == 200


async def test_briefing_newest_capture_wins_and_all_are_kept(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    put = "/api/briefings/2026-11-30"
    first = await client.put(put, json={"content": "two", "captured_at": "2026-11-30T08:00:00Z"}, headers=key("1"))
    assert (first.status_code, first.json()["briefing"]["version"]) == (201, 1)
    late = await client.put(put, json={"content": "one", "captured_at": "2026-11-30T07:00:00Z"}, headers=key("2"))
    assert (late.status_code, late.json()["status"]) == (200, "superseded")
    assert late.json()["current"] == first.json()["briefing"]
    equal = await client.put(put, json={"content": "three", "captured_at": "2026-11-30T08:00:00Z"}, headers=key("3"))
    assert (equal.status_code, equal.json()["status"], equal.json()["version"]) == (200, "applied", 2)
    kept = (await client.get(put)).json()
    assert kept["briefing"]["content"] == "three"
    assert [old["content"] for old in kept["revisions"]] == ["two", "one"]
    replayed = await client.put(put, json={"content": "one", "captured_at": "2026-11-30T07:00:00Z"}, headers=key("2"))
    assert replayed.content == late.content
    assert (await client.get("/api/briefings/2026-11-29")).status_code == 404


async def test_briefing_from_the_future_is_taken_as_now(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    ahead = {"content": "x", "captured_at": "2999-01-01T00:00:00Z"}
    made = await client.put("/api/briefings/2026-11-30", json=ahead, headers=key("1"))
    assert not made.json()["briefing"]["captured_at"].startswith("2999")
    hub.now += 1000
    next_one = await client.put("/api/briefings/2026-11-30", json={"content": "y"}, headers=key("2"))
    assert next_one.json()["status"] == "applied"


async def test_activity_replaces_what_it_bears(client: httpx.AsyncClient) -> None:
    day = {"project": "aria", "date": "2026-11-30"}
    await client.post("/api/queue/record_activity", json={**day, "commits": 3, "notes": "n"}, headers=key("1"))
    await client.post("/api/queue/record_activity", json={**day, "commits": 5, "summary": "s"}, headers=key("2"))
    found = (await client.get("/api/activity", params={"project": "aria"})).json()["activity"]
    assert [(a["commits"], a["notes"], a["summary"], a["version"]) for a in found] == [(5, "n", "s", 2)]
    same = await client.post("/api/queue/record_activity", json={**day, "commits": 5}, headers=key("3"))
    assert same.json()["version"] == 2


async def test_a_pasted_secret_can_be_removed(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    secret = f"hunter-{uuid.uuid4()}"
    await client.post("/api/insights", json={"id": ID, "content": secret}, headers=key("1"))
    edited = await client.post(
        "/api/queue/update_insight", json={"id": ID, "changes": {"content": "clean"}}, headers=key("2")
    )
    assert edited.json()["insight"]["content"] == "clean"
    assert await hub.storage.revisions(hub.account, f"insight:{ID}") == []
    for read in ("/api/queue/ops/1", "/api/insights", "/api/changes"):
        assert secret not in (await client.get(read)).text
    await client.post("/api/queue/delete_insight", json={"id": ID}, headers=key("3"))
    again = await client.post("/api/insights", json={"id": ID, "content": secret}, headers=key("1"))
    assert (again.status_code, again.json()["status"]) == (201, "applied")
    assert "insight" not in again.json()
    assert (await client.get("/api/insights")).json()["insights"] == []


async def test_recorded_outcome(client: httpx.AsyncClient) -> None:
    made = await client.post("/api/tasks", json={"title": "a"}, headers=key("a/b?c"))
    await client.patch(f"/api/tasks/{made.json()['task']['id']}", json={"title": "b"}, headers=key("2"))
    assert (await client.get("/api/queue/ops/a%2Fb%3Fc")).json() == made.json()
    unknown = await client.get("/api/queue/ops/never")
    assert (unknown.status_code, unknown.json()["type"]) == (404, "/problems/not-found")


async def test_unknown_operation_path_and_method(client: httpx.AsyncClient) -> None:
    unknown = await client.post("/api/queue/send_mail", json={}, headers=key("1"))
    assert (unknown.status_code, unknown.json()["type"]) == (404, "/problems/unknown-operation")
    nowhere = await client.get("/api/nothing")
    assert (nowhere.status_code, nowhere.json()["type"]) == (404, "/problems/not-found")
    method = await client.put("/api/tasks", json={})
    assert (method.status_code, method.json()["type"]) == (405, "/problems/method-not-allowed")
    assert method.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("path", ["/api/meta", "/api/nothing", "/api/tasks?limit=0", "/healthz", "/readyz"])
async def test_every_answer_names_the_hub(hub: HubUnderTest, client: httpx.AsyncClient, path: str) -> None:
    for who in (client, await hub.connect(None)):
        answer = await who.get(path)
        assert answer.headers["aria-hub-id"] == hub.hub.hub_id
        assert answer.headers["aria-hub-epoch"] == hub.hub.epoch
        assert answer.headers["cache-control"] == "no-store"
