"""The queue on the screen: why each row waits, dead letters, the whole row, discarding, editing, the plan, export."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aria_tui.models import QueueItem
from aria_tui.tui.pages import PAGE, Pages
from aria_tui.tui.queue_rows import reason_words
from aria_tui.tui.wallclock import local_now
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, Request, is_write
from tests.tui.conftest import configured, until


async def test_waiting_rows_say_why(dashboard: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        await running.assistant.create_task("Pagar DAS")
        await running.assistant.capture_insight("first idea")
        running.app.live.ask("queue")
        shown = await running.sees("2 waiting", "Pagar DAS", "first idea", "Hub offline")
        assert "QUEUE: 2 waiting" in shown or "⇡ 2" in shown
        await running.keys("4", "home", "enter")
        await running.sees("Queue row #1", "create_task", '│   "title": "Pagar DAS"', "Hub offline since")
        await running.keys("escape", "P")
        await running.sees("Sync plan", "2 operations", "new task")
        await running.keys("escape")


async def test_rows_in_a_form_of_another_program_s_own_are_shown_and_planned(dashboard: Any, tmp_path: Path) -> None:
    async with dashboard(config=configured(away=True)) as running:
        payloads = ["no JSON [/x]", "[1]", '"text"', "7", "null", '{"changes": 7, "title": 8}', "", "[" * 5000]
        with contextlib.closing(sqlite3.connect(tmp_path / "home" / "queue.db", timeout=20)) as file, file:
            rows = [("create_task", payload) for payload in payloads]
            file.executemany("INSERT INTO queue (operation, payload) VALUES (?, ?)", rows)
        running.app.live.ask("queue")
        await running.sees(f"{len(payloads)} waiting", "no JSON [/x]")
        await running.keys("4", "home")
        for number in range(1, len(payloads) + 1):
            await running.keys("enter")
            await running.sees(f"Queue row #{number}", "create_task")
            await running.keys("escape", "down")
        await running.keys("P")
        await running.sees("Sync plan", "operations", "new task")
        await running.keys("escape")
        assert running.app.is_running and not [toast for toast in running.toasts if "unexpected" in toast]


async def test_a_screen_that_can_not_be_drawn_says_so_and_the_program_goes_on(
    dashboard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aria_tui.tui.screens.plan import PlanScreen

    def broken(_screen: Any, _width: int) -> Any:
        raise LookupError("a planted error")

    monkeypatch.setattr(PlanScreen, "rows_for", broken)
    async with dashboard() as running:
        await running.keys("4", "P")
        await running.told("a planted error")
        await running.keys("escape")
        await running.sees("Briefing", "Queue")


def test_a_pause_says_whether_a_token_or_a_restored_hub_is_behind_it() -> None:
    row = rows(1)[0]
    token = msgspec.structs.replace(row, reason_code="paused", reason_args={"why": "token refused"})
    restored = msgspec.structs.replace(row, reason_code="paused", reason="paused: …")
    now = local_now()
    assert [reason_words(token, now, short=short) for short in (False, True)] == [
        "paused: sign-in needed", "sign-in needed",
    ]  # fmt: skip
    assert [reason_words(restored, now, short=short) for short in (False, True)] == [
        "paused: the Hub was restored; run `aria queue verify`", "Hub restored",
    ]  # fmt: skip


async def test_discarding_is_asked_twice_and_takes_dependents_along(dashboard: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        made = await running.assistant.create_task("to go")
        await running.assistant.complete_task(made.id)
        running.app.live.ask("queue")
        await running.sees("2 waiting")
        await running.keys("4", "home", "d")
        await running.sees("Discard #1 new task: to go?")
        await running.keys("escape")
        await until(lambda: type(running.app.screen).__name__ == "DashboardScreen")
        await running.keys("d")
        await running.sees("Discard #1")
        await running.keys("enter")
        await running.sees("depends on it and goes with it")
        await running.keys("enter")
        await running.sees("0 waiting")
        assert (await running.assistant.queue_status()).pending_total == 0


async def test_a_waiting_row_is_edited(dashboard: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        await running.assistant.create_task("wrong")
        running.app.live.ask("queue")
        await running.sees("1 waiting", "wrong")
        await running.keys("4", "e")
        await until(lambda: running.app.screen.query("#payload"))
        field = running.app.screen.query_one("#payload")
        await running.sees("Edit #1 create_task")
        field.text = "{not json"
        await running.keys("ctrl+s")
        await running.sees("payload: is not JSON")
        before = (await running.assistant.queue_show(1)).op_id
        field.text = (await running.assistant.queue_show(1)).payload.replace("wrong", "right")
        await running.keys("ctrl+s")
        await until(lambda: type(running.app.screen).__name__ == "DashboardScreen")
        await running.sees("right")
        item = await running.assistant.queue_show(1)
        assert item.op_id != before and '"right"' in item.payload


async def test_the_queue_is_exported_to_a_file_of_its_own(dashboard: Any, tmp_path: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        await running.assistant.create_task("one")
        await running.assistant.create_task("two")
        await running.keys("4", "E")
        await running.told("2 rows exported")
        (file,) = (tmp_path / "home").glob("queue-*.jsonl")
        assert len(file.read_text().splitlines()) == 2
        assert file.stat().st_mode & 0o777 == 0o600


async def test_tabs_of_the_queue(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.assistant.create_task("delivered one")
        await running.keys("4", "right")
        await running.sees("no dead letters")
        await running.keys("right")
        await running.sees("no conflicts")
        await running.keys("right")
        await running.sees("delivered one", "delivered")
        await running.keys("enter")
        await running.sees("Queue row #1", "delivered")
        await running.keys("escape", "right")
        await running.sees("nothing waits")


async def test_a_long_queue_is_read_in_pages(dashboard: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        for number in range(250):
            await running.assistant.capture_insight(f"insight number {number}", offline=True)
        running.app.live.ask("queue")
        await running.sees("250 waiting", "insight number 0")
        await running.keys("4")
        screen = running.app.screen

        async def at_the_end() -> bool:
            await running.keys("end")
            return "insight number 249" in running.screen_text

        for _ in range(100):
            if await at_the_end():
                break
        assert "insight number 249" in running.screen_text
        assert screen.queue_pane.item().id == 250
        await running.keys("home")
        await running.sees("insight number 0")


def rows(*numbers: int) -> list[QueueItem]:
    return [QueueItem(id=n, operation="o", payload="{}", created_at="", reason="", reason_code="next") for n in numbers]


def test_pages_shrink_when_rows_are_delivered_and_grow_at_the_end() -> None:
    pages = Pages()
    assert pages.wanted(0, 10) == [(0, 0)]
    pages.put(0, 0, rows(*range(1, PAGE + 1)))
    assert len(pages) == PAGE and not pages.complete
    assert pages.wanted(PAGE - 10, PAGE - 1) == [(1, PAGE)]
    pages.put(1, PAGE, rows(101, 102))
    assert pages.complete and len(pages) == PAGE + 2 and pages.row(PAGE + 1).id == 102
    pages.put(0, 0, rows(*range(51, 151)))
    assert len(pages) == 52 and pages.row(0).id == 51 and pages.row(51).id == 102
    assert pages.find(60) == 9 and pages.find(7) is None
    pages.put(1, PAGE, rows(101, 102, 103))
    assert pages.row(52).id == 103


def test_a_journal_that_grew_by_more_than_a_page_is_read_anew() -> None:
    pages = Pages(newest_first=True)
    pages.put(0, 0, rows(*range(200, 100, -1)))
    pages.put(1, 101, rows(*range(100, 50, -1)))
    assert len(pages) == 150 and pages.complete
    pages.put(0, 0, rows(*range(400, 300, -1)))
    assert len(pages) == 100 and not pages.complete and pages.wanted(90, 99) == [(1, 301)]


@pytest.mark.case("T04")
async def test_a_stranger_s_megabyte_is_shown_without_effort(dashboard: Any, tmp_path: Any) -> None:
    """One line of a megabyte and a note of 10,000 lines, put into the file by another program."""
    async with dashboard(config=configured(away=True)) as running:
        await running.assistant.capture_insight("ours", offline=True)
        with sqlite3.connect(tmp_path / "home" / "queue.db", timeout=20) as file:
            for content in "wide 日" * 200_000, "line\n" * 10_000:
                row = ("capture_insight", json.dumps({"content": content}))
                file.execute("INSERT INTO queue (operation, payload) VALUES (?, ?)", row)
        file.close()
        running.app.live.ask("queue")
        await running.sees("3 waiting", "wide 日", "ours")
        await running.keys("4", "end", "up", "enter")
        await running.sees("Queue row #", "capture_insight", "wide")
        await running.keys("end", "home", "escape")
        await running.sees("3 waiting")


@pytest.mark.case("T01")
async def test_dead_letters_are_put_back_edited_and_delivered(
    dashboard: Any, hub: HubProcess, proxy: FaultProxy, tmp_path: Path
) -> None:
    """One row the Hub didn't like at first and takes the second time; one that is wrong and goes after an edit."""

    def not_today(_request: Request, given: bytes) -> bytes:
        document = json.loads(given.partition(b"\r\n\r\n")[2])
        for result in document["results"]:
            problem = {
                "type": "/problems/validation",
                "title": "Not accepted",
                "status": 422,
                "detail": "not today [/x]",
            }
            result.update(status="rejected", problem=problem)
        return hub.says(document)

    config = configured(hub=msgspec.structs.replace(configured().hub, url=proxy.url, token=hub.token))
    config = msgspec.structs.replace(config, sync=msgspec.structs.replace(config.sync, automatic=False))
    async with dashboard(config=config) as running:
        await running.assistant.capture_insight("as it is", offline=True)
        with contextlib.closing(sqlite3.connect(tmp_path / "home" / "queue.db", timeout=20)) as file, file:
            payload = '{"title": "wrong", "priority": "SOON"}'
            file.execute("INSERT INTO queue (operation, payload) VALUES ('create_task', ?)", (payload,))
        proxy.add("rewrite", when=is_write, rewrite=not_today)
        await running.keys("s")
        await running.sees("2 dead", "0 waiting")
        proxy.clear()
        await running.keys("4", "right")
        await running.sees("not today [/x]", "as it is", "wrong")
        await running.keys("home", "R")
        await running.told("1 row put back")
        await running.sees("1 waiting", "1 dead")
        await running.keys("s")
        await running.sees("0 waiting", "1 dead")
        assert [insight["content"] for insight in hub.all("insights")] == ["as it is"]
        await running.keys("home", "enter")
        await running.sees("Queue row #2", "priority")
        await running.keys("e")
        await until(lambda: running.app.screen.query("#payload"))
        field = running.app.screen.query_one("#payload")
        field.text = field.text.replace("SOON", "URGENT").replace("wrong", "right")
        await running.keys("ctrl+s")
        await until(lambda: not running.app.screen.query("#payload"))
        await running.keys("escape")
        await until(lambda: type(running.app.screen).__name__ == "DashboardScreen")
        await running.keys("s")
        await until(lambda: hub.count("tasks") == 1, "the task to arrive")
        assert [(task["title"], task["priority"]) for task in hub.all("tasks")] == [("right", "URGENT")]
        await running.sees("0 waiting", "no dead letters")


