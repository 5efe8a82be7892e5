"""Two replicas on one PostgreSQL, a database that restarts, a pooler between (hub-api.md, "Storage and scale")."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable
from typing import Any

import asyncpg
import httpx
import pytest

from tests.hub.server.cluster import Cluster, Pooler
from tests.hub.server.processes import Served
from tests.hub.server.test_batch import op

pytestmark = pytest.mark.postgres
CLIENTS, OPERATIONS = 20, 200


async def post(client: httpx.AsyncClient, hub: Served, ops: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a client would: the same again on 409 and 503."""
    while True:
        answer = await client.post(f"{hub.url}/api/queue", json={"ops": ops}, headers=hub.headers)
        if answer.status_code == 200:
            results: list[dict[str, Any]] = answer.json()["results"]
            return results
        assert answer.status_code in (409, 503), answer.text
        await asyncio.sleep(0.05)


def script(number: int) -> list[list[dict[str, Any]]]:
    """A client's 200 operations on 4 tasks of its own, cut into requests."""
    dice = random.Random(number)
    tasks = [str(uuid.UUID(int=number * 10 + n + 1, version=4)) for n in range(4)]
    ops = [op(f"{number}-{n}", "create_task", {"id": task, "title": "0"}) for n, task in enumerate(tasks)]
    counts = dict.fromkeys(tasks, 0)
    while len(ops) < OPERATIONS:
        task = dice.choice(tasks)
        counts[task] += 1
        changes = {"title": str(counts[task])}
        ops.append(op(f"{number}-{len(ops)}", "update_task", {"id": task, "changes": changes}))
    requests = []
    while ops:
        size = dice.randint(1, 20)
        requests.append(ops[:size])
        ops = ops[size:]
    return requests


async def follow(client: httpx.AsyncClient, hub: Served, stop: asyncio.Event) -> dict[str, list[int]]:
    """Versions of each entity, as a reader of ``changes`` sees them."""
    seen: dict[str, list[int]] = {}
    cursor = ""
    while True:
        last = stop.is_set()
        answer = await client.get(f"{hub.url}/api/changes", params={"since": cursor}, headers=hub.headers)
        page = answer.json()
        for change in page["changes"]:
            seen.setdefault(change["entity"], []).append(change["version"])
        cursor = page["cursor"]
        if last and not page["has_more"]:
            return seen


async def test_every_request_twice_through_two_replicas(cluster: Cluster, serve: Callable[..., Served]) -> None:
    database = cluster.database()
    first = serve(database)
    second = serve(database, token=first.token)
    stop = asyncio.Event()
    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=50)) as client:

        async def work(number: int) -> int:
            for ops in script(number):
                copies = await asyncio.gather(post(client, first, ops), post(client, second, ops))
                for one, other in zip(*copies, strict=True):
                    assert {one["status"], other["status"]} == {"applied", "duplicate"}, (one, other)
                    assert one["version"] == other["version"]
            return number

        followers = [asyncio.create_task(follow(client, hub, stop)) for hub in (first, second)]
        await asyncio.gather(*(work(number) for number in range(CLIENTS)))
        stop.set()
        seen = [await follower for follower in followers]
    connection = await asyncpg.connect(database)
    try:
        recorded = await connection.fetch("SELECT op_id, entity, version FROM operations ORDER BY seq")
        rows = await connection.fetch("SELECT entity, version, doc::json->>'title' AS title FROM entities")
        last = await connection.fetchval("SELECT seq FROM accounts")
    finally:
        await connection.close()
    assert len(recorded) == last == CLIENTS * OPERATIONS, "4,000 effects, 0 more"
    mine: dict[str, list[int]] = {str(number): [] for number in range(CLIENTS)}
    for record in recorded:
        mine[record["op_id"].partition("-")[0]].append(int(record["op_id"].partition("-")[2]))
    assert all(order == sorted(order) for order in mine.values()), "in the order of its sender"
    assert all(int(row["title"]) == row["version"] - 1 for row in rows)
    for versions in seen:
        assert {entity: found[-1] for entity, found in versions.items()} == {
            row["entity"]: row["version"] for row in rows
        }
        assert all(found == sorted(set(found)) for found in versions.values())


async def test_the_database_restarts_in_the_middle(cluster: Cluster, serve: Callable[..., Served]) -> None:
    hub = serve(cluster.database())
    restarted = asyncio.Event()
    acknowledged = 0
    async with httpx.AsyncClient(timeout=60) as client:

        async def restart() -> None:
            while acknowledged < 300:
                await asyncio.sleep(0.005)
            await asyncio.to_thread(cluster.stop)
            await asyncio.to_thread(cluster.start)
            restarted.set()

        restarting = asyncio.create_task(restart())
        batch = 0
        while not restarted.is_set() or batch < 30:
            ops = [op(f"{batch}-{n}", "capture_insight", {"content": f"{batch}-{n}"}) for n in range(50)]
            results = await post(client, hub, ops)
            assert {result["status"] for result in results} <= {"applied", "duplicate"}
            acknowledged += len(results)
            batch += 1
        await restarting
        ready = await client.get(f"{hub.url}/readyz")
        assert ready.status_code == 200
        meta = (await client.get(f"{hub.url}/api/meta", headers=hub.headers)).json()
    assert meta["seq"] == batch * 50 == acknowledged


async def test_through_a_pooler_in_transaction_mode(
    cluster: Cluster, serve: Callable[..., Served], pooler: Callable[[str], Pooler]
) -> None:
    through = pooler(cluster.database()).url
    first = serve(through)
    second = serve(through, token=first.token)
    async with httpx.AsyncClient(timeout=60) as client:

        async def work(number: int) -> None:
            for ops in script(number):
                await asyncio.gather(*(post(client, hub, ops) for hub in (first, second)))
                listed = await client.get(f"{first.url}/api/tasks", params={"limit": 5}, headers=first.headers)
                assert listed.status_code == 200, listed.text

        await asyncio.gather(*(work(number) for number in range(4)))
        meta = (await client.get(f"{second.url}/api/meta", headers=second.headers)).json()
    assert meta["seq"] == 4 * OPERATIONS
    assert '"level":"error"' not in first.log() + second.log()
