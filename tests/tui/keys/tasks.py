"""Keys of the tasks."""

from __future__ import annotations

from datetime import timedelta

from aria_tui.tui.wallclock import local_now
from tests.tui.conftest import until
from tests.tui.keys.stage import Stage, checks


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
