"""Each key of each command, in its pane or on its screen: what it is for has happened.

The list of commands is the list of tests: a command without one fails. What a key does is looked for in the queue's
file, at the Hub, in the view or in the toast, and never only in the absence of an error.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aria_tui.assistant import Assistant
from aria_tui.tui.commands import BY_ID, PLACES, Command, at
from aria_tui.tui.wallclock import local_now
from tests.helpers.hub import HubProcess
from tests.tui.conftest import Running, configured, until

PANES = ("briefing", "tasks", "hub", "queue")
LEAVING = ("quit", "first.demo")
"""They end the program, so each has a program of its own."""


class Stage:
    """A dashboard on which a place's keys can be pressed."""

    def __init__(self, place: str, running: Running, hub: HubProcess | None, switch: Switch | None) -> None:
        self.where, self.running, self.hub, self.switch = place, running, hub, switch
        self.app, self.live = running.app, running.app.live
        self.assistant = running.assistant

    @property
    def board(self) -> Any:
        """The dashboard, whatever lies over it."""
        return self.app.screen_stack[0]

    @property
    def kind(self) -> str:
        return type(self.app.screen).__name__

    async def press(self, *keys: str) -> None:
        await self.running.keys(*keys)

    async def opened(self, kind: str) -> Any:
        await until(lambda: self.kind == kind, kind)
        return self.app.screen

    async def back(self, kind: str = "DashboardScreen") -> None:
        """To the dashboard, by escape as often as it takes."""
        for _ in range(4):
            if self.kind == kind:
                return
            await self.press("escape")
        await until(lambda: self.kind == kind, f"the way back to {kind}")

    async def told(self, text: str) -> None:
        """A toast holds the text; it and the others are taken away, so that the next check waits for its own."""
        await self.running.told(text)
        self.app.clear_notifications()

    def waiting(self) -> list[tuple[int, str, dict[str, Any]]]:
        """Number, operation and payload of what waits, from the queue's own file."""
        with contextlib.closing(sqlite3.connect(self.app.home / "queue.db", timeout=20)) as file:
            rows = file.execute("SELECT id, operation, payload FROM queue WHERE synced_at IS NULL ORDER BY id")
            return [(number, operation, json.loads(payload)) for number, operation, payload in rows]

    async def written(self, operation: str, **fields: Any) -> None:
        """The newest waiting row is of the operation, and has the fields (or changes them)."""

        def there() -> bool:
            _number, found, payload = self.waiting()[-1]
            payload = {**payload, **payload.get("changes", {})}
            return found == operation and all(payload.get(name) == value for name, value in fields.items())

        await until(there, f"{operation} {fields}, not {self.waiting()[-3:]}")

    async def shows_task(self, title: str) -> None:
        """The tasks' cursor is on a task."""
        pane = self.board.tasks_pane
        await until(lambda: any(task.title == title for task in pane._rows.tasks), title)
        task = next(task for task in pane._rows.tasks if task.title == title)
        assert pane.rows.select(task.id)
        await self.press("2")

    async def new_task(self, title: str, **fields: Any) -> str:
        """A task that waits, with the cursor on it."""
        made = await self.assistant.create_task(title, offline=True, **fields)
        self.live.ask("tasks")
        await self.shows_task(title)
        return str(made.id)


class Switch:
    """What ``aria demo`` hands in."""

    on = True

    async def toggle(self) -> bool:
        self.on = not self.on
        return self.on


Check = Callable[[Stage, str], Awaitable[None]]
CHECKS: dict[str, Check] = {}


def checks(*names: str) -> Callable[[Check], Check]:
    """Says which commands a check is for; it gets the stage and the key, and leaves the stage as it was."""

    def note(check: Check) -> Check:
        for name in names:
            assert name not in CHECKS, name
            CHECKS[name] = check
        return check

    return note


def test_every_command_has_a_check() -> None:
    assert set(CHECKS) == set(BY_ID) - set(LEAVING)


# -- everywhere


@checks("sync")
async def sync(stage: Stage, key: str) -> None:
    await stage.assistant.capture_insight("to be sent", offline=True)
    assert [operation for _n, operation, _p in stage.waiting()] == ["capture_insight"]
    await stage.press(key)
    await until(lambda: not stage.waiting(), "the row to be delivered")
    await stage.told("Sync done: 1 delivered.")


