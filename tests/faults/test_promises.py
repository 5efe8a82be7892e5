"""Each promise of the queue alone, in the smallest schedule that can break it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.faults.ledger import Story
from tests.faults.transport import AFTER, BEFORE, FAULTS, FOREIGN
from tests.faults.world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World() as made:
        yield made


def the_task(world: World) -> Story:
    return world.ledger.tasks(world.account)[-1]


def sent_of(world: World, task: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [entry for entry in world.sent if entry[2].get("id") == task]


@pytest.mark.case("Q02")
@pytest.mark.parametrize("fault", AFTER)
async def test_the_key_of_the_first_try_is_the_key_of_every_try(world: World, fault: str) -> None:
    world.forced = ["", fault]
    task = await world.add_task()
    for _ in range(3):
        world.forced = ["", fault]
        await world.drain()
    world.forced.clear()
    await world.drain()
    keys = {key for key, _, _ in sent_of(world, task)}
    assert len(sent_of(world, task)) >= 2 and len(keys) == 1
    assert len(world.log) == 1
    await world.settle()


@pytest.mark.parametrize("fault", [*BEFORE, *AFTER, *FOREIGN, "late", "error_500", "error_500_done", "unavailable"])
async def test_nothing_is_delivered_that_was_not_acknowledged(world: World, fault: str) -> None:
    await world.add_task(offline=True)
    await world.insight(offline=True)
    world.every_write = fault
    for _ in range(2):
        report = await world.drain()
        assert report.synced == 0, report
        status = await world.run(world.assistant.queue_status())
        assert (status.pending_total, status.dead_letters, status.conflicts) == (2, 0, 0)
        world.clock.advance(4000)
    await world.settle()


async def test_order_is_by_id_when_the_clock_goes_back(world: World) -> None:
    await world.add_task(offline=True)
    world.hub_is_up = False
    world.clock.jump(-86400)
    await world.insight(offline=True)
    world.clock.jump(-86400)
    await world.edit(the_task(world), offline=True)
    world.clock.jump(-86400)
    await world.insight(offline=True)
    status = await world.run(world.assistant.queue_status())
    assert [item.id for item in status.items] == sorted(item.id for item in status.items)
    world.hub_is_up = True
    world.clock.advance(60)
    await world.drain()
    created = [payload.get("content") or payload.get("title") for _, _, payload in world.sent]
    assert created == ["m00003", "m00002", "m00004"], "the create with its edit folded in, then each insight"
    await world.settle()


async def test_what_stands_behind_a_failed_operation_waits_for_it(world: World) -> None:
    task = await world.add_task(offline=True)
    world.forced = ["", "retry_one"]
    await world.drain()
    await world.edit(the_task(world), offline=True)
    await world.insight(offline=True)
    before = len(sent_of(world, task))
    await world.drain(manual=False)
    assert [operation for _, operation, _ in sent_of(world, task)[before:]] == [], "its create is in backoff"
    assert world.log[-1].operation == "capture_insight", "another entity goes on"
    world.clock.advance(4000)
    await world.drain(manual=False)
    assert [effect.operation for effect in world.log if effect.entity == f"task:{task}"] == [
        "create_task", "update_task",
    ]  # fmt: skip
    await world.settle()


async def test_two_drains_at_once_send_each_operation_once(world: World) -> None:
    for _ in range(5):
        await world.add_task(offline=True)
        await world.insight(offline=True)
    await world.drain_beside_one_in_flight()
    keys = [key for key, _, _ in world.sent]
    assert len(keys) == len(set(keys)) == 10
    await world.settle()


async def test_an_edit_after_another_process_drained_is_no_conflict(world: World) -> None:
    await world.add_task()
    await world.drain()
    for _ in range(3):
        await world.edit(the_task(world), offline=True)
        await world.drain_elsewhere()
    status = await world.run(world.assistant.queue_status())
    assert (status.pending_total, status.conflicts) == (0, 0)
    await world.settle()


@pytest.mark.parametrize("turns", [0, 3, 8, 15, 30])
async def test_whoever_dies_in_a_drain_keeps_nobody_from_the_next(world: World, turns: int) -> None:
    await world.add_task(offline=True)
    await world.insight(offline=True)
    await world.crash_during_drain(turns)
    world.clock.advance(60)
    report = await world.drain()
    assert report.remaining == 0
    await world.settle()


@pytest.mark.case("Q05")
@pytest.mark.parametrize(
    "fault", [*BEFORE[:1], *FOREIGN, "unauthenticated", "forbidden", "slow_down", "unavailable", "error_500"]
)
async def test_an_outage_of_any_length_kills_nothing(world: World, fault: str) -> None:
    """More tries than any limit, over more than a month; where the fault comes before or after the probe."""
    for n in range(3):
        await (world.add_task(offline=True) if n == 0 else world.insight(offline=True))
    for attempt in range(40):
        world.forced = ["", fault] if attempt % 2 else [fault]
        if fault == "error_500":
            world.forced = ["", fault, fault, fault, fault]
        await world.drain(manual=attempt % 3 == 0)
        world.forced.clear()
        world.clock.advance(86_400)
    status = await world.run(world.assistant.queue_status())
    assert (status.pending_total, status.dead_letters, status.conflicts) == (3, 0, 0)
    await world.settle()
    assert len(world.log) == 3


async def test_an_operation_that_was_sent_is_never_folded_or_changed(world: World) -> None:
    world.forced = ["", "cut"]
    task = await world.add_task()
    world.hub_is_up = False
    await world.edit(the_task(world), offline=True)
    await world.edit(the_task(world), offline=True)
    world.hub_is_up = True
    world.clock.advance(60)
    await world.drain()
    assert [(operation, payload.get("title")) for _, operation, payload in sent_of(world, task)] == [
        ("create_task", "m00001"), ("create_task", "m00001"), ("update_task", None),
    ]  # fmt: skip
    assert (await world.hub.get(f"task:{task}", "anna") or {})["title"] == "m00003"
    await world.settle()


async def test_a_row_that_was_sent_stays_sent_when_its_next_try_reaches_nobody(world: World) -> None:
    """A batch ends in doubt and is halved; its second half then meets a closed port, and is edited meanwhile."""
    await world.insight(offline=True)
    task = await world.add_task(offline=True)
    world.forced = ["", "timeout_after", "", "", "refused"]  # meta, both, ready, the first alone, the second alone
    await world.drain()
    world.hub_is_up = False
    await world.edit(the_task(world), offline=True)
    world.hub_is_up = True
    world.clock.advance(60)
    await world.drain()
    assert [operation for _, operation, _ in sent_of(world, task)] == ["create_task", "create_task", "update_task"]
    await world.settle()


async def test_update_complete_delete_walk_behind_a_create_in_doubt(world: World) -> None:
    """Through a Hub that answers 503, cuts the line, and then answers."""
    world.forced = ["", "cut"]
    task = await world.add_task()
    for step in (world.edit, world.complete, world.delete):
        await step(the_task(world), offline=True)
    for fault in ("unavailable", "cut"):
        world.clock.advance(4000)
        world.forced = ["", fault]
        await world.drain()
    world.clock.advance(4000)
    await world.settle()
    operations = [effect.operation for effect in world.log if effect.entity == f"task:{task}"]
    assert operations[0] == "create_task" and operations[-1] == "delete_task"
    assert await world.hub.get(f"task:{task}", "anna") is None


@pytest.mark.parametrize("new_epoch", [True, False])
async def test_a_hub_restored_from_a_backup_gets_everything_back(world: World, new_epoch: bool) -> None:
    await world.insight()
    await world.remember_hub()
    for _ in range(3):
        await world.insight()
    await world.drain()
    backup, length = world.saved_hub or (None, 0)
    assert backup is not None
    await world.hub.restore(backup, new_epoch=new_epoch)
    del world.log[length:]
    world.rolled_back = True
    await world.insight(offline=True)
    report = await world.drain()
    assert report.remaining == 1 and report.synced == 0, "draining waits for the user's word"
    await world.settle()
    assert len(world.log) == 5


async def test_rows_of_one_account_never_reach_another(world: World) -> None:
    await world.drain()
    await world.insight(offline=True)
    await world.other_account()
    report = await world.drain()
    assert report.synced == 0 and world.log == []
    status = await world.run(world.assistant.queue_status())
    assert status.held == 1
    await world.settle()
    assert {effect.account for effect in world.log} == {"anna"}


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len(FAULTS) == len(set(FAULTS)) >= 25
