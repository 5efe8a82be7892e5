"""Each row of queue.md's table "When it fails", and what spends an attempt."""

from __future__ import annotations

import pytest

from aria_tui.config import Config, QueueConfig
from tests.faults.transport import AFTER, FOREIGN
from tests.outbox.bench import Bench, Home

AWAY = (
    "refused",
    "portal",
    "redirect",
    "bad_gateway",
    "proxy_413",
    "proxy_401",
    "other_json",
    "empty_json",
    "bad_list",
)


async def two_tasks(home: Home) -> tuple[str, str]:
    first = await home.assistant.create_task("first", offline=True)
    second = await home.assistant.create_task("second", offline=True)
    return first.id, second.id


def attempts(home: Home) -> list[int]:
    return [row[0] for row in home.rows("SELECT attempts FROM queue WHERE synced_at IS NULL ORDER BY id")]


@pytest.mark.parametrize("fault", AWAY)
async def test_a_hub_that_is_away_ends_the_drain_after_one_try(bench: Bench, home: Home, fault: str) -> None:
    await two_tasks(home)
    home.weather.every_write = fault
    report = await home.sync()
    assert (report.synced, report.remaining, home.network.writes) == (0, 2, 1)
    assert attempts(home) == [0, 0] and report.hub.state not in ("online", "embedded")
    assert {item.reason_code for item in await home.waiting()} == {"offline"}
    home.weather.clear()
    bench.clock.advance(31)
    assert (await home.sync(manual=False)).synced == 2


@pytest.mark.parametrize("fault", ["unauthenticated", "forbidden"])
async def test_a_refused_token_pauses_after_one_request(bench: Bench, home: Home, fault: str) -> None:
    await two_tasks(home)
    home.weather.every_write = home.weather.every_read = fault
    await home.sync()
    before = home.network.requests
    status = await bench.run(home.assistant.queue_status())
    assert status.paused and {item.reason_code for item in status.items} == {"paused"}
    await home.sync(manual=False)
    assert home.network.requests == before, "an automatic drain does not ask again before five minutes are over"
    await home.sync(manual=True)
    assert home.network.requests == before + 1, "a manual one does, once"
    assert attempts(home) == [0, 0] and not await home.dead()
    home.weather.clear()
    bench.clock.advance(301)
    assert (await home.sync(manual=False)).synced == 2


async def test_another_token_opens_a_paused_queue(bench: Bench, home: Home) -> None:
    await two_tasks(home)
    home.weather.every_read = home.weather.every_write = "unauthenticated"
    await home.sync()
    await home.close()
    bench.tokens["anna"] = await bench.hub.token("anna")
    again = await bench.home()
    assert (await again.sync(manual=False)).synced == 2


@pytest.mark.case("H04")
@pytest.mark.parametrize(("fault", "seconds"), [("slow_down", 11), ("unavailable", 5)])
async def test_retry_after_holds_everybody_manual_syncs_too(bench: Bench, home: Home, fault: str, seconds: int) -> None:
    await two_tasks(home)
    home.weather.writes = [fault]
    await home.sync()
    writes = home.network.writes
    assert {item.reason_code for item in await home.waiting()} == {"retry_after"}
    assert all(item.next_attempt_at for item in await home.waiting())
    bench.clock.advance(seconds - 1)
    assert (await home.sync(manual=True)).synced == 0 and home.network.writes == writes
    assert attempts(home) == [0, 0]
    bench.clock.advance(2)
    assert (await home.sync(manual=True)).synced == 2


@pytest.mark.parametrize("fault", AFTER)
async def test_an_answer_that_can_not_be_read_is_repeated_with_the_same_key(
    bench: Bench, home: Home, fault: str
) -> None:
    first, _ = await two_tasks(home)
    home.weather.writes = [fault]
    home.weather.reads = ["", "refused"]
    await home.sync()
    bench.clock.advance(400)
    home.weather.clear()
    await home.sync()
    keys = bench.keys_of(first)
    assert len(keys) >= 2 and len(set(keys)) == 1
    assert bench.applied(first) == ["create_task"] and not await home.waiting()


async def test_a_500_spends_an_attempt_only_when_the_hub_is_ready(bench: Bench, home: Home) -> None:
    await home.assistant.create_task("alone", offline=True)
    home.weather.every_write = "error_500"
    home.weather.reads = ["", "bad_gateway"]
    bench.clock.advance(60)
    await home.sync()
    assert attempts(home) == [0], "not ready: an outage"
    bench.clock.advance(400)
    home.weather.reads = []
    await home.sync()
    assert attempts(home) == [1], "ready at /readyz: this operation fails"
    assert [item.reason_code for item in await home.waiting()] == ["backoff"]


async def test_after_max_attempts_it_is_a_dead_letter_and_the_others_went_on(bench: Bench, home: Home) -> None:
    _, second = await two_tasks(home)
    home.network.choose = lambda method: "retry_one" if method == "POST" else ""
    for _ in range(20):
        await home.sync()
        bench.clock.advance(400)
        if await home.dead():
            break
    dead = (await home.dead())[0]
    assert dead.attempts == 8 and "given up after 8 attempts" in dead.reason
    home.network.choose = home.weather.choose
    await home.sync()
    assert await bench.task(second)