@checks("sync.stop")
async def stop(stage: Stage, key: str) -> None:
    """Of a Hub that takes connections and says nothing: the sync ends at once, and the row still waits."""
    silent = socket.create_server(("127.0.0.1", 0))
    engine_url = stage.live.hub.url
    assert not engine_url, "this stage has the embedded Hub"
    config = configured(hub=replace(configured().hub, url=f"http://127.0.0.1:{silent.getsockname()[1]}", token="t"))
    home = stage.app.home / "other"
    async with await Assistant.open(config, home=home) as other:
        await other.capture_insight("waits", offline=True)
        stage.live.assistant, ours = other, stage.live.assistant
        try:
            await stage.press("s")
            await until(lambda: stage.board._own_sync)
            await stage.press(key)
            await stage.running.told("stopping; what is under way is awaited")
            await until(lambda: not stage.board._own_sync, "the sync to end")
            assert (await other.queue_status()).pending_total == 1
        finally:
            stage.live.assistant = ours
    silent.close()
    stage.app.clear_notifications()


@checks("task", "task.new")
async def new_task(stage: Stage, key: str) -> None:
    await stage.press(key)
    form = await stage.opened("TaskForm")
    assert stage.app.focused is form.query_one("#title") and form.title_words() == "New task"
    await stage.back()


@checks("insight")
async def new_insight(stage: Stage, key: str) -> None:
    await stage.press(key)
    form = await stage.opened("InsightForm")
    assert stage.app.focused is form.query_one("#content")
    await stage.back()


@checks("refresh")
async def refresh(stage: Stage, key: str) -> None:
    before = await until(lambda: stage.board._doc, "a briefing")
    tasks, queue = stage.live.tasks, stage.live.queue
    await stage.press(key)
    await until(lambda: stage.board._doc is not None and stage.board._doc is not before, "another briefing")
    await until(lambda: stage.live.tasks is not tasks and stage.live.queue is not queue, "the lists to be read")


@checks("undo")
async def undo(stage: Stage, key: str) -> None:
    await stage.press("t")
    await stage.opened("TaskForm")
    await stage.running.text("taken back")
    await stage.press("enter")
    await until(lambda: stage.kind == "DashboardScreen")
    await until(lambda: [task.title for task in stage.live.shown_tasks()] == ["taken back"])
    await stage.running.told("saved")
    await stage.press(key)
    await stage.told("taken back: new task: taken back")
    assert not (await stage.assistant.list_tasks()).tasks


@checks("insights")
async def insights(stage: Stage, key: str) -> None:
    await stage.press(key)
    await stage.opened("InsightsScreen")
    await stage.back()


@checks("settings")
async def settings(stage: Stage, key: str) -> None:
    await stage.press(key)
    await stage.opened("SettingsScreen")
    await stage.running.sees("Settings", str(stage.app.home / "config.toml")[-20:])
    await stage.back()


@checks("theme")
async def theme(stage: Stage, key: str) -> None:
    before = stage.app.theme
    await stage.press(key)
    assert {before, stage.app.theme} == {"aria-dark", "aria-light"}
    assert stage.app.session.get("theme") == stage.app.theme


@checks("connect")
async def connect(stage: Stage, key: str) -> None:
    await stage.press(key)
    form = await stage.opened("ConnectForm")
    assert set(form.values()) == {"url", "token"}
    await stage.back()


@checks("demo.toggle")
async def toggle(stage: Stage, key: str) -> None:
    assert stage.switch is not None and stage.switch.on
    await stage.press(key)
    await stage.told("the demo's Hub is off")
    assert not stage.switch.on
    await stage.press(key)
    await stage.told("the demo's Hub is on")
    assert stage.switch.on


@checks("palette")
async def palette(stage: Stage, key: str) -> None:
    await stage.press(key)
    await stage.opened("Palette")
    await stage.running.sees("Find a command", "Send what waits in the queue now")
    await stage.back()


@checks("help")
async def helping(stage: Stage, key: str) -> None:
    await stage.press(key)
    await stage.opened("HelpScreen")
    await stage.running.sees("every key")
    await stage.back()


