"""The command palette: every command that works here, from the list of commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import BindingType
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider, SearchIcon
from textual.widgets.option_list import Option

from aria_tui.locale import _
from aria_tui.tui.bindings import leaving
from aria_tui.tui.commands import COMMANDS, Command, keys_of, shown_key
from aria_tui.tui.content import content

if TYPE_CHECKING:
    from aria_tui.tui.app import AriaApp


class AriaCommands(Provider):
    """Commands by their help text; the keys stand beneath."""

    def _commands(self) -> list[tuple[Command, str, str]]:
        app = cast("AriaApp", self.app)
        places = app.places_at(self.screen)
        found = []
        for command in COMMANDS:
            if command.palette and command.where in places and (command.id != "demo.toggle" or app.demo is not None):
                keys = ", ".join(shown_key(key) for key in keys_of(command, app.remapped))
                found.append((command, _(command.help), keys))
        return found

    async def discover(self) -> Hits:
        for command, text, keys in self._commands():
            yield DiscoveryHit(text, partial(self._run, command), help=keys)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command, text, keys in self._commands():
            if (score := matcher.match(text)) > 0:
                yield Hit(score, matcher.highlight(text), partial(self._run, command), help=keys)

    def _run(self, command: Command) -> None:
        cast("AriaApp", self.app).run_command(command)


class Palette(CommandPalette):
    """Every command that works here."""

    BINDINGS: ClassVar[list[BindingType]] = [leaving()]

    def on_mount(self) -> None:
        self.query_one(SearchIcon).icon = "/"  # no terminal lacks it, or draws it wider

    def _start_no_matches_countdown(self, search_value: str) -> None:
        """As Textual's, which says it in English only."""
        self._stop_no_matches_countdown()

        def show() -> None:
            if search_value:
                words = content(_("no command has all of this"))
                self.query_one(CommandList).add_option(Option(words, disabled=True, id=self._NO_MATCHES))
            self._list_visible = bool(search_value)

        self._no_matches_timer = self.set_timer(self._NO_MATCHES_COUNTDOWN, show)

    def _action_command_list(self, action: str) -> None:
        """Textual's list has no lines to move over on a screen without room for one, and would raise."""
        if self.query_one(CommandList).scrollable_content_region.area:
            super()._action_command_list(action)


def palette() -> CommandPalette:
    """The palette's screen, to be pushed."""
    return Palette(providers=[AriaCommands], placeholder=_("Find a command"))
