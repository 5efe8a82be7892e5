"""What passes the door is harmless and as wide as the screen measures it."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from aria_tui import clean
from tests.helpers.fuzz import EXAMPLES

HARMFUL = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_every_character_alone_is_harmless_and_measured_as_the_screen_does() -> None:
    wrong = []
    for code in range(sys.maxunicode + 1):
        shown = clean.visible(chr(code))
        if clean.cell_width(shown) != cell_len(shown) or cell_len(shown) not in (1, 2):
            wrong.append((hex(code), shown))
        if any(unicodedata.category(c) in HARMFUL for c in shown):
            wrong.append((hex(code), "let through"))
    assert wrong == []


@given(
    st.text(st.characters())
    | st.text(st.sampled_from("a é日\u0301\u200d\ufe0f👩👧🏽🇧🇷\u1112\u1161\u11ab\x1b\x9b\u202e1\u20e3"))
)
@example("\u0301")
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_text_is_harmless_and_cut_within_its_cells(text: str) -> None:
    shown = clean.visible(text)
    assert not any(unicodedata.category(c) in HARMFUL for c in shown)
    assert clean.cell_width(shown) == cell_len(shown)
    assert clean.visible(shown) == shown
    for cells in range(6):
        assert cell_len(clean.cut(shown, cells)) <= cells
        assert cell_len(clean.pad(shown, cells)) == cells


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[bold] [/x] [@click=app.quit]x[/]", "[bold] [/x] [@click=app.quit]x[/]"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("a\x9b31mb", "a\ufffd31mb"),
        ("a\r\n\tb\x0e\x08\x7f", "a␍␊␉b␎␈␡"),
        ("\u202eabc\u2066", "\ufffdabc\ufffd"),
        ("a\u200bb\u2028c\ud83d", "a\ufffdb\ufffdc\ufffd"),
        ("👩\u200d👩\u200d👧 日本語 ❤\ufe0f e\u0301", "👩 日本語 ❤ e\u0301"),
        ("👍🏽!", "👍!"),
        ("🇧🇷", "BR"),
        ("1\ufe0f\u20e3", "1"),
        ("\u1112\u1161\u11ab", "한"),
        ("e" + "\u0301" * 8 + "!", "e" + "\u0301" * 8 + "!"),
        ("e" + "\u0301" * 500 + "!", "e" + "\u0301" * 8 + "\ufffd!"),
        ("\u0301" * 500, "◌" + "\u0301" * 8 + "\ufffd"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert clean.visible(text) == shown


def test_lines_are_kept_where_they_are_wanted() -> None:
    assert clean.visible("a\r\nb\n\x1b", newlines=True) == "a\nb\n␛"


@pytest.mark.case("T03")
def test_a_cut_never_splits_a_character_from_its_marks() -> None:
    assert clean.cut("ae\u0301\u0301bc", 3) == "ae\u0301\u0301…"
    assert clean.cut("日本語", 4) == "日…"
    assert clean.cut("日本語", 6) == "日本語"
