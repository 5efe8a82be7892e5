"""What waits behind a row that is discarded or edited rests on what is before it then: no conflict with oneself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from aria_tui.config import Config, QueueConfig
from tests.outbox.bench import Bench, Home

T1 = "018f0000-0000-7000-8000-000000000001"


async def waiting_edits(bench: Bench, home: Home, *edits: dict[str, Any]) -> None:
    await bench.run(home.assistant.create_task("a", id=T1, due="2026-12-01"))
    for changes in edits:
        if changes == {"status": "DONE"}:
            await home.assistant.complete_task(T1, offline=True)
        else:
            await home.assistant.update_task(T1, changes, offline=True)


async def ends(bench: Bench, home: Home, **fields: Any) -> None:
    """All of it is at the Hub, and nobody was asked."""
    await home.sync()
    assert not await bench.run(home.assistant.conflicts()) and not await home.waiting()
    task = await bench.task(T1) or {}
    assert {name: task.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("edits", "gone", "end"),
    [
        ([{"title": "b"}, {"title": "c"}], 2, {"title": "c"}),
        ([{"title": "b"}, {"title": "c"}, {"title": "d"}], 3, {"title": "d"}),
        ([{"title": "b", "priority": "HIGH"}, {"title": "c"}, {"priority": "LOW"}], 2,
         {"title": "c", "priority": "LOW"}),
        ([{"status": "DONE"}, {"status": "IN_PROGRESS"}], 2, {"status": "IN_PROGRESS"}),
        ([{"due_date": None}, {"due_date": "2026-12-24"}], 2, {"due_date": "2026-12-24"}),
        ([{"title": "b"}, {"priority": "HIGH"}], 2, {"title": "a", "priority": "HIGH"}),
    ],
)  # fmt: skip
async def test_a_discarded_edit_leaves_the_later_ones_on_what_was_before_it(
    bench: Bench, home: Home, edits: list[dict[str, Any]], gone: int, end: dict[str, Any]
) -> None:
    await waiting_edits(bench, home, *edits)
    await bench.run(home.assistant.queue_discard(gone))
    await ends(bench, home, **end)


async def test_a_delete_behind_a_discarded_edit_meets_no_change(bench: Bench, home: Home) -> None:
    await waiting_edits(bench, home, {"title": "b"})
    await home.assistant.delete_task(T1, offline=True)
    await bench.run(home.assistant.queue_discard(2))
    await home.sync()
    assert await bench.task(T1) is None and not await bench.run(home.assistant.conflicts())


async def test_others_changes_are_a_conflict_all_the_same(bench: Bench, home: Home) -> None:
    await waiting_edits(bench, home, {"title": "b"}, {"title": "c"})
    other = await bench.home("other")
    await bench.run(other.assistant.update_task(T1, {"title": "theirs"}))
    await bench.run(home.assistant.queue_discard(2))
    await home.sync()
    (conflict,) = await bench.run(home.assistant.conflicts())
    assert (conflict.base, (conflict.theirs or {})["title"]) == ({"title": "a"}, "theirs")


async def test_an_edited_edit_is_what_the_later_ones_rest_on(bench: Bench, home: Home) -> None:
    await waiting_edits(bench, home, {"title": "b"}, {"title": "c"}, {"priority": "HIGH"})
    await bench.run(home.assistant.queue_edit(2, {"id": T1, "changes": {"title": "x", "priority": "LOW"}}))
    assert home.rows("SELECT base FROM queue WHERE id > 2 ORDER BY id") == [
        ('{"title": "x"}',), ('{"priority": "LOW"}',),
    ]  # fmt: skip
    await ends(bench, home, title="c", priority="HIGH")


async def test_a_dead_create_that_is_edited_is_what_its_edits_rest_on(bench: Bench) -> None:
    home = await bench.home(config=Config(queue=QueueConfig(max_attempts=1)))
    await bench.run(home.assistant.hub_status())
    await home.assistant.create_task("bad", id=T1, offline=True)
    await home.assistant.update_task(T1, {"title": "later"}, offline=True)
    assert len([line async for line in home.assistant.queue_export()]) == 2, "and so they are not folded"
    await home.assistant.capture_insight("other", offline=True)
    home.weather.writes = ["retry_one"]
    await home.sync()
    (dead,) = await home.dead()
    await bench.run(home.assistant.queue_edit(dead.id, msgspec.json.decode(dead.payload) | {"title": "good"}))
    await ends(bench, home, title="later")
