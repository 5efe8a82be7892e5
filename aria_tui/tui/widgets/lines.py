"""Lines of pieces on the screen, by Textual's Line API: only what is visible is ever drawn.

``Lines`` draws a few lines as they are. ``RowList`` is the long list of tasks, queue, briefing and insights: a cursor
that keeps its row's key over refreshes, over rows that may be in memory or still to be fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from aria_tui.tui.content import Line, Piece, cropped, line_width, wrapped
from aria_tui.tui.themes import line_styles


def _strip(widget: Widget, line: Line, width: int, base: Style) -> Strip:
    """A line as Textual's strip, cut and filled to ``width``."""
    known = line_styles(widget.app)
    segments = []
    for piece in cropped(line, width):
        style = base
        for name in piece.style.split():
            style += known[name]
        segments.append(Segment(piece.text, style))
    return Strip(segments).adjust_cell_length(width, base)


class Lines(Widget):
    """A fixed block of lines."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._lines: tuple[Line, ...] = ()

    def show(self, lines: tuple[Line, ...]) -> None:
        """Draws these lines from now on."""
        if lines != self._lines:
            self._lines = lines
            self.refresh()

    def lines_for(self, width: int) -> tuple[Line, ...]:
        """What is drawn at a width; a subclass may lay its snapshot out here."""
        return self._lines

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        lines = self.lines_for(width)
        return _strip(self, lines[y], width, base) if y < len(lines) else Strip.blank(width, base)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines_for(width))


class Hint(Lines):
    """A line beside something else, as wide as its words."""

    def show(self, lines: tuple[Line, ...]) -> None:
        super().show(lines)
        self.refresh(layout=True)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return max((line_width(line) for line in self._lines), default=0)


class Paragraph(Lines):
    """A text over as many lines as it takes at its width, at most ``most``; not there at all while it is empty."""

    def __init__(self, text: str = "", style: str = "", *, most: int = 100, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text, self._style, self._most = text, style, most
        self.display = bool(text)

    def say(self, text: str) -> None:
        """Another text, or an empty one."""
        self._text = text
        self.display = bool(text)
        self.refresh(layout=True)

    def lines_for(self, width: int) -> tuple[Line, ...]:
        return tuple(wrapped(self._text, max(4, width), self._style)[: self._most])


class Rows(Protocol):
    """What a RowList draws: a snapshot of rows, each with a key that stays with the thing it shows."""

    def __len__(self) -> int: ...

    def key(self, index: int) -> str | None:
        """The row's key; None for a row that can't have the cursor (a heading, a row still to be fetched)."""

    def find(self, key: str) -> int | None:
        """The row that has the key now."""

    def line(self, index: int, width: int) -> Line:
        """The row's pieces at a width."""


class NoRows:
    """Nothing to show but a sentence or two."""

    def __init__(self, *lines: Line) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def key(self, index: int) -> str | None:
        return None

    def find(self, key: str) -> int | None:
        return None

    def line(self, index: int, width: int) -> Line:
        return self._lines[index]


