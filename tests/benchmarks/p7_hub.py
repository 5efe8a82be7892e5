"""P7: the Hub over PostgreSQL, 10,000 operations in batches, against bare asyncpg that puts in the same rows.

The same rows means what the Hub really wrote: they are read back from its tables and put into copies of these by
``unnest``, with the same number of commits. fsync is off for both: what is compared is work, not a disk.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import asyncpg
import httpx

from aria_tui.hub.server.app import create_app
from aria_tui.hub.server.auth import mint
from aria_tui.hub.server.service import Hub, Options, now_ms
from aria_tui.hub.server.storage import open_storage
from tests.benchmarks.measure import Figure, interleaved, main
from tests.benchmarks.p4_drain import operation
from tests.hub.server.cluster import Cluster, binaries

ROWS, BATCH = 10_000, 500
TABLES = ("entities", "operations")


async def through_the_hub(url: str) -> float:
    """Operations a second: requests in, answers out, by the ASGI interface."""
    storage = await open_storage(url)
    try:
        await storage.migrate()
        hub = Hub(storage, Options(operations_burst=10_000_000))
        token, row = mint("me", "bench", "write", now_ms())
        await storage.ensure_account("me", now_ms())
        await storage.add_token(row)
        transport = httpx.ASGITransport(app=await create_app(hub))
        bodies = [
            json.dumps({"client_id": "b", "ops": [operation(n) for n in range(BATCH)]}).encode()
            for _ in range(ROWS // BATCH)
        ]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        async with httpx.AsyncClient(transport=transport, base_url="http://hub", headers=headers) as client:
            start = time.perf_counter()
            for body in bodies:
                answer = await client.post("/api/queue", content=body)
                assert answer.status_code == 200, answer.text
            return ROWS / (time.perf_counter() - start)
    finally:
        await storage.close()


class Bare:
    """The rows of a Hub's tables, ready to be put in by ``unnest``."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.batches: list[list[tuple[str, list[list[Any]]]]] = []

    async def read(self) -> None:
        db = await asyncpg.connect(self.url)
        try:
            tables = {name: await db.fetch(f"SELECT * FROM {name} ORDER BY seq") for name in TABLES}
            types = {
                name: [
                    row[0]
                    for row in await db.fetch(
                        "SELECT data_type FROM information_schema.columns WHERE table_name = $1"
                        " AND table_schema = 'public' ORDER BY ordinal_position", name,
                    )
                ]
                for name in TABLES
            }  # fmt: skip
            for name in TABLES:
                await db.execute(f"CREATE TABLE bare_{name} (LIKE {name} INCLUDING ALL)")
        finally:
            await db.close()
        self.statements = {
            name: f"INSERT INTO bare_{name} SELECT * FROM unnest("
            + ", ".join(f"${n}::{kind}[]" for n, kind in enumerate(types[name], 1)) + ")"
            for name in TABLES
        }  # fmt: skip
        for start in range(0, ROWS, BATCH):
            self.batches.append(
                [
                    (name, [list(column) for column in zip(*tables[name][start : start + BATCH], strict=True)])
                    for name in TABLES
                ]
            )

    async def insert(self) -> float:
        db = await asyncpg.connect(self.url)
        try:
            for name in TABLES:
                await db.execute(f"TRUNCATE bare_{name}")
            start = time.perf_counter()
            for batch in self.batches:
                async with db.transaction():
                    for name, columns in batch:
                        await db.execute(self.statements[name], *columns)
            return ROWS / (time.perf_counter() - start)
        finally:
            await db.close()


def measure() -> list[Figure]:
    where = binaries()
    if where is None:
        raise RuntimeError("PostgreSQL is not installed")
    cluster = Cluster(where)
    cluster.start()
    try:
        first = cluster.database()
        asyncio.run(through_the_hub(first))
        bare = Bare(first)
        asyncio.run(bare.read())
        rates = interleaved(
            {
                "hub": lambda: asyncio.run(through_the_hub(cluster.database())),
                "bare": lambda: asyncio.run(bare.insert()),
            },
            5,
        )
    finally:
        cluster.close()
    return [
        Figure("P7", "Hub on PostgreSQL, 10,000 operations in batches / bare asyncpg with unnest",
               rates["hub"] / rates["bare"], 0.35, at_least=True,
               details={f"{who} rows/s": rate for who, rate in rates.items()})
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
