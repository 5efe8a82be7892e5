"""Keys of the briefing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from aria_tui.tui.wallclock import local_now
from tests.tui.conftest import until
from tests.tui.keys.stage import Stage, checks


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
    await until(lambda: "    in the briefing" not in stage.running.screen_text, "the fold")
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
