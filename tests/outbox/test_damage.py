"""A damaged file: set aside whole, what can be read carried over, told by a banner (queue.md, "Damage")."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from aria_tui.errors import NotSaved
from aria_tui.outbox import salvage
from aria_tui.outbox.lock import DrainLock
from tests.outbox.bench import rows
from tests.outbox.files import OLD_SHAPE, digests, flip, old_file

AWAY = Config(hub=HubConfig(url="http://127.0.0.1:9", token="t"))


async def filled(home: Path, count: int = 40) -> None:
    async with await Assistant.open(AWAY, home=home) as assistant:
        await asyncio.gather(*(assistant.capture_insight(f"{n} " + "x" * 200, offline=True) for n in range(count)))


def aside(home: Path) -> list[Path]:
    return sorted(p for p in home.iterdir() if ".damaged-" in p.name)


async def reopened(home: Path) -> tuple[list[Any], str, Assistant]:
    assistant = await Assistant.open(AWAY, home=home)
    listed = await assistant.queue_list(limit=10_000)
    return listed, assistant.queue_notice or "", assistant


@pytest.mark.case("S04")
@pytest.mark.parametrize("kind", ["header", "half", "flipped", "empty page", "index"])
async def test_each_damage_is_set_aside_and_new_saves_work(tmp_path: Path, kind: str) -> None:
    await filled(tmp_path)
    file = tmp_path / "queue.db"
    page = 4096
    match kind:
        case "header":
            file.write_bytes(b"\x07" * 100 + file.read_bytes()[100:])
        case "half":
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        case "flipped":
            flip(file, 100, 3)
        case "empty page":
            data = bytearray(file.read_bytes())
            root = rows(file, "SELECT rootpage FROM sqlite_master WHERE name = 'queue'")[0][0]
            leaf = int.from_bytes(data[(root - 1) * page + 12 : (root - 1) * page + 14])  # its first cell
            child = int.from_bytes(data[(root - 1) * page + leaf : (root - 1) * page + leaf + 4])
            data[(child - 1) * page : child * page] = bytes(page)
            file.write_bytes(bytes(data))
        case "index":
            root = rows(file, "SELECT rootpage FROM sqlite_master WHERE name = 'idx_queue_unsynced'")[0][0]
            data = bytearray(file.read_bytes())
            data[(root - 1) * page : root * page] = bytes(page)
            file.write_bytes(bytes(data))
    damaged = digests(tmp_path)["queue.db"]
    listed, notice, assistant = await reopened(tmp_path)
    try:
        kept = aside(tmp_path)
        assert len(kept) == 1 and digests(tmp_path)[kept[0].name] == damaged, "kept whole, byte for byte"
        assert f"Saved: {len(listed)} waiting" in notice and str(kept[0]) in notice
        if kind in ("index", "header"):
            assert len(listed) == 40
        if kind == "empty page":
            assert 20 <= len(listed) < 40 and "could not be read" in notice
        for item in listed:
            assert item.reason_code == "in_doubt" or item.attempts == 0
        assert (await assistant.capture_insight("new", offline=True)).status == "queued"
        assert len(await assistant.queue_list(limit=10_000)) == len(listed) + 1
        assert await assistant.check_queue() is None
    finally:
        await assistant.close()
    sent = rows(tmp_path / "queue.db", "SELECT count(*) FROM queue WHERE sent_at IS NULL")
    assert sent == [(1,)], "what was carried over counts as sent"


async def test_keys_numbers_parked_rows_and_targets_are_carried_over(tmp_path: Path) -> None:
    await filled(tmp_path, 30)
    file = tmp_path / "queue.db"
    db = sqlite3.connect(file)
    db.execute(
        "INSERT INTO parked (id, kind, operation, payload, created_at, op_id, entity, parked_at)"
        " VALUES (99, 'dead', 'create_task', '{}', 'x', 'key-99', 'task:1', 'x')"
    )
    db.execute("INSERT INTO targets VALUES ('http://h#1', 'hub:a:b', 'h (b)')")
    db.execute("INSERT INTO id_map VALUES ('t', 'task:1', 142), ('t', 'task:2', 'abc')")
    db.commit()
    before = db.execute("SELECT id, op_id, payload, entity FROM queue ORDER BY id").fetchall()
    root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'idx_queue_op'").fetchone()[0]
    db.close()
    data = bytearray(file.read_bytes())
    data[(root - 1) * 4096 : root * 4096] = bytes(4096)
    file.write_bytes(bytes(data))
    _, notice, assistant = await reopened(tmp_path)
    await assistant.close()
    assert "30 waiting and 1 parked" in notice
    assert rows(file, "SELECT id, op_id, payload, entity FROM queue ORDER BY id") == before
    assert rows(file, "SELECT * FROM targets") == [("http://h#1", "hub:a:b", "h (b)")]
    assert rows(file, "SELECT entity, remote, typeof(remote) FROM id_map ORDER BY 1") == [
        ("task:1", 142, "integer"), ("task:2", "abc", "text"),
    ]  # fmt: skip


async def test_a_damaged_file_of_the_old_shape(tmp_path: Path) -> None:
    old_file(tmp_path / "queue.db", 200)
    file = tmp_path / "queue.db"
    root = rows(file, "SELECT rootpage FROM sqlite_master WHERE name = 'idx_queue_unsynced'")[0][0]
    data = bytearray(file.read_bytes())
    data[(root - 1) * 4096 : root * 4096] = bytes(4096)
    file.write_bytes(bytes(data))
    listed, notice, assistant = await reopened(tmp_path)
    await assistant.close()
    assert len(listed) == 200 and "200 waiting" in notice
    assert [json.loads(item.payload)["content"] for item in listed] == [f"old {n}" for n in range(200)]


@pytest.mark.case("S04")
async def test_a_wal_goes_with_it_and_what_is_in_it_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "queue.db"
    old_file(file, 3, journal="wal")
    writer = sqlite3.connect(file)
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("INSERT INTO queue (operation, payload) VALUES ('capture_insight', '{\"content\": \"in the wal\"}')")
    writer.commit()
    copy = tmp_path / "copy"
    copy.mkdir()
    for side in ("", "-wal"):
        (copy / f"queue.db{side}").write_bytes((tmp_path / f"queue.db{side}").read_bytes())
    writer.close()
    root = rows(copy / "queue.db", "SELECT rootpage FROM sqlite_master WHERE name = 'idx_queue_unsynced'")[0][0]
    del root
    (copy / "queue.db").write_bytes((copy / "queue.db").read_bytes()[:4096])  # all but the first page is gone
    _, notice, assistant = await reopened(copy)
    listed = await assistant.queue_list()
    await assistant.close()
    assert [p.name.rpartition("-")[2] for p in aside(copy) if p.name.endswith("-wal")] in ([], ["wal"])
    assert notice or len(listed) == 4


async def test_damage_met_later_by_a_save_is_put_aside_and_the_save_is_kept(tmp_path: Path) -> None:
    await filled(tmp_path, 400)
    assistant = await Assistant.open(AWAY, home=tmp_path)
    assert (await assistant.queue_status()).pending_total == 400
    file = tmp_path / "queue.db"
    data = file.read_bytes()
    file.write_bytes(b"\x07" * 100 + data[100:])
    result = await assistant.capture_insight("kept", offline=True)
    assert result.status == "queued"
    assert "kept as" in (assistant.queue_notice or "")
    contents = [json.loads(item.payload)["content"] for item in await assistant.queue_list(limit=1000)]
    assert contents.count("kept") == 1
    await assistant.close()


async def test_a_row_committed_into_a_file_that_was_set_aside_meanwhile_is_put_into_the_new_one(tmp_path: Path) -> None:
    """Between commit and answer another process puts the file aside: the same key goes into the new one."""
    await filled(tmp_path, 3)
    ours = await Assistant.open(AWAY, home=tmp_path)
    store = ours._engine.store
    await ours.queue_status()
    right = store._moved
    swapped: list[bool] = []

    def moved() -> bool:
        if not swapped and len(rows(tmp_path / "queue.db", "SELECT 1 FROM queue")) == 4:
            swapped.append(True)  # committed, and not answered yet
            fresh = tmp_path / "queue.db.new"
            salvage._carry_over(tmp_path / "queue.db", fresh, "x", tmp_path / "aside")
            db = sqlite3.connect(fresh)
            db.execute("DELETE FROM queue WHERE payload LIKE '%between%'")
            db.commit()
            db.close()
            salvage._swap(tmp_path / "queue.db", fresh, tmp_path / "aside")
        return right()

    store._moved = moved  # type: ignore[method-assign]
    result = await ours.capture_insight("between", offline=True)
    found = rows(tmp_path / "queue.db", "SELECT id, payload ->> 'content' FROM queue ORDER BY id DESC LIMIT 1")
    assert swapped and found == [(result.queue_id, "between")]
    assert (await ours.queue_status()).pending_total == 4
    await ours.close()


async def test_several_programs_meet_the_damage_at_once(tmp_path: Path) -> None:
    await filled(tmp_path, 50)
    file = tmp_path / "queue.db"
    file.write_bytes(b"\x07" * 100 + file.read_bytes()[100:])
    programs = await asyncio.gather(*(Assistant.open(AWAY, home=tmp_path) for _ in range(4)))
    await asyncio.gather(*(one.capture_insight(f"from {n}", offline=True) for n, one in enumerate(programs)))
    assert (await programs[0].queue_status()).pending_total == 54 and len(aside(tmp_path)) == 1
    for one in programs:
        await one.close()


@pytest.mark.parametrize("seed", range(12))
async def test_random_damage_never_stops_the_program(tmp_path: Path, seed: int) -> None:
    await filled(tmp_path, 60)
    file = tmp_path / "queue.db"
    flip(file, 100, seed, start=0 if seed % 2 else 100)
    before = file.read_bytes()
    assistant = await Assistant.open(AWAY, home=tmp_path)
    try:
        assert (await assistant.capture_insight("new", offline=True)).status == "queued"
        contents = [item.payload for item in await assistant.queue_list(limit=1000)]
        assert sum('"new"' in text for text in contents) == 1
        if len(contents) < 61:
            assert assistant.queue_notice, "fewer than before, and nobody says so"
    finally:
        await assistant.close()
    copies = [p.read_bytes() for p in (*aside(tmp_path), file)]
    assert before in copies or not aside(tmp_path)


def test_old_shape_is_what_it_says() -> None:
    assert "AUTOINCREMENT" in OLD_SHAPE


@pytest.mark.parametrize("kind", ["dump", "no table"])
async def test_a_sound_file_whose_number_and_table_disagree_is_set_aside(tmp_path: Path, kind: str) -> None:
    """``.dump`` bears no user_version: what is made of it looks like an old file with the columns of today."""
    await filled(tmp_path, 5)
    file = tmp_path / "queue.db"
    db = sqlite3.connect(file)
    if kind == "dump":
        dump = "\n".join(db.iterdump())
        file.unlink()
        restored = sqlite3.connect(file)
        restored.executescript(dump.replace("DELETE FROM sqlite_sequence;", ""))
        restored.close()
    else:
        db.execute("DROP TABLE queue")
    db.close()
    listed, notice, assistant = await reopened(tmp_path)
    assert len(aside(tmp_path)) == 1 and str(aside(tmp_path)[0]) in notice
    assert kind != "dump" or len(listed) == 5
    assert (await assistant.capture_insight("new", offline=True)).status == "queued"
    await assistant.close()


async def test_a_stranger_s_rows_are_counted_once_they_are_carried_over(tmp_path: Path) -> None:
    """They come in any order, from both ends, and not one by one into the counters."""
    await filled(tmp_path, 1)
    file, page = tmp_path / "queue.db", 4096
    with sqlite3.connect(file) as db:
        payload = json.dumps({"content": "x" * 200})
        db.executemany("INSERT INTO queue(operation, payload) VALUES (?, ?)", [("capture_insight", payload)] * 300)
    db.close()
    data = bytearray(file.read_bytes())
    middle = data.index(b"capture_insight", len(data) // 2) // page
    data[middle * page : (middle + 1) * page] = bytes(page)
    file.write_bytes(bytes(data))
    salvage.put_aside(file, "broken", DrainLock(file))
    (counted,) = rows(file, "SELECT total(waiting), (SELECT count(*) FROM queue) FROM counters")
    assert counted[0] == counted[1] > 250
    listed, notice, assistant = await reopened(tmp_path)
    status = await assistant.queue_status()
    assert f"Saved: {len(listed)} waiting" in notice and 250 < len(listed) < 301
    assert status.pending_total == status.by_operation["capture_insight"] == len(listed)
    with sqlite3.connect(file) as db:
        db.execute("INSERT OR REPLACE INTO queue(id, operation, payload) VALUES (2, 'create_task', '{}')")
    db.close()
    after = await assistant.queue_status()
    assert after.pending_total == len(listed) and after.by_operation["create_task"] == 1, "the triggers are all there"
    await assistant.close()


@pytest.mark.case("S04")
async def test_who_reads_while_a_file_is_put_aside_reads_the_new_one_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that comes between the end of the old connections and the new file opens the old one."""
    await filled(tmp_path)
    loop, right, times = asyncio.get_running_loop(), salvage.put_aside, list[int]()

    def put_aside(*args: Any) -> Any:
        reader = assistant._engine.store._reader
        asyncio.run_coroutine_threadsafe(reader.fetch("SELECT 1 FROM state", ()), loop).result(10)
        times.append(1)
        return right(*args)

    monkeypatch.setattr(salvage, "put_aside", put_aside)
    async with await Assistant.open(AWAY, home=tmp_path) as assistant:
        assert len(await assistant.queue_list(limit=10_000)) == 40
        root = rows(tmp_path / "queue.db", "SELECT rootpage FROM sqlite_master WHERE name = 'idx_queue_entity'")[0][0]
        with (tmp_path / "queue.db").open("r+b") as file:
            file.seek((root - 1) * 4096)
            file.write(bytes(4096))
        other = sqlite3.connect(tmp_path / "queue.db")
        other.execute("INSERT INTO state VALUES ('other', '1')")  # nobody's cached pages hold any more
        other.commit()
        other.close()
        with contextlib.suppress(NotSaved):
            await assistant.capture_insight("first", offline=True)
        saved = await assistant.capture_insight("second", offline=True)
        assert saved.queue_id in [item.id for item in await assistant.queue_list(limit=10_000)]
        assert len(aside(tmp_path)) == len(times) == 1, "the old file was read again, and found damaged again"
