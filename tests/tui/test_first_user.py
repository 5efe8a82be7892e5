"""What a first user stumbled over: a line that moves, a number that means another thing, a key that can do nothing."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from aria_tui import locale
from aria_tui.assistant import Assistant
from aria_tui.briefing import render_text
from aria_tui.models import Alert, BriefingDoc, QueueItem, Section, TaskList, TaskView
from aria_tui.outbox import views
from aria_tui.tui.queue_rows import gist, outcome_words
from aria_tui.tui.sections import Scene, body
from aria_tui.tui.widgets.briefing_pane import BriefingState
from aria_tui.tui.widgets.hub_pane import _side_by_side
from tests.helpers.hub import HubProcess
from tests.tui.conftest import configured, until

NOW = datetime(2026, 11, 30, 8, 4, tzinfo=ZoneInfo("America/Fortaleza"))


def a_row(**fields: Any) -> QueueItem:
    known = {"id": 7, "operation": "update_task", "payload": "{}", "created_at": "2026-11-30T10:00:00Z", "reason": ""}
    return QueueItem(**{**known, "reason_code": "next", **fields})


def shown(rows: Any) -> list[str]:
    return ["".join(piece.text for piece in line) for line in rows]


def test_a_briefing_of_many_tasks_lists_the_first_of_each_kind_and_counts_the_rest() -> None:
    kinds = {"overdue": 23, "due_today": 2, "in_progress": 6, "other": 175}
    data = {
        "open_total": 206,
        **{kind: [{"id": f"{kind}{n}", "title": f"{kind} {n}"} for n in range(count)] for kind, count in kinds.items()},
    }
    lines = shown(body(Section(name="tasks", state="ok", data=data), Scene(60, NOW, NOW.date())))
    assert [line.strip() for line in lines if "more" in line] == ["18 more", "1 more", "170 more"]
    assert len(lines) == 5 + 1 + 2 + 5 + 1 + 5 + 1


async def test_alerts_that_come_in_late_are_seen(dashboard: Any) -> None:
    """Until the cursor is moved it is on the first line, and that is in sight."""
    async with dashboard(size=(80, 24)) as running:
        await running.keys("1")
        await until(lambda: running.app.screen._doc is not None, "the first briefing")
        pane = running.app.screen.briefing_pane
        running.app.screen.draw_briefing = lambda: None  # nothing else is drawn into it
        sections = tuple(Section(name=f"source {n}", state="ok", data={"x": str(n)}) for n in range(30))

        def draw(count: int) -> None:
            alerts = tuple(Alert(level="warning", source="finance", text=f"alert {n}") for n in range(count))
            pane.update_state(BriefingState("morning", "today", NOW, NOW.date(), sections, alerts))

        for count in 0, 1, 2, 5:
            draw(count)
            await running.pilot.pause()
        await running.sees("alert 0", "alert 4")
        assert pane.rows.cursor_key == "alerts:0"
        await running.keys("down", "down")
        draw(6)
        assert pane.rows.cursor_key == "alerts:2", "where the user put it"


async def test_the_time_of_the_next_probe_stays_and_counts_down(dashboard: Any, hub: HubProcess) -> None:
    config = configured(hub=msgspec.structs.replace(configured().hub, url=hub.url, token=hub.token))
    async with dashboard(config=config) as running:
        await running.sees("next probe in 20 s")
        await running.sees("next probe in 17 s")


@pytest.mark.parametrize("width", range(30, 70))
def test_counting_down_never_changes_the_lines(width: int) -> None:
    """9 s take a cell less than 10 s: the pane below would jump."""
    parts = ["last sync 03:16", "online since 03:13"]
    least = len("next probe in 20 s")
    texts = ["probing", *(f"next probe in {n} s" for n in range(1, 21))]
    assert len({len(_side_by_side([*parts, text], width, least)) for text in texts}) == 1
    assert _side_by_side(parts, 10) == parts, "no part is broken"


@pytest.mark.parametrize("outcome", sorted(views._WORDS))
def test_every_outcome_of_the_journal_has_words_in_both_languages(outcome: str) -> None:
    item = a_row(outcome=outcome, reason_args={"into": "9"})
    english = outcome_words(item)
    assert english != outcome or outcome in ("delivered", "superseded", "discarded")
    locale.use("pt_BR")
    assert outcome_words(item) not in (english, outcome)


def test_a_row_is_known_by_words_and_a_large_briefing_by_its_date() -> None:
    payload = json.dumps({"content": '# Good morning "date": "2020-01-01"' + "x" * 40_000, "date": "2026-11-30"})
    assert gist(a_row(operation="store_briefing", payload=payload)) == "2026-11-30"
    changes = {"status": "IN_PROGRESS", "priority": "HIGH", "due_date": None, "tags": ["a", "b"]}
    row = a_row(payload=json.dumps({"id": "x", "changes": changes}))
    assert gist(row) == "status: in progress, priority: HIGH, due date: –, tags: a, b"
    locale.use("pt_BR")
    assert gist(row) == "situação: em andamento, prioridade: ALTA, prazo: –, etiquetas: a, b"


async def test_a_filter_moves_no_column_and_says_how_many_it_leaves(dashboard: Any) -> None:
    async with dashboard() as running:
        for title, project in (("Pay the rent", "home"), ("Pay the tax", "home"), ("Call the bank", "money")):
            await running.assistant.create_task(title, project=project, due="2030-01-01")
        running.app.live.ask("tasks")
        await running.sees("3 open")
        before = next(line for line in running.screen_text.splitlines() if "Pay the rent" in line)[60:]
        await running.keys("slash")
        await running.text("pay")
        await running.sees("/pay · 2 of 3 open")
        after = next(line for line in running.screen_text.splitlines() if "Pay the rent" in line)[60:]
        assert after.replace("▸", " ").replace("·", " ") == before.replace("▸", " ").replace("·", " ")
        await running.text("zzz")
        await running.sees("0 of 3 open", "no task has all of this; esc clears the filter")
        await running.keys("escape")
        await running.sees("3 open", "Call the bank")


async def test_a_search_in_the_insights_finds_tags_and_never_says_that_there_are_none(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.assistant.capture_insight("pool the connections", tags=["auth"])
        await running.assistant.capture_insight("another thing")
        await running.keys("v")
        await running.sees("2 insights")
        await running.keys("slash")
        await running.text("auth pool")
        shown = await running.sees("/auth pool · 1 of 2 insights", "pool the connections")
        assert "another thing" not in shown
        await running.text("zzz")
        shown = await running.sees("0 of 2 insights", "no insight has all of this")
        assert "no insights;" not in shown


async def test_the_last_list_seen_is_dim_and_dated_but_for_what_is_written_here(dashboard: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        live, pane = running.app.live, running.app.screen.tasks_pane
        tasks = (TaskView(id="old", title="as it was"), TaskView(id="new", title="mine", waiting=True, mark="new"))
        live.tasks_problem, live.tasks = None, TaskList(tasks=tasks, as_of="2026-11-30T11:04:00Z", source="last-seen")
        running.app.screen.draw_tasks()
        rows = pane._rows
        styles = {
            task.title: {piece.style for piece in rows.line(rows.find(task.id), 60) if task.title in piece.text}
            for task in tasks
        }
        assert styles == {"as it was": {"dim"}, "mine": {""}}
        assert pane._headline.startswith("last seen ")
        assert pane._headline != "last seen "


async def test_keys_that_can_do_nothing_to_a_row_are_not_offered_and_say_why(dashboard: Any, hub: HubProcess) -> None:
    config = configured(hub=msgspec.structs.replace(configured().hub, url=hub.url, token=hub.token))
    config = msgspec.structs.replace(config, sync=msgspec.structs.replace(config.sync, automatic=False))
    async with dashboard(config=config) as running:
        await running.assistant.create_task("went")
        await running.assistant.create_task("waits", offline=True)
        running.app.live.ask("queue")
        await running.keys("4")
        footer = (await running.sees("1 waiting", "waits")).splitlines()[-1]
        assert "e edit" in footer
        assert "d discard" in footer
        assert "R retry" not in footer
        await running.keys("R")
        await running.told("this row waits: it goes by itself, or by s")
        await running.keys("left")
        footer = (await running.sees("[Journal]", "went")).splitlines()[-1]
        assert "R retry" in footer
        assert "e edit" not in footer
        for key in ("e", "d"):
            running.app.clear_notifications()
            await running.keys(key)
            await running.told("this row is in the journal: it can't be changed any more")
        await running.keys("enter")
        footer = (await running.sees("Queue row #", "why", "delivered")).splitlines()[-1]
        assert "e edit" not in footer
        assert type(running.app.screen).__name__ == "DetailScreen"
        running.app.clear_notifications()
        await running.keys("d")
        await running.told("this row is in the journal: it can't be changed any more")


async def test_the_end_of_a_sync_bears_its_time(dashboard: Any) -> None:
    """The sentence stays under the rows that came later."""
    async with dashboard() as running:
        await running.keys("s")
        await until(lambda: running.app.live.finished is not None, "the end of the sync")
        clock = f"{running.app.screen.now:%H:%M}"[:4]
        await running.sees("Nothing was waiting.")
        line = next(
            line for line in running.screen_text.splitlines() if "Nothing was waiting." in line and "││" in line
        )
        assert clock in line


@pytest.mark.parametrize("language", ["en", "pt_BR"])
@pytest.mark.parametrize("size", [(60, 20), (80, 24)], ids=str)
async def test_no_line_of_the_help_is_cut(dashboard: Any, size: tuple[int, int], language: str) -> None:
    locale.use(language)
    async with dashboard(size=size) as running:
        await running.keys("question_mark")
        await until(lambda: type(running.app.screen).__name__ == "HelpScreen")
        rows = running.app.screen.query_one("RowList")
        await until(lambda: len(rows._rows) > 50, "the keys")
        width = rows.text_width
        assert not [n for n in range(len(rows._rows)) if sum(len(p.text) for p in rows._rows.line(n, width)) > width]


async def test_a_form_is_saved_cleared_and_closed_by_mouse(dashboard: Any) -> None:
    async with dashboard() as running:

        async def click(word: str) -> None:
            lines = running.screen_text.splitlines()
            y = next(number for number, line in enumerate(lines) if "ctrl+s save" in line)
            await running.pilot.click(offset=(lines[y].index(word), y))

        async def opened() -> Any:
            await running.keys("t")
            await until(lambda: running.app.screen.query("#title") and running.app.focused)
            await running.sees("ctrl+s save", "→ completes")
            return running.app.screen

        form = await opened()
        await running.text("by mouse")
        await click("clear")
        await until(lambda: not form.values()["title"], "an empty form")
        await running.text("kept")
        await click("close")
        await until(lambda: running.app.screen is not form, "the form to close")
        form = await opened()
        assert form.values()["title"] == "kept"
        await click("save")
        await until(lambda: [task.title for task in running.app.live.shown_tasks()] == ["kept"], "the task")


async def test_what_two_sides_changed_is_said_in_the_user_s_words(
    dashboard: Any, hub: HubProcess, tmp_path: Path
) -> None:
    locale.use("pt_BR")
    config = configured(hub=msgspec.structs.replace(configured().hub, url=hub.url, token=hub.token))
    config = msgspec.structs.replace(config, sync=msgspec.structs.replace(config.sync, automatic=False))
    async with dashboard(size=(200, 60), config=config) as running:
        mine = running.assistant
        changed = (await mine.create_task("first", priority="LOW")).id
        gone = (await mine.create_task("second")).id
        await mine.list_tasks()
        await mine.update_task(changed, {"title": "mine", "priority": "URGENT"}, offline=True)
        await mine.update_task(gone, {"due_date": "2030-01-01"}, offline=True)
        (tmp_path / "other").mkdir(mode=0o700)
        async with await Assistant.open(config, home=tmp_path / "other") as other:
            await other.list_tasks()
            await other.update_task(changed, {"title": "theirs", "priority": "HIGH"})
            await other.delete_task(gone)
        await running.keys("4", "s")
        await running.sees("2 conflitos")
        await running.keys("left", "left")
        await running.sees(
            "[Conflitos 2]", "mudou dos dois lados: título, prioridade", "mudou dos dois lados: apagada no Hub"
        )
        await running.keys("home", "enter")
        await running.sees("antes", "meu", "do Hub", "URGENTE", "ALTA", "h do Hub")


def test_a_critical_alert_is_told_from_a_warning_without_a_colour() -> None:
    alerts = tuple(
        Alert(level=level, source="finance", text=f"{name} budget at {percent} %")
        for level, name, percent in (("critical", "Rent", 130), ("warning", "Software", 82))
    )
    doc = BriefingDoc(
        date="2026-11-30", kind="morning", generated_at="2026-11-30T11:04:00Z", timezone="UTC", alerts=alerts
    )
    text = render_text(doc)
    assert "✗ Finance: Rent budget at 130 %" in text
    assert "⚠ Finance: Software budget at 82 %" in text
    budgets = [{"category": a.text[:4], "percent": 99, "level": a.level} for a in alerts]
    lines = shown(body(Section(name="finance", state="ok", data={"budgets": budgets}), Scene(60, NOW, NOW.date())))
    assert [line.strip()[0] for line in lines] == ["✗", "⚠"]


async def test_that_rows_still_wait_is_not_said_once_they_went(dashboard: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        await running.assistant.create_task("goes later")
        running.app.live.ask("queue")
        await running.sees("1 waiting")
        await running.keys("4", "s")
        await until(lambda: running.app.live.finished is not None, "the end of the sync")
        await running.sees("  Hub offline: 1 still waits.")
        running.app.clear_notifications()
        await running.assistant.queue_discard(1)
        await running.sees("nothing waits", "0 waiting")
        await until(lambda: "still waits" not in running.screen_text, "the sentence to go")
