"""The input of several lines. A module of its own: Textual's text area is slow to import and wanted late."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets._text_area import TextArea

from aria_tui.tui.content import same_length


class BlockInput(TextArea):
    """Several lines, kept as they are; text from outside is drawn harmlessly.

    With ``enter_saves`` enter asks to save the form, and ctrl+j or alt+enter begins a new line.
    """

    @dataclass
    class Submitted(Message):
        """Enter was pressed."""

        field: BlockInput

    def __init__(self, text: str = "", *, id: str, enter_saves: bool = True) -> None:
        super().__init__(
            text, id=id, soft_wrap=True, show_line_numbers=False, compact=True, highlight_cursor_line=False
        )
        self._enter_saves = enter_saves

    def get_line(self, line_index: int) -> Text:
        return Text(same_length(self.document.get_line(line_index)), end="", no_wrap=True)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter" and self._enter_saves:
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted(self))
        elif event.key in ("ctrl+j", "alt+enter", "shift+enter"):
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)
