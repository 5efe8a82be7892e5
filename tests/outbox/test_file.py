"""The queue's file: made, migrated, locked, full, newer, in WAL, forbidden (queue.md, "The file")."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiosqlite
import msgspec
import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig, QueueConfig
from aria_tui.errors import InvalidInput, NotSaved, QueueFull, QueueUnavailable
from aria_tui.outbox import connecting, schema, state, writing
from aria_tui.outbox import rows as queue_rows
from aria_tui.outbox.faults import explain
from aria_tui.outbox.handing import Insert
from aria_tui.outbox.inserting import Accepted, NewRow
from aria_tui.outbox.store import Store
from aria_tui.outbox.syncer import Syncer
from tests.outbox.bench import rows
from tests.outbox.files import digests, locked, old_file

NEW = NewRow(
    operation="capture_insight", payload='{"content": "x"}', created_at="2026-11-30T08:00:00.000Z", op_id="k",
    entity="insight:k", origin="cli", address="addr:x",
)  # fmt: skip
AWAY = Config(hub=HubConfig(url="http://127.0.0.1:9", token="t"))
Open = Any


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Open]:
    """Opens programs over ``tmp_path / "home"`` and closes them."""
    made: list[Assistant] = []

    async def opener(config: Config = AWAY, home: Path | None = None) -> Assistant:
        made.append(await Assistant.open(config, home=home or tmp_path / "home"))
        return made[-1]

    yield opener
    for assistant in made:
        await assistant.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """An open queue at ``tmp_path / "queue.db"``."""
    made = Store(tmp_path / "queue.db")
    await made.open()
    yield made
    await made.close()


async def test_folder_and_file_are_the_user_s_alone(start: Open, tmp_path: Path) -> None:
    await (await start()).capture_insight("x", offline=True)
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "home" / "queue.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("journal", "mode", "sync"), [("delete", "delete", 3), ("wal", "wal", 2)])
async def test_journal_and_sync_mode(start: Open, tmp_path: Path, journal: str, mode: str, sync: int) -> None:
    config = Config(hub=AWAY.hub, queue=QueueConfig(journal=journal))  # type: ignore[arg-type]
    assistant = await start(config)
    await assistant.capture_insight("x", offline=True)
    store = assistant._engine.store
    assert store.journal_found == mode
    found = list(await store._writer.execute_fetchall("PRAGMA synchronous"))
    assert found == [(sync,)]
    assert (await assistant.queue_status()).pending_total == 1


async def test_a_file_found_in_wal_is_turned_back_when_nobody_else_has_it(start: Open, tmp_path: Path) -> None:
    file = tmp_path / "home" / "queue.db"
    old_file(file, 3, journal="wal")
    other = sqlite3.connect(file)
    assert other.execute("SELECT count(*) FROM queue").fetchone() == (3,)
    first = await start()
    await first.capture_insight("x", offline=True)
    assert first._engine.store.journal_found == "wal", "used as it is while somebody else has it open"
    await first.close()
    other.close()
    second = await start()
    assert (await second.queue_status()).pending_total == 4
    assert second._engine.store.journal_found == "delete"


async def test_an_old_file_is_migrated_in_place_and_its_rows_are_sent(start: Open, tmp_path: Path) -> None:
    old_file(tmp_path / "home" / "queue.db", 5, delivered=2)
    status = await (await start()).queue_status()
    assert (status.pending_total, status.by_operation) == (5, {"capture_insight": 5})
    assert len(rows(tmp_path / "home" / "queue.db", "SELECT 1 FROM queue WHERE outcome = 'delivered'")) == 2


@pytest.mark.parametrize("version", range(1, len(list(schema.MIGRATIONS.glob("0*.sql")))))
async def test_a_file_of_each_former_version_is_brought_to_this_one_with_its_rows(
    start: Open, tmp_path: Path, version: int
) -> None:
    home = tmp_path / "home"
    former_file(home / "queue.db", version)
    assistant = await start()
    await assistant.capture_insight("after", offline=True)
    fresh = await start(home=tmp_path / "fresh")
    await fresh.capture_insight("x", offline=True)
    sql = "SELECT name, sql FROM sqlite_master WHERE type IN ('index', 'trigger', 'table') ORDER BY name"
    assert rows(home / "queue.db", sql) == rows(tmp_path / "fresh" / "queue.db", sql)
    assert rows(home / "queue.db", "PRAGMA user_version") == rows(
        tmp_path / "fresh" / "queue.db", "PRAGMA user_version"
    )
    assert [json.loads(item.payload)["content"] for item in await assistant.queue_list()] == ["before", "after"]


async def test_a_former_file_that_another_program_reads_is_used_as_it_is_till_later(
    start: Open, tmp_path: Path
) -> None:
    file = tmp_path / "home" / "queue.db"
    former_file(file, schema.COMPLETE)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT * FROM queue").fetchall()
    first = await start()
    assert [json.loads(item.payload)["content"] for item in await first.queue_list()] == ["before"]
    assert rows(file, "PRAGMA user_version") == [(schema.COMPLETE,)]
    other.close()
    assert (await first.capture_insight("after", offline=True)).status == "queued"
    await first.close()
    second = await start()
    assert (await second.queue_status()).pending_total == 2
    assert rows(file, "PRAGMA user_version") > [(schema.COMPLETE,)]


def former_file(path: Path, version: int) -> None:
    """A file with one row, as a program of a former schema left it."""
    path.parent.mkdir()
    db = sqlite3.connect(path)
    for step in sorted(schema.MIGRATIONS.glob("0*.sql"))[:version]:
        db.executescript(step.read_text())
    db.execute(f"PRAGMA user_version = {version}")
    db.execute("INSERT INTO queue (operation, payload) VALUES ('capture_insight', '{\"content\": \"before\"}')")
    db.commit()
    db.close()


async def test_what_each_write_looks_up_reads_nothing_of_the_rest_that_waits(
    start: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assistant = await start()
    await asyncio.gather(*(assistant.capture_insight(f"row {n}", offline=True) for n in range(1000)))
    asked: list[tuple[str, Any]] = []
    read = Store.read

    async def note(store: Store, sql: str, parameters: Any = ()) -> Any:
        asked.append((sql, parameters))
        return await read(store, sql, parameters)

    monkeypatch.setattr(Store, "read", note)
    last = await assistant.capture_insight("one more", offline=True)
    store = assistant._engine.store
    assert await queue_rows.heads(store, f"insight:{last.id}", 1001)
    assert await queue_rows.adopt_strangers(store, "hub") == 0
    await assistant._engine.adopt_strangers()
    assert len(asked) >= 3
    for sql, parameters in asked:
        assert steps(tmp_path / "home" / "queue.db", sql, parameters) < 500, sql


def steps(file: Path, sql: str, parameters: Any) -> int:
    """How many instructions SQLite's machine takes for a query, to the nearest ten."""
    taken = [0]

    def count() -> int:
        taken[0] += 10
        return 0

    db = sqlite3.connect(file)
    db.set_progress_handler(count, 10)
    db.execute(sql, parameters).fetchall()
    db.close()
    return taken[0]