class RowList(ScrollView, can_focus=True, inherit_bindings=False):
    """A list with a cursor over rows of any number."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "edge(-1)", show=False),
        Binding("end,G", "edge(1)", show=False),
    ]

    @dataclass
    class Opened(Message):
        """A row was clicked a second time."""

        rows: RowList
        key: str

        @property
        def control(self) -> RowList:
            return self.rows

    @dataclass
    class Moved(Message):
        """The cursor or the view moved: rows near ``first`` to ``last`` are or will soon be visible."""

        rows: RowList
        first: int
        last: int

        @property
        def control(self) -> RowList:
            return self.rows

    def __init__(self, *, id: str | None = None, from_top: bool = False) -> None:
        """``from_top``: until the user moves it the cursor is on the first row, whatever comes in above."""
        super().__init__(id=id)
        self._rows: Rows = NoRows()
        self._untouched = from_top
        self._cursor = 0
        self._key: str | None = None

    @property
    def cursor_key(self) -> str | None:
        """The key of the row under the cursor, or None."""
        return self._rows.key(self._cursor) if self._cursor < len(self._rows) else None

    @property
    def cursor(self) -> int:
        """The row number under the cursor."""
        return self._cursor

    @property
    def text_width(self) -> int:
        """Cells for a row's text: without the cursor's column, and without the scroll bar's whether it is there or not,
        so that lines don't change their layout when the list grows."""
        return max(0, self.outer_size.width - 2)

    def show(self, rows: Rows) -> None:
        """Draws other rows; the cursor stays on its key, else on its place, and the view stays still around it
        (where the cursor was on the first row, the view stays at the top)."""
        before = self._cursor
        at_top = (
            self.scroll_offset.y == 0
            and before <= 4
            and all(self._rows.key(row) is None for row in range(min(before, len(self._rows))))
        )
        self._rows = rows
        if self._untouched and self.scroll_offset.y == 0:
            self._key, before = None, 0
        found = rows.find(self._key) if self._key is not None else None
        self._cursor = max(0, min(before if found is None else found, len(rows) - 1))
        self._settle(1)
        self.virtual_size = Size(self.size.width, len(rows))
        if (shift := self._cursor - before) and found is not None and not at_top:  # at the top one sees what comes in
            self.scroll_to(y=self.scroll_offset.y + shift, animate=False, force=True)
        self._keep_visible()
        self.refresh()

    def select(self, key: str) -> bool:
        """Puts the cursor on a key; False when no row has it."""
        if (found := self._rows.find(key)) is None:
            return False
        self._untouched = False
        self._go(found, 1)
        return True

    def _settle(self, direction: int) -> None:
        """Moves the cursor off rows that can't have it, first in ``direction``, then the other way."""
        count = len(self._rows)
        if not count:
            self._cursor = 0
            return
        for step, stop in ((direction, count if direction > 0 else -1), (-direction, -1 if direction > 0 else count)):
            for index in range(self._cursor, stop, step):
                if self._rows.key(index) is not None:
                    self._cursor = index
                    self._key = self._rows.key(index)
                    return
                if abs(index - self._cursor) > 200:
                    break

    def _go(self, index: int, direction: int) -> None:
        self._cursor = max(0, min(index, len(self._rows) - 1))
        self._settle(direction)
        self._keep_visible()
        self.refresh()
        self._announce()

    def _keep_visible(self) -> None:
        if self.size.height and len(self._rows):
            top = self._cursor
            if top and all(self._rows.key(row) is None for row in range(max(0, top - 3), top)) and top <= 3:
                top = 0  # a heading above the first row is shown with it
            region = Region(0, top, 1, self._cursor - top + 1)
            self.scroll_to_region(region, animate=False, force=True, immediate=True, x_axis=False)

    def _announce(self) -> None:
        top = self.scroll_offset.y
        self.post_message(self.Moved(self, min(top, self._cursor), max(top + self.size.height, self._cursor)))

    def action_move(self, by: int) -> None:
        self._untouched = False
        self._go(self._cursor + by, by)

    def action_page(self, direction: int) -> None:
        self._untouched = False
        self._go(self._cursor + direction * max(1, self.size.height - 1), direction)

    def action_edge(self, direction: int) -> None:
        self._untouched = False
        self._go(0 if direction < 0 else len(self._rows) - 1, -direction)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._announce()

    def on_resize(self, event: events.Resize) -> None:
        self.virtual_size = Size(self.size.width, len(self._rows))
        self._keep_visible()
        self._announce()

    def on_key(self, event: events.Key) -> None:
        """Notes whose key it was: the app passes on what was typed right after a key that opened an input."""
        event.aria_target = self  # type: ignore[attr-defined]

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y
        if index >= len(self._rows) or (key := self._rows.key(index)) is None:
            return
        if event.chain > 1 and index == self._cursor:
            self.post_message(self.Opened(self, key))
        self._untouched = False
        self._go(index, 1)

    def render_line(self, y: int) -> Strip:
        width, base = self.size.width, self.rich_style
        index = self.scroll_offset.y + y
        if index >= len(self._rows):
            return Strip.blank(width, base)
        line = cropped(self._rows.line(index, self.text_width), self.text_width)
        current = index == self._cursor and self._rows.key(index) is not None
        if current and self.has_focus:
            base += line_styles(self.app)["cursor"]
        gutter = Piece("▸" if current and self.has_focus else "·" if current else " ", "accent" if current else "")
        return _strip(self, (gutter, *line), width, base)
