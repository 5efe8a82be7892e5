"""Homes that something is wrong with: what is said, and that the rest goes on (queue.md, "The file", "Damage")."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import BriefingConfig, Config, HubConfig
from aria_tui.errors import HubUnavailable, NotSaved, QueueUnavailable
from aria_tui.models import BriefingDoc, Section
from aria_tui.outbox.connecting import open_connection
from tests.outbox.bench import rows
from tests.outbox.files import old_file

AWAY = Config(hub=HubConfig(url="http://127.0.0.1:9", token="t"))


async def test_a_lock_that_can_not_be_had_is_a_queue_that_can_not_be_used(tmp_path: Path) -> None:
    (tmp_path / "queue.db.lock").mkdir()
    async with await Assistant.open(AWAY, home=tmp_path) as assistant:
        assert (await assistant.create_task("x", offline=True)).status == "queued"
        with pytest.raises(QueueUnavailable, match=str(tmp_path / "queue.db")):
            async for _ in assistant.sync():
                pass
        assert [item.reason_code for item in await assistant.queue_list()] != []


async def test_modes_that_an_older_program_left_are_narrowed(tmp_path: Path) -> None:
    file = tmp_path / "home" / "queue.db"
    old_file(file, 3)
    file.parent.chmod(0o755)
    file.chmod(0o644)
    async with await Assistant.open(AWAY, home=file.parent) as assistant:
        assert (await assistant.queue_status()).pending_total == 3
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o755, "a folder may be somebody's on purpose: doctor warns"


async def test_a_token_command_that_fails_is_a_hub_nobody_can_ask(tmp_path: Path) -> None:
    config = Config(hub=HubConfig(url="http://127.0.0.1:9", token_command="exit 3"))
    async with await Assistant.open(config, home=tmp_path) as assistant:
        status = await assistant.hub_status()
        assert (status.state, status.reason) == ("unknown", "token_command failed (exit 3)")
        assert (await assistant.create_task("x")).status == "queued"
        with pytest.raises(HubUnavailable, match="token_command failed"):
            await assistant.list_tasks(last_seen=False)
        with pytest.raises(HubUnavailable, match="token_command failed"):
            async for _ in assistant.sync():
                pass
        assert (await assistant.queue_status()).pending_total == 1


def break_an_index(file: Path, index: str) -> None:
    root = rows(file, "SELECT rootpage FROM sqlite_master WHERE name = ?", index)[0][0]
    data = bytearray(file.read_bytes())
    data[(root - 1) * 4096 : root * 4096] = bytes(4096)
    file.write_bytes(bytes(data))


async def test_a_row_whose_target_was_damaged_belongs_to_the_only_hub_that_was_ever_known(tmp_path: Path) -> None:
    async with await Assistant.open(AWAY, home=tmp_path) as assistant:
        await asyncio.gather(*(assistant.capture_insight(f"{n}", offline=True) for n in range(6)))
    file = tmp_path / "queue.db"
    db = sqlite3.connect(file)
    db.execute("INSERT INTO targets VALUES ('http://127.0.0.1:9#1', 'hub:a:b', 'h (b)')")
    db.execute("UPDATE queue SET target = 'hub:a:b'")
    db.execute("UPDATE queue SET target = 'hub:\x02:b' WHERE id IN (2, 5)")
    db.execute(
        "INSERT INTO parked (id, kind, operation, payload, created_at, op_id, entity, parked_at, target)"
        " VALUES (99, 'dead', 'create_task', '{}', 'x', 'key-99', 'task:1', 'x', 'h\x02b:a:b')"
    )
    db.commit()
    db.close()
    break_an_index(file, "idx_queue_unsynced")
    async with await Assistant.open(AWAY, home=tmp_path) as assistant:
        assert "6 waiting and 1 parked" in (assistant.queue_notice or "")
    assert rows(file, "SELECT DISTINCT target FROM queue UNION SELECT target FROM parked") == [("hub:a:b",)]


async def test_the_embedded_hub_s_damage_is_in_the_banner_too(tmp_path: Path) -> None:
    async with await Assistant.open(Config(), home=tmp_path) as assistant:
        assert (await assistant.create_task("kept")).status == "synced"
        assert assistant.queue_notice is None
    hub = tmp_path / "hub.db"
    hub.write_bytes(b"\x07" * 100 + hub.read_bytes()[100:])
    async with await Assistant.open(Config(), home=tmp_path) as assistant:
        await assistant.hub_status()
        assert "hub.db" in (assistant.queue_notice or "")
        assert (await assistant.create_task("new")).status == "synced"


def evening(notes: Path) -> tuple[Config, BriefingDoc]:
    config = Config(hub=AWAY.hub, briefing=BriefingConfig(daily_note=str(notes / "YYYY-MM-DD.md")))
    commit = {"hash": "abc1234", "subject": "Say what is true", "at": "2026-11-30T20:00:00Z", "author": "a"}
    commits = {"projects": [{"project": "aria", "commits": [commit], "count": 1}], "total": 1}
    sections = (Section(name="commits", state="ok", data=commits),)
    return config, BriefingDoc(
        kind="evening", date="2026-11-30", generated_at="2026-11-30T21:00:00Z", timezone="UTC", sections=sections
    )


async def test_an_evening_is_in_the_daily_note_also_while_the_hub_is_away(tmp_path: Path) -> None:
    config, doc = evening(tmp_path / "notes")
    async with await Assistant.open(config, home=tmp_path / "home") as assistant:
        stored = await assistant.save_briefing(doc)
        assert [result.status for result in stored] == ["queued"]
    assert "Say what is true" in (tmp_path / "notes" / "2026-11-30.md").read_text()


async def test_a_daily_note_that_can_not_be_written_takes_nothing_from_the_queue(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a file")
    config, doc = evening(tmp_path / "notes")
    async with await Assistant.open(config, home=tmp_path / "home") as assistant:
        with pytest.raises(NotSaved, match="daily note"):
            await assistant.save_briefing(doc)
        assert [item.operation for item in await assistant.queue_list()] == ["record_activity"]


def test_a_file_that_can_not_be_opened_leaves_no_traceback_of_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One would stand over the error that the user is to read."""
    (tmp_path / "queue.db").mkdir()
    before, told = set(threading.enumerate()), list[object]()
    monkeypatch.setattr(threading, "excepthook", told.append)
    for _ in range(20):
        with pytest.raises(sqlite3.OperationalError, match="unable to open"):
            asyncio.run(open_connection(tmp_path / "queue.db"))
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert not told
