"""One list of commands: its keys don't clash, each has a handler, keys can be remapped with clashes told."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aria_tui.tui.commands import COMMANDS, PLACES, _meet, keys_markdown, keys_of, read_keymap
from tests.tui.conftest import configured

HANDLERS = {
    "everywhere": "app.AriaApp", "dashboard": "screens.dashboard.DashboardScreen",
    "briefing": "screens.dashboard.DashboardScreen", "tasks": "screens.dashboard.DashboardScreen",
    "hub": "screens.dashboard.DashboardScreen", "queue": "screens.dashboard.DashboardScreen",
    "insights": "screens.insights.InsightsScreen", "detail": "screens.detail.DetailScreen",
    "conflict": "screens.conflict.ConflictScreen", "plan": "screens.plan.PlanScreen",
    "settings": "screens.settings.SettingsScreen", "help": "screens.help.HelpScreen", "form": "screens.form.FormScreen",
}  # fmt: skip


def test_ids_are_unique_and_places_known() -> None:
    assert len({command.id for command in COMMANDS}) == len(COMMANDS)
    assert {command.where for command in COMMANDS} <= set(PLACES)


def test_no_two_commands_have_one_key_at_the_same_moment() -> None:
    for one, other in combinations(COMMANDS, 2):
        if _meet(one.where, other.where):
            shared = set(keys_of(one, {})) & set(keys_of(other, {}))
            inner = {one.where, other.where} - {"everywhere", "dashboard"}
            # A pane's or a screen's own key may stand before one that works everywhere; in one place it may not.
            assert not shared or (inner and one.where != other.where), (one.id, other.id, shared)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_each_command_has_a_handler_where_its_keys_are(command: Any) -> None:
    import importlib

    module, _, name = HANDLERS[command.where].rpartition(".")
    owner = getattr(importlib.import_module(f"aria_tui.tui.{module}"), name)
    app = importlib.import_module("aria_tui.tui.app").AriaApp
    dashboard = importlib.import_module("aria_tui.tui.screens.dashboard").DashboardScreen
    assert any(hasattr(place, command.method) for place in (owner, app, dashboard)), command.method


def test_keys_are_remapped_and_mistakes_told() -> None:
    remapped, problems = read_keymap(
        {"sync": "f9, ctrl+y", "task": "?", "nothing": "x", "zoom": "ctrl+nokey", "help": "f12"}
    )
    assert remapped == {"sync": "f9,ctrl+y", "task": "question_mark", "help": "f12"}
    assert len(problems) == 2 and "nothing" in problems[0] and "ctrl+nokey" in problems[1]


def test_a_clash_is_told_with_both_names_and_undone() -> None:
    remapped, problems = read_keymap({"sync": "t"})
    assert remapped == {} and len(problems) == 1
    assert "sync" in problems[0] and "task" in problems[0]


async def test_a_remapped_key_works_and_the_old_one_does_not(dashboard: Any) -> None:
    ui = msgspec.structs.replace(configured().ui, keys={"help": "f12", "settings": "t"})
    async with dashboard(config=configured(ui=ui)) as running:
        await running.told("keys: t is both settings and task")
        await running.keys("question_mark")
        assert type(running.app.screen).__name__ == "DashboardScreen"
        await running.keys("f12")
        assert type(running.app.screen).__name__ == "HelpScreen"
        await running.sees("every key", "f12")


def test_the_key_list_names_every_command() -> None:
    text = keys_markdown()
    assert text.count("\n") == len(COMMANDS) + 2
    assert "| Everywhere | `s` | Send what waits in the queue now |" in text


def test_the_readme_s_key_list_is_the_one_made_from_the_commands() -> None:
    """``python3 -m aria_tui.tui.commands`` makes it; it stands between two markers."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = readme.split("<!-- keys: begin", 1)[1].split("-->\n", 1)[1].split("<!-- keys: end -->", 1)[0]
    made = subprocess.run(
        [sys.executable, "-m", "aria_tui.tui.commands"], capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.strip() == made.stdout.strip() == keys_markdown().strip()


async def test_help_palette_and_footer_come_from_the_list(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.sees("s sync", "t task", "i insight", "? help", "q quit")
        await running.keys("ctrl+p")
        await running.pilot.pause()
        await running.sees("Send what waits in the queue now")
        await running.text("dark")
        await running.sees("Change between dark and light")
        await running.pilot.pause()
        await running.keys("escape")
