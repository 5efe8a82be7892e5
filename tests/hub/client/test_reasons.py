"""Every reason of the client can be said in the user's language."""

from __future__ import annotations

import string
from typing import Any

import pytest

from aria_tui.hub import _reasons
from aria_tui.hub.client import in_words
from aria_tui.locale import made

TEMPLATES = {name: value for name, value in vars(_reasons).items() if name.isupper() and isinstance(value, str)}


@pytest.fixture
def reversed_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language in which each sentence stands in brackets."""
    monkeypatch.setattr(made, "_", lambda sentence: f"<{sentence}>")


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES.keys())
def test_each_sentence_is_found_again(template: str, reversed_words: Any) -> None:
    names = [name for _, name, _, _ in string.Formatter().parse(template) if name]
    filled = template.format(**dict.fromkeys(names, "7\n{x} (y"))
    assert in_words(filled).startswith("<")
    assert in_words(filled).endswith(">")
    assert in_words(filled)[1:-1] == filled


def test_a_reason_within_a_reason(reversed_words: Any) -> None:
    assert in_words("proxy: connection refused") == "<proxy: <connection refused>>"


def test_the_hubs_own_words_stay(reversed_words: Any) -> None:
    assert in_words("title must not be empty") == "title must not be empty"
    assert in_words("") == ""
