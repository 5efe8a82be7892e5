"""Natural due dates, in both languages."""

from __future__ import annotations

from datetime import date

import pytest

from aria_tui.dates import parse_due
from aria_tui.errors import InvalidInput

MONDAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("today", MONDAY),
        (" Hoje ", MONDAY),
        ("tomorrow", date(2026, 12, 1)),
        ("amanhã", date(2026, 12, 1)),
        ("AMANHA", date(2026, 12, 1)),
        ("fri", date(2026, 12, 4)),
        ("Friday", date(2026, 12, 4)),
        ("sex", date(2026, 12, 4)),
        ("sexta-feira", date(2026, 12, 4)),
        ("sábado", date(2026, 12, 5)),
        ("mon", date(2026, 12, 7)),
        ("+3d", date(2026, 12, 3)),
        ("+3", date(2026, 12, 3)),
        ("+2w", date(2026, 12, 14)),
        ("+3m", date(2027, 2, 28)),
        ("2026-12-01", date(2026, 12, 1)),
        ("2024-02-29", date(2024, 2, 29)),
    ],
)
def test_the_words_people_type(text: str, expected: date) -> None:
    assert parse_due(text, MONDAY) == expected


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-02-30", "30/11", "+", "-3d", "fr", "+999999w", "+999999m", "²", "[/x]"]
)
def test_anything_else_is_refused_with_its_field(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_due(text, MONDAY)
    assert [error.field for error in refused.value.errors] == ["due"]


@pytest.mark.parametrize("offset", range(7))
def test_a_weekday_is_never_today(offset: int) -> None:
    today = date(2026, 11, 30 - offset)
    for word in ("mon", "tue", "wed", "thu", "fri", "sat", "sun"):
        assert 1 <= (parse_due(word, today) - today).days <= 7
