"""The embedded Hub's file: its modes, several processes on it, damage, copies, restoring (queue.md, "The file")."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from aria_tui.errors import AriaError
from aria_tui.hub.embedded import open_embedded
from aria_tui.hub.server import copies, manage
from aria_tui.hub.server.storage.base import NewerSchema, StorageUnavailable
from tests.hub.server.processes import ROOT, aria, environment
from tests.hub.server.test_batch import op, send
from tests.hub.server.test_reads import everything, uid


class Opened:
    """The embedded Hub of a home, for as long as the context lasts."""

    def __init__(self, home: Path) -> None:
        self.home = home

    async def __aenter__(self) -> httpx.AsyncClient:
        self.transport, self._close = await open_embedded(self.home)
        self.client = httpx.AsyncClient(transport=self.transport, base_url="http://hub")
        return self.client

    async def __aexit__(self, *_: Any) -> None:
        await self.client.aclose()
        await self._close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_file_and_modes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with Opened(home) as client:
        meta = (await client.get("/api/meta")).json()
        assert meta["account"] == "me"
    assert (mode(home), mode(home / "hub.db")) == (0o700, 0o600)
    with closing(sqlite3.connect(home / "hub.db")) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    async with Opened(home) as client:
        again = (await client.get("/api/meta")).json()
        assert (again["hub_id"], again["epoch"]) == (meta["hub_id"], meta["epoch"])


async def test_what_the_connection_promises(tmp_path: Path) -> None:
    async with Opened(tmp_path) as client:
        storage = client._transport.app.hub.storage  # type: ignore[attr-defined]
        assert await storage._all("PRAGMA synchronous") == [(3,)]
        assert await storage._all("PRAGMA secure_delete") == [(1,)]


async def test_a_file_in_wal_is_turned_back(tmp_path: Path) -> None:
    async with Opened(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "hub.db")) as database:
        assert database.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    async with Opened(tmp_path):
        with closing(sqlite3.connect(tmp_path / "hub.db")) as database:
            assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


WRITER = """
import asyncio, sys
from pathlib import Path
import httpx
from aria_tui.hub.embedded import open_embedded

def key(name, number):
    return {"Idempotency-Key": f"{name}-{number}"}

async def main(home, name):
    transport, close = await open_embedded(Path(home))
    async with httpx.AsyncClient(transport=transport, base_url="http://hub") as client:
        for number in range(30):
            answer = await client.post("/api/tasks", json={"title": name}, headers=key(name, number))
            assert answer.status_code == 201, answer.text
    await close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_several_processes_on_one_file(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], cwd=ROOT, env=environment(tmp_path))
        for name in ("a", "b", "c")
    ]
    assert [await asyncio.to_thread(process.wait, 60) for process in started] == [0, 0, 0]
    async with Opened(tmp_path) as client:
        assert len(await everything(client, "/api/tasks", "tasks")) == 90
        assert (await client.get("/api/meta")).json()["seq"] == 90