# -- the dashboard


@checks("filter")
async def filtering(stage: Stage, key: str) -> None:
    await stage.new_task("alpha")
    await stage.new_task("beta")
    await stage.press("1", key)
    await until(lambda: type(stage.app.focused).__name__ == "FilterInput")
    await stage.running.text("bet")
    rows = stage.board.tasks_pane
    await until(lambda: [task.title for task in rows._rows.tasks] == ["beta"], "the filter to be applied")
    await stage.press("escape")
    await until(lambda: len(rows._rows.tasks) == 2)


@checks("zoom")
async def zoom(stage: Stage, key: str) -> None:
    await stage.press("2", key)
    shown = await stage.running.sees("Tasks")
    assert "Journal" not in shown and "╭─ Briefing" not in shown
    await stage.press(key)
    await stage.running.sees("Journal", "╭─ Briefing")


@checks("pane.briefing", "pane.tasks", "pane.hub", "pane.queue")
async def go(stage: Stage, key: str) -> None:
    pane = PANES[int(key) - 1]
    await stage.press("2" if key == "1" else "1", key)
    assert stage.board._active == pane == stage.board.place_of(stage.app.focused)


@checks("pane.next", "pane.previous")
async def step(stage: Stage, key: str) -> None:
    await stage.press("1")
    seen = []
    for _ in range(5):
        await stage.press(key)
        seen.append(f"{stage.board.place_of(stage.app.focused)} {type(stage.app.focused).__name__}")
    round_trip = ["tasks RowList", "hub HubView", "queue RowList", "queue SyncButton", "briefing RowList"]
    assert seen == (round_trip if key == "tab" else [*round_trip[3::-1], round_trip[4]])


@checks("first.use")
async def first_use(stage: Stage, key: str) -> None:
    await stage.running.sees("Nothing is configured")
    await stage.press(key)
    await until(lambda: "Nothing is configured" not in stage.running.screen_text)


# -- the briefing


@checks("briefing.earlier", "briefing.later")
async def days(stage: Stage, key: str) -> None:
    doc = await until(lambda: stage.board._doc, "a briefing")
    day = (local_now().date() - timedelta(days=3)).isoformat()
    await stage.assistant.save_briefing(replace(doc, date=day))
    if key == "left_square_bracket":
        await stage.press(key)
        await until(lambda: stage.board._day == day)
    else:
        await stage.press("left_square_bracket")
        await until(lambda: stage.board._day == day)
        await stage.press(key)
        await until(lambda: stage.board._day is None)
        await stage.running.sees("Briefing ", " today ─╮")
    if stage.board._day:
        await stage.press("right_square_bracket")
        await until(lambda: stage.board._day is None and stage.board._doc is not None)


@checks("briefing.evening")
async def evening(stage: Stage, key: str) -> None:
    await stage.press(key)
    await stage.running.sees("╭─ Evening ", "Done today", "e morning")
    await stage.press(key)
    await stage.running.sees("╭─ Briefing ", "Since yesterday", "e evening")


async def on_section(stage: Stage, name: str) -> Any:
    rows = stage.board.briefing_pane.rows
    await until(lambda: rows.select(name), name)
    return rows


@checks("briefing.fold")
async def fold(stage: Stage, key: str) -> None:
    await stage.assistant.create_task("in the briefing")
    stage.live.ask("tasks")
    await stage.running.sees("    in the briefing")
    await on_section(stage, "tasks")
    await stage.press(key)
    await stage.running.sees("▸ Tasks")
    assert "    in the briefing" not in stage.running.screen_text
    assert stage.app.session.get("folded") == ["tasks"]
    await stage.press(key)
    await stage.running.sees("    in the briefing")


@checks("briefing.open")
async def open_line(stage: Stage, key: str) -> None:
    await on_section(stage, "queue")
    await stage.press(key)
    assert stage.board.place_of(stage.app.focused) == "queue"
    await stage.press("1")


@checks("briefing.copy")
async def copy(stage: Stage, key: str) -> None:
    await until(lambda: stage.board._doc)
    await stage.press(key)
    await stage.told("sent to clipboard")
    assert stage.app.clipboard.startswith("# ") and "Tasks" in stage.app.clipboard


