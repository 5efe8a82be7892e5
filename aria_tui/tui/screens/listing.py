"""A full screen that is one list of lines under a title: help, plan, settings and a row's details are such screens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult

from aria_tui.tui.content import Line
from aria_tui.tui.screens.base import AriaScreen
from aria_tui.tui.widgets.lines import RowList
from aria_tui.tui.widgets.pane import Pane

Later = Callable[[], Line]
"""A line that is made when it is seen: of thousands only a few are."""


class _Rows:
    def __init__(self, rows: Sequence[tuple[str | None, Line | Later]]) -> None:
        self._rows = rows
        self._index = {key: number for number, (key, _line) in enumerate(rows) if key}

    def __len__(self) -> int:
        return len(self._rows)

    def key(self, index: int) -> str | None:
        return self._rows[index][0]

    def find(self, key: str) -> int | None:
        return self._index.get(key)

    def line(self, index: int, width: int) -> Line:
        line = self._rows[index][1]
        return line() if callable(line) else line


class _Page(Pane):
    def compose(self) -> ComposeResult:
        yield RowList()


class ListingScreen(AriaScreen):
    """A subclass gives its lines for a width; each may have a key. The place's ``close`` command leaves it."""

    _placed = False

    def heading(self) -> tuple[str, str]:
        """Title and headline of the frame."""
        return "", ""

    def rows_for(self, width: int) -> Sequence[tuple[str | None, Line | Later]]:
        """The lines; those without a key can't have the cursor."""
        return []

    def body(self) -> ComposeResult:
        yield _Page("", id="page")

    def on_mount(self) -> None:
        self.query_one(RowList).focus()

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draws the lines anew."""
        if not self.is_attached or not self.query(RowList):
            return
        rows = self.query_one(RowList)
        lines: Sequence[tuple[str | None, Line | Later]] = []
        with self.aria.guard(f"drawing {self.PLACE}"):  # what can't be drawn must not end the program
            self.query_one(_Page).name_it(*self.heading())
            lines = self.rows_for(max(20, rows.size.width - 2))
        rows.show(_Rows([(key or f"line:{number}", line) for number, (key, line) in enumerate(lines)]))
        first = next((key for key, _line in lines if key), None)
        if first is not None and not self._placed:
            self._placed = rows.select(first)  # the cursor begins where something can be done

    @property
    def cursor_key(self) -> str | None:
        """The key under the cursor."""
        key = self.query_one(RowList).cursor_key
        return None if key is None or key.startswith("line:") else key

    def do_close(self) -> None:
        self.dismiss()
