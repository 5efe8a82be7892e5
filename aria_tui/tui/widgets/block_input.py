"""The input of several lines. A module of its own: Textual's text area is slow to import and wanted late."""

from __future__ import annotations

from typing import ClassVar, overload

from textual import events
from textual.binding import Binding, BindingType
from textual.document._document import Document, EditResult, Location
from textual.document._document_navigator import DocumentNavigator
from textual.document._wrapped_document import WrappedDocument
from textual.widgets._text_area import TextArea

from aria_tui.tui.content import visible_each

LONG = 10_000
"""Characters in one line from which on no line is wrapped: Textual wraps the whole line again for each key and, where
it is drawn, for each row; a megabyte took five seconds."""


class _Kept(Document):
    """A text that comes out as it went in: only a line feed ends a line, other separators are characters of it.

    Lines are given out in their visible form, one character for one, so that what is drawn is what is wrapped.
    """

    def __init__(self, text: str) -> None:
        super().__init__("")
        self._lines = text.split("\n")

    @property
    def lines(self) -> list[str]:
        return [visible_each(line) for line in self._lines]

    @overload
    def __getitem__(self, line_index: int) -> str: ...

    @overload
    def __getitem__(self, line_index: slice) -> list[str]: ...

    def __getitem__(self, line_index: int | slice) -> str | list[str]:
        found = self._lines[line_index]
        return visible_each(found) if isinstance(found, str) else [visible_each(line) for line in found]

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        (top, left), (bottom, right) = sorted((start, end))
        replaced = self.get_text_range((top, left), (bottom, right))
        before, after = "".join(self._lines[top : top + 1])[:left], "".join(self._lines[bottom : bottom + 1])[right:]
        added = f"{before}{text}".split("\n")
        column = len(added[-1])
        added[-1] += after
        self._lines[top : bottom + 1] = added
        return EditResult((top + len(added) - 1, column), replaced)


class BlockInput(TextArea):
    """Several lines, kept as they are; text from outside is drawn harmlessly.

    With ``enter_saves`` enter asks to save the form, and ctrl+j or alt+enter begins a new line.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "enter", show=False),
        Binding("ctrl+j,alt+enter,shift+enter", "newline", show=False),
    ]
    takes_text = True

    def __init__(self, text: str = "", *, id: str, enter_saves: bool = True) -> None:
        super().__init__(
            text, id=id, soft_wrap=not _long(text), show_line_numbers=False, compact=True, highlight_cursor_line=False
        )
        self._enter_saves = enter_saves

    def _set_document(self, text: str, language: str | None) -> None:
        self.document = _Kept(text)
        self.wrapped_document = WrappedDocument(self.document, tab_width=self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self.move_cursor((0, 0))
        self._rewrap_and_refresh_virtual_size()

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """None: notes are no program, and Textual would look through the whole text."""
        return None

    def load_text(self, text: str) -> None:
        self.soft_wrap = not _long(text)
        super().load_text(text)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()  # else the form keeps it for later too, while it is being opened
        event.text = event.text.replace("\r\n", "\n").replace("\r", "\n")  # a terminal's line ends; then Textual's own
        if _long(event.text):
            self.soft_wrap = False

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.prevent_default()  # what it does is bound above
        else:
            await super()._on_key(event)

    async def action_enter(self) -> None:
        if self._enter_saves:
            await self.run_action("app.run('form.save')")
        else:
            self.insert("\n")

    def action_newline(self) -> None:
        self.insert("\n")


def _long(text: str) -> bool:
    """Whether a line of it is too long to be wrapped."""
    return len(text) > LONG and any(len(line) > LONG for line in text.split("\n"))