@checks("briefing.compare")
async def compare(stage: Stage, key: str) -> None:
    doc = await until(lambda: stage.board._doc, "a briefing")
    day = local_now().date() - timedelta(days=2)
    await stage.assistant.save_briefing(replace(doc, date=day.isoformat()))
    await stage.press(key)
    await stage.running.sees(" → ")
    await stage.press(key)
    await until(lambda: " → " not in stage.running.screen_text)


# -- the tasks


@checks("task.edit")
async def edit(stage: Stage, key: str) -> None:
    await stage.new_task("to be edited")
    await stage.press(key)
    form = await stage.opened("TaskForm")
    assert form.values()["title"] == "to be edited"
    form.query_one("#title").value = "edited"
    await stage.press("ctrl+s")
    await until(lambda: stage.kind == "DashboardScreen")
    await stage.written("update_task", title="edited")


@checks("task.done")
async def done(stage: Stage, key: str) -> None:
    made = await stage.new_task("to be done")
    await stage.press(key)
    await stage.written("complete_task", id=made)


@checks("task.reopen")
async def reopen(stage: Stage, key: str) -> None:
    made = await stage.new_task("done and open again")
    await stage.press("x")
    await stage.written("complete_task", id=made)
    await stage.press(key)
    await stage.written("update_task", id=made, status="TODO")


@checks("task.delete")
async def delete(stage: Stage, key: str) -> None:
    made = await stage.new_task("to be deleted")
    await stage.press(key)
    await stage.written("delete_task", id=made)
    await until(lambda: all(task.mark == "deleted" for task in stage.live.shown_tasks() if task.id == made))


@checks("task.postpone")
async def postpone(stage: Stage, key: str) -> None:
    today = local_now().date()
    made = await stage.new_task("not today", due=today.isoformat())
    await stage.press(key)
    await stage.written("update_task", id=made, due_date=(today + timedelta(days=1)).isoformat())


@checks("task.select")
async def select(stage: Stage, key: str) -> None:
    made = await stage.new_task("to be selected")
    await stage.press(key)
    assert stage.board._selected == {made}
    await stage.running.sees("1 selected", "✓⇡ to be selected")
    await stage.press("escape")


@checks("task.sort")
async def sort(stage: Stage, key: str) -> None:
    await stage.new_task("zeta", priority="URGENT")
    await stage.new_task("eta", priority="LOW", due="2026-01-01")
    orders = {"": True, "by priority": False, "by title": True, "by project": None, "newest": None}
    for words, first in list(orders.items())[1:]:
        await stage.press(key)
        await stage.running.sees(words)
        titles = [task.title for task in stage.board.tasks_pane._rows.tasks]
        assert first is None or (titles.index("eta") < titles.index("zeta")) is first, words
    await stage.press(key)
    titles = [task.title for task in stage.board.tasks_pane._rows.tasks]
    assert titles.index("eta") < titles.index("zeta") and stage.board._choice.sort == "due"


@checks("task.group")
async def group(stage: Stage, key: str) -> None:
    await stage.new_task("grouped", project="a group")
    await stage.press(key)
    await stage.running.sees("│ a group ")
    await stage.press(key)
    await until(lambda: "│ a group " not in stage.running.screen_text)


@checks("task.closed")
async def closed(stage: Stage, key: str) -> None:
    """The last list that was seen has a task that was done; it is shown only when wanted."""
    await stage.press("l")
    await stage.running.sees("open at the Hub")
    assert "done at the Hub" not in stage.running.screen_text
    await stage.press(key)
    await stage.running.sees("✔ done at the Hub")
    await stage.press(key, "l")
    await until(lambda: "done at the Hub" not in stage.running.screen_text)


@checks("task.last_seen")
async def last_seen(stage: Stage, key: str) -> None:
    await stage.running.sees("task list unavailable")
    assert "open at the Hub" not in stage.running.screen_text
    await stage.press(key)
    await stage.running.sees("open at the Hub", "last list seen")
    await stage.press(key)
    await until(lambda: "open at the Hub" not in stage.running.screen_text)