async def test_a_lock_that_is_held_is_waited_for(tmp_path: Path) -> None:
    async with Opened(tmp_path) as client:
        with closing(sqlite3.connect(tmp_path / "hub.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            write = asyncio.create_task(client.post("/api/tasks", json={"title": "x"}))
            assert not (await asyncio.wait([write], timeout=0.3))[0]
            other.execute("COMMIT")
        assert (await write).status_code == 201


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "header":
        content[:100] = random.Random(1).randbytes(100)
    elif how == "half":
        content = content[: len(content) // 2]
    elif how == "middle":
        content[len(content) // 3 : len(content) // 3 + 12_000] = random.Random(2).randbytes(12_000)
    else:
        content = bytearray(b"\0" * len(content))
    path.write_bytes(content)


@pytest.mark.parametrize("how", ["header", "half", "middle", "zeros"])
async def test_a_damaged_file_is_set_aside_and_read(tmp_path: Path, how: str) -> None:
    async with Opened(tmp_path) as client:
        await send(client, *(op(str(n), "create_task", {"id": uid(n), "title": f"t{n}" * 20}) for n in range(300)))
        before = (await client.get("/api/meta")).json()
    damage(tmp_path / "hub.db", how)
    damaged = (tmp_path / "hub.db").read_bytes()
    opened = Opened(tmp_path)
    async with opened as client:
        found = await everything(client, "/api/tasks", "tasks")
        after = (await client.get("/api/meta")).json()
        assert after["epoch"] != before["epoch"]
        assert (await client.post("/api/tasks", json={"title": "new"})).status_code == 201
        if how in ("header", "middle"):
            assert found, "what SQLite can still read is carried over"
        notice = opened.transport.app.hub.storage.notice  # type: ignore[attr-defined]
    kept = [path for path in tmp_path.glob("hub.db.damaged-*") if not path.name.endswith("-journal")]
    assert [path.read_bytes() for path in kept] == [damaged]
    assert str(kept[0]) in notice and f"{len(found)} entries" in notice
    async with Opened(tmp_path) as client:
        assert len(await everything(client, "/api/tasks", "tasks")) == len(found) + 1


async def test_a_file_that_another_process_replaced_is_opened_again(tmp_path: Path) -> None:
    """What was committed into the file that was set aside is done again in the new one, under the same key."""
    async with Opened(tmp_path) as client:
        await send(client, op("1", "create_task", {"title": "a"}))
        copies.copy(tmp_path / "hub.db", tmp_path / "new.db")
        (tmp_path / "hub.db").rename(tmp_path / "aside.db")
        (tmp_path / "new.db").rename(tmp_path / "hub.db")
        await send(client, op("2", "create_task", {"title": "b"}))
    async with Opened(tmp_path) as client:
        assert [task["title"] for task in await everything(client, "/api/tasks", "tasks")] == ["b", "a"]


async def test_a_newer_file_is_not_touched(tmp_path: Path) -> None:
    async with Opened(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "hub.db")) as database:
        database.execute("INSERT INTO schema_migrations VALUES (99, '0099_future', 'x', 0)")
        database.commit()
    before = (tmp_path / "hub.db").read_bytes()
    with pytest.raises(NewerSchema, match="newer version"):
        await open_embedded(tmp_path)
    assert (tmp_path / "hub.db").read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageUnavailable, match=str(tmp_path)):
        await open_embedded(tmp_path)


async def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    with pytest.raises(StorageUnavailable, match="home"):
        await open_embedded(tmp_path / "home")


async def test_the_daily_copy_is_made_at_the_end_and_seven_are_kept(tmp_path: Path) -> None:
    for _ in range(2):
        async with Opened(tmp_path) as client:
            await client.post("/api/tasks", json={"title": "x"})
    made = list((tmp_path / "backups").iterdir())
    assert len(made) == 1
    assert mode(made[0]) == 0o600
    for day in range(1, 10):
        copies.make_daily(tmp_path / "hub.db", f"2026-10-{day:02}")
    names = sorted(path.name for path in (tmp_path / "backups").iterdir())
    assert len(names) == 7
    assert names[0] == "hub-2026-10-04.db"
    assert not copies.is_due(tmp_path / "hub.db")


async def test_backup_while_in_use_restore_and_epoch(tmp_path: Path) -> None:
    async with Opened(tmp_path) as client:
        await send(client, op("1", "create_task", {"title": "a"}))
        before = (await client.get("/api/meta")).json()
        done = await asyncio.to_thread(aria, tmp_path, "hub", "backup")
        assert done.returncode == 0, done.stderr
        copy = Path(done.stdout.strip())
        assert copy.exists() and mode(copy) == 0o600
        await send(client, op("2", "create_task", {"title": "b"}))
        done = await asyncio.to_thread(aria, tmp_path, "hub", "restore", str(copy))
        assert done.returncode == 0, done.stderr
        after = (await client.get("/api/meta")).json()
        assert (after["hub_id"], after["seq"]) == (before["hub_id"], 1)
        assert after["epoch"] != before["epoch"]
        assert [task["title"] for task in (await client.get("/api/tasks")).json()["tasks"]] == ["a"]
        assert (await client.get("/api/queue/ops/2")).status_code == 404
    kept = list(tmp_path.glob("hub.db.before-restore-*"))
    assert len(kept) == 1
    done = await asyncio.to_thread(aria, tmp_path, "hub", "restored")
    assert done.returncode == 0
    async with Opened(tmp_path) as client:
        assert (await client.get("/api/meta")).json()["epoch"] in done.stdout


async def test_what_is_no_copy_is_not_restored(tmp_path: Path) -> None:
    async with Opened(tmp_path) as client:
        await send(client, op("1", "create_task", {"title": "a"}))
    (tmp_path / "other.db").write_bytes(b"x" * 5000)
    url = f"sqlite:///{tmp_path / 'hub.db'}"
    for wrong in ("other.db", "missing.db"):
        with pytest.raises(AriaError):
            manage.restore(url, tmp_path / wrong)
    async with Opened(tmp_path) as client:
        assert len((await client.get("/api/tasks")).json()["tasks"]) == 1


def test_two_hubs_in_a_home_are_not_guessed_between(tmp_path: Path) -> None:
    for name in ("hub.db", "hub-server.db"):
        (tmp_path / name).touch()
    done = aria(tmp_path, "hub", "restored")
    assert done.returncode == 2
    assert "--database" in done.stderr
    done = aria(tmp_path, "hub", "backup", "--database", "postgresql://somewhere/x")
    assert done.returncode == 2
    assert "pg_dump" in done.stderr
