"""The service layer's reads: what waits is laid over, what was acknowledged stays, an away Hub is not hammered."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from aria_tui.errors import Ambiguous, HubUnavailable, NotFound
from tests.helpers.aria import ROOT, clean_environment
from tests.outbox.bench import Bench, Home


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with Bench() as made:
        yield made


@pytest.fixture
async def home(bench: Bench) -> Home:
    made = await bench.home()
    await bench.run(made.assistant.hub_status())
    return made


async def titles(home: Home, **how: Any) -> list[tuple[str, str]]:
    listed = await home.bench.run(home.assistant.list_tasks(**how))
    return [(task.title, task.mark) for task in listed.tasks]


async def test_what_waits_is_laid_over_what_was_read(bench: Bench, home: Home) -> None:
    made = await bench.run(home.assistant.create_task("there"))
    gone = await bench.run(home.assistant.create_task("gone"))
    await home.assistant.update_task(made.id, {"title": "renamed"}, offline=True)
    await home.assistant.delete_task(gone.id, offline=True)
    await home.assistant.create_task("new", offline=True)
    assert sorted(await titles(home, drain=False)) == [("gone", "deleted"), ("new", "new"), ("renamed", "edited")]
    assert sorted(await titles(home)) == [("new", ""), ("renamed", "")], "a read drains first"


async def test_an_acknowledged_edit_stays_laid_over_a_read_that_began_before_it(bench: Bench, home: Home) -> None:
    made = await bench.run(home.assistant.create_task("before"))
    await titles(home)
    mirror, client = home.assistant._engine.mirror, home.assistant._engine._link.client  # type: ignore[union-attr]
    right = client.get

    async def slow_get(path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        page = await right(path, *args, **kwargs)
        if path == "/api/changes" and not page["changes"]:
            await home.assistant.update_task(made.id, {"title": "after"})  # while the old answer is on its way
        return page

    client.get = slow_get  # type: ignore[method-assign]
    assert await titles(home, drain=False) == [("after", "")]
    client.get = right  # type: ignore[method-assign]
    assert await titles(home) == [("after", "")] and mirror.things["task"][made.id]["title"] == "after"


async def test_what_the_hub_had_done_already_changes_nothing_of_what_was_read(bench: Bench, home: Home) -> None:
    made = await bench.run(home.assistant.create_task("once"))
    await bench.run(home.assistant.complete_task(made.id))
    before = (await bench.run(home.assistant.list_tasks())).tasks[0]
    bench.clock.advance(3600)
    await bench.run(home.assistant.complete_task(made.id))
    after = (await bench.run(home.assistant.list_tasks())).tasks[0]
    assert (after.completed_at, after.version) == (before.completed_at, before.version) and after.version == 2


@pytest.mark.parametrize("way", ["waiting", "dead", "discarded"])
async def test_a_strangers_create_under_another_key_is_still_the_same_thing(bench: Bench, home: Home, way: str) -> None:
    number = home.stranger("create_task", {"title": "" if way == "dead" else "typo"})
    await home.assistant.create_task("other", offline=True)
    (row, _) = await home.assistant.queue_list()
    thing = str(row.entity).removeprefix("task:")
    if way == "waiting":
        await home.assistant.update_task(thing, {"priority": "HIGH"}, offline=True)
    if way == "dead":
        await bench.run(home.assistant.list_tasks())
    if way == "discarded":
        await home.assistant.queue_discard(number)
        await home.assistant.queue_retry(number)
    else:
        await home.assistant.queue_edit(number, {"title": "right"})
    listed = (await bench.run(home.assistant.list_tasks())).tasks
    title = "typo" if way == "discarded" else "right"
    assert sorted(task.title for task in listed) == ["other", title]
    assert [task.id for task in listed if task.title == title] == [thing]
    assert not await home.assistant.queue_list("conflicts")


async def test_the_fractions_of_a_second_come_after_it(bench: Bench, home: Home) -> None:
    for second, fraction in (("first", "2026-11-30T03:00:00Z"), ("half", "2026-11-30T03:00:00.500Z")):
        home.stranger("capture_insight", {"content": second, "captured_at": fraction})
        home.stranger("create_task", {"title": second, "created_at": fraction})
    found = await bench.run(home.assistant.list_insights(since="2026-11-30T03:00:00Z"))
    assert [insight.content for insight in found.insights] == ["half", "first"]
    assert [title for title, _ in await titles(home)] == ["half", "first"]


async def test_last_seen_is_told_with_its_time_and_survives_a_failed_read(bench: Bench, home: Home) -> None:
    await bench.run(home.assistant.create_task("seen"))
    await titles(home)
    home.weather.down = True
    bench.clock.advance(40)
    with pytest.raises(HubUnavailable):
        await bench.run(home.assistant.list_tasks())
    listed = await bench.run(home.assistant.list_tasks(last_seen=True))
    assert (listed.source, [t.title for t in listed.tasks]) == ("last-seen", ["seen"]) and listed.as_of
    home.assistant._engine.mirror.start_over()
    bench.clock.advance(40)
    listed = await bench.run(home.assistant.list_tasks(last_seen=True))
    assert [t.title for t in listed.tasks] == ["seen"], "a whole read that fails takes nothing away"


async def test_an_away_hub_is_not_hammered_and_tried_again_after_thirty_seconds(bench: Bench, home: Home) -> None:
    home.weather.down = True
    for _ in range(5):
        with pytest.raises(HubUnavailable):
            await bench.run(home.assistant.list_tasks())
    requests = home.network.requests
    for _ in range(20):
        with pytest.raises(HubUnavailable):
            await bench.run(home.assistant.list_insights())
    assert home.network.requests == requests, "known to be down"
    other = await bench.home()
    with pytest.raises(HubUnavailable):
        await bench.run(other.assistant.list_tasks())
    assert other.network.requests == 0, "by every process of the home"
    home.weather.clear()
    bench.clock.advance(31)
    assert await titles(home) == []


async def test_beginnings_of_ids(bench: Bench, home: Home) -> None:
    ids = [f"018f0000-0000-7000-8000-0000000000{end}" for end in ("0a", "0b")]
    for one in ids:
        await home.assistant.create_task("x", id=one, offline=True)
    assert await home.assistant.resolve_id("task", ids[0]) == ids[0]
    with pytest.raises(Ambiguous):
        await home.assistant.resolve_id("task", "018f")
    with pytest.raises(NotFound):
        await home.assistant.resolve_id("task", "zz")


async def test_a_task_that_waits_is_found_without_the_hub(bench: Bench, home: Home) -> None:
    home.weather.down = True
    made = await bench.run(home.assistant.create_task("offline"))
    assert made.status == "queued" and made.message.endswith("Hub offline")
    assert (await bench.run(home.assistant.get_task(made.id))).title == "offline"
    assert [t.title for t in (await bench.run(home.assistant.waiting_tasks())).tasks] == ["offline"]


async def test_each_kind_of_write_reaches_the_hub(bench: Bench, home: Home) -> None:
    insight = await bench.run(home.assistant.capture_insight("remember", project="lab"))
    await bench.run(home.assistant.update_insight(insight.id, {"content": "remember this"}))
    await bench.run(home.assistant.store_briefing("2026-11-30", "morning", {"a": 1}))
    await bench.run(home.assistant.record_activity("lab", "2026-11-30", commits=3, notes="n"))
    found = await bench.run(home.assistant.list_insights(query="THIS"))
    assert [i.content for i in found.insights] == ["remember this"]
    briefing = await bench.run(home.assistant.get_briefing("2026-11-30"))
    assert briefing is not None and briefing.data == {"a": 1}
    assert [a.commits for a in await bench.run(home.assistant.list_activity())] == [3]
    late = await bench.run(home.assistant.delete_insight(insight.id))
    assert late.status == "synced" and not (await bench.run(home.assistant.list_insights())).insights


async def test_a_budget_is_kept_when_the_hub_is_silent(bench: Bench, home: Home) -> None:
    home.weather.every_write = "late"
    before = bench.clock.steady()
    result = await bench.run(home.assistant.create_task("x"))
    assert result.status == "queued" and bench.clock.steady() - before <= 3.5
    assert [item.reason_code for item in await home.waiting()] in (["in_doubt"], ["offline"])


async def test_a_hundred_thousand_rows_wait_and_the_first_page_is_quick(bench: Bench, home: Home) -> None:
    import sqlite3

    db = sqlite3.connect(home.file)
    db.executemany(
        "INSERT INTO queue (operation, payload, op_id, entity, origin, target)"
        " VALUES ('capture_insight', ?, ?, ?, 'cli', 't')",
        ((f'{{"content": "{n}"}}', f"k{n}", f"insight:k{n}") for n in range(100_000)),
    )  # fmt: skip
    db.commit()
    page_sql = "SELECT * FROM queue WHERE synced_at IS NULL AND id > 5 ORDER BY id LIMIT 9"
    plans = " ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {page_sql}"))
    db.close()
    assert "USING INDEX idx_queue_unsynced" in plans and "TEMP B-TREE" not in plans
    status = await bench.run(home.assistant.queue_status())
    assert status.pending_total == 100_000 and len(status.items) == 5
    page = await bench.run(home.assistant.queue_list(after=50_000, limit=10))
    assert [item.id for item in page] == list(range(50_001, 50_011))


LEAVE = """
import asyncio, sys
from pathlib import Path
from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from aria_tui.errors import AriaError
async def run():
    async with await Assistant.open(Config(hub=HubConfig(url="http://127.0.0.1:9")), home=Path(sys.argv[1])) as one:
        kinds = (one.list_tasks, one.list_insights, one.queue_status)
        reads = [asyncio.ensure_future(read()) for _ in range(10) for read in kinds]
        await asyncio.sleep(0)
        for read in reads[::3]:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
asyncio.run(run())
"""


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_many_reads_at_once_leave_nothing_that_holds_the_exit(tmp_path: Any, kind: str) -> None:
    place = tmp_path / "home"
    if kind == "file":
        place.write_text("x")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEAVE, str(place)],
        env=clean_environment(tmp_path), cwd=ROOT, capture_output=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr.decode()


async def test_closing_twice_and_in_the_middle_of_a_sync(bench: Bench, home: Home) -> None:
    for n in range(200):
        await home.assistant.capture_insight(f"{n}", offline=True)
    sync = asyncio.ensure_future(home.sync())
    while not home.network.writes:
        await asyncio.sleep(0)
    await home.close()
    await home.close()
    await asyncio.gather(sync, return_exceptions=True)
    left = home.rows("SELECT count(*) FROM queue WHERE synced_at IS NULL AND sent_at IS NULL")[0][0]
    again = await bench.home()
    await again.sync()
    assert len(bench.log) == 200 and left < 200
