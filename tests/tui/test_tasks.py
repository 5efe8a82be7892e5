"""Tasks on the screen: captured, changed, found, taken back, over the real queue and the embedded Hub."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from textual import events

from aria_tui.tui.screens.capture import TaskForm
from aria_tui.tui.wallclock import local_now
from tests.tui.conftest import configured, until


async def titles(running: Any) -> list[str]:
    return [task.title for task in (await running.assistant.list_tasks()).tasks]


async def test_a_task_is_captured_from_the_keyboard_and_told(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.keys("t")
        await until(lambda: isinstance(running.app.screen, TaskForm))
        await running.text("Pagar DAS")
        await running.keys("tab")
        await running.text("finance")
        await running.keys("tab")
        await running.text("+3d")
        day = local_now().date() + timedelta(days=3)
        await running.sees(f"{day.day} ", f"{day.year}")
        await running.keys("enter")
        await running.told("saved to Hub")
        await running.sees("Pagar DAS", "finance")
        (task,) = (await running.assistant.list_tasks()).tasks
        assert (task.title, task.project_name, task.due_date) == ("Pagar DAS", "finance", day.isoformat())


async def test_a_bad_due_date_keeps_the_form_and_its_text(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.keys("t")
        await until(lambda: isinstance(running.app.screen, TaskForm))
        await running.text("x")
        await running.keys("tab", "tab")
        await running.text("some day")
        await running.keys("ctrl+s")
        await running.sees("due: not a date: some day")
        assert isinstance(running.app.screen, TaskForm)
        assert await titles(running) == []


@pytest.mark.case("T05")
async def test_a_paste_of_several_lines_is_one_title_and_submits_nothing(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.keys("t")
        await until(lambda: isinstance(running.app.screen, TaskForm))
        running.app.post_message(events.Paste("\nComprar leite\nLigar banco\r\n\tPagar DAS"))
        await running.sees("Comprar leite Ligar banco Pagar DAS")
        assert isinstance(running.app.screen, TaskForm)
        await running.keys("enter")
        await until(lambda: not isinstance(running.app.screen, TaskForm))
        assert await titles(running) == ["Comprar leite Ligar banco Pagar DAS"]


async def test_what_is_typed_before_the_form_is_there_is_not_lost(dashboard: Any) -> None:
    async with dashboard() as running:
        for char in "t", "x", "s", "q", "1":
            running.app.post_message(events.Key(char, char))
        await running.sees("xsq1")
        assert isinstance(running.app.screen, TaskForm)
        await running.keys("escape")
        for key, char in ("t", "t"), ("2", "2"), ("enter", "\r"):
            running.app.post_message(events.Key(key, char))
        await until(lambda: running.app.live.tasks and running.app.live.tasks.tasks, "the burst to be saved")
        assert await titles(running) == ["xsq12"]


async def test_what_is_typed_right_after_the_filter_s_key_is_the_filter(dashboard: Any) -> None:
    async with dashboard() as running:
        for key in "slash", *"tidy":
            running.app.post_message(events.Key(key, "/" if key == "slash" else key))
        await until(lambda: running.app.session.get("tasks", {}).get("filter") == "tidy", "the whole word")
        assert type(running.app.screen).__name__ == "DashboardScreen"
        await running.keys("escape")


async def test_text_of_a_closed_form_comes_back(dashboard: Any, tmp_path: Any) -> None:
    async with dashboard() as running:
        await running.keys("t")
        await until(lambda: isinstance(running.app.screen, TaskForm))
        await running.text("half a thought")
        await running.keys("escape")
        await until(lambda: not isinstance(running.app.screen, TaskForm))
    async with dashboard() as again:
        await again.keys("t")
        await again.sees("half a thought")
        await again.keys("enter")
        await until(lambda: not isinstance(again.app.screen, TaskForm))
        assert await titles(again) == ["half a thought"]
        await again.keys("t")
        await until(lambda: isinstance(again.app.screen, TaskForm))
        assert "half a thought" not in again.app.screen.values().values()


async def test_done_reopen_postpone_delete_and_undo(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.assistant.create_task("Pay the rent", project="p", priority="HIGH", due="2026-01-01")
        running.app.live.ask("tasks")
        await running.sees("1 open", "Pay the rent")
        await running.keys("2", "x")
        await running.told("saved")

        async def task() -> Any:
            return (await running.assistant.list_tasks()).tasks[0]

        assert (await task()).status == "DONE"
        await running.keys("a", "X")
        await until_status(running, "TODO")
        await running.keys("p")
        tomorrow = (local_now().date() + timedelta(days=1)).isoformat()
        await until_field(running, "due_date", tomorrow)
        await running.keys("u")
        await until_field(running, "due_date", "2026-01-01")
        await running.keys("d")
        await until_async(lambda: empty(running))
        await running.keys("u")
        await running.told("taken back: deleted: Pay the rent")
        back = await task()
        assert (back.title, back.project_name, back.priority, back.due_date) == (
            "Pay the rent",
            "p",
            "HIGH",
            "2026-01-01",
        )


async def until_async(condition: Any) -> None:
    import asyncio
    import time

    end = time.monotonic() + 15
    while not await condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


async def empty(running: Any) -> bool:
    return not (await running.assistant.list_tasks()).tasks


async def until_field(running: Any, field: str, value: Any) -> None:
    async def is_so() -> bool:
        tasks = (await running.assistant.list_tasks()).tasks
        return bool(tasks) and getattr(tasks[0], field) == value

    await until_async(is_so)


async def until_status(running: Any, status: str) -> None:
    await until_field(running, "status", status)


async def test_an_undone_delete_that_still_waits_leaves_the_queue_empty(dashboard: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        await running.assistant.create_task("kept")
        running.app.live.ask("tasks")
        await running.sees("kept", "Hub offline")
        await running.keys("2", "d")
        await until_async(lambda: waiting(running, 2))
        await running.keys("u")
        await until_async(lambda: waiting(running, 1))


async def waiting(running: Any, count: int) -> bool:
    return bool((await running.assistant.queue_status()).pending_total == count)


async def test_filter_sort_group_and_selection(dashboard: Any) -> None:
    async with dashboard() as running:
        for title, project, priority in (("alpha", "red", "LOW"), ("beta", "blue", "URGENT"), ("gamma", "red", "HIGH")):
            await running.assistant.create_task(title, project=project, priority=priority)
        running.app.live.ask("tasks")
        await running.sees("alpha", "beta", "gamma", "3 open")
        await running.keys("slash")
        await running.text("red")
        rows = running.app.screen.tasks_pane
        await until(lambda: len(rows._rows.tasks) == 2, "the filter to be applied as it is typed")
        await running.keys("enter")
        assert [task.title for task in rows._rows.tasks] == ["gamma", "alpha"]
        await running.keys("escape", "O", "O")
        assert [task.title for task in rows._rows.tasks] == ["alpha", "beta", "gamma"]
        await running.keys("g")
        await running.sees("blue", "red", "by title")
        await running.keys("home", "space", "space", "x")
        await until_async(lambda: done(running, 2))
        await running.keys("g", "home", "space", "space")
        assert running.app.session.get("tasks")["sort"] == "title"


async def done(running: Any, count: int) -> bool:
    return sum(task.status == "DONE" for task in (await running.assistant.list_tasks()).tasks) == count


@pytest.mark.case("T06")
async def test_the_cursor_keeps_its_task_when_rows_come_in_above(dashboard: Any) -> None:
    async with dashboard() as running:
        for number in range(5):
            await running.assistant.create_task(f"task {number}", due="2030-01-01")
        running.app.live.ask("tasks")
        await running.sees("task 4")
        await running.keys("2", "down", "down")
        pane = running.app.screen.tasks_pane
        before = pane.current().id
        for number in range(30):
            await running.assistant.create_task(f"above {number}", due="2026-01-01")
        running.app.live.ask("tasks")
        await running.sees("35 open")
        assert pane.current().id == before
        top, cursor = pane.rows.scroll_offset.y, pane.rows.cursor
        assert top <= cursor < top + pane.rows.size.height


async def test_offline_tasks_are_not_guessed_and_the_last_list_is_a_key_away(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.assistant.create_task("seen before")
        await running.assistant.list_tasks()
    async with dashboard(config=configured(away=True)) as running:
        shown = await running.sees("Hub offline — task list unavailable")
        assert "seen before" not in [task.title for task in running.app.live.shown_tasks()]
        assert "0 open" not in shown
        await running.assistant.create_task("new while away")
        running.app.live.ask("tasks")
        await running.sees("⇡ new while away")


async def test_the_last_ten_actions_are_taken_back_in_turn_and_no_more(dashboard: Any) -> None:
    """The oldest of eleven is out of reach; a delivered delete comes back as a new task with the old one's fields."""
    async with dashboard() as running:
        for number in range(11):
            fields = {"project": f"p{number}", "due": "2030-01-01", "tags": ["a", "b"], "description": f"d{number}"}
            await running.assistant.create_task(f"task {number:02}", priority="LOW", **fields)
        before = {task.title: task for task in (await running.assistant.list_tasks()).tasks}
        running.app.live.ask("tasks")
        await running.sees("11 open", "task 10")
        await running.keys("2", "O", "O", "home")
        await running.sees("by title")
        for left in range(11, 0, -1):
            await running.keys("home", "d")
            await until_async(lambda left=left: count(running, left - 1))
            await until(lambda left=left: len(running.app.screen.tasks_pane._rows.tasks) == left - 1, "the row to go")
        for back in range(1, 11):
            await running.keys("u")
            await until_async(lambda back=back: count(running, back))
        await running.keys("u")
        await running.told("nothing to take back")
        after = {task.title: task for task in (await running.assistant.list_tasks()).tasks}
        assert set(after) == set(before) - {"task 00"}
        for title, task in after.items():
            was = before[title]
            assert task.id != was.id
            for field in "project_name", "due_date", "priority", "description", "tags", "status":
                assert getattr(task, field) == getattr(was, field), (title, field)


async def count(running: Any, number: int) -> bool:
    return len((await running.assistant.list_tasks()).tasks) == number
