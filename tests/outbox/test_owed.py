"""Results of many operations are written down while the next request is under way; whatever happens meanwhile, each is
delivered once."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any
from unittest import mock

import httpx
import msgspec
import pytest

from aria_tui.errors import NotSaved, QueueUnavailable
from aria_tui.outbox import books, known, rows, state
from aria_tui.outbox.books import MANY, Books, Owed
from aria_tui.outbox.known import Made
from aria_tui.outbox.store import Store
from tests.faults.portions import small_portions
from tests.outbox.bench import Bench, Home
from tests.outbox.test_meanwhile import is_batch

ROWS = 3 * MANY


class Second:
    """Holds the second batch back until it is let go. ``instead``: headers of a 503 in the place of its answer."""

    def __init__(self, home: Home) -> None:
        self.under_way, self.go = asyncio.Event(), asyncio.Event()
        self.reached: list[str] = []
        self.instead: dict[str, str] = {}
        right = home.network.handle_async_request

        async def handle(request: httpx.Request) -> httpx.Response:
            if is_batch(request):
                self.reached.append(request.headers["aria-if-reached"])
                if len(self.reached) == 2:
                    self.under_way.set()
                    await self.go.wait()
                    if self.instead:
                        given = await right(
                            httpx.Request("GET", request.url.join("/api/meta"), headers=request.headers)
                        )
                        return httpx.Response(503, headers={"aria-hub-id": given.headers["aria-hub-id"]} | self.instead)
            return await right(request)

        home.network.handle_async_request = handle  # type: ignore[method-assign]


class Payment:
    """Holds the writing of the first batch's results back until it is let go, or lets it fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.fails = False
        right = Books._pay

        async def pay(its: Books, owed: Owed | None) -> None:
            if not self.begun.is_set():
                self.begun.set()
                await self.go.wait()
                if self.fails:
                    raise NotSaved("disk full", path="queue.db")
            await right(its, owed)

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


async def test_what_the_next_answer_says_of_the_hub_is_kept_even_so(
    bench: Bench, filled: Home, payment: Payment, second: Second
) -> None:
    """The results can't be written, and the Hub asks to wait: the user's next sync doesn't ask it before."""
    payment.fails = True
    payment.go.set()
    second.go.set()
    second.instead = {"retry-after": "600"}
    await filled.sync()
    again = await filled.sync()
    assert again.synced == 0 and len(second.reached) == 2


async def test_a_cancellation_stays_one_when_the_results_can_t_be_written(
    bench: Bench, filled: Home, payment: Payment, second: Second
) -> None:
    """Who reads before a drain of what waits is cancelled: nothing of the drain's keeps it from ending."""
    payment.fails = True
    reading = asyncio.create_task(filled.assistant._engine.syncer.within(30))
    await second.under_way.wait()
    reading.cancel()
    await asyncio.sleep(0)
    payment.go.set()
    with pytest.raises(asyncio.CancelledError):
        await reading
    second.go.set()
    assert (await filled.sync()).remaining == 0 and len(bench.log) == ROWS


