"""Results of many operations are written down while the next request is under way; whatever happens meanwhile, each is
delivered once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import httpx
import pytest

from aria_tui.errors import NotSaved
from aria_tui.outbox.books import MANY, Books, Owed
from aria_tui.outbox.store import Store
from tests.outbox.bench import Bench, Home
from tests.outbox.test_meanwhile import is_batch

ROWS = 3 * MANY


class Second:
    """Holds the second batch back until it is let go."""

    def __init__(self, home: Home) -> None:
        self.under_way, self.go = asyncio.Event(), asyncio.Event()
        self.reached: list[str] = []
        right = home.network.handle_async_request

        async def handle(request: httpx.Request) -> httpx.Response:
            if is_batch(request):
                self.reached.append(request.headers["aria-if-reached"])
                if len(self.reached) == 2:
                    self.under_way.set()
                    await self.go.wait()
            return await right(request)

        home.network.handle_async_request = handle  # type: ignore[method-assign]


class Payment:
    """Holds the writing of the first batch's results back until it is let go, or lets it fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.fails = False
        right = Books._pay

        async def pay(books: Books, owed: Owed | None) -> None:
            if not self.begun.is_set():
                self.begun.set()
                await self.go.wait()
                if self.fails:
                    raise NotSaved("disk full", path="queue.db")
            await right(books, owed)

        monkeypatch.setattr(Books, "_pay", pay)


@pytest.fixture
async def filled(home: Home) -> Home:
    for number in range(ROWS):
        await home.assistant.capture_insight(f"{number}", offline=True)
    return home


@pytest.fixture
def second(filled: Home) -> Iterator[Second]:
    made = Second(filled)
    yield made
    made.go.set()  # so that a test that failed ends


@pytest.fixture
def payment(filled: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Payment]:
    made = Payment(monkeypatch)
    yield made
    made.go.set()


def synced(home: Home) -> int:
    return int(home.rows("SELECT count(*) FROM queue WHERE synced_at IS NOT NULL")[0][0])


async def until(wanted: int, home: Home) -> None:
    for _ in range(1000):
        if synced(home) == wanted:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"{synced(home)} of {wanted} rows are marked")


async def test_they_are_committed_before_the_next_answer(bench: Bench, filled: Home, second: Second) -> None:
    drain = asyncio.create_task(filled.sync())
    await second.under_way.wait()
    await until(ROWS // 2, filled)
    codes = [item.reason_code for item in await filled.waiting()]
    assert codes == ["sending"] * (ROWS // 2)
    second.go.set()
    assert (await drain).synced == ROWS and len(bench.log) == ROWS


async def test_what_was_answered_is_shown_as_on_its_way_until_it_is_written(
    bench: Bench, filled: Home, payment: Payment, second: Second
) -> None:
    drain = asyncio.create_task(filled.sync())
    await second.under_way.wait()
    await payment.begun.wait()
    assert {item.reason_code for item in await filled.waiting()} == {"sending"} and synced(filled) == 0
    payment.go.set()
    second.go.set()
    assert (await drain).synced == ROWS and len(bench.log) == ROWS


async def test_the_hub_hears_of_them_before_they_are_written(
    bench: Bench, filled: Home, payment: Payment, second: Second
) -> None:
    """A Hub that was restored after its first answer must not take the second batch."""
    drain = asyncio.create_task(filled.sync())
    await second.under_way.wait()
    seen = [int(value.rpartition(".")[2]) for value in second.reached]
    assert seen[1] - seen[0] >= ROWS // 2
    payment.go.set()
    second.go.set()
    await drain


async def test_what_can_t_be_written_comes_again_with_the_same_keys(
    bench: Bench, filled: Home, payment: Payment
) -> None:
    payment.fails = True
    payment.go.set()
    report = await filled.sync()
    assert report.failed and report.remaining == ROWS and "same keys" in report.sentence
    assert filled.assistant._engine.syncer._drain is None
    assert filled.rows("SELECT DISTINCT why, synced_at FROM queue") == [("in_doubt", None)]
    again = await filled.sync()
    assert (again.remaining, again.problem) == (0, "") and len(bench.log) == ROWS


@pytest.mark.parametrize("late", [False, True], ids=["written", "not written yet"])
async def test_an_end_in_between_leaves_nothing_half_done(
    bench: Bench, filled: Home, payment: Payment, second: Second, late: bool
) -> None:
    """The program is closed while both are under way: it ends when the results are in the file."""
    drain = asyncio.create_task(filled.sync())
    await second.under_way.wait()
    await payment.begun.wait()
    if not late:
        payment.go.set()
        await until(ROWS // 2, filled)
    closing = asyncio.create_task(filled.close())
    bench.homes.remove(filled)
    payment.go.set()
    second.go.set()
    await closing
    with contextlib.suppress(asyncio.CancelledError):
        await drain
    assert synced(filled) >= ROWS // 2
    again = await bench.home("home")
    assert (await again.sync()).remaining == 0 and len(bench.log) == ROWS


async def test_few_are_committed_with_the_next_attempt(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sync to disk between two batches, not two."""
    for number in range(MANY):
        await home.assistant.capture_insight(f"{number}", offline=True)
    second = Second(home)
    commits, right = 0, Store.write

    async def write(self: Store, job: object, *, hurried: bool = False) -> object:
        nonlocal commits
        commits += hurried
        return await right(self, job, hurried=hurried)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "write", write)
    second.go.set()
    assert (await home.sync()).synced == MANY and len(second.reached) == 2
    assert commits == 4  # an attempt; results and an attempt; results; the report
