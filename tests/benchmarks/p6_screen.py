"""P6: how smooth the screen is: stalls of its event loop while 10,000 rows drain, and how soon a key is drawn."""

from __future__ import annotations

import json
import sqlite3
import statistics
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.measure import Figure, main
from tests.benchmarks.p9_memory import waiting
from tests.benchmarks.terminal import OnTerminal
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess

ROWS, MANY, FEW, KEYS = 10_000, 100_000, 10, 60
WATCHED = """
import asyncio, json, os, sys, time
from aria_tui.cli import main
from aria_tui.tui import app as module

class Watched(module.AriaApp):
    async def watch_the_loop(self):
        # Every millisecond: how much later than asked does the loop come round?
        late, waits = [], asyncio.get_running_loop().time
        while not self.done:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append(time.perf_counter() - before - 0.001)
        return late

    def on_mount(self):
        super().on_mount()
        self.done = False
        self.set_timer(2.5, self.begin)

    def begin(self):
        self.watching = asyncio.create_task(self.watch_the_loop())
        self.run_command(module.BY_ID["sync"])
        self.set_interval(0.2, self.look)

    async def look(self):
        import sqlite3
        db = sqlite3.connect("file:" + os.environ["ARIA_HOME"] + "/queue.db?mode=ro", uri=True)
        left = db.execute("SELECT total(waiting) FROM counters").fetchone()[0]
        db.close()
        if left == 0 and not self.done:
            self.done = True
            late = await self.watching
            with open(sys.argv[1], "w") as file:
                json.dump(late, file)
            self.exit(0)

module.AriaApp = Watched
path = sys.argv[1]
from aria_tui import config
module.run(config.load())
"""


def stalls(folder: Path, hub: HubProcess) -> list[float]:
    """Lateness of the screen's event loop in milliseconds, once a millisecond, while everything drains."""
    aria = Aria(folder).use(hub.url, hub.token)
    aria("queue", "status").ok()
    with sqlite3.connect(aria.queue_file) as db:
        db.executemany(
            "INSERT INTO queue (operation, payload) VALUES ('capture_insight', ?)",
            ((json.dumps({"content": f"row {n}"}),) for n in range(ROWS)),
        )
    db.close()
    (aria.home / "config.toml").write_text("[sync]\nautomatic = false\n")
    result = folder / "stalls.json"
    command = [sys.executable, "-c", WATCHED, str(result)]
    with OnTerminal(command, aria.environment(COLORTERM="truecolor")) as program:
        while program.process.poll() is None:
            program.read(0.2)
    return [1000 * late for late in json.loads(result.read_text())]


def key_times(aria: Aria) -> float:
    """Median of seconds from a key to what is drawn for it."""
    with OnTerminal([*aria.command], aria.environment(COLORTERM="truecolor")) as program:
        program.until(b"Queue")
        program.quiet(1.0, 10)
        keys = [b"\t" if n % 2 else b"\x1b[Z" for n in range(KEYS)]
        return statistics.median(program.answer_time(key) for key in keys)


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="aria-bench-") as name:
        folder = Path(name)
        hub = HubProcess(folder).start()
        try:
            late = sorted(value for n in range(3) for value in stalls(folder / str(n), hub))
        finally:
            hub.close()
        many, few = waiting(folder / "many", MANY), waiting(folder / "few", FEW)
        pairs = [(key_times(many), key_times(few)) for _ in range(3)]
    many_s, few_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    p99 = late[int(len(late) * 0.99)]
    return [
        Figure("P6a", f"longest event-loop stall while {ROWS:,} rows drain on screen", late[-1], 50, unit="ms",
               details={"p99 ms": p99, "samples": len(late)}),
        Figure("P6a+", "its 99th percentile", p99, 20, unit="ms"),
        Figure("P6b", "key to frame with 100,000 rows waiting / with 10", many_s / few_s, 1.5,
               details={"100,000 ms": many_s * 1000, "10 ms": few_s * 1000}),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
