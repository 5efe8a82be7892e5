"""A Hub that answers late, and lists that are long: the keys, the cursor and the text that is typed don't mind."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
import pytest
from textual.widgets import DataTable

from aria_tui.models import TaskList, TaskView
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy
from tests.tui.conftest import configured, until

QUITS_WITHIN = 2.0
"""Seconds from the key to the end (cases.md, T06)."""


@pytest.mark.case("T06")
async def test_late_answers_disturb_nothing(dashboard: Any, hub: HubProcess, proxy: FaultProxy, caplog: Any) -> None:
    """Cases T06: panes refresh every second over a Hub that takes its time, while screens are opened and closed."""
    slow = msgspec.structs.replace(configured().hub, url=proxy.url, token=hub.token, timeout=20.0)
    config = configured(hub=slow)
    async with dashboard(config=config) as running:
        for number in range(4):
            await running.assistant.create_task(f"task {number}", due="2030-01-01")
        running.app.live.ask("tasks")
        await running.sees("4 open", "task 3")
        await running.keys("2", "down", "down")
        pane = running.app.screen.tasks_pane
        chosen = pane.current().id
        proxy.add("latency", seconds=3.0)
        refreshes = running.app.set_interval(1.0, running.app.screen_stack[0].do_refresh)
        kinds = {"v": "InsightsScreen", "comma": "SettingsScreen", "question_mark": "HelpScreen", "P": "PlanScreen"}
        for number in range(12):  # fifty times on a real terminal: tests/system/test_screen_cases.py
            key = tuple(kinds)[number % 4]
            if key == "P":
                await running.keys("4")
            await running.pilot.press(key)
            await until(lambda key=key: type(running.app.screen).__name__ == kinds[key])
            await running.pilot.press("escape")
            await until(lambda: type(running.app.screen).__name__ == "DashboardScreen")
        await running.keys("2")
        assert pane.current() is not None, running.screen_text
        assert pane.current().id == chosen
        await running.keys("t")
        await until(lambda: type(running.app.screen).__name__ == "TaskForm")
        for word in ("typed ", "while ", "late ", "answers ", "come"):
            await running.text(word)
            await asyncio.sleep(0)
        focused = running.app.focused
        rounds = len(proxy.requests)
        await until(lambda: len(proxy.requests) > rounds, "another refresh to begin")
        assert running.app.focused is focused
        assert running.app.screen.values()["title"] == "typed while late answers come"
        refreshes.stop()
        assert pane.current().id == chosen
        began = time.monotonic()
        await running.keys("escape", "q")
        await until(lambda: not running.app.is_running or running.app._exit, "the end")
    assert time.monotonic() - began < QUITS_WITHIN
    assert not [record for record in caplog.records if record.levelname == "ERROR"], caplog.text


async def test_ten_thousand_tasks_are_drawn_as_far_as_they_are_seen(dashboard: Any) -> None:
    tasks = tuple(
        TaskView(id=str(n), title=f"task number {n:05}", project_name=f"project {n % 40}", due_date="2030-01-01")
        for n in range(10_000)
    )
    async with dashboard() as running:
        live, screen = running.app.live, running.app.screen
        running.app.workers.cancel_all()  # nothing reads the real, empty list any more
        await asyncio.wait({worker._task for worker in running.app.workers if worker._task is not None})
        live.tasks = TaskList(tasks=tasks)
        live.tell("tasks")
        await running.sees("10000 open", "task number 00000")
        await running.keys("2", "O", "O", "home")
        rows = screen.tasks_pane.rows
        drawn: set[int] = set()
        line = type(screen.tasks_pane._rows).line

        def counted(self: Any, index: int, width: int) -> Any:
            drawn.add(index)
            return line(self, index, width)

        type(screen.tasks_pane._rows).line = counted
        try:
            await running.keys("end")
            await running.sees("task number 09999")
            await running.keys("up", "pageup")
            assert rows.cursor < 9_998
            await running.keys("home", "down", "down")
            kept = screen.tasks_pane.current().id
            live.tasks = TaskList(tasks=(*tasks[5_000:], TaskView(id="new", title="a new one"), *tasks[:5_000]))
            live.tell("tasks")
            await running.sees("10001 open")
            assert screen.tasks_pane.current().id == kept
            await running.keys("slash")
            await running.text("07777")
            await until(lambda: len(screen.tasks_pane._rows.tasks) == 1, "the filter")
            await running.sees("task number 07777")
            await running.keys("escape")
            assert len(screen.tasks_pane._rows.tasks) == 10_001
        finally:
            type(screen.tasks_pane._rows).line = line
        assert len(drawn) < 500, "only what is seen is drawn"
        assert all(table.row_count <= 500 for table in running.app.screen.query(DataTable))
