"""A plain Hub: its own numbers, no keys, missing endpoints, fields that it ignores (queue.md, "A plain Hub")."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from aria_tui.models import SyncFinished, SyncReport
from tests.helpers import plain_hub
from tests.helpers.plain_hub import PlainHub
from tests.outbox.bench import rows


@pytest.fixture
def hub(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[PlainHub]:
    with plain_hub.running(tmp_path / "plain.db", *getattr(request, "param", ())) as running:
        yield running


@pytest.fixture
async def program(hub: PlainHub, tmp_path: Path) -> AsyncIterator[Assistant]:
    config = Config(hub=HubConfig(url=hub.url, kind="plain"))
    async with await Assistant.open(config, home=tmp_path / "home") as assistant:
        yield assistant


async def sync(assistant: Assistant) -> SyncReport:
    async for event in assistant.sync():
        if isinstance(event, SyncFinished):
            return event.report
    raise AssertionError


def retried(tmp_path: Path, why: str = "in_doubt") -> list[Any]:
    return rows(tmp_path / "home" / "queue.db", "SELECT id FROM queue WHERE synced_at IS NULL AND why = ?", why)


async def test_the_hub_s_own_number_is_kept_and_used_as_a_number(
    hub: PlainHub, program: Assistant, tmp_path: Path
) -> None:
    made = await program.create_task("Pagar DAS")
    assert (made.status, made.id) == ("synced", "1")
    assert rows(tmp_path / "home" / "queue.db", "SELECT remote, typeof(remote) FROM id_map") == [(1, "integer")]
    renamed = await program.update_task("1", {"title": "Pagar DAS hoje"})
    done = await program.complete_task("1")
    assert (renamed.status, done.status, done.id) == ("synced", "synced", "1")
    assert hub.rows("SELECT title, status FROM tasks") == [("Pagar DAS hoje", "DONE")]
    assert '"id":1,' in hub.rows("SELECT body FROM requests ORDER BY id")[1][0].replace(" ", "")


async def test_edits_made_before_the_number_was_known_are_sent_with_it_after_a_restart_too(
    hub: PlainHub, program: Assistant, tmp_path: Path
) -> None:
    made = await program.create_task("a", offline=True)
    await program.complete_task(made.id, offline=True)
    plan = await program.queue_plan()
    assert [o["operation"] for o in plan["operations"]] == ["create_task", "complete_task"], "a status may be ignored"
    await program.close()
    config = Config(hub=HubConfig(url=hub.url, kind="plain"))
    async with await Assistant.open(config, home=tmp_path / "home") as again:
        assert (await sync(again)).synced == 2
        assert hub.rows("SELECT id, status FROM tasks") == [(1, "DONE")]
        listed = (await again.list_tasks()).tasks
        assert [(t.id, t.status) for t in listed] == [("1", "DONE")]
        for known in (made.id, made.id[:13]):
            assert await again.resolve_id("task", known) == "1", "a script has the id that it was told when it was made"
        assert (await again.get_task(made.id)).id == "1"
        await again.update_task("1", {"title": "b"}, offline=True)
        listed = (await again.list_tasks(drain=False)).tasks
        assert [(t.id, t.title, t.mark) for t in listed] == [("1", "b", "edited")]


@pytest.mark.parametrize("hub", [("--drop-after-apply", "1")], indirect=True)
async def test_a_create_in_doubt_is_looked_up_and_adopted(hub: PlainHub, program: Assistant, tmp_path: Path) -> None:
    first = await program.create_task("once")
    assert first.status == "queued" and retried(tmp_path)
    await sync(program)
    assert hub.rows("SELECT count(*) FROM tasks") == [(1,)] and not retried(tmp_path)
    assert rows(tmp_path / "home" / "queue.db", "SELECT outcome FROM queue") == [("duplicate",)]
    assert (await program.update_task("1", {"title": "adopted"})).status == "synced"
    assert hub.rows("SELECT title FROM tasks") == [("adopted",)]


@pytest.mark.parametrize("hub", [("--drop-after-apply", "1")], indirect=True)
async def test_what_is_another_row_s_is_not_adopted(hub: PlainHub, program: Assistant, tmp_path: Path) -> None:
    await program.create_task("twin")
    await sync(program)
    await program.create_task("twin")
    assert hub.rows("SELECT count(*) FROM tasks") == [(2,)]
    assert len(rows(tmp_path / "home" / "queue.db", "SELECT DISTINCT remote FROM id_map")) == 2


@pytest.mark.parametrize("hub", [("--drop-after-apply", "2")], indirect=True)
@pytest.mark.parametrize(("choice", "count"), [("mine", 3), ("theirs", 2)])
async def test_several_matches_ask_the_user(
    hub: PlainHub, program: Assistant, tmp_path: Path, choice: Any, count: int
) -> None:
    await program.create_task("same", offline=True)
    await program.create_task("same", offline=True)
    file = tmp_path / "home" / "queue.db"
    for _ in range(6):
        await sync(program)
        if not rows(file, "SELECT 1 FROM queue WHERE synced_at IS NULL"):
            break
    waiting = await program.conflicts()
    if not waiting:  # the second was sent alone after the first was adopted
        assert hub.rows("SELECT count(*) FROM tasks") == [(2,)]
        return
    await program.resolve_conflict(waiting[0].id, choice)
    await sync(program)
    assert hub.rows("SELECT count(*) FROM tasks") == [(count,)]
    assert waiting[0].id not in [conflict.id for conflict in await program.conflicts()]


@pytest.mark.parametrize("hub", [("--no-queue-endpoint",)], indirect=True)
async def test_the_direct_endpoint_only_where_the_queue_s_is_missing(hub: PlainHub, program: Assistant) -> None:
    assert (await program.create_task("x")).status == "synced"
    held = await program.store_briefing("2026-11-30", "text")
    assert held.status == "queued"
    assert [item.reason_code for item in await program.queue_list()] == ["held_operation"]
    assert (await program.hub_status()).state == "online"
    paths = [row[0] for row in hub.rows("SELECT path FROM requests ORDER BY id")]
    assert paths[:2] == ["/api/queue/create_task", "/api/tasks"]


@pytest.mark.parametrize("hub", [("--token", "t", "--token-header", "X-API-Key")], indirect=True)
async def test_another_header_and_one_operation_at_a_time_with_its_key(hub: PlainHub, tmp_path: Path) -> None:
    config = Config(hub=HubConfig(url=hub.url, kind="plain", token="t", token_header="X-API-Key"))
    async with await Assistant.open(config, home=tmp_path / "home") as assistant:
        for n in range(3):
            await assistant.capture_insight(f"{n}", offline=True)
        assert (await sync(assistant)).synced == 3
    keys = rows(tmp_path / "home" / "queue.db", "SELECT op_id FROM queue ORDER BY id")
    assert hub.keys() == [row[0] for row in keys]


async def test_without_the_user_s_yes_nothing_is_sent_to_a_plain_hub(hub: PlainHub, tmp_path: Path) -> None:
    async with await Assistant.open(Config(hub=HubConfig(url=hub.url)), home=tmp_path / "home") as assistant:
        assert (await assistant.create_task("x")).status == "queued"
    assert hub.rows("SELECT count(*) FROM requests") == [(0,)]


async def test_a_refusal_is_a_dead_letter_and_a_missing_task_a_conflict(hub: PlainHub, program: Assistant) -> None:
    await program.create_task("x")
    assert (await program.delete_task("1")).status in ("queued", "synced")
    missing = await program.update_task("99", {"title": "y"})
    assert missing.status in ("conflict", "rejected", "queued")
