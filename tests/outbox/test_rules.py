"""Sentences of queue.md that no other module here is about, each against a real Hub."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from aria_tui.cli.words import queue_line
from aria_tui.models import QueueStatus
from aria_tui.outbox import backoff
from tests.helpers.aria import Aria
from tests.outbox.bench import Bench, Home

T1 = "018f0000-0000-7000-8000-000000000001"


async def codes(home: Home) -> dict[int, str]:
    return {item.id: item.reason_code for item in await home.waiting()}


# Accepting


async def test_a_hub_known_to_be_down_is_left_alone_by_every_process_for_half_a_minute(bench: Bench) -> None:
    first, second = await bench.home(), await bench.home()
    await bench.run(first.assistant.hub_status())
    first.weather.down = True
    assert (await bench.run(first.assistant.create_task("x"))).status == "queued"
    assert (await bench.run(second.assistant.create_task("y"))).status == "queued" and second.network.requests == 0
    bench.clock.advance(31)
    assert (await bench.run(second.assistant.create_task("z"))).status == "synced"


async def test_what_waits_goes_before_hub_data_is_read(bench: Bench, home: Home) -> None:
    await home.assistant.create_task("first", offline=True)
    listed = await bench.run(home.assistant.list_tasks())
    assert [task.title for task in listed.tasks] == ["first"] and not await home.waiting()
    assert len(bench.log) == 1


async def test_a_new_write_never_overtakes_a_strangers_row_of_its_entity(bench: Bench, home: Home) -> None:
    await bench.run(home.assistant.create_task("a", id=T1))
    home.stranger("record_activity", {"project": "p", "date": "2026-11-30", "summary": "older"})
    newer = await bench.run(home.assistant.record_activity("p", "2026-11-30", summary="newer"))
    assert newer.status == "queued" and "behind #2" in newer.message
    home.stranger("update_task", {"id": T1, "changes": {"title": "older"}})
    assert (await bench.run(home.assistant.update_task(T1, {"title": "newer"}))).status == "queued"
    await home.sync()
    assert not await home.waiting() and not await bench.run(home.assistant.conflicts())
    assert (await bench.hub.get("activity:p:2026-11-30", "anna") or {})["summary"] == "newer"
    assert (await bench.task(T1) or {})["title"] == "newer"


# Draining and failing


async def test_a_manual_sync_ignores_backoff_and_an_automatic_one_does_not(bench: Bench, home: Home) -> None:
    await home.assistant.create_task("a", id=T1, offline=True)
    await home.assistant.capture_insight("other", offline=True)
    home.weather.writes = ["retry_one"]
    report = await home.sync()
    assert report.synced == 1 and await codes(home) == {1: "backoff"}
    (item,) = await home.waiting()
    assert item.attempts == 1 and item.next_attempt_at and "attempt 1 failed" in item.reason
    assert (await home.sync(manual=False)).synced == 0, "its time has not come"
    assert (await home.sync()).synced == 1


async def test_superseded_is_delivered_and_told_as_what_it_is(bench: Bench, home: Home) -> None:
    early = await home.assistant.store_briefing("2026-11-30", "early", offline=True)
    bench.clock.advance(60)
    other = await bench.home("other")
    await bench.run(other.assistant.store_briefing("2026-11-30", "late"))
    report = await home.sync()
    assert (report.synced, report.superseded, report.remaining) == (0, 1, 0) and "superseded" in report.sentence
    (row,) = await bench.run(home.assistant.queue_list("journal"))
    assert (row.id, row.outcome) == (early.queue_id, "superseded") and "superseded" in row.reason
    assert (await bench.hub.get("briefing:2026-11-30", "anna") or {})["content"] == "late"


@pytest.mark.case("H04")
def test_backoff_has_full_jitter_under_a_doubling_ceiling_and_retry_after_as_its_floor() -> None:
    class Highest:
        def uniform(self, low: float, high: float) -> float:
            assert low == 0
            return high

    highest: Any = Highest()
    assert [backoff.delay(highest, n) for n in (0, 1, 2, 7, 8, 4000)] == [2, 4, 8, 256, 300, 300]
    assert backoff.delay(highest, 1, retry_after=90) == 90
    assert backoff.delay(highest, 1, retry_after=999_999) == 3600, "an hour at most"


# Why a row is still here


async def test_each_row_says_why_it_waits(bench: Bench, home: Home) -> None:
    bad = home.stranger("create_task", {"id": T1, "title": ""})
    await home.sync()
    behind_dead = await home.assistant.update_task(T1, {"title": "x"}, offline=True)
    made = await home.assistant.create_task("free", offline=True)
    behind = await home.assistant.update_task(made.id, {"title": "y"}, offline=True)
    assert await codes(home) == {
        behind_dead.queue_id: "parked_ahead", made.queue_id: "next", behind.queue_id: "behind",
    }  # fmt: skip
    reasons = {item.id: item.reason for item in await home.waiting()}
    assert f"#{bad}" in reasons[behind_dead.queue_id or 0] and f"#{made.queue_id}" in reasons[behind.queue_id or 0]


@pytest.mark.parametrize("shape", ["2026-02-21 08:14:22", "2026-02-21T08:14:22Z"])
async def test_what_waits_for_over_a_day_is_a_warning_in_every_status_line(
    bench: Bench, home: Home, shape: str
) -> None:
    home.stranger("capture_insight", {"content": "x"})
    db = sqlite3.connect(home.file)
    db.execute("UPDATE queue SET created_at = ?", (shape,))
    db.commit()
    db.close()
    assert "⚠ the oldest waits for" in queue_line(await bench.run(home.assistant.queue_status()))
    for oldest in (datetime.now(UTC).isoformat(), "some day"):
        assert "⚠" not in queue_line(QueueStatus(pending_total=1, oldest=oldest))


# Parked


def test_each_row_that_goes_with_a_discarded_create_is_named(tmp_path: Path) -> None:
    aria = Aria(tmp_path)
    made = aria("task", "add", "x", "--offline", "--json").ok().json["id"]
    aria("task", "done", made, "--offline").ok()
    assert aria("queue", "discard", "1", "--yes").ok().out == "#1 discarded\n#2 discarded\n"
    aria.close()


# Folding


async def test_a_strangers_row_between_two_of_ours_keeps_them_apart(bench: Bench, home: Home) -> None:
    await bench.run(home.assistant.create_task("a", id=T1))
    await home.assistant.update_task(T1, {"title": "b"}, offline=True)
    home.stranger("update_task", {"id": T1, "changes": {"title": "theirs"}})
    await home.assistant.update_task(T1, {"title": "c"}, offline=True)
    await home.assistant.update_task(T1, {"priority": "HIGH"}, offline=True)
    plan = await bench.run(home.assistant.queue_plan())
    assert [operation["from"] for operation in plan["operations"]] == [[2], [3], [4, 5]]
    await home.sync()
    assert bench.applied(T1) == ["create_task", "update_task", "update_task", "update_task"]
    assert (await bench.task(T1) or {})["title"] == "c"


async def test_a_strangers_row_of_another_entity_keeps_nothing_apart(bench: Bench, home: Home) -> None:
    await home.assistant.create_task("a", id=T1, offline=True)
    home.stranger("capture_insight", {"content": "between"})
    await home.assistant.update_task(T1, {"title": "b"}, offline=True)
    assert (await home.sync()).synced == 2 and bench.applied(T1) == ["create_task"]


@pytest.mark.parametrize("here_first", [True, False])
async def test_what_was_exported_is_not_folded_so_that_both_machines_send_the_same(
    bench: Bench, home: Home, here_first: bool
) -> None:
    await home.assistant.create_task("a", id=T1, offline=True)
    await home.assistant.update_task(T1, {"title": "b"}, offline=True)
    lines = [line async for line in home.assistant.queue_export()]
    await home.assistant.update_task(T1, {"title": "c"}, offline=True)
    await home.assistant.update_task(T1, {"priority": "HIGH"}, offline=True)
    plan = await bench.run(home.assistant.queue_plan())
    assert [operation["from"] for operation in plan["operations"]] == [[1], [2], [3, 4]]
    elsewhere = await bench.home("elsewhere")
    await bench.run(elsewhere.assistant.queue_import(lines))
    for one in (home, elsewhere) if here_first else (elsewhere, home):
        await one.sync()
    assert not await home.dead() and not await elsewhere.dead()
    assert not await home.waiting() and not await elsewhere.waiting()
    assert bench.applied(T1) == ["create_task", "update_task", "update_task"]


# Targets


async def test_an_adopted_edit_does_not_take_an_equal_version_of_another_hub_for_its_own(
    bench: Bench, home: Home
) -> None:
    await bench.run(home.assistant.create_task("a", id=T1))
    await bench.run(home.assistant.update_task(T1, {"title": "mine"}, offline=True))
    await home.close()
    bert = await bench.home(account="bert")
    await bench.run(bert.assistant.hub_status())
    elsewhere = await bench.home("elsewhere", account="bert")
    await bench.run(elsewhere.assistant.create_task("of another", id=T1))
    assert await codes(bert) == {2: "held_target"}
    assert await bench.run(bert.assistant.queue_adopt()) == 1
    await bert.sync()
    (conflict,) = await bench.run(bert.assistant.conflicts())
    assert (conflict.theirs or {})["title"] == "of another" == (await bench.task(T1, "bert") or {})["title"]