@pytest.mark.case("S07")
@pytest.mark.parametrize("journal", ["delete", "wal"])
async def test_a_newer_file_is_not_touched(start: Open, tmp_path: Path, journal: str) -> None:
    home = tmp_path / "home"
    old_file(home / "queue.db", 2, journal=journal)
    keeper = sqlite3.connect(home / "queue.db")
    keeper.execute("PRAGMA user_version = 99")
    if journal == "delete":
        keeper.close()
    before = digests(home)
    assistant = await start()
    assert "made by a newer version" in (assistant.queue_problem or "")
    with pytest.raises(NotSaved, match="newer version"):
        await assistant.create_task("x")
    await assistant.close()
    assert {k: v for k, v in digests(home).items() if not k.endswith("-shm")} == {
        k: v for k, v in before.items() if not k.endswith("-shm")
    }
    keeper.close()


async def test_a_lock_held_for_some_seconds_is_waited_for(start: Open, tmp_path: Path) -> None:
    assistant = await start()
    await assistant.capture_insight("first", offline=True)
    with locked(tmp_path / "home" / "queue.db", seconds=2):
        result = await assistant.capture_insight("second", offline=True)
    assert result.status == "queued" and (await assistant.queue_status()).pending_total == 2


@pytest.mark.case("S01")
async def test_a_lock_held_for_ever_is_not_saved_within_ten_seconds_start_included(start: Open, tmp_path: Path) -> None:
    await (await start()).capture_insight("first", offline=True)
    with locked(tmp_path / "home" / "queue.db", "EXCLUSIVE"):
        began = time.monotonic()
        assistant = await start()
        with pytest.raises(NotSaved, match="not saved: another program holds the queue's lock"):
            await assistant.capture_insight("second", offline=True)
        with pytest.raises(QueueUnavailable, match="lock"):
            await assistant.queue_status()
        assert time.monotonic() - began < 10
    await asyncio.sleep(1.1)
    assert (await assistant.capture_insight("third", offline=True)).status == "queued"
    found = rows(tmp_path / "home" / "queue.db", "SELECT payload ->> 'content' FROM queue ORDER BY id")
    assert found == [("first",), ("third",)]


