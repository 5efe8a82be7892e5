"""Other programs on the same file: what they write, mark, delete and replace (queue.md, "Strangers")."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from typing import Any

import pytest

from aria_tui.errors import NotSaved
from tests.outbox.bench import Bench, Home
from tests.outbox.files import locked


def execute(home: Home, sql: str, *args: Any) -> None:
    """Something that another program does to the file."""
    db = sqlite3.connect(home.file, timeout=10)
    try:
        db.execute(sql, args)
        db.commit()
    finally:
        db.close()


def counted(home: Home) -> tuple[list[Any], list[Any]]:
    kept = home.rows("SELECT operation, sum(waiting) FROM counters GROUP BY 1 HAVING sum(waiting) ORDER BY 1")
    real = home.rows("SELECT operation, count(*) FROM queue WHERE synced_at IS NULL GROUP BY 1 ORDER BY 1")
    return kept, real


async def test_a_row_of_two_columns_gets_key_entity_origin_and_is_delivered(bench: Bench, home: Home) -> None:
    number = home.stranger("create_task", {"title": "from elsewhere", "project": "lab"})
    item = (await home.waiting())[0]
    key, entity, origin = home.rows("SELECT op_id, entity, origin FROM queue WHERE id = ?", number)[0]
    assert item.op_id == key and entity == f"task:{key}" and origin == "other", "committed at first sight"
    await home.sync()
    task = await bench.task(key)
    assert task and task["project_name"] == "lab" and bench.sent[0][0] == key


@pytest.mark.parametrize("text", ["2026-02-21 08:14:22", "2026-02-21T08:14:22Z"])
async def test_both_shapes_of_a_time_are_read_and_one_is_told(bench: Bench, home: Home, text: str) -> None:
    execute(home, "INSERT INTO queue (operation, payload, created_at) VALUES ('x', '{}', ?)", text)
    assert (await bench.run(home.assistant.queue_status())).oldest == "2026-02-21T08:14:22Z"


async def test_bytes_that_are_no_text_are_shown_and_parked_and_others_go_on(bench: Bench, home: Home) -> None:
    execute(home, "INSERT INTO queue (operation, payload) VALUES ('create_task', CAST(x'7b22e922' AS TEXT))")
    execute(home, "INSERT INTO queue (operation, payload) VALUES ('create_task', x'7b7d')")
    good = await home.assistant.create_task("good", offline=True)
    assert len(await home.waiting()) == 3
    await home.sync()
    dead = await home.dead()
    assert len(dead) == 2 and "Unicode" in dead[0].reason and await bench.task(good.id)
    assert home.rows("SELECT hex(payload) FROM parked ORDER BY id") == [("7B22E922",), ("7B7D",)]


async def test_a_row_of_theirs_is_shown_while_the_file_can_t_be_written(bench: Bench, home: Home) -> None:
    """A read doesn't wait for another program's lock, nor does it keep a save waiting for longer."""
    number = home.stranger("capture_insight", {"content": "x"})
    with locked(home.file):
        begin = time.monotonic()
        looks = asyncio.gather(*(home.assistant.queue_list() for _ in range(2)))
        with pytest.raises(NotSaved, match="lock"):
            await home.assistant.capture_insight("ours", offline=True)
        assert time.monotonic() - begin < 10
        assert [[(item.id, item.op_id, item.reason_code) for item in found] for found in await looks] == [
            [(number, "", "next")]
        ] * 2
    assert home.rows("SELECT op_id FROM queue WHERE id = ?", number) == [(None,)]
    assert (await home.waiting())[0].op_id


@pytest.mark.parametrize("what", ["edited", "discarded and brought back"])
async def test_a_row_of_theirs_that_nobody_could_look_at_yet_can_be_mended(bench: Bench, home: Home, what: str) -> None:
    number = home.stranger("create_task", {"title": "before"})
    with locked(home.file, seconds=0.8):
        assert (await home.assistant.queue_show(number)).op_id == ""
        if what == "edited":
            await home.assistant.queue_edit(number, {"title": "after"})
        else:
            await home.assistant.queue_discard(number)
            await home.assistant.queue_retry(number)
    assert len((await bench.run(home.assistant.queue_plan()))["operations"]) == 1
    assert (await home.sync()).synced == 1
    task = await bench.task(bench.sent[-1][0])
    assert task and task["title"] == ("after" if what == "edited" else "before")


async def test_a_mark_of_theirs_counts_as_delivered_and_is_told(bench: Bench, home: Home) -> None:
    number = home.stranger("capture_insight", {"content": "x"})
    await home.assistant.capture_insight("ours", offline=True)
    execute(home, "UPDATE queue SET synced_at = datetime('now') WHERE id = ?", number)
    status = await bench.run(home.assistant.queue_status())
    assert status.pending_total == 1
    item = (await bench.run(home.assistant.queue_list("journal")))[0]
    assert item.outcome == "foreign" and "another program" in item.reason
    assert home.rows("SELECT value FROM state WHERE name = 'foreign_marks'") == [("1",)]


async def test_a_mark_that_comes_while_the_row_is_in_flight_is_left_as_it_is(bench: Bench, home: Home) -> None:
    number = home.stranger("capture_insight", {"content": "x"})
    right = home.network.pass_on

    async def mark_meanwhile(request: Any) -> Any:
        answer = await right(request)
        if request.method == "POST":
            execute(home, "UPDATE queue SET synced_at = '2026-11-30 12:00:00' WHERE id = ?", number)
        return answer

    home.network.pass_on = mark_meanwhile  # type: ignore[method-assign]
    assert (await home.sync()).synced == 1
    assert home.rows("SELECT synced_at, outcome FROM queue") == [("2026-11-30 12:00:00", "foreign")]


async def test_a_row_that_they_delete_in_flight_is_gone_and_nothing_breaks(bench: Bench, home: Home) -> None:
    number = home.stranger("create_task", {"title": ""})
    right = home.network.pass_on

    async def delete_meanwhile(request: Any) -> Any:
        answer = await right(request)
        if request.method == "POST":
            execute(home, "DELETE FROM queue WHERE id = ?", number)
        return answer

    home.network.pass_on = delete_meanwhile  # type: ignore[method-assign]
    report = await home.sync()
    assert (report.remaining, report.dead_letters) == (0, 0) and not await home.dead()


async def test_counters_survive_whatever_they_do(bench: Bench, home: Home) -> None:
    for text in "abcd":
        await home.assistant.capture_insight(text, offline=True)
    for sql in (
        "INSERT INTO queue (operation, payload) VALUES ('create_task', '{}'), ('create_task', '{}')",
        "INSERT OR REPLACE INTO queue (id, operation, payload) VALUES (1, 'create_task', '{}')",
        "INSERT OR REPLACE INTO queue (id, operation, payload) VALUES (6, 'x', '{}')",
        "REPLACE INTO queue (id, operation, payload, synced_at) VALUES (2, 'x', '{}', 'now')",
        "INSERT OR IGNORE INTO queue (id, operation, payload) VALUES (3, 'y', '{}')",
        "INSERT INTO queue (id, operation, payload) VALUES (3, 'z', '{}') ON CONFLICT DO UPDATE SET operation = 'z'",
        "UPDATE queue SET synced_at = 'now' WHERE id < 4",
        "UPDATE queue SET synced_at = NULL WHERE id = 1",
        "DELETE FROM queue WHERE id IN (1, 4)",
    ):
        execute(home, sql)
        kept, real = counted(home)
        assert kept == real, sql


async def test_a_drain_mends_counters_that_went_wrong_all_the_same(bench: Bench, home: Home) -> None:
    await home.assistant.capture_insight("a", offline=True)
    execute(home, "UPDATE counters SET waiting = 17")
    await home.sync()
    kept, real = counted(home)
    assert kept == real == []


async def test_doctor_s_check_counts_anew(bench: Bench, home: Home) -> None:
    await home.assistant.capture_insight("a", offline=True)
    execute(home, "DELETE FROM counters")
    assert await bench.run(home.assistant.check_queue()) is None
    kept, real = counted(home)
    assert kept == real


async def test_the_old_statement_of_two_columns_still_works_after_all_migrations(bench: Bench, home: Home) -> None:
    columns = {row[1]: row for row in home.rows("PRAGMA table_info(queue)")}
    assert list(columns)[:6] == ["id", "operation", "payload", "created_at", "synced_at", "error"]
    for name, (_, _, kind, needed, default, _) in columns.items():
        assert name in ("id", "operation", "payload", "created_at") or not needed or default is not None, (name, kind)
    indexes = home.rows("SELECT sql FROM sqlite_master WHERE name = 'idx_queue_unsynced'")
    assert "synced_at IS NULL" in indexes[0][0]