@checks("task.clear")
async def clear(stage: Stage, key: str) -> None:
    await stage.new_task("to be cleared")
    await stage.press("space", "slash")
    await stage.running.text("cleared")
    await stage.press("enter")
    await stage.running.sees("/cleared · 1 selected")
    await stage.press(key)
    await until(lambda: "/cleared" not in stage.running.screen_text and "1 selected" not in stage.running.screen_text)
    assert stage.board._choice.filter == "" and not stage.board._selected


# -- the queue


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


# -- the insights


async def two_insights(stage: Stage) -> None:
    if stage.kind != "InsightsScreen":
        await stage.press("v")
        await stage.opened("InsightsScreen")
    for text, project in ("red words", "red"), ("blue words", "blue"):
        if not any(insight.content == text for insight in (await stage.assistant.list_insights()).insights):
            await stage.assistant.capture_insight(text, project=project, tags=[project[:1]])
    stage.live.ask("insights")
    await stage.running.sees("red words", "blue words", "2 insights")
    rows = stage.app.screen.query_one("RowList")
    insight = next(i for i in stage.live.insights.insights if i.content == "red words")
    await until(lambda: rows.select(insight.id))


@checks("insights.edit")
async def edit_insight(stage: Stage, key: str) -> None:
    await two_insights(stage)
    await stage.press(key)
    form = await stage.opened("InsightForm")
    form.query_one("#content").text = "red words and more"
    await stage.press("ctrl+s")
    await stage.opened("InsightsScreen")
    await stage.running.sees("red words and more")
    texts = [insight.content for insight in (await stage.assistant.list_insights()).insights]
    assert sorted(texts) == ["blue words", "red words and more"]
    await stage.press("u")
    await stage.told("taken back: edited insight")
    await until(lambda: "and more" not in stage.running.screen_text)


@checks("insights.delete")
async def delete_insight(stage: Stage, key: str) -> None:
    await two_insights(stage)
    await stage.press(key)
    await stage.running.sees("1 insight")
    assert [insight.content for insight in (await stage.assistant.list_insights()).insights] == ["blue words"]


@checks("insights.search")
async def search(stage: Stage, key: str) -> None:
    await two_insights(stage)
    await stage.press(key)
    await stage.running.text("blu")
    await stage.running.sees("/blu · 1 insight")
    assert "red words" not in stage.running.screen_text
    await stage.press("escape")
    await stage.running.sees("2 insights")


@checks("insights.project")
async def by_project(stage: Stage, key: str) -> None:
    await two_insights(stage)
    for words, other in ("blue · 1 insight", "red words"), ("red · 1 insight", "blue words"):
        await stage.press(key)
        await stage.running.sees(words)
        assert other not in stage.running.screen_text
    await stage.press(key)
    await stage.running.sees("─ 2 insights")


@checks("insights.tag")
async def by_tag(stage: Stage, key: str) -> None:
    await two_insights(stage)
    for words, other in ("#b · 1 insight", "red words"), ("#r · 1 insight", "blue words"):
        await stage.press(key)
        await stage.running.sees(words)
        assert other not in stage.running.screen_text
    await stage.press(key)
    await stage.running.sees("─ 2 insights")


# -- a conflict


async def conflict(stage: Stage) -> tuple[str, int]:
    """A task that was changed on both sides, on its screen; gives its id and its number."""
    assert stage.hub is not None
    made = await stage.assistant.create_task("before", priority="LOW")
    await stage.assistant.list_tasks()
    async with await Assistant.open(stage.app.config, home=stage.app.home / "other") as other:
        await other.list_tasks()
        await stage.assistant.update_task(made.id, {"title": "mine", "priority": "HIGH"}, offline=True)
        await other.update_task(made.id, {"title": "theirs", "priority": "URGENT"})
    async for _event in stage.assistant.sync():
        pass
    number = await on_row(stage, "conflicts", made.id)
    await stage.press("enter")
    await stage.opened("ConflictScreen")
    await stage.running.sees("● mine", "  theirs", "● HIGH", "  URGENT")
    return str(made.id), number


