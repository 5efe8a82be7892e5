"""Two homes that edit one task: every merge and every resolution, with what the Hub has in the end."""

from __future__ import annotations

from typing import Any

import pytest

from aria_tui.config import Config, SyncConfig
from aria_tui.errors import HubUnavailable, QueueUnavailable, UsageError
from aria_tui.outbox import writing
from aria_tui.outbox.store import Store
from tests.outbox.bench import Bench, Home


async def pair(bench: Bench, **config: Any) -> tuple[Home, Home, str]:
    """Two homes that both have seen one task."""
    settings = Config(sync=SyncConfig(**config)) if config else None
    mine, theirs = await bench.home("mine", config=settings), await bench.home("theirs")
    made = await bench.run(theirs.assistant.create_task("orig", description="long", priority="LOW"))
    for home in (mine, theirs):
        await bench.run(home.assistant.list_tasks())
    return mine, theirs, made.id


async def clash(bench: Bench, **config: Any) -> tuple[Home, Home, str, int]:
    """Both change the title; mine meets the Hub's."""
    mine, theirs, task = await pair(bench, **config)
    await bench.run(theirs.assistant.update_task(task, {"title": "theirs"}))
    result = await bench.run(mine.assistant.update_task(task, {"title": "mine", "priority": "HIGH"}))
    if not config:
        assert result.status == "conflict"
    return mine, theirs, task, result.queue_id  # type: ignore[return-value]


async def hub_has(bench: Bench, task: str, **wanted: Any) -> None:
    found = await bench.task(task)
    assert found is not None and {name: found[name] for name in wanted} == wanted


async def test_different_fields_merge(bench: Bench) -> None:
    mine, theirs, task = await pair(bench)
    await bench.run(theirs.assistant.update_task(task, {"title": "theirs"}))
    assert (await bench.run(mine.assistant.update_task(task, {"priority": "HIGH"}))).status == "synced"
    await hub_has(bench, task, title="theirs", priority="HIGH")


async def test_an_edit_after_a_merge_still_meets_what_was_never_read(bench: Bench) -> None:
    """The version that a merge gave says nothing about fields that others changed in between."""
    mine, theirs, task = await pair(bench)
    await bench.run(theirs.assistant.update_task(task, {"title": "theirs"}))
    await bench.run(mine.assistant.update_task(task, {"priority": "HIGH"}))
    assert (await bench.run(mine.assistant.update_task(task, {"title": "mine"}))).status == "conflict"
    await hub_has(bench, task, title="theirs", priority="HIGH")


async def test_the_same_value_on_both_sides_is_no_conflict(bench: Bench) -> None:
    mine, theirs, task = await pair(bench)
    await bench.run(theirs.assistant.update_task(task, {"title": "same"}))
    assert (await bench.run(mine.assistant.update_task(task, {"title": "same"}))).status == "synced"


async def test_an_edit_on_top_of_waiting_edits_has_their_result_as_its_base(bench: Bench) -> None:
    mine, _, task = await pair(bench)
    mine.weather.down = True
    for title in ("one", "two", "three"):
        await bench.run(mine.assistant.update_task(task, {"title": title}))
    mine.weather.clear()
    bench.clock.advance(31)
    await mine.sync()
    assert not await bench.run(mine.assistant.conflicts())
    await hub_has(bench, task, title="three")


async def test_an_edit_of_what_another_process_just_delivered_is_no_conflict(bench: Bench) -> None:
    mine, _, task = await pair(bench)
    second = await bench.home("mine")
    await bench.run(mine.assistant.update_task(task, {"title": "one"}, offline=True))
    await second.sync()
    assert (await bench.run(mine.assistant.update_task(task, {"title": "two"}))).status == "synced"


async def test_the_inbox_shows_base_mine_and_theirs(bench: Bench) -> None:
    mine, _, task, number = await clash(bench)
    conflict = (await bench.run(mine.assistant.conflicts()))[0]
    assert (conflict.id, conflict.entity, conflict.fields) == (number, f"task:{task}", ("title",))
    assert conflict.base["title"] == "orig" and conflict.mine["title"] == "mine"
    assert (conflict.theirs or {})["title"] == "theirs"


