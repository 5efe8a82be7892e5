"""What an account costs a Hub on PostgreSQL: bytes a row and an operation, and small requests a second.

20,000 operations of a realistic mix, one account's day to a request, go through the real Hub; then it asks for
``pg_total_relation_size`` (rows, TOAST and indexes) of each table. After that one operation a request, and the probe of
an open dashboard, 16 at once. The Hub runs in this process, so HTTP and TLS aren't in it; fsync is off, as in P7.
``python -m tests.benchmarks.p7_size`` prints the table that README.md, "A million accounts", reckons with. It has no
goal, so it isn't among the figures of ``python -m tests.benchmarks``.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import msgspec

from aria_tui.hub.server.app import create_app
from aria_tui.hub.server.auth import mint
from aria_tui.hub.server.service import Hub, Options, now_ms
from aria_tui.hub.server.storage import open_storage
from aria_tui.outbox.ids import new_id
from tests.hub.server.cluster import Cluster, binaries

ACCOUNTS, DAYS = 50, 20
DAY = {"create_task": 6, "update_task": 4, "complete_task": 5, "capture_insight": 4, "store_briefing": 1}
"""An account's operations on one day: 20, so 20,000 in all."""
SINGLE, AT_ONCE = 3_000, 16
TABLES = ("accounts", "tokens", "entities", "operations", "revisions", "settings")
DICE = random.Random(7)
WORDS = ["".join(DICE.choices("etaoinshrdlu", k=DICE.randint(2, 9))) for _ in range(3_000)]
"""As many as a person uses: PostgreSQL compresses long rows, and a few words over and over would be too easy."""


def words(characters: int) -> str:
    """Text of so many characters, another one each time."""
    return " ".join(DICE.choices(WORDS, k=characters // 3))[:characters].strip()


def operation(name: str, payload: dict[str, Any], op_id: str) -> dict[str, Any]:
    at = "2026-11-30T08:00:00Z"
    return {"op_id": op_id, "operation": name, "payload": payload, "occurred_at": at, "schema_version": 1}


def create(n: int) -> dict[str, Any]:
    """A task of 45 characters; every third is described in 300."""
    op_id = new_id()
    task: dict[str, Any] = {"id": op_id, "title": words(45), "priority": "HIGH" if n % 4 == 0 else "MEDIUM"}
    task |= {"project_name": f"project {n % 5}", "due_date": f"2026-12-{n % 28 + 1:02}", "tags": ["work"]}
    if n % 3 == 0:
        task["description"] = words(300)
    return operation("create_task", task, op_id)


def insight(n: int) -> dict[str, Any]:
    op_id = new_id()
    text = {"id": op_id, "content": words(200), "project": f"project {n % 5}", "captured_at": "2026-11-30T08:00:00Z"}
    return operation("capture_insight", text, op_id)


def day(number: int) -> Iterator[dict[str, Any]]:
    """One account's operations of one day: tasks made, some of them changed, most done, and a briefing of 3.5 KB."""
    tasks = [create(number * 100 + n) for n in range(DAY["create_task"])]
    ids = [task["op_id"] for task in tasks]
    yield from tasks
    for n in range(DAY["update_task"]):
        yield operation("update_task", {"id": ids[n], "changes": {"status": "IN_PROGRESS"}}, new_id())
    for n in range(DAY["complete_task"]):
        yield operation("complete_task", {"id": ids[n]}, new_id())
    yield from (insight(number * 100 + n) for n in range(DAY["capture_insight"]))
    date = f"2026-11-{number % DAYS + 1:02}"
    yield operation("store_briefing", {"date": date, "content": words(2_000), "data": brief()}, new_id())


def brief() -> dict[str, Any]:
    """A briefing's structure: eight tasks and five projects."""
    tasks = [{"id": new_id(), "title": words(45), "priority": "HIGH"} for n in range(8)]
    projects = [{"name": f"project {n}", "commits": n, "branch": "main", "dirty": n % 2} for n in range(5)]
    return {"tasks": {"state": "ok", "data": tasks}, "projects": {"state": "ok", "data": projects}}


class Filling:
    """A Hub over ``url`` with accounts of their own tokens, reached by the ASGI interface."""

    def __init__(self, client: httpx.AsyncClient, tokens: list[str]) -> None:
        self._client, self._tokens = client, tokens

    def _headers(self, account: int) -> dict[str, str]:
        token = self._tokens[account % len(self._tokens)]
        return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    async def send(self, account: int, ops: list[dict[str, Any]]) -> None:
        body = msgspec.json.encode({"client_id": "b", "ops": ops})
        answer = await self._client.post("/api/queue", content=body, headers=self._headers(account))
        answer.raise_for_status()
        told = Counter(result["status"] for result in answer.json()["results"])
        assert told == {"applied": len(ops)}, answer.text

    async def probe(self, account: int) -> None:
        (await self._client.get("/api/meta", headers=self._headers(account))).raise_for_status()

    async def days(self) -> float:
        """All the accounts' days, in the order of time. Gives operations a second."""
        spent = 0.0
        for date, account in itertools.product(range(DAYS), range(ACCOUNTS)):
            ops = list(day(account * DAYS + date))
            start = time.perf_counter()
            await self.send(account, ops)
            spent += time.perf_counter() - start
        return ACCOUNTS * DAYS * sum(DAY.values()) / spent

    async def one_by_one(self, *, probes: bool) -> float:
        """``SINGLE`` requests, ``AT_ONCE`` at a time: an insight each, or a probe each. Gives requests a second."""
        numbers = iter(range(SINGLE))

        async def one() -> None:
            for n in numbers:
                await (self.probe(n) if probes else self.send(n, [insight(n)]))

        start = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(AT_ONCE)))
        return SINGLE / (time.perf_counter() - start)