async def settled(stage: Stage, made: str, *tasks: str) -> None:
    """The conflict's screen is gone, and the Hub has these tasks; they are taken away for the next check."""
    assert stage.hub is not None
    await until(lambda: stage.kind == "DashboardScreen", "the screen to go")

    def known() -> list[str]:
        return sorted(f"{task['title']} {task['priority']}" for task in stage.hub.all("tasks"))  # type: ignore[union-attr]

    async for _event in stage.assistant.sync():
        pass
    await until(lambda: known() == sorted(tasks), f"{tasks}, not {known()}")
    for task in stage.hub.all("tasks"):
        await stage.assistant.delete_task(task["id"])
    assert (await stage.assistant.queue_status()).conflicts == 0


@checks("conflict.mine", "conflict.theirs")
async def one_field(stage: Stage, key: str) -> None:
    """Only the field under the cursor; nothing is sent by it."""
    made, number = await conflict(stage)
    await stage.press("h", key)
    await stage.running.sees("● mine" if key == "m" else "● theirs", "● HIGH")
    assert [found.id for found in await stage.assistant.conflicts()] == [number]
    await stage.press("escape")
    await stage.assistant.resolve_conflict(number, "theirs")
    await settled(stage, made, "theirs URGENT")


@checks("conflict.save")
async def save_fields(stage: Stage, key: str) -> None:
    made, _number = await conflict(stage)
    await stage.press("h")
    await stage.running.sees("● theirs", "● HIGH")
    await stage.press(key)
    await settled(stage, made, "theirs HIGH")


@checks("conflict.all_mine", "conflict.all_theirs", "conflict.both")
async def whole(stage: Stage, key: str) -> None:
    made, _number = await conflict(stage)
    await stage.press(key)
    wanted = {"M": ["mine HIGH"], "H": ["theirs URGENT"], "b": ["mine (conflicted copy) HIGH", "theirs URGENT"]}
    await settled(stage, made, *wanted[key])


@checks("conflict.close")
async def leave(stage: Stage, key: str) -> None:
    made, number = await conflict(stage)
    await stage.press(key)
    await until(lambda: stage.kind == "DashboardScreen")
    assert [found.id for found in await stage.assistant.conflicts()] == [number]
    await stage.assistant.resolve_conflict(number, "theirs")
    await settled(stage, made, "theirs URGENT")


# -- the other screens


OPENS = {
    "detail.close": ("enter", "DetailScreen"),
    "plan.close": ("P", "PlanScreen"),
    "settings.close": ("comma", "SettingsScreen"),
    "help.close": ("question_mark", "HelpScreen"),
    "insights.close": ("v", "InsightsScreen"),
    "form.close": ("t", "TaskForm"),
}


async def close_screen(name: str, stage: Stage, key: str) -> None:
    await stage.back()
    if name in ("detail.close", "plan.close"):
        await waiting_row(stage, "to be closed")
    opener, kind = OPENS[name]
    await stage.press(opener)
    await stage.opened(kind)
    if name == "form.close":
        await stage.running.text("kept")
    await stage.press(key)
    await until(lambda: stage.kind == "DashboardScreen", "the screen to close")
    if name == "form.close":
        await stage.press(opener)
        assert (await stage.opened(kind)).values()["title"] == "kept"
        await stage.press("ctrl+r")
        await stage.back()


for _name in OPENS:
    checks(_name)(lambda stage, key, name=_name: close_screen(name, stage, key))


@checks("settings.open")
async def change_setting(stage: Stage, key: str) -> None:
    await stage.press("comma")
    await stage.opened("SettingsScreen")
    before = stage.app.theme
    await stage.press(key)
    await until(lambda: stage.app.theme != before)
    await stage.running.sees("light" if before == "aria-dark" else "dark")
    assert stage.app.screen.query_one("RowList").select("connect")
    await stage.press(key)
    await stage.opened("ConnectForm")
    await stage.press("escape")
    await stage.back()


@checks("form.save")
async def save_form(stage: Stage, key: str) -> None:
    await stage.press("t")
    await stage.opened("TaskForm")
    await stage.running.text("saved by its key")
    await stage.press(key)
    await until(lambda: stage.kind == "DashboardScreen")
    await until(lambda: any(task.title == "saved by its key" for task in stage.live.shown_tasks()))
    await stage.told("saved to Hub")