async def test_mine(bench: Bench) -> None:
    mine, _, task, number = await clash(bench)
    result = await bench.run(mine.assistant.resolve_conflict(number, "mine"))
    assert (result.status, result.queue_id) == ("synced", number)
    await hub_has(bench, task, title="mine", priority="HIGH")
    lost = next(i for i in await bench.run(mine.assistant.queue_list("journal")) if i.outcome == "lost")
    assert '"theirs"' in lost.payload
    await bench.run(mine.assistant.queue_retry(lost.id))
    await mine.sync()
    await hub_has(bench, task, title="theirs")  # the loser was brought back


async def test_what_was_settled_is_no_error_where_the_file_can_t_be_read_afterwards(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, _, task, number = await clash(bench)
    read = Store.read

    async def away(store: Store, sql: str, parameters: Any = ()) -> Any:
        if sql == writing._END:
            raise QueueUnavailable("queue.db", "another program holds the queue's lock")
        return await read(store, sql, parameters)

    monkeypatch.setattr(Store, "read", away)
    result = await bench.run(mine.assistant.resolve_conflict(number, "mine"))
    assert (result.status, result.queue_id) == ("queued", number)
    await hub_has(bench, task, title="mine")


async def test_theirs(bench: Bench) -> None:
    mine, _, task, number = await clash(bench)
    await bench.run(mine.assistant.resolve_conflict(number, "theirs"))
    await hub_has(bench, task, title="theirs", priority="LOW")
    assert not await bench.run(mine.assistant.conflicts()) and not await mine.waiting()
    await bench.run(mine.assistant.queue_retry(number))
    await mine.sync()
    await hub_has(bench, task, title="mine", priority="HIGH")


async def test_field_by_field(bench: Bench) -> None:
    mine, theirs, task = await pair(bench)
    await bench.run(theirs.assistant.update_task(task, {"title": "theirs", "priority": "URGENT"}))
    number = (await bench.run(mine.assistant.update_task(task, {"title": "mine", "priority": "HIGH"}))).queue_id
    with pytest.raises(UsageError, match="does not change 'tags'"):
        await bench.run(mine.assistant.resolve_conflict(number, {"tags": "mine"}))  # type: ignore[arg-type]
    await bench.run(mine.assistant.resolve_conflict(number, {"title": "mine"}))  # type: ignore[arg-type]
    await hub_has(bench, task, title="mine", priority="URGENT")


async def test_both_is_a_second_task(bench: Bench) -> None:
    mine, _, task, number = await clash(bench)
    result = await bench.run(mine.assistant.resolve_conflict(number, "both"))
    await hub_has(bench, task, title="theirs", priority="LOW")
    copies = [t for t in (await bench.run(mine.assistant.list_tasks())).tasks if t.id != task]
    assert [(t.title, t.priority, t.description) for t in copies] == [("mine (conflicted copy)", "HIGH", "long")]
    assert result.status == "synced"


async def test_both_of_long_text_is_both_texts(bench: Bench) -> None:
    mine, theirs, task = await pair(bench)
    await bench.run(theirs.assistant.update_task(task, {"description": "theirs"}))
    number = (await bench.run(mine.assistant.update_task(task, {"description": "mine"}))).queue_id
    await bench.run(mine.assistant.resolve_conflict(number, "both"))  # type: ignore[arg-type]
    await hub_has(bench, task, description="theirs\n\n---\n\nmine")


@pytest.mark.parametrize(("choice", "there"), [("mine", False), ("theirs", True)])
async def test_a_delete_of_what_changed(bench: Bench, choice: Any, there: bool) -> None:
    mine, theirs, task = await pair(bench)
    await bench.run(theirs.assistant.update_task(task, {"title": "theirs"}))
    result = await bench.run(mine.assistant.delete_task(task))
    assert result.status == "conflict"
    with pytest.raises(UsageError):
        await bench.run(mine.assistant.resolve_conflict(result.queue_id, "both"))  # type: ignore[arg-type]
    await bench.run(mine.assistant.resolve_conflict(result.queue_id, choice))  # type: ignore[arg-type]
    assert (await bench.task(task) is not None) == there
    if not there:
        lost = next(i for i in await bench.run(mine.assistant.queue_list("journal")) if i.outcome == "lost")
        await bench.run(mine.assistant.queue_retry(lost.id))
        await mine.sync()
        titles = [t.title for t in (await bench.run(mine.assistant.list_tasks())).tasks]
        assert titles == ["theirs"], "what was deleted can be brought back as it was"


async def test_mine_of_a_task_that_is_gone_lives_again_and_later_edits_follow(bench: Bench) -> None:
    mine, theirs, task = await pair(bench)
    await bench.run(theirs.assistant.delete_task(task))
    result = await bench.run(mine.assistant.update_task(task, {"title": "mine"}))
    assert result.status == "conflict"
    await bench.run(mine.assistant.complete_task(task))
    await bench.run(mine.assistant.resolve_conflict(result.queue_id, "mine"))  # type: ignore[arg-type]
    await mine.sync()
    tasks = (await bench.run(mine.assistant.list_tasks())).tasks
    assert [(t.title, t.status, t.description) for t in tasks] == [("mine", "DONE", "long")]
    assert not await mine.waiting() and not await bench.run(mine.assistant.conflicts())


@pytest.mark.parametrize("choice", ["mine", "both", {"title": "mine"}])
async def test_a_dead_connection_while_resolving_leaves_the_conflict_where_it_was(bench: Bench, choice: Any) -> None:
    mine, _, task, number = await clash(bench)
    before = await bench.run(mine.assistant.conflicts())
    mine.weather.down = True
    with pytest.raises(HubUnavailable):
        await bench.run(mine.assistant.resolve_conflict(number, choice))
    assert await bench.run(mine.assistant.conflicts()) == before and not await mine.waiting()
    await hub_has(bench, task, title="theirs")
    mine.weather.clear()
    bench.clock.advance(31)
    await mine.sync()
    await bench.run(mine.assistant.resolve_conflict(number, "mine"))
    await hub_has(bench, task, title="mine")


async def test_a_choice_that_sends_nothing_needs_no_connection(bench: Bench) -> None:
    mine, _, _task, number = await clash(bench)
    mine.weather.down = True
    await bench.run(mine.assistant.resolve_conflict(number, "theirs"))
    assert not await bench.run(mine.assistant.conflicts()) and not await mine.waiting()


async def test_an_answer_that_is_cut_while_resolving_is_resent_with_its_key(bench: Bench) -> None:
    mine, _, task, number = await clash(bench)
    mine.weather.every_write = "cut"
    result = await bench.run(mine.assistant.resolve_conflict(number, "mine"))
    assert result.status == "queued" and not await bench.run(mine.assistant.conflicts())
    mine.weather.clear()
    bench.clock.advance(31)
    assert (await mine.sync()).conflicts == 0
    await hub_has(bench, task, title="mine")


@pytest.mark.parametrize(("policy", "title"), [("mine", "mine"), ("theirs", "theirs")])
async def test_the_policy_settles_conflicts_within_the_drain(bench: Bench, policy: str, title: str) -> None:
    mine, theirs, task = await pair(bench, conflicts=policy)
    await bench.run(theirs.assistant.update_task(task, {"title": "theirs"}))
    await bench.run(mine.assistant.update_task(task, {"title": "mine"}, offline=True))
    await bench.run(mine.assistant.complete_task(task, offline=True))
    report = await mine.sync()
    assert (report.conflicts, report.remaining) == (0, 0)
    await hub_has(bench, task, title=title, status="DONE")
    assert [i.outcome for i in await bench.run(mine.assistant.queue_list("journal"))].count("lost") == 1


async def test_later_ones_of_the_entity_wait_for_the_resolution(bench: Bench) -> None:
    mine, _, task, number = await clash(bench)
    later = await bench.run(mine.assistant.complete_task(task))
    assert later.status == "queued" and f"#{number}" in later.message
    await bench.run(mine.assistant.resolve_conflict(number, "theirs"))
    await mine.sync()
    await hub_has(bench, task, title="theirs", status="DONE")
