"""Keys that work everywhere, and those of the dashboard around its panes."""

from __future__ import annotations

import socket

from msgspec.structs import replace

from aria_tui.assistant import Assistant
from tests.tui.conftest import configured, until
from tests.tui.keys.stage import PANES, Stage, checks


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
