"""Texts with marks of a disputed width, drawn by a terminal that gives them a cell and by one that does not."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aria_tui.clean import cell_width, visible
from aria_tui.tui.steady import _MARKS, steady


def drawn(output: str, mark: int, room: int) -> tuple[int, str]:
    """Where the cursor ends, and what stands in the cells, in a terminal that gives each mark so many cells."""
    cells: list[str] = [""] * (room + 1)
    column = saved = 0
    for token in re.findall(r"\x1b[78]|\x1b\[[\d;]*[Cm]|.", output):
        if token == "\x1b7":
            saved = column
        elif token == "\x1b8":
            column = saved
        elif token.startswith("\x1b["):
            column += int(token[2:-1]) if token.endswith("C") else 0
        else:
            width = mark if unicodedata.category(token) == "Mc" else cell_width(token)
            for cell in range(column, column + width):
                cells[min(cell, room)] = token
            column += width
    return column, "".join(cells)


@pytest.mark.case("T03")
@settings(max_examples=500, deadline=None)
@given(st.lists(st.text(st.sampled_from("काि ी़ abc日 தமொ"), max_size=20), min_size=1, max_size=4), st.integers(0, 6))
def test_what_follows_stands_in_its_place_in_either_terminal(texts: list[str], blanks: int) -> None:
    row = "\x1b[0;1m".join(visible(text) + " " * blanks for text in texts)
    width = sum(cell_width(visible(text)) + blanks for text in texts)
    for mark in 0, 1:
        for end in "│", "\x1b[0m│":
            column, cells = drawn(steady(f"│{row}{end}"), mark, width + 2)
            assert column == width + 2
            assert cells[0] == cells.rstrip()[-1] == "│", cells
            assert cells.count("│") == 2


@pytest.mark.case("T03")
def test_words_are_whole_where_there_is_room_and_else_cut_with_an_ellipsis() -> None:
    assert "काम में\x1b8" in steady("काम में      ")
    assert "काम में\x1b8" in steady("काम में\x1b[0m      ")
    assert "काम…\x1b8" in steady("काम में│")
    assert steady("no such mark \x1b[1mé日│") == "no such mark \x1b[1mé日│"


def test_every_such_mark_that_is_shown_is_known() -> None:
    marks = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Mc"]
    assert len(marks) > 400
    assert [mark for mark in marks if mark in visible(f"a{mark}") and not _MARKS.match(mark)] == []
