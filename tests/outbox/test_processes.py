"""Real processes on one file: killed in a migration, writing while another drains."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from tests.helpers.aria import ROOT, clean_environment
from tests.helpers.hub import HubProcess
from tests.outbox.bench import rows
from tests.outbox.files import old_file

MIGRATE = """
import asyncio, sys
from pathlib import Path
from aria_tui.outbox.store import Store
async def run():
    print("start", flush=True)
    store = Store(Path(sys.argv[1]))
    await store.open()
    print("done", flush=True)
    await store.close()
asyncio.run(run())
"""
WRITE = """
import asyncio, sys
from pathlib import Path
from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
async def run(home, url, token, name, count):
    config = Config(hub=HubConfig(url=url, token=token))
    async with await Assistant.open(config, home=Path(home)) as assistant:
        made = await assistant.create_task(f"{name} 0", offline=True)
        for start in range(1, count, 20):
            await asyncio.gather(*(
                assistant.capture_insight(f"{name} {n}", offline=True) if n % 5 else
                assistant.update_task(made.id, {"title": f"{name} {n:04}"}, offline=True)
                for n in range(start, min(start + 20, count))
            ))
asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])))
"""
DRAIN = """
import asyncio, sys
from pathlib import Path
from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from aria_tui.models import SyncFinished
async def run(home, url, token):
    config = Config(hub=HubConfig(url=url, token=token))
    async with await Assistant.open(config, home=Path(home)) as assistant:
        while True:
            async for event in assistant.sync():
                if isinstance(event, SyncFinished):
                    print(event.report.remaining, flush=True)
            await asyncio.sleep(0.02)
asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3]))
"""


def python(script: str, *args: object, home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, args)],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=clean_environment(home), cwd=ROOT,
    )  # fmt: skip


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.008, 0.016, 0.03, 0.06])
def test_killed_while_an_old_file_with_ten_thousand_rows_is_migrated(tmp_path: Path, delay: float) -> None:
    file = tmp_path / "queue.db"
    old_file(file, 10_000)
    process = python(MIGRATE, file, home=tmp_path)
    assert process.stdout and process.stdout.readline() == b"start\n"
    time.sleep(delay)  # the point is not to wait for anything: it dies wherever it is
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    again = python(MIGRATE, file, home=tmp_path)
    assert again.communicate(timeout=30)[0] == b"start\ndone\n"
    assert rows(file, "SELECT count(*), min(id), max(id) FROM queue WHERE synced_at IS NULL") == [(10_000, 1, 10_000)]
    assert rows(file, "SELECT total(waiting) FROM counters") == [(10_000,)]
    assert rows(file, "PRAGMA integrity_check") == [("ok",)]
    db = sqlite3.connect(file)
    db.execute("INSERT INTO queue (operation, payload) VALUES (?, ?)", ("x", "{}"))
    db.close()


def test_two_write_five_hundred_each_while_a_third_drains(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path).start()
    home = tmp_path / "home"
    try:
        drain = python(DRAIN, home, hub.url, hub.token, home=tmp_path)
        writers = [python(WRITE, home, hub.url, hub.token, name, 500, home=tmp_path) for name in ("anna", "bert")]
        for writer in writers:
            writer.communicate(timeout=90)
            assert writer.returncode == 0, "a save was refused"
        assert drain.stdout
        deadline = time.monotonic() + 30
        while rows(home / "queue.db", "SELECT 1 FROM queue WHERE synced_at IS NULL LIMIT 1"):
            assert time.monotonic() < deadline and drain.poll() is None
            time.sleep(0.1)
        drain.kill()
        drain.communicate()
        assert rows(home / "queue.db", "SELECT 1 FROM parked") == []
        assert hub.count("insights") == 2 * 400 and hub.count("tasks") == 2
        titles = {task["title"] for task in hub.all("tasks")}
        assert titles == {"anna 0495", "bert 0495"}, "the last edit of each"
        order: dict[str, list[int]] = defaultdict(list)
        for entity, op_id in hub.rows("SELECT entity, op_id FROM operations ORDER BY seq"):
            number = rows(home / "queue.db", "SELECT id FROM queue WHERE op_id = ?", op_id)
            order[entity].append(number[0][0])
        assert all(numbers == sorted(numbers) for numbers in order.values())
        sent = sum(len(numbers) for numbers in order.values())
        gone = rows(home / "queue.db", "SELECT count(*) FROM queue WHERE outcome = 'folded'")[0][0]
        assert sent + gone == 1000, "each reached the Hub, by itself or in the operation it was folded into"
    finally:
        hub.close()
