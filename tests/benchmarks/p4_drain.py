"""P4: draining against a bare loop of requests, and against one request and one commit per row."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from aria_tui.models import SyncFinished
from aria_tui.outbox.ids import new_id
from tests.benchmarks.measure import Figure, interleaved, main
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy

ROWS, SLOW_ROWS, PER_ROW = 10_000, 1_000, 400
ROUND_TRIP = 0.15


def batches() -> list[int]:
    """The sizes in which the drain sends: 500, doubled to the Hub's limit."""
    sizes, left, size = [], ROWS, 500
    while left:
        sizes.append(min(size, left))
        left -= sizes[-1]
        size = min(size * 2, 1000)
    return sizes


class Filled:
    """A home with rows that wait, made by the program itself."""

    def __init__(self, folder: Path, url: str, token: str, rows: int) -> None:
        self.home = folder
        self.config = Config(hub=HubConfig(url=url, token=token))
        self.rows = rows

    async def fill(self) -> None:
        async with await Assistant.open(self.config, home=self.home) as assistant:
            for start in range(0, self.rows, 500):
                count = min(500, self.rows - start)
                await asyncio.gather(*(assistant.capture_insight(f"row {n}", offline=True) for n in range(count)))

    async def drain(self) -> float:
        async with await Assistant.open(self.config, home=self.home) as assistant:
            await assistant.hub_status()  # the client is there, as in the bare loop
            start = time.perf_counter()
            async for event in assistant.sync():
                if isinstance(event, SyncFinished):
                    assert (event.report.synced, event.report.remaining) == (self.rows, 0), event.report
            return self.rows / (time.perf_counter() - start)


def operation(n: int) -> dict[str, Any]:
    op_id = new_id()
    payload = {"id": op_id, "content": f"row {n}", "captured_at": "2026-11-30T08:00:00Z"}
    return {"op_id": op_id, "operation": "capture_insight", "entity": f"insight:{op_id}", "payload": payload,
            "occurred_at": "2026-11-30T08:00:00Z", "schema_version": 1}  # fmt: skip


async def bare_loop(url: str, token: str) -> float:
    """Batches of the same size, made beforehand, by httpx alone: nothing is read and nothing is marked."""
    bodies = [json.dumps({"client_id": "b", "ops": [operation(n) for n in range(size)]}).encode() for size in batches()]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
        start = time.perf_counter()
        for body in bodies:
            answer = await client.post("/api/queue", content=body)
            assert answer.status_code in (200, 201)
            assert all(result["status"] == "applied" for result in answer.json()["results"])
        return ROWS / (time.perf_counter() - start)


async def one_by_one(url: str, token: str, folder: Path, rows: int) -> float:
    """One POST and one durable commit per row, as the simplest client does it."""
    db = sqlite3.connect(folder / f"one-{time.time_ns()}.db", isolation_level=None)
    db.execute("PRAGMA synchronous = EXTRA")
    db.execute("CREATE TABLE queue (id INTEGER PRIMARY KEY, synced_at TEXT)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO queue (id) VALUES (?)", [(n,) for n in range(rows)])
    db.execute("COMMIT")
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        start = time.perf_counter()
        for n in range(rows):
            answer = await client.post("/api/queue/capture_insight", json={"content": f"row {n}"})
            assert answer.status_code in (200, 201)
            db.execute("UPDATE queue SET synced_at = '2026-11-30' WHERE id = ?", (n,))
        rate = rows / (time.perf_counter() - start)
    db.close()
    return rate


def fresh_drain(folder: Path, url: str, token: str, rows: int) -> Callable[[], float]:
    def run() -> float:
        filled = Filled(Path(tempfile.mkdtemp(dir=folder)), url, token, rows)
        asyncio.run(filled.fill())
        return asyncio.run(filled.drain())

    return run


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="aria-bench-", dir=Path.home()) as name:
        folder = Path(name)
        hub = HubProcess(folder).start()
        try:
            rates = interleaved(
                {
                    "drain": fresh_drain(folder, hub.url, hub.token, ROWS),
                    "bare": lambda: asyncio.run(bare_loop(hub.url, hub.token)),
                    "one by one": lambda: asyncio.run(one_by_one(hub.url, hub.token, folder, PER_ROW)),
                },
                5,
            )
            slow = FaultProxy(hub.port)
            slow.add("latency", seconds=ROUND_TRIP)
            try:
                far = interleaved(
                    {
                        "drain": fresh_drain(folder, slow.url, hub.token, SLOW_ROWS),
                        "one by one": lambda: asyncio.run(one_by_one(slow.url, hub.token, folder, 12)),
                    },
                    3,
                )
            finally:
                slow.close()
        finally:
            hub.close()
    near_details = {f"{who} rows/s": rate for who, rate in rates.items()}
    far_details = {f"{who} rows/s": rate for who, rate in far.items()}
    return [
        Figure("P4a", "drain of 10,000 / a bare httpx loop of the same batches", rates["drain"] / rates["bare"], 0.65,
               at_least=True, details=near_details),
        Figure("P4b", "the same / one POST and one commit per row", rates["drain"] / rates["one by one"], 20,
               at_least=True, details=near_details),
        Figure("P4c", "drain of 1,000 with 150 ms of round trip / one POST per row", far["drain"] / far["one by one"],
               300, at_least=True, details=far_details),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
