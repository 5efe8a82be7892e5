"""Retry-After in all its forms through the whole queue: nobody sends before its time, and junk is ordinary backoff."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from aria_tui.errors import NotSaved
from aria_tui.outbox import gates
from aria_tui.outbox.books import Books
from tests.faults.transport import problem
from tests.outbox.bench import Bench, Home
from tests.outbox.test_monitor import Watch

pytestmark = pytest.mark.case("H04")

ASKED = [("Mon, 30 Nov 2026 11:01:30 GMT", 90), ("120", 120)]
"""What the Hub asks for at 11:00:00, and the seconds that it means."""
JUNK = [
    "-5", "inf", "nan", "soon", "99999999999999999999", "Wed, 21 Oct 99999 07:28:00 GMT",
    "Mon, 30 Nov 2026 11:01:30 -0000", "Tue, 31 Feb 2026 07:28:00 GMT", "",
]  # fmt: skip
LONGEST_BACKOFF, HOUR = 300, 3600


class Asks(httpx.AsyncBaseTransport):
    """The Hub, which puts every write off while ``status`` is set, with its own Date as real servers send it."""

    def __init__(self, bench: Bench, inner: httpx.AsyncBaseTransport) -> None:
        self.bench, self.inner = bench, inner
        self.status, self.retry_after, self.reads_too = 0, "", False
        self.posts: list[float] = []
        """The steady moments at which a write reached the Hub."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        write = request.method not in ("GET", "HEAD")
        if write:
            self.posts.append(self.bench.clock.steady())
        given = await self.inner.handle_async_request(
            request if not self.status else httpx.Request("GET", request.url.copy_with(path="/healthz"))
        )
        await given.aread()
        if not self.status or not (write or self.reads_too):
            return given if not self.status else await self.inner.handle_async_request(request)
        return problem(given, request, self.status, "slow-down", {"Retry-After": self.retry_after})


@pytest.fixture
async def asks(bench: Bench, home: Home) -> Asks:
    made = Asks(bench, home.network.inner)
    home.network.inner = made
    return made


@pytest.fixture
async def second(bench: Bench, home: Home, asks: Asks) -> Home:
    """Another process over the same files."""
    made = await bench.home()
    made.network.inner = asks
    return made


@pytest.fixture(autouse=True)
async def no_fault_of_the_program(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    """Nothing unforeseen is logged, and no task of the event loop ends in an exception that nobody saw."""
    unseen: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
    caplog.set_level(logging.WARNING)
    yield
    assert not unseen
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


async def fill(home: Home) -> list[str]:
    """Items of every kind: what is new, and edits of it."""
    for number in range(3):
        await home.assistant.create_task(f"task {number}", offline=True)
    await home.assistant.capture_insight("an idea", offline=True)
    await home.assistant.store_briefing("2026-11-30", "# Day", offline=True)
    await home.assistant.record_activity("lab", "2026-11-30", notes="x", offline=True)
    return [item.op_id for item in await home.waiting()]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("value", "seconds"), ASKED, ids=["date", "seconds"])
async def test_nothing_of_anybody_goes_before_its_time(
    bench: Bench, home: Home, second: Home, asks: Asks, status: int, value: str, seconds: int
) -> None:
    keys = await fill(home)
    asks.status, asks.retry_after = status, value
    began = bench.clock.steady()
    assert (await home.sync()).synced == 0 and len(asks.posts) == 1
    watching = [Watch(bench, one) for one in (home, second)]
    for part in range(3):
        end = began + (seconds - 1) * (part + 1) / 3
        await watching[0].let_pass(end - bench.clock.steady())
        for one in (home, second):
            report = await one.sync(manual=True)
            assert report.synced == 0 and "asks to wait" in report.sentence, report
            await one.sync(manual=False)
            made = await bench.run(one.assistant.capture_insight(f"new {part}"))
            assert made.status == "queued" and "next at" in made.message, made
            await bench.run(one.assistant.hub_status())
            await bench.run(one.assistant.list_tasks())
        assert bench.clock.steady() < began + seconds, "the test itself took no longer"
        items = await second.waiting()
        assert {item.reason_code for item in items} == {"retry_after"}
        assert {item.next_attempt_at for item in items} == {
            "2026-11-30T11:01:30Z" if seconds == 90 else "2026-11-30T11:02:00Z"
        }
        assert all("next at 2026-11-30T11:0" in item.reason for item in items)
        assert len(asks.posts) == 1, "no write before its time"
    asks.status = 0
    await watching[0].until(lambda: len(bench.log) == len(keys) + 6, LONGEST_BACKOFF)
    assert min(asks.posts[1:]) >= began + seconds
    for one in watching:
        await one.stop()
    assert not await home.waiting() and not await home.dead()
    assert len({one.entity for one in bench.log}) == len(bench.log)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("value", JUNK)
