"""Text from outside: shown exactly, harmless, in the right number of cells, through the one door."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from aria_tui.tui.content import Piece, between, cropped, fit, line_width, say, visible_each, wrapped
from tests.helpers.fuzz import EXAMPLES
from tests.tui.conftest import until

MARKUP = [
    "[/x]", "[/", "[/]", "[red]hi[/blue]", "[#zzz]x[/]", "[$unknown]x", "[not a tag] z", "[bold", "[",
    "a[1] [x for x in y]", "[@click=app.quit]x[/]",
]  # fmt: skip
STEERING = ["\x1b]52;c;aGk=\x07", "\x1b[2J", "a\x9b31mb", "\x0e", "a\rb", "a\bb", "a\tb", "\u202egnp.exe"]


@pytest.mark.case("T01")
@pytest.mark.parametrize("text", MARKUP)
async def test_markup_is_shown_exactly_in_panes_toasts_and_forms(dashboard: Any, text: str) -> None:
    async with dashboard() as running:
        await running.assistant.create_task(text, project=text[:20])
        running.app.live.ask("tasks")
        running.app.toast(f"toast {text}", "error")
        await running.sees(f"  {text}")
        shown = await running.sees(f"toast {text}")
        assert shown.count(text) >= 2
        await running.pilot.click("#task-rows", offset=(6, 0))
        await running.keys("2", "enter")
        await until(lambda: running.app.screen.query("#title"))
        await running.sees("Edit task", text)
        assert running.app.is_running


@pytest.mark.case("T02")
@pytest.mark.parametrize("text", STEERING)
async def test_nothing_that_steers_a_terminal_gets_onto_the_screen(dashboard: Any, text: str) -> None:
    async with dashboard() as running:
        await running.assistant.create_task(f"A{text}B")
        running.app.live.ask("tasks")
        running.app.toast(f"T{text}T")
        await running.sees("1 open")
        await running.keys("2", "enter")
        await until(lambda: running.app.screen.query("#title"))
        await running.sees("Edit task")
        shown = running.screen_text
        assert not [char for char in shown.replace("\n", "") if ord(char) < 32 or 0x7F <= ord(char) < 0xA0]
        assert "\u202e" not in shown
        (task,) = (await running.assistant.list_tasks()).tasks
        assert task.title == f"A{text}B"


WIDE = "Reunião 👩‍👩‍👧 日本語 ❤️ e\u0301 " * 3


@pytest.mark.case("T03")
async def test_wide_and_joined_characters_keep_the_frames_straight(dashboard: Any) -> None:
    for size in (80, 24), (120, 40):
        async with dashboard(size=size) as running:
            await running.assistant.create_task(WIDE, project=WIDE[:30])
            await running.assistant.capture_insight(WIDE, offline=True)
            running.app.live.ask("tasks")
            await running.sees("Reuni")
            for pane in "1", "2", "3", "4":
                await running.keys(pane)
                for line in running.screen_text.splitlines():
                    assert cell_len(line) == size[0], line


@pytest.mark.case("T03")
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(max_size=60), st.integers(0, 40))
def test_fitted_text_takes_exactly_its_cells(text: str, width: int) -> None:
    for right in False, True:
        assert cell_len(fit(text, width, right=right).text) == width


@pytest.mark.case("T03")
@pytest.mark.parametrize("unseen", ["\u0301", "\ufe0f", "\u0903"])
def test_what_stands_behind_much_that_has_no_width_is_told_by_an_ellipsis(unseen: str) -> None:
    assert "…" in fit(f"a{unseen * 5000}b", 20).text


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.text(max_size=12), max_size=5), st.integers(0, 40))
def test_lines_are_cut_to_their_room(texts: list[str], width: int) -> None:
    line = tuple(say(text) for text in texts)
    assert line_width(cropped(line, width)) <= width
    assert line_width(between(line, (Piece("right"),), width)) <= max(width, 0)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(max_size=200), st.integers(1, 30))
def test_wrapped_text_loses_nothing_and_stays_inside(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(line_width(line) <= max(4, width) for line in lines)
    shown = "".join(piece.text for line in lines for piece in line).replace(" ", "")
    assert shown == say(text).text.replace(" ", "")


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(max_size=60))
def test_text_under_a_cursor_keeps_its_length_and_is_harmless(text: str) -> None:
    shown = visible_each(text)
    assert len(shown) == len(text)
    assert not [char for char in shown if ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u200f"]


def test_there_is_one_door() -> None:
    """No module of the screen makes Textual's markup or Rich text by itself, but the input that draws what is typed."""
    for file in Path(__file__).parents[2].joinpath("aria_tui/tui").rglob("*.py"):
        text = file.read_text()
        if file.name != "inputs.py":
            assert "rich.text" not in text, file
        assert "from_markup" not in text, file
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        for call in calls:
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            assert name not in ("Static", "Label", "Button", "Markdown", "DataTable"), (file, name)
            if name == "notify":
                assert any(k.arg == "markup" for k in call.keywords), file
