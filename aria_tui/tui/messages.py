"""What widgets tell their screen. Dataclasses; each says what the user did, never what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class CommandWanted(Message):
    """A command was chosen by mouse (footer, tab, button)."""

    command: str
    """Its id in commands.py."""


@dataclass
class PaneWanted(Message):
    """A pane was chosen by mouse."""

    pane: str


@dataclass
class FilterChanged(Message):
    """The text of the task filter is another; it is applied as it is typed."""

    text: str


@dataclass
class FilterLeft(Message):
    """The filter's input was left: by enter (kept) or escape (``kept`` false: cleared)."""

    kept: bool


@dataclass
class QueueTabChosen(Message):
    """Another list of the queue is wanted: waiting, dead, conflicts or journal."""

    tab: str


@dataclass
class RowsWanted(Message):
    """Rows of the queue are about to be seen."""

    first: int
    last: int

    def can_replace(self, message: Message) -> bool:
        """Only the newest wish counts."""
        return isinstance(message, RowsWanted)
