"""One key, one effect: at once, after a crash, with another body, over every path, on both engines."""

from __future__ import annotations

import asyncio
import random
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from aria_tui.hub.server import upkeep
from aria_tui.hub.server.incoming import WireOp, prepare
from aria_tui.hub.server.service import Hub
from aria_tui.hub.server.storage import open_storage
from tests.hub.server.conftest import HubUnderTest, MakeHub
from tests.hub.server.processes import Served
from tests.hub.server.test_batch import op, send


@pytest.mark.case("B01")
async def test_twenty_at_once(make_hub: MakeHub) -> None:
    """Through two Hubs on one database, as two replicas are."""
    first, second = await make_hub(), await make_hub()
    headers = {"Idempotency-Key": "same"}
    clients = [await hub.connect(first.token) for hub in (first, second)]
    posts = [clients[n % 2].post("/api/insights", json={"content": "x"}, headers=headers) for n in range(20)]
    answers = await asyncio.gather(*posts)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 19
    assert len((await clients[0].get("/api/insights")).json()["insights"]) == 1


@pytest.mark.case("B01")
async def test_the_key_is_known_over_every_path(client: httpx.AsyncClient) -> None:
    task = {"id": str(uuid.uuid4()), "title": "a"}
    headers = {"Idempotency-Key": '"k"'}
    made = await client.post("/api/tasks", json=task, headers=headers)
    await client.patch(f"/api/tasks/{task['id']}", json={"title": "b"}, headers={"Idempotency-Key": "k2"})
    queue = await client.post("/api/queue/create_task", json=task, headers={"Idempotency-Key": "k"})
    assert (queue.status_code, queue.content) == (made.status_code, made.content)
    assert queue.headers["idempotent-replayed"] == "true"
    batch = await send(client, op("k", "create_task", task))
    assert (batch[0]["status"], batch[0]["version"], batch[0]["entity"]) == ("duplicate", 1, made.json()["entity"])
    changed = {"id": task["id"], "changes": {"title": "b"}}
    assert (await client.post("/api/queue/update_task", json=changed, headers={"Idempotency-Key": "k2"})).json()[
        "version"
    ] == 2


@pytest.mark.case("B01")
async def test_another_body_or_operation_under_the_same_key(client: httpx.AsyncClient) -> None:
    task = {"id": str(uuid.uuid4()), "title": "a"}
    headers = {"Idempotency-Key": "k"}
    await client.post("/api/tasks", json=task, headers=headers)
    for path, body in (
        ("/api/tasks", {**task, "title": "b"}),
        ("/api/queue/delete_task", {"id": task["id"]}),
        ("/api/insights", {"content": "x"}),
        ("/api/tasks", {"title": ""}),
    ):
        answer = await client.post(path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["type"], answer.json()["op_id"]) == (422, "/problems/key-reused", "k")
    assert (await client.get(f"/api/tasks/{task['id']}")).json()["task"]["title"] == "a"
    assert (await client.get("/api/insights")).json()["insights"] == []


