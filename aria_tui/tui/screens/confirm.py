"""A question before something is thrown away."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from aria_tui.locale import _
from aria_tui.tui.bindings import leaving
from aria_tui.tui.content import Line, Piece, line_width, say
from aria_tui.tui.widgets.lines import Lines, Paragraph


class ConfirmScreen(ModalScreen[bool]):
    """Answers True for enter or ``y``, False for escape or ``n``."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,s,enter", "answer(True)", show=False),
        Binding("n,escape", "answer(False)", show=False),
        leaving(),
    ]

    def __init__(self, question: str, yes: str) -> None:
        super().__init__()
        self._question, self._yes = question, yes

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm"):
            yield Paragraph(self._question)
            yield _Answers(self._yes)

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class _Answers(Lines):
    def __init__(self, yes: str) -> None:
        super().__init__(id="answers")
        self._parts: tuple[tuple[bool, Line], ...] = (
            (True, (Piece("enter", "key"), say(f" {yes}    "))),
            (False, (Piece("esc", "key"), say(f" {_('no')}"))),
        )

    def lines_for(self, width: int) -> tuple[Line, ...]:
        return ((), tuple(piece for _answer, line in self._parts for piece in line))

    def on_click(self, event: events.Click) -> None:
        if event.y == 1:
            self.screen.dismiss(event.x < line_width(self._parts[0][1]))