async def test_junk_is_ordinary_backoff(bench: Bench, home: Home, asks: Asks, status: int, value: str) -> None:
    keys = await fill(home)
    asks.status, asks.retry_after = status, value
    await home.sync(manual=False)
    assert (await bench.run(home.assistant.capture_insight("another"))).status == "queued"
    assert len(asks.posts) == 1, "it waits, and a new item does"
    now = bench.clock.now()
    for item in await home.waiting():
        assert item.attempts == 0 and item.reason_code == "offline"
        assert item.next_attempt_at and datetime.fromisoformat(item.next_attempt_at) <= now + timedelta(seconds=2)
    await home.sync(manual=True)
    assert len(asks.posts) == 2, "the user's own sync ignores backoff"
    asks.status = 0
    bench.clock.advance(4)
    assert (await home.sync(manual=False)).synced == len(keys) + 1


async def test_backoff_grows_to_five_minutes_and_reads_that_are_answered_do_not_hurry_it(
    bench: Bench, home: Home, asks: Asks
) -> None:
    keys = await fill(home)
    asks.status, asks.retry_after = 503, "soon"
    watch = Watch(bench, home)
    await watch.let_pass(300)
    await watch.stop()
    assert 3 <= len(asks.posts) <= 30
    gaps = [after - before for before, after in zip(asks.posts, asks.posts[1:], strict=False)]
    assert all(0 < gap <= LONGEST_BACKOFF + 1 for gap in gaps), gaps
    for item in await home.waiting():
        assert item.reason_code == "backoff" and item.next_attempt_at and item.next_attempt_at in item.reason, item
        assert item.attempts == 0
    asks.status = 0
    watch = Watch(bench, home)
    await watch.until(lambda: len(bench.log) == len(keys), LONGEST_BACKOFF + 1)
    await watch.stop()


@pytest.mark.parametrize("value", ["7200", "2147483647", "Fri, 30 Nov 2029 12:00:00 GMT"])
async def test_no_wait_is_longer_than_an_hour(bench: Bench, home: Home, asks: Asks, value: str) -> None:
    await fill(home)
    asks.status, asks.retry_after = 503, value
    await home.sync()
    bench.clock.advance(HOUR - 1)
    assert (await home.sync()).synced == 0 and len(asks.posts) == 1
    asks.status = 0
    bench.clock.advance(1.1)
    assert (await home.sync()).remaining == 0


@pytest.mark.parametrize(
    "then", ["refused", "portal", "bad_gateway", "unavailable", "redirect", "timeout_before", "unauthenticated"]
)
async def test_what_happens_meanwhile_shortens_no_wait(
    bench: Bench, home: Home, second: Home, asks: Asks, then: str
) -> None:
    """The Hub asked for two minutes; a probe after that meets something else, and later it is there again."""
    keys = await fill(home)
    asks.status, asks.retry_after = 429, "120"
    began = bench.clock.steady()
    await home.sync()
    bench.clock.advance(10)
    for one in (home, second):
        one.weather.every_read = one.weather.every_write = then
        await bench.run(one.assistant.hub_status())
        one.weather.clear()
    asks.status = 0
    bench.clock.advance(60)
    for one in (home, second):
        await one.sync(manual=True)
        await bench.run(one.assistant.hub_status())
        assert (await bench.run(one.assistant.capture_insight("meanwhile"))).status == "queued"
    assert len(asks.posts) == 1, "no write before its time"
    bench.clock.advance(began + 121 - bench.clock.steady())
    assert (await home.sync()).synced == len(keys) + 2


