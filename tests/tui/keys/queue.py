"""Keys of the queue and of one row of it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import Any

from tests.tui.conftest import until
from tests.tui.keys.stage import Stage, checks


async def on_row(stage: Stage, tab: str, words: str) -> int:
    """The queue's cursor is on a row of a list; gives its number."""
    stage.live.ask("queue")
    if stage.board._tab != tab:
        stage.board.show_tab(tab)
    pane = stage.board.queue_pane
    await stage.press("4")

    def found() -> Any:
        rows = [row for n in range(len(stage.board._pages)) if (row := stage.board._pages.row(n)) is not None]
        row = next((row for row in rows if words in row.payload), None)
        return row if row is not None and pane.rows.select(str(row.id)) and pane.item() is not None else None

    return int((await until(found, f"{words} in {tab}")).id)


async def waiting_row(stage: Stage, words: str) -> int:
    await stage.assistant.capture_insight(words, offline=True)
    return await on_row(stage, "waiting", words)


async def dead_row(stage: Stage, title: str) -> int:
    """A row that the Hub rejects: a stranger's, with a priority that there is not."""
    row = ("create_task", json.dumps({"title": title, "priority": "SOON"}))
    with contextlib.closing(sqlite3.connect(stage.app.home / "queue.db", timeout=20)) as file, file:
        file.execute("INSERT INTO queue (operation, payload) VALUES (?, ?)", row)
    async for _event in stage.assistant.sync():
        pass
    return await on_row(stage, "dead", title)


async def throw_away(stage: Stage, *numbers: int) -> None:
    """Rows that the Hub rejects again."""
    async for _event in stage.assistant.sync():
        pass
    for number in numbers:
        await stage.assistant.queue_discard(number)


async def counts(stage: Stage) -> tuple[int, int]:
    status = await stage.assistant.queue_status()
    return status.pending_total, status.dead_letters


@checks("queue.open")
async def open_row(stage: Stage, key: str) -> None:
    number = await waiting_row(stage, "to be looked at")
    await stage.press(key)
    await stage.opened("DetailScreen")
    await stage.running.sees(f"Queue row #{number}", '"to be looked at"')
    await stage.back()


@checks("queue.retry", "detail.retry")
async def retry(stage: Stage, key: str) -> None:
    number = await dead_row(stage, "put back")
    before = await counts(stage)
    if stage.where == "detail":
        await stage.press("enter")
        await stage.opened("DetailScreen")
    await stage.press(key)
    await stage.told("1 row put back")
    assert await counts(stage) == (before[0] + 1, before[1] - 1)
    assert number in [row for row, _o, _p in stage.waiting()]
    await stage.back()
    await throw_away(stage, number)


@checks("queue.retry_all")
async def retry_all(stage: Stage, key: str) -> None:
    numbers = {await dead_row(stage, "first back"), await dead_row(stage, "second back")}
    await stage.press(key)
    await stage.told("2 rows put back")
    assert numbers <= {row for row, _o, _p in stage.waiting()}
    await throw_away(stage, *numbers)


@checks("queue.edit", "detail.edit")
async def edit_row(stage: Stage, key: str) -> None:
    number = await waiting_row(stage, "wrong words")
    if stage.where == "detail":
        await stage.press("enter")
        await stage.opened("DetailScreen")
    await stage.press(key)
    field = (await stage.opened("PayloadForm")).query_one("#payload")
    field.text = field.text.replace("wrong", "right")
    await stage.press("ctrl+s")
    await until(lambda: stage.kind != "PayloadForm")
    payloads = {row: payload for row, _o, payload in stage.waiting()}
    assert payloads[number]["content"] == "right words"
    await stage.back()


@checks("queue.discard", "detail.discard")
async def discard(stage: Stage, key: str) -> None:
    number = await waiting_row(stage, "to be thrown away")
    if stage.where == "detail":
        await stage.press("enter")
        await stage.opened("DetailScreen")
    await stage.press(key)
    await stage.running.sees(f"Discard #{number} insight: to be thrown away?")
    await stage.press("enter")
    await stage.running.sees("retry from the journal")
    assert number in [row for row, _o, _p in stage.waiting()]
    await stage.press("enter")
    await stage.told(f"discarded: #{number}")
    assert number not in [row for row, _o, _p in stage.waiting()]
    await until(lambda: stage.kind == "DashboardScreen", "the row's screen to go with its row")


@checks("queue.export")
async def export(stage: Stage, key: str) -> None:
    await waiting_row(stage, "to be exported")
    await stage.press(key)
    await stage.told("exported to")
    (file,) = stage.app.home.glob("queue-*.jsonl")
    assert "to be exported" in file.read_text()
    assert len(file.read_text().splitlines()) == len(stage.waiting())


@checks("queue.verify")
async def verify(stage: Stage, key: str) -> None:
    await stage.press(key)
    await stage.told("nothing is missing")


@checks("queue.plan")
async def plan(stage: Stage, key: str) -> None:
    await waiting_row(stage, "would be sent")
    await stage.press(key)
    await stage.opened("PlanScreen")
    await stage.running.sees("Sync plan", "would be sent")
    await stage.back()


@checks("queue.next_tab", "queue.previous_tab")
async def tabs(stage: Stage, key: str) -> None:
    stage.board.show_tab("waiting")
    seen = []
    for _ in range(4):
        await stage.press(key)
        seen.append(stage.board._tab)
    forth = ["dead", "conflicts", "journal", "waiting"]
    assert seen == (forth if key.startswith("right") else [*forth[2::-1], "waiting"])
    await stage.running.sees("[Waiting ")