async def test_max_attempts_is_the_configuration_s(bench: Bench) -> None:
    home = await bench.home("short", config=Config(queue=QueueConfig(max_attempts=2)))
    await home.assistant.create_task("x", offline=True)
    home.weather.every_write = "retry_one"
    for _ in range(2):
        await home.sync()
        bench.clock.advance(400)
    assert (await home.dead())[0].attempts == 2


@pytest.mark.parametrize(
    ("operation", "payload", "why"),
    [
        ("create_task", '{"title": ""}', "title"),
        ("create_task", '{"title": "x", "unheard": 1}', "unheard"),
        ("create_task", "not json", "no JSON object"),
        ("create_task", "[1]", "no JSON object"),
        ("capture_insight", '{"content": "\\ud83d"}', "surrogate"),
        ("capture_insight", '{"content": NaN}', "NaN"),
    ],
)
async def test_what_will_never_succeed_is_dead_at_once_and_others_go_on(
    bench: Bench, home: Home, operation: str, payload: str, why: str
) -> None:
    number = home.stranger(operation, None, text=payload)
    good = await home.assistant.create_task("good", offline=True)
    report = await home.sync()
    assert (report.synced, report.dead_letters, report.remaining) == (1, 1, 0)
    dead = (await home.dead())[0]
    assert dead.id == number and dead.payload == payload and why in dead.reason
    assert dead.attempts == (why in ("title", "unheard")), "one attempt, or none where it can't even be sent"
    assert await bench.task(good.id)


async def test_an_operation_too_large_alone_is_dead_and_a_batch_is_halved(bench: Bench, home: Home) -> None:
    home.stranger("capture_insight", {"content": "x" * 2_000_000})
    small = await home.assistant.create_task("small", offline=True)
    report = await home.sync()
    assert (report.synced, report.dead_letters) == (1, 1) and await bench.task(small.id)


async def test_a_key_used_for_something_else_is_dead_and_gets_no_new_key(bench: Bench, home: Home) -> None:
    other = await bench.home("other")
    key = "a-key-of-mine"
    await bench.run(other.assistant.capture_insight("one", op_id=key))
    await bench.run(home.assistant.capture_insight("two", op_id=key))
    dead = (await home.dead())[0]
    assert dead.op_id == key and not await home.waiting()


async def test_what_the_hub_does_not_know_is_held_and_shown(bench: Bench, home: Home) -> None:
    home.stranger("send_flowers", {"to": "Ana"})
    good = await home.assistant.create_task("good", offline=True)
    report = await home.sync()
    assert (report.synced, report.dead_letters, report.remaining) == (1, 0, 1) and await bench.task(good.id)
    item = (await home.waiting())[0]
    assert item.reason_code == "held_operation" and item.attempts == 0
    writes = home.network.writes
    await home.sync(manual=False)
    assert home.network.writes == writes, "it is not sent again before the Hub has learnt it"


@pytest.mark.case("Q05")
async def test_a_long_outage_kills_nothing(bench: Bench, home: Home) -> None:
    for number in range(50):
        await home.assistant.capture_insight(f"insight {number}", offline=True)
    for fault in ("refused", "bad_gateway", "unavailable", "slow_down", "unauthenticated", "portal"):
        home.weather.every_write = home.weather.every_read = fault
        for _ in range(90):
            await home.sync(manual=False)
            bench.clock.advance(8 * 3600 / 90 * 15)
    assert not await home.dead() and attempts(home) == [0] * 50
    home.weather.clear()
    bench.clock.advance(4000)
    assert (await home.sync(manual=False)).synced == 50
    assert len({one.entity for one in bench.log}) == len(bench.log) == 50


async def test_a_hub_that_asks_for_time_gets_it_between_batches(bench: Bench, home: Home) -> None:
    for number in range(120):
        await home.assistant.capture_insight(f"{number}", offline=True)
    home.weather.writes = ["please_slow_down"]
    before = bench.clock.steady()
    assert (await home.sync()).synced == 120
    assert bench.clock.steady() - before >= 7


@pytest.mark.case("Z02")
async def test_the_wall_clock_neither_freezes_nor_hurries_a_retry(bench: Bench, home: Home) -> None:
    await home.assistant.create_task("x", offline=True)
    home.weather.writes = ["retry_one"]
    await home.sync()
    writes = home.network.writes
    bench.clock.jump(10 * 86400)
    await home.sync(manual=False)
    assert home.network.writes == writes, "a jump forth hurries nothing"
    bench.clock.jump(-40 * 86400)
    bench.clock.advance(301)
    assert (await home.sync(manual=False)).synced == 1, "a jump back freezes nothing"


async def test_no_foreign_answer_marks_anything(bench: Bench, home: Home) -> None:
    await two_tasks(home)
    for fault in FOREIGN:
        home.weather.every_write = fault
        await home.sync()
        bench.clock.advance(31)
    assert len(await home.waiting()) == 2 and not bench.log
