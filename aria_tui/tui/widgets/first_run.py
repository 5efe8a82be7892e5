"""The one-time panel: says where things are kept and offers a Hub or the demo. It takes no keys from the dashboard."""

from __future__ import annotations

from textual import events

from aria_tui.locale import _
from aria_tui.tui.content import Line, Piece, line_width, say, wrapped
from aria_tui.tui.messages import CommandWanted
from aria_tui.tui.widgets.lines import Lines


class FirstRun(Lines):
    """Three ways to go on, each by key and by mouse."""

    def __init__(self) -> None:
        super().__init__(id="first-run")

    def _choices(self) -> list[tuple[str, Line]]:
        return [
            ("first.use", (Piece("U", "key"), say(f" {_('use this')}   "))),
            ("connect", (Piece("c", "key"), say(f" {_('connect to a Hub')}   "))),
            ("first.demo", (Piece("D", "key"), say(f" {_('see the demo')}"))),
        ]

    def lines_for(self, width: int) -> tuple[Line, ...]:
        text = _(
            "Nothing is configured, and nothing needs to be: everything is kept in an embedded Hub on this machine."
        )
        choices: Line = ()
        for _id, pieces in self._choices():
            choices += pieces
        return (*wrapped(text, max(10, width)), choices)

    def on_click(self, event: events.Click) -> None:
        inside = event.get_content_offset(self)
        if inside is None or inside.y != len(self.lines_for(self.size.width)) - 1:
            return
        at = 0
        for name, pieces in self._choices():
            at += line_width(pieces)
            if inside.x < at:
                self.post_message(CommandWanted(name))
                return
