"""What every full screen has: a footer made from its commands, and a plain word when there is no room."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from aria_tui.tui.commands import COMMANDS
from aria_tui.tui.widgets.bars import Footer, TooSmall

if TYPE_CHECKING:
    from aria_tui.tui.app import AriaApp

WIDTHS = [(0, "-tiny"), (60, "-narrow"), (120, "-wide")]
HEIGHTS = [(0, "-flat"), (20, "-tall")]
_FIRST = ("sync", "task", "insight")
_PINNED = ("help", "quit")
"""Always in sight, after the way back where a screen has one."""


class AriaScreen(Screen[None]):
    """A full screen. ``PLACE`` names its commands; subclasses give their body by ``body``."""

    PLACE: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""

    @property
    def aria(self) -> AriaApp:
        """The app, by its own type."""
        return cast("AriaApp", self.app)

    def compose(self) -> ComposeResult:
        yield from self.body()
        yield Footer()
        yield TooSmall(classes="too-small")

    def body(self) -> ComposeResult:
        """The screen's own widgets."""
        yield from ()

    def place_of(self, focused: Widget | None) -> str:
        """The place whose commands the footer shows first."""
        return self.PLACE

    def offers(self, name: str) -> bool:
        """Whether a command, by its id, has something to do now; else the footer leaves it out."""
        return True

    def labels(self) -> dict[str, str]:
        """Labels that differ for now, by command id."""
        return {}

    def on_key(self, event: events.Key) -> None:
        """Notes where a key was pressed: the app passes on what was typed right after a key that opened a form."""
        event.aria_screen = self  # type: ignore[attr-defined]

    def on_screen_resume(self) -> None:
        self.show_footer()

    def on_descendant_focus(self) -> None:
        self.show_footer()

    def show_footer(self) -> None:
        """Draws the commands that work where the focus is. The dashboard begins with the most wanted ones,
        another screen with what only it can do; its way back is always in sight."""
        place = self.place_of(self.focused)
        wanted = [command for command in COMMANDS if command.footer]
        first = [command for command in wanted if command.id in _FIRST]
        own = [command for command in wanted if command.where == place]
        rest = [
            command
            for command in wanted
            if command.where in ("everywhere", "dashboard") and command not in (*first, *own)
        ]
        head = (*own, *first) if self.PLACE else (*first, *own)
        shown = [c for c in (*head, *rest) if self.aria.can_run(c) and self.offers(c.id)]
        if (footers := self.query(Footer)) and footers.first().is_attached:
            pinned = (f"{self.PLACE}.close", *_PINNED)
            footers.first().show_commands(shown, self.aria.remapped, self.labels(), pinned)
