"""Numbers, money, dates and relative times in the language's form, by Babel (loaded with the first call)."""

from __future__ import annotations

import contextlib
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from aria_tui.locale import _, language, ngettext


def _locale() -> str:
    return "pt_BR" if language() == "pt_BR" else "en_GB"


def number(value: float | Decimal, digits: int = 0) -> str:
    """A number with the language's separators and a fixed count of digits after the point."""
    from babel.numbers import format_decimal

    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    return str(format_decimal(value, format=pattern, locale=_locale()))


def percent(share: float, digits: int = 1) -> str:
    """A share of 1 as a percentage."""
    return f"{number(share * 100, digits)} %"


def money(amount: Decimal | str, currency: str, *, signed: bool = False) -> str:
    """An amount in its currency (without one where it is empty, which is not known); whole amounts without decimals are
    shown so. A bad amount is given back as it is."""
    from babel.numbers import format_currency

    try:
        value = Decimal(amount)
        if not value.is_finite():
            return f"{amount} {currency}".strip()
        pattern = ("¤ " if currency else "") + ("#,##0.00" if value % 1 else "#,##0")
        shown = str(format_currency(abs(value), currency, pattern, locale=_locale(), currency_digits=False))
    except (ArithmeticError, ValueError):
        return f"{amount} {currency}".strip()
    sign = "-" if value < 0 else "+" if signed and value > 0 else ""
    return sign + shown.replace("\xa0", " ")


def amount(value: str, currency: str | None) -> str:
    """Money as data has it, of a currency that may not be known."""
    return money(value, currency or "")


def _date(value: date, pattern: str) -> str:
    from babel.dates import format_date

    return str(format_date(value, pattern, locale=_locale()))


def long_day(value: date, *, year: bool = False) -> str:
    """``Monday 30 November``, ``segunda-feira, 30 de novembro``; ``1º de dezembro de 2026`` with the year."""
    if language() != "pt_BR":
        return _date(value, "EEEE d MMMM y" if year else "EEEE d MMMM")
    day = "d'º'" if value.day == 1 else "d"
    return _date(value, f"EEEE, {day} 'de' MMMM 'de' y" if year else f"EEEE, {day} 'de' MMMM")


def short_day(value: date, today: date | None = None) -> str:
    """``Thu 3 Dec``; with the year where it is another than today's."""
    year = " y" if today is not None and today.year != value.year else ""
    pattern = f"EEE d MMM{year}"
    return _date(value, pattern).replace(".", "")


def clock(value: datetime) -> str:
    """``08:04``: both languages write 24 hours."""
    return f"{value:%H:%M}"


def when(text: str | None, now: datetime) -> str:
    """A time of the contract's form (RFC 3339 in UTC) on the clock of ``now``: with its day where it isn't today."""
    moment = _moment(text)
    if moment is None:
        return text or ""
    moment = moment.astimezone(now.tzinfo)
    if moment.date() == now.date():
        return clock(moment)
    return f"{short_day(moment.date(), now.date())} {clock(moment)}"


def _moment(text: str | None) -> datetime | None:
    from aria_tui.hub.contract import read_time

    with contextlib.suppress(ValueError, OverflowError):
        return read_time(text) if text else None
    return None


def age(text: str | None, now: datetime) -> str:
    """How long ago a contract time was, short: ``now``, ``5 min``, ``2 h``, ``3 d``; never negative."""
    moment = _moment(text)
    return "" if moment is None else duration((now - moment).total_seconds())


def duration(seconds: float) -> str:
    """A length of time, short, in its largest unit."""
    seconds = max(0.0, seconds)
    if seconds < 1:
        return _("now")
    if seconds < 60:
        return f"{int(seconds)} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min"
    if seconds < 48 * 3600:
        return f"{int(seconds // 3600)} h"
    return f"{int(seconds // 86400)} d"


def due(text: str | None, today: date) -> str:
    """A due date as a word where there is one: ``today``, ``tomorrow``, ``Fri``, ``Thu 3 Dec``, ``1 day late``."""
    try:
        day = date.fromisoformat(text or "")
    except ValueError:
        return text or ""
    match (day - today).days:
        case 0:
            return _("today")
        case 1:
            return _("tomorrow")
        case late if late < 0:
            return ngettext("{n} day late", "{n} days late", -late).format(n=-late)
        case near if near < 7:
            return _date(day, "EEE").replace(".", "")
    return short_day(day, today)


def words(parts: list[str]) -> str:
    """A list of things in a sentence: ``a, b and c``."""
    from babel.lists import format_list

    return str(format_list(parts, locale=_locale())) if parts else ""


def relative(seconds: float) -> str:
    """``2 hours ago``, ``há 2 horas``."""
    from babel.dates import format_timedelta

    options: dict[str, Any] = {"add_direction": True, "locale": _locale()}
    return str(format_timedelta(timedelta(seconds=-max(0.0, seconds)), **options))
