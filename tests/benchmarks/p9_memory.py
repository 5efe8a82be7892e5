"""P9: the dashboard's memory with 100,000 rows waiting, against 10."""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.measure import Figure, interleaved, main
from tests.benchmarks.terminal import OnTerminal
from tests.helpers.aria import Aria

MANY, FEW = 100_000, 10


def waiting(folder: Path, rows: int) -> Aria:
    """A home whose Hub is away and where rows wait."""
    aria = Aria(folder).use("http://127.0.0.1:9", "token")
    aria("insight", "add", "first", "--offline").ok()
    with sqlite3.connect(aria.queue_file) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.executemany(
            "INSERT INTO queue (operation, payload) VALUES ('capture_insight', ?)",
            ((json.dumps({"content": f"row {n}"}),) for n in range(rows - 1)),
        )
    db.close()
    aria("queue", "status").ok()
    return aria


def memory(aria: Aria) -> float:
    with OnTerminal([*aria.command], aria.environment(COLORTERM="truecolor")) as program:
        program.until(b"Queue")
        program.quiet(2.5, 20)
        return program.memory()


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="aria-bench-") as name:
        many, few = waiting(Path(name) / "many", MANY), waiting(Path(name) / "few", FEW)
        sizes = interleaved({"many": lambda: memory(many), "few": lambda: memory(few)}, 3, warm=0)
    return [
        Figure("P9", "memory of the dashboard with 100,000 waiting / with 10", sizes["many"] / sizes["few"], 1.2,
               details={f"{who} MiB": value for who, value in sizes.items()})
    ]  # fmt: skip


if __name__ == "__main__":
    assert sys.platform == "linux"
    main(measure)
