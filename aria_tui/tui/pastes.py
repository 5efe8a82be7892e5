"""Cuts pastes out of what a terminal sends, before anything else reads it.

Textual takes an escape sequence inside a paste for keys, so that a text could press enter; and a paste whose end never
comes takes every key that is pressed afterwards, the one for leaving too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

BEGIN, END = "\x1b[200~", "\x1b[201~"
SILENCE = 1.0
"""Seconds after which what was pasted so far is handed on, and a single key is a key again."""
WHOLE = 0.1
"""Seconds for the rest of a sequence of which the beginning has come."""
_A_KEY = re.compile(r"[\x00-\x1f\x7f]|\x1b(\[|O)?[ -~]{0,6}")


@dataclass(frozen=True)
class Pasted:
    """A text that was pasted, or the part of it that has come so far."""

    text: str


class Pastes:
    """Fed with text as it comes; gives keys as text, and pastes."""

    def __init__(self) -> None:
        self._begun = self._paused = False
        self._text = ""
        """Inside a paste: what has come of it. Else: the beginning of what may become one."""
        self._at = 0.0

    def feed(self, text: str) -> Iterator[str | Pasted]:
        """What is complete of all that has come."""
        self._at = time.monotonic()
        if self._begun and self._paused and _A_KEY.fullmatch(text):
            self._begun = self._paused = False  # its end got lost, and somebody presses keys
        while text or self._text:
            if self._begun:
                searched = max(0, len(self._text) - len(END) + 1)
                self._text, self._paused = self._text + text, False
                end = self._text.find(END, searched)
                if end < 0:
                    return
                yield Pasted(self._text[:end].replace("\x00", ""))
                text, self._text, self._begun = self._text[end + len(END) :], "", False
                continue
            text, self._text = self._text + text, ""
            keys, begin, text = text.partition(BEGIN)
            if begin:
                self._begun = True
            else:
                held = max(_begun(keys, mark) for mark in (BEGIN, END))
                keys, self._text = keys[: len(keys) - held], keys[len(keys) - held :]
            keys = keys.replace(END, "")  # of a paste that was cut short
            if keys:
                yield keys
            if not begin:
                return

    def tick(self, *, last: bool = False) -> Iterator[str | Pasted]:
        """What need not be waited for any longer. Called when nothing has come for a moment, or nothing will come."""
        silent = SILENCE if last else time.monotonic() - self._at
        if self._begun and self._text and silent >= SILENCE:
            text, self._text, self._paused = self._text, "", True
            yield Pasted(text.replace("\x00", ""))
        elif not self._begun and self._text and silent >= WHOLE:
            text, self._text = self._text, ""
            yield text


def _begun(text: str, mark: str) -> int:
    """How much of a mark stands at the end of a text."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)


def one_line(text: str) -> str:
    """For an input of one line: all lines that hold anything, joined by spaces."""
    return " ".join(part for part in (line.strip() for line in text.splitlines()) if part)
