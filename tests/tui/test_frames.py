"""The dashboard's frames, character by character, at three sizes and in two languages.

After a change that is meant to be seen: ``ARIA_FRAMES=renew pytest tests/tui/test_frames.py``, and look at the diff.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from aria_tui import locale
from tests.tui.conftest import Running
from tests.tui.still import stand_still

FRAMES = Path(__file__).parent / "frames"
RENEW = os.environ.get("ARIA_FRAMES") == "renew"
SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that was used before: no first-run panel."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "session.json").write_text('{"pane": "briefing"}')
    return home


def frame(running: Running) -> str:
    """What is on the screen, without the spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in running.screen_text.splitlines()) + "\n"


def colours(running: Running) -> set[str]:
    """Every colour that is on the screen, as the terminal gets it."""
    found = set()
    for strip in running.app.screen._compositor.render_strips():
        for line_filter in running.app._filters:
            strip = strip.apply_filter(line_filter, running.app.screen.background_colors[0])
        for segment in strip:
            if segment.style is not None:
                found |= {
                    str(color.name) for color in (segment.style.color, segment.style.bgcolor) if color is not None
                }
    return found


@pytest.mark.parametrize("language", ["en", "pt_BR"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_frame_is_the_one_that_was_looked_at(
    dashboard: Any, home: Path, size: tuple[int, int], language: str
) -> None:
    locale.use(language)
    async with dashboard(size=size, home=home) as running:
        await stand_still(running)
        shown = ""
        for key in "1234" if size[0] < 120 else "1":
            await running.keys(key)
            assert all(cell_len(line) == size[0] for line in running.screen_text.splitlines())
            shown += frame(running)
    file = FRAMES / f"{size[0]}x{size[1]}-{language}.txt"
    if RENEW:
        FRAMES.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


async def test_themes_differ_in_colours_alone_and_no_colour_says_as_much(
    dashboard: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dashboard(home=home) as running:
        await stand_still(running)
        dark, dark_colours = frame(running), colours(running)
        await running.keys("T")
        assert running.app.theme == "aria-light"
        assert frame(running) == dark
        light_colours = colours(running)
        assert len(dark_colours) > 5 < len(light_colours)
        assert len(dark_colours & light_colours) <= 2
    monkeypatch.setenv("NO_COLOR", "1")
    async with dashboard(home=home) as running:
        await stand_still(running)
        assert frame(running) == dark
        assert colours(running) <= {"default"}