async def test_what_a_restored_hub_lost_is_sent_again_after_a_question(dashboard: Any, hub: HubProcess) -> None:
    """An old copy of the Hub's file is put back: the screen says so, and `V` asks for what is missing."""
    config = configured(hub=msgspec.structs.replace(configured().hub, url=hub.url, token=hub.token))
    async with dashboard(config=config) as running:
        await running.assistant.capture_insight("in the copy")
        hub.stop()
        copy = hub.file.read_bytes()
        hub.start()
        await running.assistant.hub_status()
        await running.assistant.capture_insight("after the copy")
        await running.assistant.hub_status()
        assert hub.count("insights") == 2
        hub.stop()
        hub.file.write_bytes(copy)
        for extra in "-wal", "-shm":
            hub.file.with_name(hub.file.name + extra).unlink(missing_ok=True)
        hub.start()
        assert hub.count("insights") == 1
        await running.assistant.hub_status()
        await running.assistant.capture_insight("while it is paused", offline=True)
        running.app.live.ask("queue")
        await running.sees("Hub restored", "1 waiting · paused")
        await running.keys("4", "V")
        await running.sees("missing at the Hub. Send")
        await running.keys("enter")
        await running.told("put back")
        await until(lambda: hub.count("insights") == 3, "all of it to be there again")
        await running.sees("0 waiting")
        await running.keys("V")
        await running.told("nothing is missing")