async def test_a_cancellation_stays_one_when_the_next_rows_can_t_be_read(
    bench: Bench, filled: Home, second: Second, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, failed = rows.page, asyncio.Event()

    async def locked(*asked: Any) -> Any:
        if not second.reached:
            return await right(*asked)
        failed.set()
        raise QueueUnavailable("queue.db", "locked")

    monkeypatch.setattr(rows, "page", locked)
    reading = asyncio.create_task(filled.assistant._engine.syncer.within(30))
    await failed.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


@pytest.mark.parametrize("count", [20, ROWS])
@pytest.mark.parametrize("new_epoch", [False, True])
async def test_a_restored_hub_is_noticed_whoever_looks_while_results_are_written(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch, count: int, new_epoch: bool
) -> None:
    """Every look reads again what the file says of the Hub, which has not been written yet."""
    backup = await bench.hub.backup()
    for number in range(count):
        await home.assistant.capture_insight(f"{number}", offline=True)
    right = Books._pay

    async def pay(its: Books, owed: Owed | None) -> None:
        await home.assistant._engine.link()
        await right(its, owed)

    monkeypatch.setattr(Books, "_pay", pay)
    assert (await home.sync()).synced == count
    kept = home.rows("SELECT json_extract(value, '$.seq') FROM state WHERE name LIKE 'hub:%'")
    assert kept == [(count,)]
    await bench.hub.restore(backup, new_epoch=new_epoch)
    await home.assistant.capture_insight("waits", offline=True)
    report = await home.sync()
    assert report.synced == 0 and "aria queue verify" in report.sentence


@pytest.mark.parametrize("many", [1, ROWS], ids=["meanwhile", "with the next attempt"])
async def test_looks_at_any_moment_lose_no_change_of_the_hub(bench: Bench, home: Home, many: int) -> None:
    for number in range(5 * MANY):
        await home.assistant.capture_insight(f"{number}", offline=True)

    async def look() -> None:
        while True:
            await home.assistant._engine.link()
            await asyncio.sleep(0.001)

    with small_portions(), mock.patch.object(books, "MANY", many):
        looking = asyncio.create_task(look())
        assert (await home.sync()).synced == 5 * MANY
        looking.cancel()
    kept = home.rows("SELECT json_extract(value, '$.seq') FROM state WHERE name LIKE 'hub:%'")
    assert kept == [(5 * MANY,)]


async def test_what_is_noted_while_the_file_is_read_is_newer(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.run(home.assistant.create_task("known"))
    link = await home.assistant._engine.link()
    before, get, notes = link.known, state.get, 0
    assert before is not None

    async def slowly(store: Store, name: str, kind: Any) -> Any:
        nonlocal notes
        found = await get(store, name, kind)
        if name.startswith("hub:") and not notes:
            notes += 1
            made = Made(link.target, before, 7)
            link.note_changes(made)
            await store.write(lambda connection: known.raise_in(connection, made))
        return found

    monkeypatch.setattr(state, "get", slowly)
    await link.load()
    assert link.known is not None and link.known.seq == before.seq + 7


async def test_what_another_process_says_of_the_hub_stays(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds that the Hub was restored, while results are written here."""
    made = [await bench.run(home.assistant.create_task(f"task {number}")) for number in range(2)]
    for number, task in enumerate(made):
        await home.assistant.update_task(task.id, {"title": f"edited {number}"}, offline=True)
    await home.assistant.create_task("new", offline=True)
    right = Books._pay

    async def pay(its: Books, owed: Owed | None) -> None:
        other = sqlite3.connect(home.file, timeout=10)
        other.execute("UPDATE state SET value = json_set(value, '$.restored', 'why') WHERE name LIKE 'hub:%'")
        other.commit()
        other.close()
        await right(its, owed)

    monkeypatch.setattr(Books, "_pay", pay)
    assert (await home.sync()).synced == 3
    assert home.rows("SELECT json_extract(value, '$.restored') FROM state WHERE name LIKE 'hub:%'") == [("why",)]


async def test_the_first_of_an_entity_s_rows_is_what_holds_it_up(home: Home) -> None:
    """In whatever order it becomes known."""
    for number in range(3):
        await home.assistant.create_task(f"{number}", offline=True)
    engine = home.assistant._engine
    first, second, third = [
        msgspec.structs.replace(row, entity="task:one") for row in await rows.page(engine.store, 0, 10)
    ]

    async def delivered(*_: object) -> None: ...

    made = Books(
        engine.store, engine.clock, await engine.link(), engine.config,
        report=lambda _: None, delivered=delivered, seen=lambda _: None,
    )  # fmt: skip
    made.block(third)
    assert not made.parked_ahead(second)
    made.block(first)
    assert made.parked_ahead(second) and made.parked_ahead(third)


async def test_few_are_committed_with_the_next_attempt(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sync to disk between two batches, not two."""
    for number in range(MANY):
        await home.assistant.capture_insight(f"{number}", offline=True)
    second = Second(home)
    commits, right = 0, Store.write

    async def write(store: Store, job: Any, *, hurried: bool = False) -> Any:
        nonlocal commits
        commits += hurried
        return await right(store, job, hurried=hurried)

    monkeypatch.setattr(Store, "write", write)
    second.go.set()
    assert (await home.sync()).synced == MANY and len(second.reached) == 2
    assert commits == 4  # an attempt; results and an attempt; results; the report
