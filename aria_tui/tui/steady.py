"""Columns that stay straight where terminals disagree about the width of what stands in them.

The vowel signs of Indic scripts (Unicode's spacing combining marks) have no cell of their own in some terminals, as the
screen counts them, and one in others (xterm, VTE, tmux). A text with one is written over blanks of its counted width,
short enough for either count, and the cursor is then put where the screen believes it to be.
"""

from __future__ import annotations

import re
import unicodedata

from aria_tui.clean import ELLIPSIS, cell_width

_MARKS = re.compile(
    "[\u0903-\u109c\u1715-\u1cf7\ua823-\uabec\U00011000-\U00011ef6\U00016f51-\U00016f87\U0001d165-\U0001d172]"
)
"""Where such marks are, and other characters between them."""
_TOKEN = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[^\[]"
    r"|(?P<words>[^\x00-\x20\x7f│]+(?: [^\x00-\x20\x7f│]+)*)(?P<room> *)(?P<style>(?:\x1b\[[\d;]*m)*)(?P<more> *)"
)
"""A sequence of the terminal's, or words with the blanks behind them; a frame's side belongs to no words."""
_SAVE, _RESTORE = "\x1b7", "\x1b8"


def steady(output: str) -> str:
    """What the screen writes, with each text that holds a mark held in its place."""
    return _TOKEN.sub(_held, output) if _MARKS.search(output) else output


def _held(found: re.Match[str]) -> str:
    words, room, style, more = (found[name] or "" for name in ("words", "room", "style", "more"))
    if not _widest_extra(words):
        return found[0]
    counted = cell_width(words)
    width = counted + len(room) + len(more)
    blanks = f"{' ' * counted}{room}{style}{more}"
    return f"{_SAVE}{blanks}{_RESTORE}{_shortened(words, width)}{_RESTORE}\x1b[{width}C{style}" if width else style


def _widest_extra(text: str) -> int:
    """How many cells more than counted the text may take."""
    return sum(unicodedata.category(character) == "Mc" for character in text) if _MARKS.search(text) else 0


def _shortened(text: str, width: int) -> str:
    """The text, cut before a character with its marks so that it fits even if each mark has a cell."""
    if cell_width(text) + _widest_extra(text) <= width:
        return text
    end = used = 0
    for index, character in enumerate(text):
        size = cell_width(character)
        if size:
            if used > width - 1:
                break
            end = index
        used += size or _widest_extra(character)
    return text[:end] + ELLIPSIS
