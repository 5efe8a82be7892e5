"""The background of a program that stays: goes by itself, sees what others write, is quiet when nothing is up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from aria_tui.models import Change, SyncFinished
from aria_tui.outbox import monitor
from tests.outbox.bench import Bench, Home


class Watch:
    """Iterates ``watch`` and keeps what it said; time passes when everybody waits for it."""

    def __init__(self, bench: Bench, home: Home) -> None:
        self.bench, self.home = bench, home
        self.seen: list[Change] = []
        self.task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for change in self.home.assistant.watch():
            self.seen.append(change)

    async def until(self, condition: Callable[[], bool], seconds: float) -> float:
        """Lets time pass until something is so; gives how many seconds that took."""
        began = self.bench.clock.steady()
        while not condition():
            await asyncio.sleep(0.005)
            assert self.bench.clock.steady() - began <= seconds, f"not within {seconds} s"
            self.bench.clock.advance_to_next()
        return self.bench.clock.steady() - began

    async def let_pass(self, seconds: float) -> None:
        end = self.bench.clock.steady() + seconds
        while self.bench.clock.steady() < end:
            await asyncio.sleep(0.001)
            self.bench.clock.advance_to_next()

    def told(self, what: str) -> list[Change]:
        return [change for change in self.seen if change.what == what]

    def ends(self) -> list[SyncFinished]:
        return [change.sync for change in self.seen if isinstance(change.sync, SyncFinished)]

    async def stop(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


@pytest.fixture
async def watch(bench: Bench, home: Home) -> AsyncIterator[Watch]:
    made = Watch(bench, home)
    yield made
    await made.stop()


async def test_what_waits_goes_when_the_program_starts(bench: Bench) -> None:
    home = await bench.home()
    await home.assistant.create_task("x", offline=True)
    watch = Watch(bench, home)
    await watch.until(lambda: len(bench.log) == 1, 5)
    await watch.until(lambda: bool(watch.ends()), 5)
    assert watch.ends()[0].own and watch.ends()[0].report.synced == 1
    await watch.stop()


async def test_within_ten_seconds_after_the_hub_is_back(bench: Bench, home: Home, watch: Watch) -> None:
    home.weather.down = True
    await bench.run(home.assistant.create_task("x"))
    await watch.let_pass(100)
    assert not bench.log
    home.weather.clear()
    assert await watch.until(lambda: len(bench.log) == 1, 10) <= 10


async def test_another_program_s_row_is_seen_within_a_second_and_sent(bench: Bench, home: Home, watch: Watch) -> None:
    await watch.let_pass(30)
    watch.seen.clear()
    home.stranger("capture_insight", {"content": "from outside"})
    assert await watch.until(lambda: bool(watch.told("queue")), 1.01) <= 1
    await watch.until(lambda: len(bench.log) == 1, 5)


@pytest.mark.case("Q06")
async def test_a_row_in_backoff_goes_when_it_is_due(bench: Bench, home: Home, watch: Watch) -> None:
    home.weather.writes = ["retry_one"]
    await home.assistant.create_task("x", offline=True)
    await watch.until(lambda: len(bench.log) == 1, 301)


async def test_retry_after_of_an_immediate_send_is_kept_and_then_it_goes(
    bench: Bench, home: Home, watch: Watch
) -> None:
    await watch.let_pass(5)
    home.weather.writes = ["slow_down"]
    writes = home.network.writes
    assert (await bench.run(home.assistant.create_task("x"))).status == "queued"
    began = bench.clock.steady()
    await watch.until(lambda: len(bench.log) == 1, 30)
    assert bench.clock.steady() - began >= 10 and home.network.writes == writes + 2


async def test_a_refused_token_is_tried_every_five_minutes(bench: Bench, home: Home, watch: Watch) -> None:
    home.weather.every_read = home.weather.every_write = "unauthenticated"
    await home.assistant.create_task("x", offline=True)
    await watch.let_pass(30)
    requests = home.network.requests
    await watch.let_pass(310)
    assert 1 <= home.network.requests - requests <= 2
    home.weather.clear()
    await watch.until(lambda: len(bench.log) == 1, 330)


@pytest.mark.parametrize("kind", ["held", "parked", "empty"])
async def test_a_long_wait_makes_no_hot_loop(bench: Bench, home: Home, watch: Watch, kind: str) -> None:
    if kind != "empty":
        home.stranger("send_flowers" if kind == "held" else "create_task", {"title": ""})
    second = await bench.home()
    other = Watch(bench, second)
    await watch.let_pass(60)
    requests, version = home.network.requests, home.rows("PRAGMA data_version")
    looked = home.rows("SELECT count(*) FROM queue")
    await watch.let_pass(200)
    assert home.network.requests - requests <= 2 * 200 / 20, "probes, and nothing else"
    assert home.rows("SELECT count(*) FROM queue") == looked and version
    await other.stop()


async def test_a_file_that_can_not_be_marked_is_no_hot_loop(bench: Bench, home: Home, watch: Watch) -> None:
    """Delivered at the Hub, and the mark can't be written: the same key, backoff, a warning."""
    await watch.let_pass(5)
    made = await home.assistant.create_task("x", offline=True)
    store = home.assistant._engine.store
    right = home.network.pass_on
    writer = store._writer
    pages = next(iter(await writer.execute_fetchall("PRAGMA page_count")))[0]

    async def fill_the_disk(request: object) -> object:
        answer = await right(request)  # type: ignore[arg-type]
        if request.method == "POST":  # type: ignore[attr-defined]
            await store._writer.execute("PRAGMA query_only = ON")
        return answer

    home.network.pass_on = fill_the_disk  # type: ignore[method-assign,assignment]
    await watch.until(lambda: len(bench.log) == 1, 30)
    sent = len(bench.sent)
    await watch.let_pass(120)
    assert len(bench.sent) - sent <= 12, "no hot loop"
    home.network.pass_on = right  # type: ignore[method-assign]
    await store._writer.execute("PRAGMA query_only = OFF")
    await watch.let_pass(120)
    assert not await home.waiting() and len(set(bench.keys_of(made.id))) == 1 and pages
    assert len(bench.log) == 1


async def test_a_drain_with_nothing_to_send_tells_nothing(bench: Bench, home: Home, watch: Watch) -> None:
    home.stranger("send_flowers", {})
    await watch.until(lambda: bool(watch.ends()), 60)
    watch.seen.clear()
    home.assistant._engine.monitor().poke()
    await watch.let_pass(10)
    assert not watch.told("sync")


async def test_what_is_restored_is_told_once(bench: Bench, home: Home, watch: Watch) -> None:
    await watch.let_pass(25)
    await bench.hub.restore(await bench.hub.backup())
    await watch.let_pass(120)
    notices = [change.text for change in watch.told("notice")]
    assert len([text for text in notices if "aria queue verify" in text]) == 1


async def test_uptime_is_a_share_of_time_and_not_of_probes(
    home: Home, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the Hub is away it is asked more often: a hundred seconds there and three hundred away are a quarter."""
    monkeypatch.setattr(monitor, "KEPT_AFTER", 1)
    await watch.let_pass(100)
    home.weather.down = True
    await watch.let_pass(300)
    share = (await home.assistant.hub_status(probe=False)).uptime_7d
    assert share is not None and 0.2 < share < 0.3, share
