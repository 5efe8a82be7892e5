"""Inputs that show text from outside harmlessly and lose nothing of a paste."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets._input import Input

from aria_tui.tui.content import cell_width, visible_each
from aria_tui.tui.messages import FilterChanged, FilterLeft
from aria_tui.tui.pastes import one_line


class LineInput(Input):
    """One line. Several pasted lines become one, joined by spaces; nothing is submitted by a paste.

    What is drawn, and measured for the cursor, is the text's visible form, one character for one.
    """

    takes_text = True
    """What is typed right after the key that opened it is meant for it."""

    def __init__(self, *args: Any, **kinds: Any) -> None:
        # A kept text must not be gone with the first letter that is typed.
        super().__init__(*args, **{"select_on_focus": False, **kinds})

    @property
    def _value(self) -> Text:
        if self.password:
            return super()._value
        return Text(visible_each(self.value), no_wrap=True, overflow="ignore", end="")

    def render_line(self, y: int) -> Strip:
        offered = self._suggestion  # drawn by Textual as it stands, so it gets its visible form for that long
        self.set_reactive(Input._suggestion, visible_each(offered))
        try:
            return super().render_line(y)
        finally:
            self.set_reactive(Input._suggestion, offered)

    def _position_to_cell(self, position: int) -> int:
        return cell_width(self._value.plain[:position])

    def _cell_offset_to_index(self, offset: int) -> int:
        end, cell = 0, offset + self.scroll_offset.x
        for index, character in enumerate(self._value.plain):
            end += cell_width(character)
            if cell < end:
                return index
        return len(self.value)

    async def action_submit(self) -> None:
        await self.run_action("app.run('form.save')")

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if line := one_line(event.text):
            selection = self.selection
            if selection.is_empty:
                self.insert_text_at_cursor(line)
            else:
                self.replace(line, *sorted(selection))


class FilterInput(LineInput):
    """The text of a filter, told as it is typed; enter keeps it, escape clears it. Both lead back to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "leave(True)", show=False),
        Binding("escape", "leave(False)", show=False),
    ]

    def __init__(self, text: str, rows: Widget, **kinds: Any) -> None:
        super().__init__(text, **kinds)
        self._rows = rows

    def action_leave(self, kept: bool) -> None:
        self.screen.set_focus(self._rows)  # at once: the very next key is the list's
        self.post_message(FilterLeft(kept=kept))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(FilterChanged(event.value))