async def test_a_read_that_is_put_off_puts_the_writes_off_too(bench: Bench, home: Home, asks: Asks) -> None:
    keys = await fill(home)
    asks.status, asks.retry_after, asks.reads_too = 503, "90", True
    assert (await bench.run(home.assistant.hub_status())).state != "online"
    asks.status = 0
    bench.clock.advance(89)
    assert (await home.sync()).synced == 0 and not asks.posts
    bench.clock.advance(1.1)
    assert (await home.sync()).synced == len(keys)


async def test_another_token_waits_as_well(bench: Bench, home: Home, asks: Asks) -> None:
    keys = await fill(home)
    asks.status, asks.retry_after = 429, "120"
    await home.sync()
    home.weather.every_read = "unauthenticated"
    await bench.run(home.assistant.hub_status())
    await home.close()
    asks.status = 0
    bench.tokens["anna"] = await bench.hub.token("anna")
    again = await bench.home()
    again.network.inner = asks
    await again.sync()
    await bench.run(again.assistant.hub_status())
    assert (await again.sync()).synced == 0 and len(asks.posts) == 1
    bench.clock.advance(121)
    assert (await again.sync()).synced == len(keys)


async def test_a_hub_that_asks_before_it_is_known_who_it_is(bench: Bench) -> None:
    """The wait was noted under the address; the next answer gives it a name."""
    fresh = await bench.home("fresh")
    fresh.network.inner = asks = Asks(bench, fresh.network.inner)
    asks.status, asks.retry_after, asks.reads_too = 429, "120", True
    assert (await bench.run(fresh.assistant.create_task("x"))).status == "queued"
    asks.status = 0
    await bench.run(fresh.assistant.hub_status())
    assert (await fresh.sync()).synced == 0 and not asks.posts
    bench.clock.advance(121)
    assert (await fresh.sync()).synced == 1


async def test_a_shorter_wait_takes_nothing_from_a_longer_one(bench: Bench, home: Home, asks: Asks) -> None:
    keys = await fill(home)
    asks.status, asks.retry_after, asks.reads_too = 429, "120", True
    await home.sync()
    asks.retry_after = "5"
    await bench.run(home.assistant.hub_status())
    asks.status = 0
    bench.clock.advance(60)
    assert (await home.sync()).synced == 0 and len(asks.posts) == 1
    assert {item.reason for item in await home.waiting()} == {"the Hub asked to wait, next at 2026-11-30T11:02:00Z"}
    bench.clock.advance(61)
    assert (await home.sync()).synced == len(keys)


async def test_a_hub_that_puts_off_reads_as_well_gets_no_write_until_it_answers(
    bench: Bench, home: Home, asks: Asks
) -> None:
    keys = await fill(home)
    asks.status, asks.retry_after, asks.reads_too = 503, "soon", True
    watch = Watch(bench, home)
    await watch.let_pass(60)
    assert len(asks.posts) <= 1, "one may go before that is known"
    asks.status = 0
    assert await watch.until(lambda: len(bench.log) == len(keys), 10) <= 10
    await watch.stop()


@pytest.mark.parametrize("what", ["the rows", "the gate"])
async def test_it_holds_when_it_can_t_be_written_down(
    home: Home, asks: Asks, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A full disk: this process knows it all the same, and asks no sooner."""

    async def full(*_: Any, **__: Any) -> None:
        raise NotSaved("disk full", path="queue.db")

    await home.assistant.create_task("x", offline=True)
    asks.status, asks.retry_after = 503, "600"
    with monkeypatch.context() as broken:
        broken.setattr(*((Books, "nothing_spent") if what == "the rows" else (gates, "save")), full)
        await home.sync()
    await home.assistant.hub_status(probe=False)
    report = await home.sync()
    assert (report.synced, len(asks.posts)) == (0, 1)