async def test_after_the_keys_are_gone_nothing_doubles(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    ids = [str(uuid.uuid4()) for _ in range(2)]
    ops = [
        op("1", "create_task", {"id": ids[0], "title": "a"}),
        op("2", "update_task", {"id": ids[0], "changes": {"title": "b"}}, base={"title": "a"}),
        op("3", "capture_insight", {"id": ids[1], "content": "x"}),
        op("4", "store_briefing", {"date": "2026-11-30", "content": "old"}, occurred_at="2026-11-30T08:00:00Z"),
        op("5", "store_briefing", {"date": "2026-11-30", "content": "new"}, occurred_at="2026-11-30T09:00:00Z"),
        op("6", "complete_task", {"id": ids[0]}, base={"status": "TODO"}),
    ]
    await send(client, *ops)
    before = [(await client.get(path)).json() for path in ("/api/tasks", "/api/insights", "/api/briefings")]
    later = hub.now + 91 * 86_400_000
    key: str | None = ""
    while key is not None:
        key = await hub.storage.expire_keys(hub.account, later, key, 2)
    assert await hub.storage.expire_revisions(hub.account, later, 100) == 2
    assert (await client.get("/api/queue/ops/1")).status_code == 404
    again = await send(client, *ops)
    assert [result["status"] for result in again] == [
        "duplicate", "applied", "duplicate", "superseded", "applied", "applied",
    ]  # fmt: skip
    assert [(await client.get(path)).json() for path in ("/api/tasks", "/api/insights", "/api/briefings")] == before


async def test_keys_are_kept_as_long_as_promised(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    await send(client, op("1", "create_task", {"title": "a"}))
    key: str | None = ""
    while key is not None:
        key = await hub.storage.expire_keys(hub.account, hub.now, key, 100)
    assert (await client.get("/api/queue/ops/1")).status_code == 200


async def test_upkeep_forgets_what_is_older_than_90_days(hub: HubUnderTest, client: httpx.AsyncClient) -> None:
    today, task = hub.now, str(uuid.uuid4())
    for days, key in ((91, "old"), (89, "young")):
        hub.now = today - days * 86_400_000
        await send(client, op(f"{hub.account}-{key}", "create_task", {"title": key}))
    await send(client, op("a", "create_task", {"id": task, "title": "a"}), op("b", "delete_task", {"id": task}))
    await upkeep.expire(hub.storage, 90, steps=50)
    statuses = [(await client.get(f"/api/queue/ops/{hub.account}-{key}")).status_code for key in ("old", "young")]
    assert statuses == [404, 200]
    assert [found["title"] for found in (await client.get("/api/tasks")).json()["tasks"]] == ["young", "old"]
    assert (await send(client, op("c", "create_task", {"id": task, "title": "a"})))[0]["status"] == "superseded"


class Killed(BaseException):
    """What a test throws where the process would have died."""


@pytest.mark.case("B01")
@pytest.mark.postgres
async def test_killed_at_each_statement(shared_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PostgreSQL; on SQLite tests/faults looks at the file after each statement."""
    import asyncpg

    account = f"k{uuid.uuid4().hex[:8]}"
    left = [0]

    def fuse(name: str) -> None:
        right = getattr(asyncpg.Connection, name)

        async def burning(self: Any, *args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return await right(self, *args, **kwargs)

        monkeypatch.setattr(asyncpg.Connection, name, burning)

    for name in ("execute", "fetch", "fetchval"):
        fuse(name)
    died = 0
    for statement in range(1, 20):
        payload = {"id": str(uuid.uuid4()), "title": "x"}
        ops = [prepare(WireOp(str(uuid.uuid4()), "create_task", payload)), prepare(
            WireOp(str(uuid.uuid4()), "update_task", {"id": payload["id"], "changes": {"title": "y"}}))]  # fmt: skip
        left[0] = -1
        dying, fresh = [await open_storage(shared_database) for _ in range(2)]
        await fresh.ensure_account(account, 1)
        left[0] = statement
        try:
            await Hub(dying).apply(account, ops)
        except Killed:
            died += 1
        left[0] = -1
        dying._pool.terminate()  # type: ignore[attr-defined]
        row, records = await fresh.row(account, ops[0].entity), await fresh.records(account, [one.op_id for one in ops])
        assert (row is None) == (not records), "key and effect are together or not at all"
        verdicts, _ = await Hub(fresh).apply(account, ops)
        assert all(verdict.refusal is None for verdict in verdicts)
        row = await fresh.row(account, ops[0].entity)
        assert row is not None and row.version == 2
        await fresh.close()
    assert died >= 7


def resend(url: str, headers: dict[str, str], batches: list[list[dict[str, Any]]]) -> list[str]:
    """Sends all batches over and over until each operation was acknowledged; gives their statuses."""
    statuses = []
    for ops in batches:
        answer = httpx.post(f"{url}/api/queue", json={"ops": ops}, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        statuses += [result["status"] for result in answer.json()["results"]]
    return statuses


@pytest.mark.case("B01")
def test_kill_9_at_random_moments(database: str, serve: Callable[..., Served], engine: str) -> None:
    dice = random.Random(4)
    hub = serve(database)
    token, sent = hub.token, []
    for _ in range(4):
        task = str(uuid.uuid4())
        batches = [
            [op(str(uuid.uuid4()), "create_task", {"id": task, "title": "0"})],
            *[
                [op(str(uuid.uuid4()), "update_task", {"id": task, "changes": {"title": str(n)}})] +
                [op(str(uuid.uuid4()), "capture_insight", {"content": "x"}) for _ in range(dice.randrange(40))]
                for n in range(1, 20)
            ],
        ]  # fmt: skip
        sent.append((task, batches))
        killer = threading.Timer(dice.uniform(0, 0.15), hub.process.kill)
        killer.start()
        try:
            for ops in batches:
                httpx.post(f"{hub.url}/api/queue", json={"ops": ops}, headers=hub.headers, timeout=30)
        except httpx.TransportError:
            pass
        killer.join()
        hub.kill()
        hub = serve(database, token=token)
        statuses = resend(hub.url, hub.headers, batches)
        assert set(statuses) <= {"applied", "duplicate"}
    total = sum(len(ops) for _, batches in sent for ops in batches)
    meta = httpx.get(f"{hub.url}/api/meta", headers=hub.headers).json()
    assert meta["seq"] == total, "each operation had its effect once"
    for task, _ in sent:
        found = httpx.get(f"{hub.url}/api/tasks/{task}", headers=hub.headers).json()["task"]
        assert (found["version"], found["title"]) == (20, "19")
    insights = sum(operation["operation"] == "capture_insight" for _, bs in sent for ops in bs for operation in ops)
    assert _count(hub, "insight") == insights


def _count(hub: Served, kind: str) -> int:
    cursor = ""
    found: list[str] = []
    while True:
        page = httpx.get(f"{hub.url}/api/changes", params={"since": cursor}, headers=hub.headers, timeout=30).json()
        found += [change["entity"] for change in page["changes"] if change["entity"].startswith(f"{kind}:")]
        cursor = page["cursor"]
        if not page["has_more"]:
            return len(found)


def test_sigterm_ends_what_is_in_flight(database: str, serve: Callable[..., Served], tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[[faults]]\nkind = "delay"\nseconds = 0.5\npath = "/api/queue"\n')
    hub = serve(database, "--no-token", "--faults", str(plan))
    ops = [op(str(n), "create_task", {"title": "x"}) for n in range(1000)]
    with ThreadPoolExecutor(1) as thread:
        sending = thread.submit(httpx.post, f"{hub.url}/api/queue", json={"ops": ops}, timeout=30)
        while httpx.get(f"{hub.url}/faults").json()["faults"][0]["happened"] == 0:
            assert not sending.done()
        assert hub.terminate() == 0
        assert len(sending.result().json()["results"]) == 1000
