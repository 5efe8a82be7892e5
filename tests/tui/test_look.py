"""What a person's eye would stumble over: contrast, words cut off, the way back out of sight, a field with no room."""

from __future__ import annotations

from typing import Any

import pytest

from aria_tui.tui import themes
from aria_tui.tui.queue_rows import operation_word
from tests.tui.conftest import configured, until

READABLE = 4.5
"""WCAG 2.1, success criterion 1.4.3: the least contrast of a text with what is behind it."""


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [themes.DARK, themes.LIGHT], ids=lambda theme: theme.name)
def test_every_text_can_be_read_on_every_ground(theme: Any) -> None:
    texts = {name: getattr(theme, name) for name in ("foreground", "primary", "accent", "success", "warning", "error")}
    texts["dim"] = theme.variables["dim"]
    grounds = {name: getattr(theme, name) for name in ("background", "surface", "panel")}
    grounds["row"] = theme.variables["row"]
    for text, colour in texts.items():
        for ground, behind in grounds.items():
            darker, lighter = sorted((luminance(colour), luminance(behind)))
            assert (lighter + 0.05) / (darker + 0.05) >= READABLE, (text, ground)


@pytest.mark.parametrize("key", ["v", "comma", "question_mark", "enter", "P"])
@pytest.mark.parametrize("size", [(60, 20), (80, 24)], ids=str)
async def test_the_way_back_is_always_in_sight(dashboard: Any, key: str, size: tuple[int, int]) -> None:
    async with dashboard(size=size, config=configured(away=True)) as running:
        await running.assistant.create_task("a row")
        running.app.live.ask("queue")
        await running.keys("4")
        await running.sees("1 waiting", "a row")
        await running.keys(key)
        await until(lambda: type(running.app.screen).__name__ != "DashboardScreen")
        await running.sees("esc close", "? help", "q quit")


async def test_at_sixty_columns_no_word_of_a_question_or_an_error_is_cut(dashboard: Any) -> None:
    async with dashboard(size=(60, 20), config=configured(away=True)) as running:
        title = "Draft the contract with a new clause and nine others about it"
        await running.assistant.create_task(title)
        running.app.live.ask("queue")
        await running.keys("4")
        await running.sees("1 waiting")
        await running.keys("d")
        shown = await running.sees("Discard", "enter discard")
        words = " ".join("".join(char for char in shown if char not in "│╭╮╰╯─").split())
        assert f"Discard #1 new task: {title}?" in words
        await running.keys("escape", "c")
        await until(lambda: running.app.screen.query("#url"))
        running.app.screen.query_one("#url").value = "hub"
        await running.keys("ctrl+s")
        shown = await running.sees("begins with")
        words = " ".join("".join(char for char in shown if char not in "│╭╮╰╯─").split())
        assert "the address begins with https:// (or http:// on this machine)" in words
        await running.keys("escape", "t")
        await until(lambda: running.app.screen.query("#due"))
        running.app.screen.query_one("#due").value = "2026-12-01"
        await running.sees("2026-12-01", "= Tue 1 Dec 2026")


async def test_a_line_that_is_cut_says_so_beside_the_scroll_bar_too(dashboard: Any) -> None:
    async with dashboard(size=(60, 20)) as running:
        for number in range(30):
            text = f"insight {number:02} with more words than there is room for on a line"
            await running.assistant.capture_insight(text)
        await running.keys("v")
        await running.sees("30 insights")
        assert running.app.screen.query_one("RowList").show_vertical_scrollbar
        lines = [line for line in running.screen_text.splitlines() if "insight 2" in line]
        assert len(lines) > 5
        assert all("… " in line for line in lines), lines


async def test_each_operation_has_a_gap_after_its_name(dashboard: Any) -> None:
    """Also where the name is as long as the column, or longer."""
    async with dashboard(size=(60, 20), config=configured(away=True)) as running:
        made = await running.assistant.capture_insight("an idea")
        await running.assistant.delete_insight(made.id, offline=True)
        running.app.live.ask("queue")
        await running.keys("4")
        await running.sees("2 waiting")
        word = operation_word("delete_insight")
        lines = [line for line in running.screen_text.splitlines() if line.startswith(("│▸", "│ 2"))]
        (line,) = [line for line in lines if word[:8] in line]
        assert f"{word} " in line or "… " in line, line
