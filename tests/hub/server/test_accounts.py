"""Accounts strictly apart, tokens, scopes and limits, on both engines."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from aria_tui.hub.server.app import PATHS
from tests.hub.server.conftest import HubUnderTest, MakeHub
from tests.hub.server.test_batch import op, send
from tests.hub.server.test_reads import uid

SECRET = "only-for-the-owner"
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/api/queue"): {"ops": [op("x1", "update_task", {"id": uid(1), "changes": {"title": "stolen"}})]},
    ("POST", "/api/queue/{operation}"): {"id": uid(1), "changes": {"title": "stolen"}},
    ("POST", "/api/tasks"): {"title": "own"},
    ("PATCH", "/api/tasks/{id}"): {"title": "stolen"},
    ("POST", "/api/tasks/{id}/complete"): {},
    ("POST", "/api/insights"): {"content": "own"},
    ("PUT", "/api/briefings/{date}"): {"content": "own"},
}
NAMES = {"{id}": uid(1), "{date}": "2026-11-30", "{op_id:path}": "owner-1", "{operation}": "update_task"}


async def state(client: httpx.AsyncClient) -> list[Any]:
    reads = [
        "/api/tasks",
        "/api/insights",
        "/api/briefings/2026-11-30",
        "/api/activity",
        "/api/changes",
        "/api/queue/ops/owner-1",
    ]
    return [(await client.get(path)).json() for path in reads]


async def test_every_endpoint_across_accounts(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    await send(
        client,
        op("owner-1", "create_task", {"id": uid(1), "title": SECRET, "project": SECRET}),
        op("owner-2", "capture_insight", {"id": uid(1), "content": SECRET}),
        op("owner-3", "store_briefing", {"date": "2026-11-30", "content": SECRET}),
        op("owner-4", "record_activity", {"project": SECRET, "date": "2026-11-30", "notes": SECRET}),
    )
    before = await state(client)
    stranger = await hub.connect(await hub.make_token("stranger"))
    for path, handlers in PATHS.items():
        for method in handlers:
            real = path
            for name, value in NAMES.items():
                real = real.replace(name, value)
            answer = await stranger.request(
                method, real, json=BODIES.get((method, path)), headers={"Idempotency-Key": "owner-1"}
            )
            assert SECRET not in answer.text, (method, path)
            assert answer.status_code < 500
    assert await state(client) == before
    assert (await stranger.get(f"/api/tasks/{uid(1)}")).status_code == 404
    summary = (await stranger.get("/api/summary")).json()
    assert SECRET not in summary["by_project"]


async def test_the_same_id_lives_in_each_account(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    other = await hub.connect(await hub.make_token("second"))
    for who, title in ((client, "mine"), (other, "theirs")):
        made = await who.post("/api/tasks", json={"id": uid(2), "title": title}, headers={"Idempotency-Key": "k"})
        assert (made.status_code, made.json()["task"]["title"]) == (201, title)
    assert (await client.get(f"/api/tasks/{uid(2)}")).json()["task"]["title"] == "mine"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", "Basic x", "Bearer aria1.bWU.", "Bearer \x7f"])
async def test_no_token_no_entry(hub: HubUnderTest, header: str | None) -> None:
    client = await hub.connect(None)
    headers = {} if header is None else {"Authorization": header}
    for path in ("/api/meta", "/api/tasks", "/api/changes"):
        answer = await client.get(path, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (401, "/problems/unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert (await client.post("/api/queue", content=b"{", headers=headers)).status_code == 401


async def test_revoked_expired_and_foreign_tokens(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/meta")).status_code == 200
    digest = (await hub.storage.tokens(hub.account))[0].digest
    assert (await hub.storage.tokens(hub.account))[0].last_used_at == hub.now
    await hub.storage.revoke(hub.account, digest, hub.now)
    assert (await client.get("/api/meta")).status_code == 401
    short = await hub.connect(await hub.make_token(hub.account, expires_at=hub.now + 1000))
    assert (await short.get("/api/meta")).status_code == 200
    hub.now += 1000
    assert (await short.get("/api/meta")).status_code == 401
    whole = await hub.make_token(hub.account)
    _, account, secret = whole.split(".")
    forged = await hub.connect(f"aria1.{account}.{'A' if secret[0] != 'A' else 'B'}{secret[1:]}")
    assert (await forged.get("/api/meta")).status_code == 401


async def test_the_token_is_nowhere(hub: HubUnderTest) -> None:
    rows = await hub.storage.tokens(hub.account)
    assert hub.token.split(".")[2] not in repr(rows)


async def test_read_scope(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    reader = await hub.connect(await hub.make_token(hub.account, scope="read"))
    assert (await reader.get("/api/tasks")).status_code == 200
    for method, path in (("POST", "/api/tasks"), ("POST", "/api/queue"), ("DELETE", f"/api/tasks/{uid(1)}")):
        answer = await reader.request(method, path, json={"title": "x"})
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
    assert (await client.get("/api/tasks")).json()["tasks"] == []


async def test_guessing_is_slowed_down_but_a_good_token_passes(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    forged = hub.token[:-1] + ("A" if hub.token[-1] != "A" else "B")
    guesser = await hub.connect(forged)
    statuses = [(await guesser.get("/api/meta")).status_code for _ in range(40)]
    assert statuses[:30] == [401] * 30
    assert 429 in statuses[30:]
    assert (await client.get("/api/meta")).status_code == 200


async def test_an_account_s_bucket(make_hub: MakeHub) -> None:
    hub = await make_hub(operations_per_second=0.5, operations_burst=5)
    client = await hub.connect(hub.token)
    first = op("1", "create_task", {"title": "x"})
    await send(client, first)
    await send(client, *(op(f"b{n}", "create_task", {"title": "x"}) for n in range(4)))
    full = await client.post("/api/queue", json={"ops": [op("z", "create_task", {"title": "x"})]})
    assert (full.status_code, full.json()["type"], full.json()["retryable"]) == (429, "/problems/slow-down", True)
    assert int(full.headers["retry-after"]) >= 1
    replay = await client.post("/api/tasks", json={"title": "x"}, headers={"Idempotency-Key": "1"})
    assert (replay.status_code, replay.headers["idempotent-replayed"]) == (201, "true")
    assert (await send(client, first))[0]["status"] == "duplicate"
    other = await hub.connect(await hub.make_token("other"))
    assert (await other.get("/api/tasks")).status_code == 200


async def test_ten_thousand_in_batches_are_never_throttled(client: httpx.AsyncClient) -> None:
    for batch in range(10):
        await send(client, *(op(f"{batch}-{n}", "delete_task", {"id": uid(n)}) for n in range(1000)))


async def test_a_body_that_does_not_come(make_hub: MakeHub) -> None:
    hub = await make_hub(body_seconds=0.05)
    client = await hub.connect(hub.token)

    async def slowly() -> Any:
        yield b"{"
        await asyncio.Event().wait()

    answer = await client.post("/api/tasks", content=slowly())
    assert (answer.status_code, answer.json()["type"]) == (408, "/problems/slow-down")
