"""The one door through which text enters the screen.

A widget draws ``Piece`` and nothing else, and a Piece's text has been through ``clean.visible``: no markup is read,
no control character reaches the terminal, every character has the width it is counted with.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual.content import Content

from aria_tui.clean import ELLIPSIS, cell_width, cut, visible, visible_each

__all__ = [
    "Line", "Piece", "between", "cell_width", "content", "cropped", "cut", "fit", "line_width", "say", "visible",
    "visible_each", "wrapped",
]  # fmt: skip


class Piece(NamedTuple):
    """Text in one style. Made by ``say``; ``style`` is a name that styles/lines.tcss knows, or empty."""

    text: str
    style: str = ""


Line = tuple[Piece, ...]


def say(text: str, style: str = "") -> Piece:
    """Any text, ours or from outside, made harmless and drawn in a style."""
    return Piece(visible(text), style)


def fit(text: str, width: int, style: str = "", *, right: bool = False) -> Piece:
    """Text cut, by cells, to exactly ``width``, with an ellipsis where it was cut and spaces where it is short."""
    if width <= 0:
        return Piece("", style)
    if len(text) > (most := 4 * width + 64):
        text = f"{text[:most]}{ELLIPSIS}"  # a megabyte in a row costs no more than what is seen of it
    shown = cut(visible(text), width)
    pad = " " * max(0, width - cell_width(shown))
    return Piece(pad + shown if right else shown + pad, style)


def line_width(line: Iterable[Piece]) -> int:
    """Cells that a line takes."""
    return sum(cell_width(piece.text) for piece in line)


def between(left: Line, right: Line, width: int) -> Line:
    """A line of exactly ``width`` with one part at each end; the left one gives way."""
    room = width - line_width(right)
    if room < 0:
        return cropped(right, width)
    kept = cropped(left, max(0, room - 1))
    return (*kept, Piece(" " * (room - line_width(kept))), *right)


def cropped(line: Line, width: int) -> Line:
    """A line cut to at most ``width`` cells, with an ellipsis where it was cut."""
    if line_width(line) <= width:
        return line
    result: list[Piece] = []
    for piece in line:
        size = cell_width(piece.text)
        if size > width:
            if width > 0:
                result.append(
                    Piece(cut(piece.text + "…", width) if size <= width else cut(piece.text, width), piece.style)
                )
            break
        result.append(piece)
        width -= size
    return tuple(result)


def wrapped(text: str, width: int, style: str = "", *, indent: str = "") -> list[Line]:
    """Text over as many lines as it takes; breaks at spaces, inside a word only when it is longer than a line."""
    room = max(4, width - cell_width(indent))
    lines: list[str] = []
    current = ""
    for word in visible(text).split(" "):
        longer = f"{current} {word}" if current else word
        if cell_width(longer) <= room:
            current = longer
            continue
        if current:
            lines.append(current)
        while cell_width(word) > room:
            head = _head(word, room)
            lines.append(head)
            word = word[len(head) :]
        current = word
    lines.append(current)
    return [(Piece(indent + part, style),) for part in lines]


def _head(word: str, room: int) -> str:
    """The longest beginning of a word that fits: at least one character."""
    end = min(len(word), room)
    while end > 1 and cell_width(word[:end]) > room:
        end -= 1
    while end < len(word) and not cell_width(word[end]):
        end += 1
    return word[:end]


def content(text: str) -> Content:
    """For Textual's own widgets (labels, titles, toasts, palette): text as it is, no markup in it."""
    return Content(visible(text))
