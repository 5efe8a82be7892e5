"""Due dates as people type them: ``today``, ``fri``, ``+3d``, ``2026-12-01``, ``hoje``, ``sex``. No clock in here."""

from __future__ import annotations

import calendar
import re
import unicodedata
from datetime import date, timedelta

from aria_tui.errors import FieldError, InvalidInput
from aria_tui.locale import _

_NEAR = {"yesterday": -1, "ontem": -1, "today": 0, "tod": 0, "hoje": 0, "tomorrow": 1, "tmr": 1, "amanha": 1}
_WEEKDAYS = (
    ("mon", "monday", "seg", "segunda", "segunda-feira"),
    ("tue", "tues", "tuesday", "ter", "terca", "terca-feira"),
    ("wed", "wednesday", "qua", "quarta", "quarta-feira"),
    ("thu", "thur", "thurs", "thursday", "qui", "quinta", "quinta-feira"),
    ("fri", "friday", "sex", "sexta", "sexta-feira"),
    ("sat", "saturday", "sab", "sabado"),
    ("sun", "sunday", "dom", "domingo"),
)
_DAY_OF = {word: number for number, words in enumerate(_WEEKDAYS) for word in words}
_LATER = re.compile(r"\+\s*(\d{1,6})\s*([dwsm]?)\Z", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)


def parse_due(text: str, today: date) -> date:
    """The date that ``text`` means on the day ``today``, in English or Portuguese, whatever the language in use.

    A weekday is the next one after today (today has a word of its own); ``+3d``, ``+2w`` (or ``+2s``), ``+1m`` count
    from today, a month ends on its last day. Raises InvalidInput, field ``due``, for anything else: nothing is guessed.
    """
    word = _plain(text)
    if word in _NEAR:
        return _days(today, _NEAR[word], text)
    if word in _DAY_OF:
        return _days(today, (_DAY_OF[word] - today.weekday() - 1) % 7 + 1, text)
    if later := _LATER.match(word):
        count, unit = int(later[1]), later[2]
        if unit == "m":
            return _months(today, count, text)
        return _days(today, count * (7 if unit in ("w", "s") else 1), text)
    if _ISO.match(word):
        try:
            return date.fromisoformat(word)
        except ValueError:
            raise _refused(_("there is no such day: {text}").format(text=text.strip())) from None
    raise _refused(_("not a date: {text} (today, tomorrow, fri, +3d, 2026-12-01)").format(text=text.strip()))


def parse_since(text: str, today: date) -> date:
    """The same of a day from which on one looks back: a weekday is the last one, today included."""
    found = parse_due(text, today)
    return _days(found, -7, text) if _plain(text) in _DAY_OF else found


def _plain(text: str) -> str:
    """Small letters without accents or white space around: ``Amanhã`` and ``amanha`` are one word."""
    parts = unicodedata.normalize("NFD", text.strip().casefold())
    return "".join(c for c in parts if not unicodedata.combining(c))


def _days(today: date, count: int, text: str) -> date:
    try:
        return today + timedelta(days=count)
    except OverflowError:
        raise _too_far(text) from None


def _months(today: date, count: int, text: str) -> date:
    year, month = divmod(today.year * 12 + today.month - 1 + count, 12)
    if year > 9999:
        raise _too_far(text)
    return date(year, month + 1, min(today.day, calendar.monthrange(year, month + 1)[1]))


def _too_far(text: str) -> InvalidInput:
    return _refused(_("too far away: {text}").format(text=text.strip()))


def _refused(why: str) -> InvalidInput:
    return InvalidInput([FieldError("due", why)])
