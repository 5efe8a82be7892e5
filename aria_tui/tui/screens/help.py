"""Every key, from the list of commands."""

from __future__ import annotations

from aria_tui.locale import _
from aria_tui.tui.bindings import bindings
from aria_tui.tui.commands import PLACES, at, keys_of, shown_key
from aria_tui.tui.content import Line, Piece, fit, say, wrapped
from aria_tui.tui.screens.listing import ListingScreen


class HelpScreen(ListingScreen):
    """The place the user came from first, then everywhere, then the others."""

    PLACE = "help"
    BINDINGS = bindings("help")

    def __init__(self, first: str) -> None:
        super().__init__()
        self._first = first

    def heading(self) -> tuple[str, str]:
        return _("Help"), _("every key")

    def rows_for(self, width: int) -> list[tuple[str | None, Line]]:
        rows: list[tuple[str | None, Line]] = []
        order = sorted(PLACES, key=lambda place: (place != self._first, place not in ("everywhere", "dashboard")))
        for place in order:
            commands = [command for command in at(place) if command.id != "demo.toggle" or self.aria.demo is not None]
            if not commands:
                continue
            rows.append((None, (say(_(PLACES[place]), "title"),)))
            for command in commands:
                keys = " ".join(shown_key(key) for key in keys_of(command, self.aria.remapped))
                first, *rest = wrapped(_(command.help), width - 18)
                rows.append((None, (Piece("  "), fit(keys, 16, "key"), *first)))
                rows += [(None, (Piece(" " * 18), *line)) for line in rest]
            rows.append((None, ()))
        moves = _("arrow keys or j k, page up and down, home and end; a second click opens a row; tab goes on")
        rows += [(None, (say(_("Lists"), "title"),)), *((None, line) for line in wrapped(moves, width, indent="  "))]
        return rows

    do_help_close = ListingScreen.do_close
