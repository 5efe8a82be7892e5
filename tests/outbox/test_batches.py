"""One lane of batches: growing, halving, a culprit isolated, each operation acknowledged by itself."""

from __future__ import annotations

import asyncio
import json

import httpx
import msgspec
import pytest

from aria_tui.outbox import lane
from aria_tui.outbox.lane import Lane
from tests.outbox.bench import Bench, Home


class Sizes(httpx.AsyncBaseTransport):
    """Notes how many operations each batch held, how many bytes, and lets a test answer in the Hub's place."""

    def __init__(self, home: Home) -> None:
        self.inner = home.network.inner
        self.sizes: list[int] = []
        self.bytes: list[int] = []
        self.refuse_above = 10**9
        self.poison = ""
        home.network.inner = self

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path != "/api/queue":
            return await self.inner.handle_async_request(request)
        ops = json.loads(request.content)["ops"]
        self.sizes.append(len(ops))
        self.bytes.append(len(request.content))
        if len(ops) > self.refuse_above:
            return await self._instead(request, 413, "too-large")
        if self.poison and any(self.poison in json.dumps(op["payload"]) for op in ops):
            return await self._instead(request, 500, "internal")
        return await self.inner.handle_async_request(request)

    async def _instead(self, request: httpx.Request, status: int, word: str) -> httpx.Response:
        probe = await self.inner.handle_async_request(httpx.Request("GET", request.url.copy_with(path="/healthz")))
        body = {"type": f"/problems/{word}", "title": word, "status": status}
        own = {k: v for k, v in probe.headers.items() if k.startswith("aria-hub")}
        return httpx.Response(
            status, headers={**own, "content-type": "application/problem+json"}, content=json.dumps(body).encode()
        )


async def fill(home: Home, count: int, text: str = "insight") -> None:
    for number in range(count):
        await home.assistant.capture_insight(f"{text} {number}", offline=True)


async def test_batches_begin_small_enough_to_show_progress_and_grow(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "QUICK", 1e6)  # how quick this machine is today is not asked
    await fill(home, 2200)
    sizes = Sizes(home)
    seen, report = await home.events()
    assert report.synced == 2200 and sizes.sizes == [500, 1000, 700]
    done = [event.done for event in seen]
    assert done == sorted(done) and seen[-1].done == seen[-1].total == 2200


async def test_a_hub_that_takes_its_time_gets_smaller_ones_and_not_too_small(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "QUICK", 1e-6)
    await fill(home, 400)
    sizes = Sizes(home)
    assert (await home.sync()).synced == 400
    assert sizes.sizes == [200, *[lane.SMALLEST] * 4]


async def test_two_hundred_rows_show_progress_half_way(bench: Bench, home: Home) -> None:
    await fill(home, 200)
    sizes = Sizes(home)
    assert (await home.sync()).synced == 200 and sizes.sizes == [100, 100]


@pytest.mark.case("Q04")
async def test_413_halves_and_does_not_grow_beyond_again(bench: Bench, home: Home) -> None:
    await fill(home, 600)
    sizes = Sizes(home)
    sizes.refuse_above = 100
    assert (await home.sync()).synced == 600
    assert sizes.sizes[:3] == [300, 150, 75] and max(sizes.sizes[2:]) <= 100


async def test_the_body_stays_within_the_hub_s_limit(bench: Bench, home: Home) -> None:
    await fill(home, 40, "x" * 60_000)
    sizes = Sizes(home)
    assert (await home.sync()).synced == 40
    assert max(sizes.bytes) <= 1024 * 1024 and len(sizes.sizes) < 40


async def test_one_operation_that_breaks_every_batch_is_found(bench: Bench, home: Home) -> None:
    await fill(home, 40)
    await home.assistant.capture_insight("poison", offline=True)
    await fill(home, 40, "later")
    sizes = Sizes(home)
    sizes.poison = "poison"
    report = await home.sync()
    assert report.synced == 80 and report.remaining == 1
    assert home.rows("SELECT attempts FROM queue WHERE synced_at IS NULL") == [(1,)]
    assert "attempt 1 failed" in (await home.waiting())[0].reason, "sent oftener, but that is how many were spent"
    assert sizes.sizes[1] == 1, "halved only after one of it alone succeeded"


async def test_an_operation_missing_from_the_answer_is_not_acknowledged(bench: Bench, home: Home) -> None:
    await fill(home, 60)
    home.weather.writes = ["missing_results"]
    report = await home.sync()
    assert report.synced == 59 and report.remaining == 1
    bench.clock.advance(400)
    assert (await home.sync()).synced == 1
    assert len(bench.log) == 60


async def test_a_row_changed_while_it_was_read_is_not_sent_as_it_was(bench: Bench, home: Home) -> None:
    """Between the reading of a batch and its sending the user edits one row and discards another."""
    from aria_tui.outbox import rows

    first = await home.assistant.create_task("first", offline=True)
    second = await home.assistant.create_task("second", offline=True)
    right, edited = rows.page, []

    async def page(store: rows.Store, after: int, limit: int) -> list[rows.Row]:
        found = await right(store, after, limit)
        if not edited:
            edited.append(True)
            payload = {"id": first.id, "title": "edited"}
            await home.assistant.queue_edit(1, payload)
            await home.assistant.queue_discard(2)
        return found

    rows.page = page
    try:
        await home.sync()
    finally:
        rows.page = right
    await home.sync()
    assert (await bench.task(first.id) or {})["title"] == "edited"
    assert await bench.task(second.id) is None and not await home.waiting()


@pytest.mark.parametrize("attempt", range(3))
async def test_results_are_committed_a_batch_at_a_time(bench: Bench, home: Home, attempt: int) -> None:
    """A crash between two batches costs nothing but the repeat of the batch in flight."""
    await fill(home, 150)
    home.weather.writes = [""] * attempt + ["cut"]
    home.weather.reads = ["", "refused"]
    bench.clock.advance(60)
    await home.sync()
    delivered = home.rows("SELECT count(*) FROM queue WHERE outcome = 'applied'")[0][0]
    assert delivered == min(150, (0, 75, 150)[attempt])
    bench.clock.advance(400)
    home.weather.clear()
    await home.sync()
    assert len(bench.log) == 150 and not await home.waiting()


async def test_a_stopped_drain_leaves_nothing_half_marked(bench: Bench, home: Home) -> None:
    await fill(home, 1520)  # in three batches

    async def stop_soon() -> None:
        async for event in home.assistant.sync():
            if getattr(event, "done", 0):
                home.assistant.stop_sync()

    await bench.run(stop_soon())
    left = home.rows("SELECT count(*) FROM queue WHERE synced_at IS NULL")[0][0]
    assert 0 < left < 1520 and len(bench.log) >= 1520 - left
    await home.sync()
    assert len(bench.log) == 1520 and msgspec.json.encode(await home.waiting()) == b"[]"


async def test_what_is_on_its_way_is_not_shown_in_doubt(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is looked at while batches begin and end."""
    monkeypatch.setattr(Lane, "_limits", lambda _: (5, 1024 * 1024))
    for number in range(200):
        await home.assistant.capture_insight(f"{number}", offline=True)
    drain, seen = asyncio.create_task(home.sync()), set()
    while not drain.done():
        seen |= {item.reason_code for item in await home.waiting()}
    assert (await drain).synced == 200
    assert seen == {"sending", "next"}