@asynccontextmanager
async def filling(url: str) -> AsyncIterator[Filling]:
    storage = await open_storage(url)
    try:
        await storage.migrate()
        tokens = []
        for n in range(ACCOUNTS):
            token, row = mint(f"account-{n:06}", "laptop", "write", now_ms())
            await storage.ensure_account(f"account-{n:06}", now_ms())
            await storage.add_token(row)
            tokens.append(token)
        transport = httpx.ASGITransport(app=await create_app(Hub(storage, Options())))
        async with httpx.AsyncClient(transport=transport, base_url="http://hub", timeout=60) as client:
            yield Filling(client, tokens)
    finally:
        await storage.close()


async def sizes(url: str) -> dict[str, tuple[int, int]]:
    """Each table's rows and its bytes with indexes, once what updates left behind is free again."""
    db = await asyncpg.connect(url)
    try:
        await db.execute("VACUUM ANALYZE")
        return {
            name: (
                await db.fetchval(f"SELECT count(*) FROM {name}"),
                await db.fetchval("SELECT pg_total_relation_size($1::regclass)", name),
            )
            for name in TABLES
        }
    finally:
        await db.close()


async def kinds(url: str) -> list[tuple[str, int, int]]:
    """Of the entities and revisions: kind, rows, the row's own bytes on average, without indexes."""
    db = await asyncpg.connect(url)
    try:
        found = []
        for table in ("entities", "revisions"):
            for kind, rows, size in await db.fetch(
                f"SELECT split_part(entity, ':', 1), count(*), avg(pg_column_size(t.*)) FROM {table} t GROUP BY 1"
            ):
                found.append((f"{table}: {kind}", rows, round(size)))
        return found
    finally:
        await db.close()


async def run(url: str) -> None:
    async with filling(url) as hub:
        batched = await hub.days()
        found, parts = await sizes(url), await kinds(url)
        writes, probes = await hub.one_by_one(probes=False), await hub.one_by_one(probes=True)
    total = ACCOUNTS * DAYS * sum(DAY.values())
    print(f"{total} operations, {ACCOUNTS} accounts, {DAYS} days of {DAY}")
    print(f"{'table':22}{'rows':>9}{'bytes':>13}{'a row':>8}{'an operation':>14}")
    for name, (rows, size) in found.items():
        print(f"{name:22}{rows:9}{size:13}{size / max(rows, 1):8.0f}{size / total:14.0f}")
    size = sum(size for _, size in found.values())
    print(f"{'all':22}{'':9}{size:13}{'':8}{size / total:14.0f}")
    for name, rows, average in parts:
        print(f"{name:22}{rows:9}{'':13}{average:8}  without indexes")
    print(f"a day of {sum(DAY.values())} operations a request: {batched:.0f} operations/s")
    print(f"one operation a request, {AT_ONCE} at once: {writes:.0f} requests/s; probes: {probes:.0f} requests/s")


def main() -> None:
    where = binaries()
    if where is None:
        raise SystemExit("PostgreSQL is not installed")
    cluster = Cluster(where)
    cluster.start()
    try:
        asyncio.run(run(cluster.database()))
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
