"""What happens while a request is under way: what was read ahead is not sent as it was, and an old answer proves
nothing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

import httpx
import pytest

from aria_tui.errors import NotSaved
from aria_tui.hub.server import service
from aria_tui.outbox import connecting
from aria_tui.outbox.rows import Row
from tests.outbox.bench import Bench, Home
from tests.outbox.files import locked

TASK = "0197f0a0-0000-7000-8000-00000000000a"
BEFORE = 300
"""Rows that wait before, so that what comes after them is read ahead while the first batch is under way."""


def at_first(home: Home, wanted: Callable[[httpx.Request], bool], then: Callable[[], Awaitable[None]]) -> None:
    """Does something when the first such request is under way, and only then lets it go on to the Hub."""
    right, done = home.network.handle_async_request, False

    async def handle(request: httpx.Request) -> httpx.Response:
        nonlocal done
        if wanted(request) and not done:
            done = True
            await then()
        return await right(request)

    home.network.handle_async_request = handle  # type: ignore[method-assign]


def is_batch(request: httpx.Request) -> bool:
    return request.method == "POST"


async def read_ahead(home: Home) -> None:
    """Until the drain has read the rows of its next batch."""
    for _ in range(1000):
        drain = home.assistant._engine.syncer._drain
        if drain is not None and drain._reading is not None and drain._reading.done():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("nothing was read ahead")


async def many_then_two_edits(bench: Bench, home: Home) -> tuple[int, int]:
    """A task at the Hub, rows that wait, then an edit and a completion of the task, which are not folded."""
    await bench.run(home.assistant.create_task("base", id=TASK))
    await bench.run(home.assistant.list_tasks())
    for number in range(BEFORE):
        await home.assistant.capture_insight(f"{number}", offline=True)
    edit = await home.assistant.update_task(TASK, {"title": "A"}, offline=True)
    later = await home.assistant.update_task(TASK, {"title": "B"}, offline=True)
    async for _ in home.assistant.queue_export():
        pass  # what was exported is not folded
    assert edit.queue_id and later.queue_id
    return edit.queue_id, later.queue_id


async def test_an_edited_row_that_was_read_ahead_is_not_overtaken(bench: Bench, home: Home) -> None:
    edit, _ = await many_then_two_edits(bench, home)

    async def change() -> None:
        await read_ahead(home)
        await home.assistant.queue_edit(edit, {"id": TASK, "changes": {"title": "C"}})

    at_first(home, is_batch, change)
    report = await home.sync()
    assert (report.synced, report.remaining, report.conflicts) == (BEFORE + 2, 0, 0)
    changes = [payload["changes"]["title"] for _, operation, payload in bench.sent if operation == "update_task"]
    assert changes == ["C", "B"]
    assert (await bench.task(TASK) or {})["title"] == "B"


async def test_what_rests_on_a_discarded_row_is_sent_as_it_rests_now(bench: Bench, home: Home) -> None:
    edit, _ = await many_then_two_edits(bench, home)

    async def change() -> None:
        await read_ahead(home)
        await home.assistant.queue_discard(edit)

    at_first(home, is_batch, change)
    report = await home.sync()
    assert (report.synced, report.remaining, report.conflicts) == (BEFORE + 1, 0, 0), "no conflict with oneself"
    assert (await bench.task(TASK) or {})["title"] == "B"


async def test_a_row_that_was_given_to_another_hub_goes_there(bench: Bench, home: Home) -> None:
    edit, later = await many_then_two_edits(bench, home)

    async def change() -> None:
        await read_ahead(home)
        store = home.assistant._engine.store
        await store.write(lambda db: db.execute("UPDATE queue SET target = 'hub:other:x' WHERE id >= ?", (edit,)))

    at_first(home, is_batch, change)
    await home.sync()
    assert [item.id for item in await home.waiting()] == [edit, later]
    assert (await bench.task(TASK) or {})["title"] == "base"


async def test_a_stranger_s_create_comes_before_an_edit_of_it(bench: Bench, home: Home) -> None:
    for number in range(BEFORE):
        await home.assistant.capture_insight(f"{number}", offline=True)

    async def change() -> None:
        home.stranger("create_task", {"id": TASK, "title": "theirs"})
        await read_ahead(home)
        await home.assistant.update_task(TASK, {"priority": "HIGH"}, offline=True)

    at_first(home, is_batch, change)
    report = await home.sync()
    assert (report.remaining, report.conflicts) == (0, 0)
    assert bench.applied(TASK) == ["create_task", "update_task"]


async def test_a_stranger_s_waiting_row_doesn_t_hold_up_a_new_one(bench: Bench, home: Home) -> None:
    home.stranger("capture_insight", {"content": "theirs"})
    assert (await bench.run(home.assistant.create_task("mine"))).status == "synced"


async def test_an_answer_that_was_on_the_way_is_no_sign_of_a_restoration(bench: Bench, home: Home) -> None:
    """A probe is answered, then a write; the first answer arrives last."""
    await bench.run(home.assistant.create_task("first"))
    right, answered, go_on = home.network.handle_async_request, asyncio.Event(), asyncio.Event()

    async def handle(request: httpx.Request) -> httpx.Response:
        answer = await right(request)
        if request.url.path == "/api/meta":
            answered.set()
            await go_on.wait()
        return answer

    home.network.handle_async_request = handle  # type: ignore[method-assign]
    probe = asyncio.ensure_future(home.assistant.hub_status())
    await answered.wait()
    assert (await bench.run(home.assistant.create_task("second"))).status == "synced"
    go_on.set()
    assert (await bench.run(probe)).reason == ""
    assert (await bench.run(home.assistant.create_task("third"))).status == "synced"
    assert (await home.sync()).sentence == "nothing to send"


@pytest.mark.parametrize(("fault", "state"), [("refused", "offline"), ("unauthenticated", "refused")])
async def test_a_sync_with_nothing_to_send_asks_all_the_same(home: Home, fault: str, state: str) -> None:
    home.weather.every_read = fault
    assert (await home.sync()).hub.state == state


@pytest.mark.parametrize("features", [None, ()])
async def test_only_a_hub_that_can_refuse_is_written_to_without_asking_again(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch, features: tuple[str, ...] | None
) -> None:
    if features is not None:
        monkeypatch.setattr(service.Hub, "features", features)
    await bench.run(home.assistant.hub_status())
    await home.assistant.create_task("x", offline=True)
    asked: list[str] = []
    right = home.network.handle_async_request

    async def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return await right(request)

    home.network.handle_async_request = handle  # type: ignore[method-assign]
    await home.sync()
    assert asked == (["/api/queue"] if features is None else ["/api/meta", "/api/queue"])


async def test_nothing_is_said_to_be_sent_after_the_end(bench: Bench, home: Home) -> None:
    """A caller that is cancelled while its row is under way: the row is in doubt, and not being sent any more."""
    under_way = asyncio.Event()

    async def hang() -> None:
        under_way.set()
        await asyncio.Event().wait()

    at_first(home, is_batch, hang)
    work = asyncio.ensure_future(home.assistant.create_task("x"))
    await under_way.wait()
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    assert [item.reason_code for item in await home.waiting()] == ["in_doubt"]
    assert (await home.sync()).synced == 1


async def test_a_drain_that_can_t_write_says_that_it_is_over(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered and could not be noted is in doubt and comes again with the same keys; who looks on hears."""
    from aria_tui.outbox.books import Books

    for number in range(BEFORE):
        await home.assistant.capture_insight(f"{number}", offline=True)
    begin, times = Books.begin, 0

    async def full(self: Books, part: list[Row], edits: int | None) -> list[Row]:
        nonlocal times
        times += 1
        if times != 2:
            return await begin(self, part, edits)
        self._take_owed()
        raise NotSaved("disk full", path="queue.db")

    monkeypatch.setattr(Books, "begin", full)
    report = await home.sync()
    assert report.failed and report.remaining == BEFORE and "same keys" in report.sentence
    assert home.rows("SELECT json_extract(value, '$.finished') IS NOT NULL FROM state WHERE name = 'drain'") == [(1,)]
    assert report.hub.state == "online", "it is this side that is in trouble"
    assert {item.reason_code for item in await home.waiting()} <= {"in_doubt", "next"}
    assert (await home.sync()).remaining == 0 and len(bench.log) == BEFORE


@pytest.mark.case("S01")
async def test_a_lock_is_waited_for_once_by_a_sync(bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program holds the file's lock: nothing was sent, which is said; its other writes don't wait as long."""
    patience = 1.5
    monkeypatch.setattr(connecting, "PATIENCE", patience)
    await home.assistant.capture_insight("first", offline=True)
    with locked(home.file):
        begin = time.monotonic()
        report = await home.sync()
        assert time.monotonic() - begin < 2 * patience, "each of its writes waited"
    assert report.problem == report.sentence
    assert report.problem.startswith("nothing was sent") and "lock" in report.problem
    assert (report.failed, report.remaining, bench.log) == (1, 1, [])
    assert report.hub.state == "online"
    again = await home.sync()
    assert (again.synced, again.problem) == (1, "")
