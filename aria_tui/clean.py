"""Makes text from outside fit to be shown: no character of it can move the cursor, hide, or bend the columns.

What is stored, and JSON, stays as it was; only what goes to a terminal passes here. The widths are those that the
screen's own measuring gives (a test holds the two together), from ``unicodedata`` alone.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ELLIPSIS = "…"

_PLAIN = re.compile(r"[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0377\u037a-\u037f\u0400-\u0482]*\Z")
_JAMO = re.compile("[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb][\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb]*")
_ZWJ = "\u200d"
_DOTTED_CIRCLE = "\u25cc"
_MOST_MARKS = 8
"""On one character; no language has more, and a pile of them reaches into the lines above."""

# Symbols that became two cells wide in a later Unicode, or are drawn so by some: terminals disagree about them.
# So they do about the tone marks beside a wide letter.
_DISPUTED = (
    (0x2630, 0x2637), (0x268A, 0x268F), (0x302E, 0x302F), (0x3248, 0x324F), (0x4DC0, 0x4DFF), (0x16FF0, 0x16FF1),
    (0x1D300, 0x1D376),
)  # fmt: skip
_BLANK_FILLERS = (0x115F, 0x3164, 0xFFA0)
_REGIONAL_A, _REGIONAL_Z = 0x1F1E6, 0x1F1FF
_SKIN_FIRST, _SKIN_LAST = 0x1F3FB, 0x1F3FF
_KEYCAP = "\u20e3"


def visible(text: str, *, newlines: bool = False) -> str:
    """The text with each unfit character replaced by a stand-in of one cell: control characters by their pictures
    (ESC by ␛), C1, bidi and zero-width characters, line separators and lone surrogates by U+FFFD.

    Joined emoji, and emoji with a skin tone or a variation selector, become their first character; a flag its two
    letters. Of a pile of marks the first few stay, and U+FFFD stands for the rest. With ``newlines`` a line feed stays
    (CR LF counts as one); else it is shown as ␊.
    """
    if _PLAIN.match(text):
        return text
    if newlines and "\n" in text:
        return "\n".join(_visible_line(line) for line in text.replace("\r\n", "\n").split("\n"))
    return _visible_line(text)


def visible_each(text: str) -> str:
    """The same with one character for each, for text under a cursor, where positions must stay right."""
    if _PLAIN.match(text):
        return text
    return "".join(map(_stand_in, text))


def cell_width(text: str) -> int:
    """How many cells a text takes that came out of ``visible``."""
    if _PLAIN.match(text):
        return len(text)
    return sum(map(_width, text))


def cut(text: str, cells: int) -> str:
    """The text, shortened to at most ``cells`` cells with an ellipsis; never inside a character with its marks."""
    if cells <= 0:
        return ""
    if cell_width(text) <= cells:
        return text
    used, end = 0, 0
    for index, character in enumerate(text):
        width = _width(character)
        if width and used + width > cells - 1:
            break
        used += width
        end = index + 1
    return text[:end] + ELLIPSIS


def pad(text: str, cells: int) -> str:
    """The text, cut or filled with spaces to exactly ``cells`` cells."""
    text = cut(text, cells)
    return text + " " * (cells - cell_width(text))


def _visible_line(line: str) -> str:
    if _PLAIN.match(line):
        return line
    shown: list[str] = []
    index, count, marks = 0, len(line), 0
    while index < count:
        character = line[index]
        index += 1
        stand_in = _stand_in(character)
        marks = 0 if _width(stand_in) else marks + 1
        if marks > _MOST_MARKS:
            if marks == _MOST_MARKS + 1:
                shown.append(REPLACEMENT)
            continue
        if not shown and marks:
            shown.append(_DOTTED_CIRCLE)  # else the mark would sit on whatever stands before the text
        shown.append(stand_in)
        if stand_in == character:
            index = _end_of_sequence(line, index)
    # Separate jamo are measured differently by different terminals, whole syllables are not.
    return _JAMO.sub(lambda found: unicodedata.normalize("NFC", found[0]), "".join(shown))


def _end_of_sequence(line: str, index: int) -> int:
    """Where the rest of an emoji sequence ends that began before ``index``: that rest is not shown."""
    while index < len(line):
        character = line[index]
        code = ord(character)
        follows_joiner = line[index - 1] == _ZWJ and _is_pictograph(character)
        modifies = (
            0xFE00 <= code <= 0xFE0F
            or 0xE0100 <= code <= 0xE01EF
            or 0xE0020 <= code <= 0xE007F
            or _SKIN_FIRST <= code <= _SKIN_LAST
            or character == _KEYCAP
        )
        joins = character == _ZWJ and index + 1 < len(line) and _is_pictograph(line[index + 1])
        if not (modifies or joins or follows_joiner):
            break
        index += 1
    return index


def _is_pictograph(character: str) -> bool:
    return unicodedata.category(character) in ("So", "Sk", "Cn") and ord(character) >= 0x2190


@lru_cache(maxsize=4096)
def _stand_in(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    if _REGIONAL_A <= code <= _REGIONAL_Z:
        return chr(ord("A") + code - _REGIONAL_A)
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp"):
        return REPLACEMENT
    if (
        _SKIN_FIRST <= code <= _SKIN_LAST
        or 0xFE00 <= code <= 0xFE0F
        or 0xE0100 <= code <= 0xE01EF
        or code in _BLANK_FILLERS
        or code == 0x034F  # combining grapheme joiner: shows nothing
        or character == _KEYCAP
        or any(low <= code <= high for low, high in _DISPUTED)
    ):
        return REPLACEMENT
    return character


@lru_cache(maxsize=4096)
def _width(character: str) -> int:
    code = ord(character)
    if unicodedata.category(character) in ("Mn", "Me", "Mc"):
        return 0
    if 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FF:
        return 0  # vowels and finals of Hangul, drawn into the syllable before them
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
