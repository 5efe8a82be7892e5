"""PostgreSQL restarts in the middle of the program's own drain: nothing lost, nothing twice, no error left over."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import uuid
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from aria_tui.models import SyncFinished, SyncReport
from tests.hub.server.cluster import Cluster, Pooler
from tests.hub.server.processes import Served, aria
from tests.outbox.files import OLD_SHAPE

pytestmark = pytest.mark.postgres
TASKS, EACH = 600, 5
SYNCS = 20
Blow = Callable[[], None]


def task_id(number: int) -> str:
    return str(uuid.UUID(int=number + 1, version=4))


def operations(number: int) -> list[tuple[str, str]]:
    """A task's life: made, renamed three times, done. As an older program queued it, so that nothing is folded."""
    task = task_id(number)
    renamed: list[tuple[str, object]] = [
        ("update_task", {"id": task, "changes": {"title": f"{number}-{step}"}}) for step in (1, 2, 3)
    ]
    life = [("create_task", {"id": task, "title": f"{number}-0"}), *renamed, ("complete_task", {"id": task})]
    return [(operation, json.dumps(payload)) for operation, payload in life]


def queue_file(home: Path) -> None:
    """3,000 rows; a task's operations stand far apart."""
    home.mkdir(mode=0o700)
    db = sqlite3.connect(home / "queue.db")
    db.executescript(OLD_SHAPE)
    lives = [operations(number) for number in range(TASKS)]
    rows = [
        lives[number + offset][step] for number in range(0, TASKS, 200) for step in range(EACH) for offset in range(200)
    ]
    db.executemany("INSERT INTO queue (operation, payload) VALUES (?, ?)", rows)
    db.commit()
    db.close()


async def strike(database: str, blow: Blow) -> int:
    """Strikes while the Hub is inside a batch that isn't the first; gives how many operations were done by then."""
    connection = await asyncpg.connect(database)
    try:
        while not await connection.fetchval("SELECT count(*) FROM operations"):
            await asyncio.sleep(0.005)
        # From here a batch can begin and can't end, until the blow or the end of this connection.
        await connection.execute("BEGIN; LOCK TABLE operations IN SHARE MODE")
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'operations'::regclass"
        while not await connection.fetchval(waiting):
            await asyncio.sleep(0.005)
        done = await connection.fetchval("SELECT count(*) FROM operations")
        await asyncio.to_thread(blow)
        return int(done)
    finally:
        connection.terminate()


async def sync_once(assistant: Assistant) -> SyncReport:
    return [event.report async for event in assistant.sync() if isinstance(event, SyncFinished)][-1]


async def drain(assistant: Assistant) -> None:
    """Syncs as a user would, again while something waits; nothing may be parked on the way."""
    for _ in range(SYNCS):
        report = await sync_once(assistant)
        assert not report.dead_letters and not report.conflicts, report
        if not report.remaining:
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"rows still wait after {SYNCS} syncs: {report}")


async def check_hub(database: str) -> None:
    """Each operation had one effect, in the order it was queued."""
    connection = await asyncpg.connect(database)
    try:
        effects = await connection.fetch("SELECT entity, version FROM operations ORDER BY seq")
        entities = await connection.fetch("SELECT entity, version, doc FROM entities")
    finally:
        await connection.close()
    versions: dict[str, list[int]] = {}
    for effect in effects:
        versions.setdefault(effect["entity"], []).append(effect["version"])
    wanted = {f"task:{task_id(number)}": list(range(1, EACH + 1)) for number in range(TASKS)}
    assert versions == wanted, "once each and in order"
    documents = {row["entity"]: (row["version"], json.loads(row["doc"])) for row in entities}
    for number in range(TASKS):
        version, task = documents.pop(f"task:{task_id(number)}")
        assert (version, task["title"], task["status"]) == (EACH, f"{number}-3", "DONE")
    assert not documents


def check_client(home: Path, hub: Served) -> None:
    """No command says that anything is wrong, and no delivered row bears an error."""
    token = home / "token"
    token.touch(mode=0o600)
    token.write_text(hub.token)
    way = ("--home", str(home), "--hub-url", hub.url, "--hub-token-file", str(token), "--json")
    status = aria(home, "status", *way)
    assert status.returncode == 0, status
    told = json.loads(status.stdout)
    assert told["hub"]["state"] == "online", told
    queue = aria(home, "queue", "status", *way)
    assert queue.returncode == 0, queue
    counts = json.loads(queue.stdout)
    assert [counts[name] for name in ("pending_total", "held", "dead_letters", "conflicts")] == [0] * 4, counts
    db = sqlite3.connect(home / "queue.db")
    wrong = db.execute("SELECT * FROM queue WHERE synced_at IS NULL OR error IS NOT NULL").fetchall()
    assert not wrong and db.execute("SELECT count(*) FROM queue").fetchone() == (TASKS * EACH,)
    db.close()


@pytest.mark.parametrize(
    ("pooled", "blow"),
    [(False, "immediate"), (False, "fast"), (True, "immediate"), (True, "fast"), (True, "pooler")],
)
async def test_a_restart_in_the_middle_of_a_drain(
    pooled: bool, blow: str, cluster: Cluster, serve: Callable[..., Served], request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:  # fmt: skip
    database = cluster.database()
    between: Pooler | None = request.getfixturevalue("pooler")(database) if pooled else None
    hub = serve(between.url if between else database)

    def restart() -> None:
        if between and blow == "pooler":
            between.stop()
            between.start()
        else:
            cluster.stop(blow)
            cluster.start()

    home = tmp_path / "home"
    queue_file(home)
    async with await Assistant.open(Config(hub=HubConfig(url=hub.url, token=hub.token)), home=home) as assistant:
        async with asyncio.timeout(60):
            struck, _ = await asyncio.gather(strike(database, restart), drain(assistant))
    assert 0 < struck < TASKS * EACH, "in the middle"
    await check_hub(database)
    check_client(home, hub)
