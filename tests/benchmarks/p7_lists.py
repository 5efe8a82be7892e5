"""P7b: a page of the task list, and a delta, with 100,000 tasks at the Hub against 1,000, on both engines."""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from typing import Any

import httpx
import msgspec

from aria_tui.hub.server.app import create_app
from aria_tui.hub.server.service import Hub, Options, now_ms
from aria_tui.hub.server.storage import open_storage
from tests.benchmarks.measure import Figure, main
from tests.hub.server.cluster import Cluster, binaries

MANY, FEW, BATCH = 100_000, 1_000, 1_000
CALLS, ROUNDS = 20, 9


class Filled:
    """A Hub with so many tasks, reached by the ASGI interface."""

    def __init__(self, url: str, tasks: int) -> None:
        self.url, self.tasks = url, tasks
        self.cursor = ""

    async def open(self) -> None:
        self.storage = await open_storage(self.url)
        await self.storage.migrate()
        await self.storage.ensure_account("me", now_ms())
        options = Options(open_account="me", operations_burst=10_000_000)
        transport = httpx.ASGITransport(app=await create_app(Hub(self.storage, options)))
        self.client = httpx.AsyncClient(transport=transport, base_url="http://hub", timeout=60)
        for start in range(0, self.tasks, BATCH):
            await self.write([f"task {n}" for n in range(start, start + BATCH)])

    async def write(self, titles: list[str]) -> None:
        ops: list[dict[str, Any]] = [
            {"op_id": str(uuid.uuid4()), "operation": "create_task", "payload": {"title": title}} for title in titles
        ]
        answer = await self.client.post("/api/queue", content=msgspec.json.encode({"client_id": "b", "ops": ops}))
        assert answer.status_code == 200, answer.text
        self.cursor = answer.json()["cursor"]

    async def timed(self, path: str) -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            answer = await self.client.get(path)
            assert answer.status_code == 200, answer.text
        return (time.perf_counter() - start) / CALLS

    async def close(self) -> None:
        await self.client.aclose()
        await self.storage.close()


async def compare(many_url: str, few_url: str) -> dict[str, float]:
    """Each read's time with many tasks over its time with few: medians, taken in turn."""
    hubs = Filled(many_url, MANY), Filled(few_url, FEW)
    for hub in hubs:
        await hub.open()
        before = hub.cursor
        await hub.write(["new since the cursor"])
        hub.cursor = before
    ratios = {}
    for name in ("list", "delta"):
        seen: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for hub, times in zip(hubs, seen, strict=True):
                path = "/api/tasks?limit=100" if name == "list" else f"/api/changes?since={hub.cursor}"
                times.append(await hub.timed(path))
        many, few = (sorted(times)[ROUNDS // 2] for times in seen)
        ratios[name] = many / few
    for hub in hubs:
        await hub.close()
    return ratios


def measure() -> list[Figure]:
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="aria-bench-") as name:
        ratios = asyncio.run(compare(f"sqlite:///{name}/many.db", f"sqlite:///{name}/few.db"))
        found |= {f"{read} SQLite": ratio for read, ratio in ratios.items()}
    where = binaries()
    if where is not None:
        cluster = Cluster(where)
        cluster.start()
        try:
            ratios = asyncio.run(compare(cluster.database(), cluster.database()))
            found |= {f"{read} PostgreSQL": ratio for read, ratio in ratios.items()}
        finally:
            cluster.close()
    worst = max(found.values())
    return [Figure("P7b", "a read with 100,000 tasks / with 1,000, the worst of all", worst, 1.5, details=found)]


if __name__ == "__main__":
    main(measure)
