"""A row that was acknowledged survives power loss at any later moment, in both journal modes."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.faults import planted
from tests.faults.images import Disk, record
from tests.helpers.aria import Aria

CODE = """
import asyncio, os, sys
from tests.faults import planted
planted.from_environment()
from aria_tui import config
from aria_tui.assistant import Assistant

async def main():
    async with await Assistant.open(config.load(), origin="cli") as assistant:
        for n in range(6):
            await assistant.capture_insight(f"row {n}", offline=True)
            os.write(1, f"acknowledged row {n}\\n".encode())

asyncio.run(main())
"""


def rows_of(image: dict[str, bytes], home: Path, there: Path) -> set[str]:
    """The rows that a program finds in an image."""
    shutil.rmtree(there, ignore_errors=True)
    there.mkdir()
    for path, data in image.items():
        (there / Path(path).relative_to(home)).write_bytes(data)
    db = sqlite3.connect(there / "queue.db")
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {json.loads(payload)["content"] for (payload,) in db.execute("SELECT payload FROM queue")}
    finally:
        db.close()


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_after_a_power_cut_at_any_point_every_acknowledged_row_is_there(
    aria: Aria, tmp_path: Path, journal: str
) -> None:
    aria.home.mkdir(mode=0o700)
    (aria.home / "config.toml").write_text(f'[queue]\njournal = "{journal}"\n')
    aria("queue", "status").ok()
    disk = Disk.of(aria.home)
    calls = record(
        [sys.executable, "-c", CODE], aria.home, aria.environment(**planted.passed_on()), tmp_path / "strace.log"
    )
    assert sum(call.name == "said" for call in calls) == 6
    assert any(call.name == "sync" for call in calls), "nothing was ever synced"
    dice = random.Random(11)
    acknowledged: set[str] = set()
    looked = 0
    for call in calls:
        if call.name == "said":
            acknowledged.add(call.data.decode().strip().removeprefix("acknowledged "))
        else:
            disk.do(call)
        for keep in (0.0, 0.5, 1.0):
            found = rows_of(disk.image(dice, keep), aria.home, tmp_path / "image")
            looked += 1
            assert acknowledged <= found, f"lost after {call.name} {call.path}: {acknowledged - found}"
    assert looked > 100
