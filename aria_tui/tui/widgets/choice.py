"""One of a few words, changed by the arrow keys, by space or by a click."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from aria_tui.tui.content import Line, cell_width, cropped, say, visible
from aria_tui.tui.widgets.lines import Lines


class Choice(Lines, can_focus=True):
    """Shows all the words; the chosen one stands out, in brackets."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", show=False),
        Binding("right,space", "step(1)", show=False),
    ]

    @dataclass
    class Changed(Message):
        """Another word was chosen."""

        choice: Choice
        value: str

    def __init__(self, values: tuple[str, ...], value: str, word: Callable[[str], str], *, id: str) -> None:
        super().__init__(id=id)
        # A value that another program wrote stays what it is until the user changes it.
        self._values = values if value in values else (value, *values)
        self.value, self._word = value, word

    def lines_for(self, width: int) -> tuple[Line, ...]:
        mark = "accent" if self.has_focus else ""
        line: Line = ()
        for value in self._values:
            chosen = value == self.value
            text = f"[{self._word(value)}]" if chosen else f" {self._word(value)} "
            line += (say(text, f"key {mark}".strip() if chosen else "dim"),)
        return (cropped(line, width),)

    def action_step(self, by: int) -> None:
        self.value = self._values[(self._values.index(self.value) + by) % len(self._values)]
        self.refresh()
        self.post_message(self.Changed(self, self.value))

    def on_click(self, event: events.Click) -> None:
        at = 0
        for value in self._values:
            at += cell_width(visible(self._word(value))) + 2
            if event.x < at:
                self.action_step(self._values.index(value) - self._values.index(self.value))
                return

    def on_focus(self, event: events.Focus) -> None:
        self.refresh()

    def on_blur(self, event: events.Blur) -> None:
        self.refresh()
