"""P5: the queue's status over a million delivered rows."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from pathlib import Path

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from tests.benchmarks.measure import Figure, interleaved, main

DELIVERED, CALLS = 1_000_000, 200
CONFIG = Config(hub=HubConfig(url="http://127.0.0.1:9", token="t"))


async def prepare(home: Path, delivered: int) -> None:
    async with await Assistant.open(CONFIG, home=home) as assistant:
        await assistant.capture_insight("first", offline=True)
    db = sqlite3.connect(home / "queue.db")
    db.execute("PRAGMA synchronous = OFF")
    db.executemany(
        "INSERT INTO queue (operation, payload, created_at, synced_at, op_id, entity, origin, target, outcome) VALUES"
        " ('capture_insight', ?, '2026-11-30T08:00:00Z', '2026-11-30T08:00:01Z', ?, ?, 'cli', 't', 'applied')",
        ((f'{{"content": "row {n}"}}', f"done-{n}", f"insight:{n}") for n in range(delivered)),
    )
    db.commit()
    db.close()
    async with await Assistant.open(CONFIG, home=home) as assistant:
        for n in range(9):
            await assistant.capture_insight(f"waiting {n}", offline=True)
        assert (await assistant.queue_status()).pending_total == 10


async def status(home: Path) -> float:
    async with await Assistant.open(CONFIG, home=home) as assistant:
        await assistant.queue_status()
        start = time.perf_counter()
        for _ in range(CALLS):
            await assistant.queue_status()
        return (time.perf_counter() - start) / CALLS


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="aria-bench-", dir=Path.home()) as name:
        full, empty = Path(name) / "full", Path(name) / "empty"
        asyncio.run(prepare(full, DELIVERED))
        asyncio.run(prepare(empty, 0))
        times = interleaved({"full": lambda: asyncio.run(status(full)), "empty": lambda: asyncio.run(status(empty))}, 9)
    details = {f"{who} s": value for who, value in times.items()}
    return [
        Figure("P5", "queue status with 1,000,000 delivered and 10 waiting / none delivered",
               times["full"] / times["empty"], 1.2, details=details)
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
