"""Two themes, dark and light; remembered in the session."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rich.style import Style
from textual.app import App
from textual.filter import Monochrome, NoColor
from textual.theme import Theme

DARK = Theme(
    name="aria-dark", dark=True,
    primary="#6cb6ff", secondary="#4a5568", accent="#7ee0c0", foreground="#d8dee9", background="#14171c",
    surface="#1a1e25", panel="#232833", success="#8fd694", warning="#f2c265", error="#ff7b72",
    variables={"dim": "#99a2b3", "frame": "#3d4656", "frame-focus": "#6cb6ff", "row": "#2b3648"},
)  # fmt: skip
LIGHT = Theme(
    name="aria-light", dark=False,
    primary="#0b5cad", secondary="#8a94a6", accent="#096b4f", foreground="#1d2433", background="#fbfaf7",
    surface="#ffffff", panel="#ece9e2", success="#17702f", warning="#8a5700", error="#b3261e",
    variables={"dim": "#586273", "frame": "#c3c7d0", "frame-focus": "#0b5cad", "row": "#d8e4f3"},
)  # fmt: skip


def register(app: App[int], wanted: str) -> None:
    """Registers both and takes the wanted one (``dark`` and ``light`` will do); dark when it isn't known.

    Textual turns NO_COLOR into grey tones; here it means no colours at all.
    """
    app.register_theme(DARK)
    app.register_theme(LIGHT)
    wanted = {"dark": DARK.name, "light": LIGHT.name}.get(wanted, wanted)
    app.theme = wanted if wanted in (DARK.name, LIGHT.name) else DARK.name
    if app.no_color:
        app._filters = [f for f in app._filters if not isinstance(f, Monochrome)] + [NoColor()]


def line_styles(app: App[Any]) -> dict[str, Style]:
    """How a piece's style name looks in the theme; the words and marks beside it say the same without colour.

    Not component classes: Textual would match each of them against the stylesheet for every widget at every start.
    """
    return _line_styles(app.theme)


@lru_cache(maxsize=8)
def _line_styles(theme: str) -> dict[str, Style]:
    found = LIGHT if theme == LIGHT.name else DARK
    dim = found.variables["dim"]
    return {
        "dim": Style(color=dim),
        "good": Style(color=found.success),
        "warn": Style(color=found.warning, bold=True),
        "bad": Style(color=found.error, bold=True),
        "accent": Style(color=found.accent),
        "title": Style(color=found.primary, bold=True),
        "strike": Style(color=dim, strike=True),
        "key": Style(color=found.accent, bold=True),
        "chosen": Style(bold=True, reverse=True),
        "cursor": Style(bgcolor=found.variables["row"], bold=True),
    }


def switch(app: App[int]) -> str:
    """Takes the other theme and gives its name."""
    app.theme = LIGHT.name if app.current_theme.dark else DARK.name
    return app.theme