@checks("form.clear")
async def clear_form(stage: Stage, key: str) -> None:
    await stage.press("t")
    form = await stage.opened("TaskForm")
    await stage.running.text("thrown away")
    await stage.press(key)
    assert form.values()["title"] == ""
    await stage.press("escape", "t")
    assert (await stage.opened("TaskForm")).values()["title"] == ""
    await stage.back()


# -- the stages


def by_hand(**tables: Any) -> Any:
    config = configured(**tables)
    return replace(config, sync=replace(config.sync, automatic=False))


@pytest.fixture
def stage(dashboard: Any, request: Any, tmp_path: Path) -> Callable[..., Any]:
    """``async with stage(place) as on:``, for a place of the list of commands."""

    @contextlib.asynccontextmanager
    async def start(place: str) -> AsyncIterator[Stage]:
        hub = None
        if place in ("tasks", "queue", "detail", "conflict", "plan"):
            hub = request.getfixturevalue("hub")
            config = by_hand(hub=replace(configured().hub, url=hub.url, token=hub.token))
        else:
            config = by_hand()
        switch = Switch() if place == "everywhere" else None
        async with dashboard(config=config, **({"demo": switch} if switch else {})) as running:
            on = Stage(place, running, hub, switch)
            await until(lambda: on.board._doc is not None, "the first briefing")
            if place == "tasks":
                assert hub is not None
                await on.assistant.create_task("open at the Hub")
                closed = await on.assistant.create_task("done at the Hub")
                await on.assistant.complete_task(closed.id)
                await on.assistant.list_tasks()
                hub.stop()
                await on.assistant.hub_status()
                on.live.ask("tasks")
            if place in PANES:
                await on.press(str(PANES.index(place) + 1))
            elif place == "everywhere":
                await on.press("1")
            yield on

    return start


@pytest.mark.parametrize("place", [place for place in PLACES if at(place)])
async def test_each_key_does_what_it_says(stage: Any, place: str, caplog: Any) -> None:
    async with stage(place) as on:
        for command in at(place):
            if command.id in LEAVING:
                continue
            for key in command.keys.split(","):
                try:
                    await CHECKS[command.id](on, key)
                except (AssertionError, LookupError) as error:
                    pytest.fail(f"{command.id} by {key}: {error!r}\n{on.running.screen_text}")
                assert on.app.is_running and not [r for r in caplog.records if r.levelname == "ERROR"], caplog.text


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name in LEAVING for key in BY_ID[name].keys.split(",")], ids=str
)
async def test_leaving(dashboard: Any, name: str, key: str) -> None:
    async with dashboard(config=by_hand()) as running:
        await running.assistant.capture_insight("still waits", offline=True)
        await running.keys(key)
        await until(lambda: running.app._exit, "the end")
        assert running.app.return_code == 0
        assert running.app.after_exit == ("demo" if name == "first.demo" else "")
    async with await Assistant.open(by_hand(), home=running.app.home) as again:
        assert (await again.queue_status()).by_operation["capture_insight"] == 1


async def test_in_every_place_every_key_leads_to_the_nearest_command(stage: Any) -> None:
    """A pane's or a screen's own keys first, then the dashboard's, then those that work everywhere."""
    async with stage("queue") as on:
        opened = {
            "help": "question_mark", "settings": "comma", "insights": "v", "plan": "P", "detail": "enter", "form": "t",
        }  # fmt: skip
        for place in (*PANES, *opened):
            if place in ("queue", "plan", "detail"):
                await waiting_row(on, f"for the {place}")
            await on.press(str(PANES.index(place) + 1) if place in PANES else opened[place])
            if place not in PANES:
                await until(lambda: on.kind != "DashboardScreen", place)
            expected: dict[str, Command] = {}
            for group in ("everywhere", *(("dashboard",) if place in PANES else ()), place):
                if place == "form" and group == "everywhere":
                    continue  # in a form letters are text
                expected.update({key: command for command in at(group) for key in command.keys.split(",")})
            active = on.app.screen.active_bindings
            for key, command in expected.items():
                assert key in active, (place, key)
                assert active[key].binding.action == f"app.run('{command.id}')", (place, key, command.id)
                if command.id != "demo.toggle":
                    assert on.app.can_run(command), (place, key)
            await on.back()
            await on.press("4")
