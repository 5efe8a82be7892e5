"""P3: durable enqueues, one after another and by 64 writers at once, against raw sqlite3 on the same table.

Each of the 64 saves again as soon as its last save is answered. Beside it, in the details only: bursts of 64 that begin
together and end together, where the making of 64 tasks counts too.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from pathlib import Path

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig, QueueConfig
from tests.benchmarks.measure import Figure, interleaved, main

ROWS, AT_ONCE, EACH = 400, 64, 16
CONFIG = Config(hub=HubConfig(url="http://127.0.0.1:9", token="t"), queue=QueueConfig(limit=10_000_000))


class Raw:
    """The same table, journal and sync by the standard library alone: one INSERT, one commit each."""

    def __init__(self, file: Path) -> None:
        self.db = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self.db.execute("PRAGMA synchronous = EXTRA")
        self.count = 0

    def one_after_another(self) -> float:
        start = time.perf_counter()
        for _ in range(ROWS):
            self.count += 1
            self.db.execute(
                "INSERT INTO queue (operation, payload, created_at, op_id, entity, origin, target)"
                " VALUES ('capture_insight', ?, '2026-11-30T08:00:00Z', ?, ?, 'cli', 'raw')",
                (f'{{"content": "x", "id": "{self.count}"}}', f"raw-{self.count}", f"insight:{self.count}"),
            )
        return ROWS / (time.perf_counter() - start)


async def _measure(folder: Path) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    # Each in a file of its own, so that none measures what another has put there.
    alone, together, at_times = [await _opened(folder / name) for name in ("one", "many", "bursts")]
    await (await _opened(folder / "raw")).close()
    raw = Raw(folder / "raw" / "queue.db")

    async def one_after_another() -> float:
        start = time.perf_counter()
        for _ in range(ROWS):
            await alone.capture_insight("x", offline=True)
        return ROWS / (time.perf_counter() - start)

    async def writer() -> None:
        for _ in range(EACH):
            await together.capture_insight("x", offline=True)

    async def at_once() -> float:
        start = time.perf_counter()
        await asyncio.gather(*(writer() for _ in range(AT_ONCE)))
        return EACH * AT_ONCE / (time.perf_counter() - start)

    async def bursts() -> float:
        start = time.perf_counter()
        for _ in range(EACH):
            await asyncio.gather(*(at_times.capture_insight("x", offline=True) for _ in range(AT_ONCE)))
        return EACH * AT_ONCE / (time.perf_counter() - start)

    def on_loop(work: object) -> float:
        return float(asyncio.run_coroutine_threadsafe(work(), loop).result())  # type: ignore[operator]

    try:
        return await asyncio.to_thread(
            interleaved,
            {
                "raw": raw.one_after_another,
                "one": lambda: on_loop(one_after_another),
                "many": lambda: on_loop(at_once),
                "bursts": lambda: on_loop(bursts),
            },
            9,
        )
    finally:
        raw.db.close()
        for assistant in (alone, together, at_times):
            await assistant.close()


async def _opened(home: Path) -> Assistant:
    """A program over a file that exists and has a row in it."""
    assistant = await Assistant.open(CONFIG, home=home)
    await assistant.capture_insight("first", offline=True)
    return assistant


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="aria-bench-", dir=Path.home()) as folder:
        rates = asyncio.run(_measure(Path(folder)))
    details = {f"{name} rows/s": rate for name, rate in rates.items()}
    return [
        Figure("P3a", "durable enqueue one after another / raw sqlite3", rates["one"] / rates["raw"], 0.75,
               at_least=True, details=details),
        Figure("P3b", "64 writers at once / the same one after another", rates["many"] / rates["one"], 20,
               at_least=True, details=details),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
