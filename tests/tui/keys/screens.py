"""Keys of the other screens."""

from __future__ import annotations

from tests.tui.conftest import until
from tests.tui.keys.queue import waiting_row
from tests.tui.keys.stage import Stage, checks

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
