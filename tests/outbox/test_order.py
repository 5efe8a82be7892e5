"""Order within an entity: nothing overtakes, whatever happens to what stands before it."""

from __future__ import annotations

import asyncio

import pytest

from tests.outbox.bench import Bench, Home


@pytest.mark.case("Q03")
async def test_edits_behind_a_create_in_doubt_wait_for_it_through_503_cut_and_200(bench: Bench, home: Home) -> None:
    """update, complete, delete after a create whose answer was lost."""
    home.weather.writes = ["cut"]
    home.weather.reads = ["refused"]  # and nobody says that the Hub works
    made = await bench.run(home.assistant.create_task("Pagar DAS"))
    assert made.status == "queued"
    for write in (
        home.assistant.update_task(made.id, {"title": "Pagar DAS hoje"}),
        home.assistant.complete_task(made.id),
        home.assistant.delete_task(made.id),
    ):
        assert (await bench.run(write)).status == "queued"
    codes = [item.reason_code for item in await home.waiting()]
    assert codes[1:] == ["behind"] * 3
    home.weather.clear()
    for fault in ("unavailable", "cut", ""):
        bench.clock.advance(400)
        home.weather.writes = [fault]
        home.weather.reads = [""] + (["refused"] if fault == "cut" else [])
        await home.sync()
    assert not await home.waiting() and not await home.dead()
    creates = [key for key, operation, _ in bench.sent if operation == "create_task"]
    assert len(creates) >= 3 and len(set(creates)) == 1, "the create went out under one key each time"
    assert bench.applied(made.id)[0] == "create_task" and bench.applied(made.id)[-1] == "delete_task"
    assert await bench.task(made.id) is None
    versions = [one.op_id for one in bench.log if one.entity.endswith(made.id)]
    assert len(versions) == len(set(versions)), "each operation had one effect"


async def test_a_failed_head_blocks_its_own_entity_only(bench: Bench, home: Home) -> None:
    head = await home.assistant.create_task("head", offline=True)
    home.weather.writes = ["retry_one", "retry_one"]
    await home.sync()  # it was sent now, so nothing is folded into it
    await home.assistant.update_task(head.id, {"title": "renamed"}, offline=True)
    other = await home.assistant.create_task("other", offline=True)
    report = await home.sync()
    assert report.synced == 1 and await bench.task(other.id) and await bench.task(head.id) is None
    writes = home.network.writes
    await home.sync(manual=False)
    assert home.network.writes == writes, "the head is in backoff, and what stands behind it waits"
    online = await bench.run(home.assistant.update_task(head.id, {"title": "again"}))
    assert online.status == "queued" and "behind" in online.message
    bench.clock.advance(400)
    await home.sync()
    assert bench.applied(head.id)[0] == "create_task"
    assert (await bench.task(head.id) or {})["title"] == "again"


@pytest.mark.case("Q03")
async def test_a_write_during_a_drain_is_found_before_the_lock_is_let_go(bench: Bench, home: Home) -> None:
    """Somebody else drains: the new row is waited for, and was sent by the one who holds the lock."""
    for number in range(150):
        await home.assistant.capture_insight(f"{number}", offline=True)
    second = await bench.home()
    drain = asyncio.ensure_future(home.sync())
    while not home.network.writes:
        await asyncio.sleep(0)
    result = await bench.run(second.assistant.create_task("meanwhile"))
    await drain
    assert result.status == "synced" and await bench.task(result.id)


async def test_the_immediate_send_never_goes_without_the_lock(bench: Bench, home: Home) -> None:
    lock = home.assistant._engine.lock
    second = await bench.home()
    await bench.run(second.assistant.hub_status())
    assert lock.acquire()
    try:
        writes = second.network.writes
        result = await bench.run(second.assistant.create_task("x"))
        assert result.status == "queued" and second.network.writes == writes
    finally:
        lock.release()
    assert (await home.sync()).synced == 1


