"""The frame of a pane: its name at the left of the top border and what to know at a glance at the right."""

from __future__ import annotations

from textual import events
from textual.containers import Vertical
from textual.content import Content

from aria_tui.tui.content import cell_width, content, cut, visible


class Pane(Vertical):
    """A pane with a title and a headline in its top border."""

    def __init__(self, title: str, *, id: str) -> None:
        super().__init__(id=id, classes="pane")
        self._title, self._headline = title, ""
        self.border_title = content(title)

    def name_it(self, title: str, headline: str) -> None:
        """Sets both ends of the top border."""
        if (title, headline) != (self._title, self._headline):
            self._title, self._headline = title, headline
            self._draw_title()

    def on_resize(self, event: events.Resize) -> None:
        self._draw_title()

    def _draw_title(self) -> None:
        room = self.outer_size.width - 6
        title = cut(visible(self._title), room)
        left = room - cell_width(title) - 3
        headline = cut(visible(self._headline), left) if self._headline and left > 3 else ""
        if headline:
            fill = "─" * (room - cell_width(title) - cell_width(headline) - 2)
            self.border_title = Content.assemble(
                (title, "bold $foreground"), f" {fill} ", (headline, "$foreground 80%")
            )
        else:
            self.border_title = Content.assemble((title, "bold $foreground"))