async def test_what_stands_behind_a_job_that_waits_for_a_lock_is_answered_in_time_too(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = 2.0
    monkeypatch.setattr(connecting, "PATIENCE", patience)
    begin = time.monotonic()
    with locked(tmp_path / "queue.db"):
        job = asyncio.create_task(state.put(store, "x", 1))
        await asyncio.sleep(0.1)
        save = asyncio.create_task(store.insert(NEW))
        done = await asyncio.gather(job, save, return_exceptions=True)
        assert [type(one) for one in done] == [NotSaved, NotSaved]
        assert time.monotonic() - begin < 1.75 * patience
    assert (await store.insert(NEW)).number == 1


async def test_saves_that_share_a_commit_wait_no_longer_than_the_first_may_and_a_later_one_has_its_own_time(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "PATIENCE", 2.0)
    with locked(tmp_path / "queue.db", seconds=2.75):
        job = asyncio.create_task(state.put(store, "x", 1))
        await asyncio.sleep(0.1)
        first = asyncio.create_task(store.insert(NEW))
        await asyncio.sleep(1.4)
        late = asyncio.create_task(store.insert(msgspec.structs.replace(NEW, op_id="k2", entity="insight:k2")))
        done = await asyncio.gather(job, first, late, return_exceptions=True)
    assert [type(one) for one in done] == [NotSaved, NotSaved, Accepted]


async def test_a_job_that_took_all_its_time_waits_for_readers_at_its_commit(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "PATIENCE", 0.1)
    other = sqlite3.connect(tmp_path / "queue.db", isolation_level=None)

    async def job(connection: aiosqlite.Connection) -> None:
        await connection.execute("INSERT INTO state VALUES ('x', '1')")
        other.execute("BEGIN")
        other.execute("SELECT * FROM queue").fetchall()
        await asyncio.sleep(0.2)
        asyncio.get_running_loop().call_later(0.6, other.close)

    await store.write(job)
    assert await store.read("SELECT value FROM state WHERE name = 'x'") == [("1",)]


async def test_a_committed_save_is_never_called_not_saved(start: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file can't be read any more when it is asked what became of the row."""
    assistant = await start()
    read = Store.read

    async def away(store: Store, sql: str, parameters: Any = ()) -> Any:
        if sql == writing._END:
            raise QueueUnavailable("queue.db", "another program holds the queue's lock")
        return await read(store, sql, parameters)

    with monkeypatch.context() as locked_out:
        locked_out.setattr(Store, "read", away)
        result = await assistant.capture_insight("x")
    assert (result.status, result.queue_id) == ("queued", 1) and "lock" in result.message
    assert (await assistant.queue_status()).pending_total == 1


async def test_a_save_that_another_program_deletes_at_once_is_told(
    start: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assistant = await start()

    async def deleted(_: Syncer, number: int, __: float) -> None:
        with sqlite3.connect(tmp_path / "home" / "queue.db") as other:
            other.execute("DELETE FROM queue WHERE id = ?", (number,))
        other.close()

    monkeypatch.setattr(Syncer, "send_now", deleted)
    result = await assistant.capture_insight("x")
    assert (result.status, result.message) == ("rejected", "discarded (#1) before it was sent")


@pytest.mark.case("S02")
async def test_a_full_disk_is_said_and_the_same_save_works_later(start: Open, tmp_path: Path) -> None:
    assistant = await start()
    await assistant.capture_insight("first", offline=True)
    writer = assistant._engine.store._writer
    pages = next(iter(await writer.execute_fetchall("PRAGMA page_count")))[0]
    await writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(NotSaved, match=r"disk full.*queue.db.*free some space"):
        await assistant.capture_insight("x" * 60_000, offline=True)
    assert await assistant.check_queue() is None
    await assistant._engine.store._writer.execute("PRAGMA max_page_count = 1000000")
    await assistant.capture_insight("x" * 60_000, offline=True)
    assert (await assistant.queue_status()).pending_total == 2


async def test_beyond_the_limit_a_write_is_refused_and_nothing_is_evicted(start: Open) -> None:
    assistant = await start(Config(hub=AWAY.hub, queue=QueueConfig(limit=3)))
    outcomes = await asyncio.gather(
        *(assistant.capture_insight(f"{n}", offline=True) for n in range(5)), return_exceptions=True
    )
    refused = [one for one in outcomes if isinstance(one, QueueFull)]
    assert len(refused) == 2 and "3 operations wait already" in str(refused[0])
    assert (await assistant.queue_status()).pending_total == 3
    await assistant.queue_discard(1)
    assert (await assistant.capture_insight("room", offline=True)).status == "queued"


async def test_a_home_that_is_a_file(start: Open, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    assistant = await start()
    assert "its folder is a file" in (assistant.queue_problem or "")
    assert str(tmp_path / "home" / "queue.db") in (assistant.queue_problem or "")
    with pytest.raises(NotSaved, match="its folder is a file"):
        await assistant.create_task("x")
    assert (await assistant.hub_status()).state == "offline", "what doesn't need the queue goes on"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_PROTOCOL, "does not lock files"),
        (sqlite3.SQLITE_IOERR_LOCK, "does not lock files"),
        (sqlite3.SQLITE_READONLY, "can't be written"),
        (sqlite3.SQLITE_BUSY, "holds the queue's lock"),
    ],
)
def test_each_error_of_sqlite_has_a_reason_and_a_way_out(tmp_path: Path, code: int, words: str) -> None:
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode = code
    reason, way_out = explain(error, tmp_path / "queue.db")
    assert words in reason and way_out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_home_that_can_not_be_written(start: Open, tmp_path: Path) -> None:
    await (await start()).capture_insight("first", offline=True)
    (tmp_path / "home").chmod(0o500)
    (tmp_path / "home" / "queue.db").chmod(0o400)
    try:
        with pytest.raises(NotSaved):
            await (await start()).create_task("x")
    finally:
        (tmp_path / "home").chmod(0o700)


# Saving: many at once, cancelled, with a key of one's own


async def test_concurrent_saves_share_commits_and_each_has_its_number(start: Open) -> None:
    assistant = await start()
    await assistant.capture_insight("first", offline=True)
    before = await assistant._engine.store.versions()
    results = await asyncio.gather(*(assistant.capture_insight(f"{n}", offline=True) for n in range(64)))
    found = await assistant._engine.store.read("SELECT id, payload ->> 'content', op_id FROM queue WHERE id > 1")
    assert found == [(result.queue_id, f"{n}", result.id) for n, result in enumerate(results)]
    after = await assistant._engine.store.versions()
    assert after[0] != before[0] and after[1] == before[1], "seen as a change, and not as somebody else's"


@pytest.mark.parametrize("turns", range(24))
async def test_a_save_cancelled_at_any_await_leaves_nothing_half_done(start: Open, turns: int) -> None:
    assistant = await start()
    await assistant.create_task("first", id="018f0000-0000-7000-8000-000000000001", offline=True)
    saves = [
        asyncio.ensure_future(assistant.capture_insight("one", offline=True)),
        asyncio.ensure_future(assistant.update_task("018f0000-0000-7000-8000-000000000001", {"title": "b"})),
        asyncio.ensure_future(assistant.queue_list()),
    ]
    for _ in range(turns):
        await asyncio.sleep(0)
    for one in saves:
        one.cancel()
    await asyncio.gather(*saves, return_exceptions=True)
    writer = assistant._engine.store._writer
    await assistant.capture_insight("after", offline=True)
    assert not writer.in_transaction
    status = await assistant.queue_status()
    assert status.pending_total == len(await assistant.queue_list()) in (2, 3, 4)


async def test_closing_empties_the_writer_first(tmp_path: Path) -> None:
    assistant = await Assistant.open(AWAY, home=tmp_path)
    saves = [asyncio.ensure_future(assistant.capture_insight(f"{n}", offline=True)) for n in range(20)]
    await asyncio.sleep(0)
    await assistant.close()
    done = await asyncio.gather(*saves, return_exceptions=True)
    saved = sum(not isinstance(one, Exception) for one in done)
    assert saved == len(rows(tmp_path / "queue.db", "SELECT 1 FROM queue")) and saved > 0
    with pytest.raises(QueueUnavailable, match="closing"):
        await assistant.queue_status()


async def test_a_key_given_twice_is_one_operation_and_another_payload_is_refused(start: Open) -> None:
    assistant = await start()
    first = await assistant.create_task("x", op_id="mine-1", offline=True)
    again = await assistant.create_task("x", op_id="mine-1", offline=True)
    assert (again.queue_id, again.id) == (first.queue_id, first.id)
    assert (await assistant.queue_status()).pending_total == 1
    with pytest.raises(InvalidInput, match="mine-1 stands for another operation"):
        await assistant.create_task("y", op_id="mine-1", offline=True)
    both = await asyncio.gather(*(assistant.create_task("z", op_id="mine-2", offline=True) for _ in range(2)))
    assert both[0].queue_id == both[1].queue_id
    await assistant.queue_edit(1, {"id": first.id, "title": "edited"})
    assert (await assistant.create_task("x", op_id="mine-1", offline=True)).queue_id == 1, "it was edited since"


@pytest.mark.parametrize(
    ("text", "words"),
    [("\ud83d", "not valid Unicode"), ("a\x00b", "U[+]0000"), ("", "empty"), ("x" * 501, "too long: 501")],
)
async def test_bad_text_is_refused_and_leaves_no_row(start: Open, text: str, words: str) -> None:
    assistant = await start()
    with pytest.raises(InvalidInput, match=words):
        await assistant.create_task(text)
    with pytest.raises(InvalidInput, match="NaN"):
        await assistant.store_briefing("2026-11-30", "x", {"a": float("nan")})
    assert (await assistant.queue_status()).pending_total == 0


async def test_the_writer_lives_on_after_an_error_nobody_foresaw(tmp_path: Path) -> None:
    store = Store(tmp_path / "queue.db")

    async def broken(connection: Any) -> None:
        await connection.execute("INSERT INTO queue (operation, payload) VALUES ('x', '{}')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.write(broken)
    assert await store.read("SELECT count(*) FROM queue") == [(0,)]
    await store.close()


async def test_a_cancellation_that_meets_the_answer_half_way_is_not_waited_for(tmp_path: Path) -> None:
    """The writer answers in the very turn of the loop in which the caller's future was cancelled."""
    store = Store(tmp_path / "queue.db")
    await store.open()
    row = NewRow(
        operation="capture_insight",
        payload='{"content": "x"}',
        created_at="2026-11-30T10:00:00Z",
        op_id="key-1",
        entity="insight:key-1",
        origin="cli",
        address="embedded",
    )
    waiting: list[Insert] = []
    store._hand_in = waiting.append  # type: ignore[assignment,method-assign]
    save = asyncio.ensure_future(store.insert(row))
    await asyncio.sleep(0)
    waiting[0].taken = True
    save.cancel()
    waiting[0].answer(Accepted(1, "embedded"))
    done, _ = await asyncio.wait({save}, timeout=5)
    if waiting[0].over is not None and not done:
        waiting[0].over.set_result(None)  # else the failure hangs
    assert done and save.cancelled()
    await store.close()


async def test_who_reads_while_the_file_is_closed_opens_it_no_more(tmp_path: Path) -> None:
    """A connection that nobody closes would keep the process from ending."""
    store = Store(tmp_path / "queue.db")
    await store.read("SELECT 1")
    closing = asyncio.create_task(store.close())
    reads = []
    for _ in range(30):
        reads.append(asyncio.create_task(store.read("SELECT 1")))
        await asyncio.sleep(0)
    await closing
    outcomes = await asyncio.gather(*reads, return_exceptions=True)
    assert any(isinstance(one, QueueUnavailable) and "closing" in str(one) for one in outcomes)
    assert all(isinstance(one, list | QueueUnavailable) for one in outcomes)
    assert store._reader._connection is None
