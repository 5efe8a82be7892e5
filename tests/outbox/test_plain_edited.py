"""A create that a plain Hub never answered, edited as a dead letter: it must not stand there twice."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig, QueueConfig
from tests.helpers import plain_hub
from tests.helpers.plain_hub import PlainHub
from tests.outbox.bench import rows
from tests.outbox.test_plain import sync


@pytest.fixture
def hub(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[PlainHub]:
    drops = getattr(request, "param", 1)
    with plain_hub.running(tmp_path / "plain.db", "--drop-after-apply", str(drops)) as running:
        yield running


@pytest.fixture
async def program(hub: PlainHub, tmp_path: Path) -> AsyncIterator[Assistant]:
    """One unanswered attempt makes a dead letter."""
    config = Config(hub=HubConfig(url=hub.url, kind="plain"), queue=QueueConfig(max_attempts=1))
    async with await Assistant.open(config, home=tmp_path / "home") as assistant:
        yield assistant


async def edited(program: Assistant, number: int, **fields: Any) -> None:
    (dead,) = await program.queue_list("dead")
    assert dead.id == number
    await program.queue_edit(number, json.loads(dead.payload) | fields)
    await sync(program)


async def test_what_is_there_is_changed_as_the_edit_says(hub: PlainHub, program: Assistant, tmp_path: Path) -> None:
    await program.create_task("as sent", tags=["a"])
    await edited(program, 1, title="as edited", due_date="2026-12-01")
    assert hub.rows("SELECT id, title, due_date, tags FROM tasks") == [(1, "as edited", "2026-12-01", '["a"]')]
    assert [row[0] for row in hub.rows("SELECT path FROM requests ORDER BY id")] == [
        "/api/queue/create_task",
        "/api/queue/update_task",
    ]
    assert len(set(hub.keys())) == 2
    file = tmp_path / "home" / "queue.db"
    assert rows(file, "SELECT remote FROM id_map") == [(1,)]
    assert rows(file, "SELECT count(*) FROM state WHERE name LIKE 'sent:%'") == [(0,)]
    assert (await program.complete_task("1")).status == "synced"


async def test_the_same_title_and_another_description(hub: PlainHub, program: Assistant) -> None:
    await program.create_task("same", description="before")
    await edited(program, 1, description="after")
    assert hub.rows("SELECT title, description FROM tasks") == [("same", "after")]


@pytest.mark.parametrize("hub", [2], indirect=True)
async def test_edited_again_while_its_edit_was_in_doubt(hub: PlainHub, program: Assistant) -> None:
    await program.create_task("one")
    await edited(program, 1, title="two")
    assert hub.rows("SELECT title FROM tasks") == [("two",)]
    await edited(program, 1, title="three")
    assert hub.rows("SELECT id, title FROM tasks") == [(1, "three")]
    assert await program.queue_list("dead") == [] == await program.queue_list()


async def test_what_never_came_to_the_hub_is_made_once(hub: PlainHub, program: Assistant, tmp_path: Path) -> None:
    await program.create_task("lost on the way")
    db = sqlite3.connect(tmp_path / "plain.db")
    db.execute("DELETE FROM tasks")
    db.commit()
    db.close()
    await edited(program, 1, title="again")
    assert hub.rows("SELECT title FROM tasks") == [("again",)]


async def test_another_s_with_the_new_title_is_not_taken_for_it(hub: PlainHub, program: Assistant) -> None:
    await program.create_task("mine")
    await program.create_task("twin")
    await edited(program, 1, title="twin")
    assert hub.rows("SELECT id, title FROM tasks") == [(1, "twin"), (2, "twin")]


@pytest.mark.parametrize(("choice", "ends"), [("mine", ["as sent", "as edited"]), ("theirs", ["as sent"])])
async def test_an_insight_that_can_not_be_changed_there_asks_the_user(
    hub: PlainHub, program: Assistant, choice: Any, ends: list[str]
) -> None:
    await program.capture_insight("as sent")
    await edited(program, 1, content="as edited")
    (item,) = await program.queue_list("conflicts")
    assert "as it was before it was edited" in (item.error or "")
    await program.resolve_conflict(item.id, choice)
    await sync(program)
    assert [row[0] for row in hub.rows("SELECT content FROM insights ORDER BY id")] == ends
    assert await program.conflicts() == [] == await program.queue_list()


async def test_retried_unchanged_it_is_found(hub: PlainHub, program: Assistant) -> None:
    await program.create_task("once")
    await program.queue_retry(1)
    await sync(program)
    assert hub.rows("SELECT title FROM tasks") == [("once",)] and await program.queue_list("dead") == []