@pytest.mark.case("Q04")
async def test_later_ones_wait_behind_a_dead_letter_until_it_is_retried(bench: Bench, home: Home) -> None:
    number = home.stranger("create_task", {"id": "018f0000-0000-7000-8000-000000000001", "title": ""})
    await home.sync()
    thing = "018f0000-0000-7000-8000-000000000001"
    later = await bench.run(home.assistant.update_task(thing, {"priority": "HIGH"}))
    assert later.status == "queued" and f"behind #{number}" in later.message
    assert [item.reason_code for item in await home.waiting()] == ["parked_ahead"]
    assert (await home.sync()).synced == 0
    old = (await home.dead())[0]
    edited = await bench.run(home.assistant.queue_edit(number, {"id": thing, "title": "good"}))
    assert edited.id == number and edited.op_id != old.op_id
    assert home.rows("SELECT edited_from FROM queue WHERE id = ?", number) == [(old.op_id,)]
    await home.sync()
    assert bench.applied(thing) == ["create_task", "update_task"]
    assert (await bench.task(thing) or {})["priority"] == "HIGH"


async def test_a_delete_behind_a_refused_create_cancels_both(bench: Bench, home: Home) -> None:
    thing = "018f0000-0000-7000-8000-000000000002"
    home.stranger("create_task", {"id": thing, "title": ""})
    await home.sync()
    await home.assistant.update_task(thing, {"title": "x"}, offline=True)
    await home.assistant.delete_task(thing, offline=True)
    plan = await bench.run(home.assistant.queue_plan())
    assert plan == {"operations": [], "cancelled": [1, 2, 3]}
    writes = home.network.writes
    await home.sync()
    assert home.network.writes == writes and not await home.waiting() and not await home.dead()
    outcomes = [row[0] for row in home.rows("SELECT outcome FROM queue ORDER BY id")]
    assert outcomes == ["cancelled"] * 3


async def test_the_delete_of_a_create_given_up_unanswered_is_sent_all_the_same(bench: Bench, home: Home) -> None:
    made = await home.assistant.create_task("perhaps", offline=True)
    home.weather.every_write = "cut"  # the Hub does it each time, and nobody ever hears of it
    for _ in range(12):
        await home.sync()
        bench.clock.advance(400)
    assert [item.id for item in await home.dead()] == [1] and await bench.task(made.id)
    home.weather.clear()
    await home.assistant.delete_task(made.id, offline=True)
    await home.sync()
    assert await bench.task(made.id) is None and not await home.dead() and not await home.waiting()


async def test_discarding_a_create_lets_go_what_waits_behind_it(bench: Bench, home: Home) -> None:
    thing = "018f0000-0000-7000-8000-000000000003"
    number = home.stranger("create_task", {"id": thing, "title": ""})
    await home.sync()
    await home.assistant.update_task(thing, {"title": "x"}, offline=True)
    assert [item.id for item in await bench.run(home.assistant.queue_dependents(number))] == [2]
    await bench.run(home.assistant.queue_discard(number))
    assert not await home.waiting() and not await home.dead()
    assert await bench.run(home.assistant.queue_retry(number)) == 1, "what was discarded can be brought back"


@pytest.mark.case("Z02")
@pytest.mark.parametrize("jumps", [(-3600, -3600), (86400, -2 * 86400)])
async def test_order_and_oldest_are_by_number_when_the_clock_goes_back(
    bench: Bench, home: Home, jumps: tuple[int, int]
) -> None:
    first = bench.clock.now()
    await home.assistant.capture_insight("41", offline=True)
    for jump, text in zip(jumps, ("42", "43"), strict=True):
        bench.clock.jump(jump)
        await home.assistant.capture_insight(text, offline=True)
    status = await bench.run(home.assistant.queue_status())
    assert [item.id for item in status.items] == [1, 2, 3]
    assert status.oldest == first.isoformat().replace("+00:00", "Z")
    await home.sync()
    assert [payload["content"] for _, _, payload in bench.sent] == ["41", "42", "43"]
