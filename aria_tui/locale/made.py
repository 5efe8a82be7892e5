"""Sentences that were made in English because they travel (JSON, logs, the queue file), said in the user's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from aria_tui.locale import _


def said(sentence: str, templates: Sequence[str], value: Callable[[str, str], str]) -> str:
    """A sentence by the first template that fits it, in the user's language; one that none fits, as it is.

    ``value`` is given the name and the text of what stands in the template's place, and gives what is to stand there.
    """
    if sentence in templates:
        return _(sentence)
    for template in templates:
        if "{" in template and (found := _pattern(template).fullmatch(sentence)):
            return _(template).format(**{name: value(name, text) for name, text in found.groupdict().items()})
    return sentence


@lru_cache(maxsize=256)
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", _group, re.escape(template)), re.DOTALL)


_SHAPES = {"number": r"[^\s)]+", "at": r"\S+", "since": r"\S+"}
"""What a place may hold, where that is known: a text after it can hold the template's own signs, such as ``)``."""


def _group(place: re.Match[str]) -> str:
    return f"(?P<{place[1]}>{_SHAPES.get(place[1], '.+')})"
