"""Money and dates of the finance section, whatever they come from: read strictly, counted exactly, never guessed."""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any, NoReturn

from aria_tui.hub.contract import text_problem

LIMIT = Decimal(10) ** 15
"""No household's figure is larger: what is, counts as infinity."""
_PLAIN = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,12})?\Z", re.ASCII)
_POWER = re.compile(r"[+-]?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,9})?\Z", re.ASCII)
"""Any other number: only asked whether it is one beyond measure."""
_MONTH = re.compile(r"(\d{4})-(\d\d)(?:-\d\d)?\Z", re.ASCII)

CODES = {"R$": "BRL", "US$": "USD", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}


class NotFinite(Exception):
    """NaN, infinity or a number beyond measure: nothing else from there can be trusted."""


class Bad(Exception):
    """A value that can't be read; ``str()`` names it."""


@dataclass
class Finances:
    """What one kind of finance gave. A part is None when it could not be had; ``problems`` says why."""

    month: str | None = None
    currency: str | None = None
    income: Decimal | None = None
    expenses: Decimal | None = None
    balance: Decimal | None = None
    budgets: list[dict[str, Any]] | None = None
    due: list[dict[str, Any]] | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def known(self) -> bool:
        figures = (self.income, self.expenses, self.balance, self.budgets, self.due)
        return any(one is not None for one in figures)


def amount(value: Any, name: str) -> Decimal:
    """An exact amount: a number, or a text with a decimal point. Raises Bad, NotFinite."""
    if value is None:
        raise Bad(f"{name} is missing")
    if isinstance(value, bool):
        raise Bad(f"{name} is not an amount")
    if isinstance(value, str):
        value = value.strip()
        if value.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            raise NotFinite(f"{name} is {value}")
        if not _PLAIN.match(value) and not (_POWER.match(value) and abs(Decimal(value)) >= LIMIT):
            raise Bad(f"{name} is not an amount with a decimal point: {value[:40]!r}")
    elif not isinstance(value, int | Decimal):
        raise Bad(f"{name} is not an amount")
    number = Decimal(value)
    if not number.is_finite() or abs(number) >= LIMIT:
        raise NotFinite(f"{name} is not a finite amount")
    return number


def text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Bad(f"{name} is missing")
    if problem := text_problem(value):
        raise Bad(f"{name} {problem}")
    return value.strip()


def written(value: Decimal) -> str:
    """Money as data has it: a decimal point, at least two digits after it, no exponent."""
    shown = value.quantize(Decimal("0.01")) if value == value.quantize(Decimal("0.01")) else value.normalize()
    return f"{shown:f}"


def month_of(value: Any) -> str:
    """``YYYY-MM`` of a month or a date. Raises Bad."""
    if value is None:
        raise Bad("month is missing (YYYY-MM)")
    if isinstance(value, str) and (found := _MONTH.match(value)) and 1 <= int(found[2]) <= 12:
        return f"{found[1]}-{found[2]}"
    raise Bad(f"month is not YYYY-MM: {str(value)[:20]!r}")


def budget(category: str, limit: Decimal, spent: Decimal, warning: float) -> dict[str, Any]:
    """One budget with its level: over ``warning`` per cent (strictly) a warning, 100 and more critical."""
    if limit > 0:
        percent = spent / limit * 100
        level = "critical" if percent >= 100 else "warning" if percent > Decimal(str(warning)) else "ok"
        shown: int | float | None = _number(percent)
    else:
        level, shown = ("critical" if spent > 0 else "ok"), None
    return {"category": category, "limit": written(limit), "spent": written(spent), "percent": shown, "level": level}


def _number(percent: Decimal) -> int | float:
    """To one decimal, rounded down: 99.99 must not read as 100."""
    cut = percent.quantize(Decimal("0.1"), rounding=ROUND_DOWN)
    return int(cut) if cut == cut.to_integral_value() else float(cut)


def due_date(value: Any, today: date) -> date:
    """When a payment is due next: a date as it is; a day of the month, where one that the month hasn't is its last
    day. Raises Bad."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= 31:
            raise Bad(f"due is no day of a month: {value}")
        this = _in_month(today.year, today.month, value)
        following = (today.year + 1, 1) if today.month == 12 else (today.year, today.month + 1)
        return this if this >= today else _in_month(*following, value)
    if value is None:
        raise Bad("due is missing (a date, or a day of the month)")
    if isinstance(value, date):
        return value.date() if isinstance(value, datetime) else value
    try:
        return date.fromisoformat(value[:10]) if isinstance(value, str) and len(value) >= 10 else _no_date(value)
    except ValueError:
        return _no_date(value)


def _no_date(value: Any) -> NoReturn:
    raise Bad(f"due is neither a date nor a day of the month: {str(value)[:20]!r}")


def _in_month(year: int, month: int, day: int) -> date:
    return date(year, month, min(day, calendar.monthrange(year, month)[1]))


def payments(
    items: Iterable[Mapping[str, Any]], today: date, days: int, currency: str | None, each: Callable[[str], str] = str
) -> list[dict[str, Any]]:
    """Recurring payments due from today to today + ``days``, those already paid left out, by date. ``each`` makes an
    item's problem whole (with its file and line). Raises Bad, NotFinite."""
    found = []
    for item in items:
        if not isinstance(item, Mapping):
            raise Bad("a recurring payment is not an object")
        name = text(item.get("desc", item.get("description")), "desc")
        try:
            when = due_date(item.get("due"), today)
            value = amount(item.get("amount"), "amount")
        except Bad as error:
            raise Bad(each(f"{name}: {error}")) from None
        if item.get("paid") is True or not today <= when <= today + timedelta(days=days):
            continue
        given = item.get("currency")
        found.append(
            {
                "description": name,
                "amount": written(value),
                "currency": given if isinstance(given, str) and given else currency,
                "due": when.isoformat(),
            }
        )
    return sorted(found, key=lambda item: (item["due"], item["description"]))


def summary(given: Any, finances: Finances) -> None:
    """``{receita|income, despesa|expenses, saldo|balance, month, currency}`` into ``finances``; raises as amount."""
    if not isinstance(given, Mapping):
        raise Bad("the summary is not an object")
    names = (("income", "receita"), ("expenses", "despesa"), ("balance", "saldo"))
    values = [amount(given.get(name, given.get(other)), name) for name, other in names]
    month = month_of(given.get("month"))
    currency = given.get("currency")
    finances.income, finances.expenses, finances.balance = values
    finances.month = month
    if isinstance(currency, str) and currency:
        finances.currency = CODES.get(currency, currency)


def budgets(given: Any, warning: float) -> list[dict[str, Any]]:
    """``{categories: [{category, limit, spent}]}`` with percentages and levels. Raises Bad, NotFinite."""
    entries = given.get("categories") if isinstance(given, Mapping) else None
    if not isinstance(entries, list):
        raise Bad("the budgets have no list of categories")
    found = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise Bad("a budget is not an object")
        name = text(entry.get("category"), "category")
        limit, spent = (amount(entry.get(key), f"{name}: {key}") for key in ("limit", "spent"))
        found.append(budget(name, limit, spent, warning))
    return found


def read_json(body: bytes) -> Any:
    """JSON with exact numbers. Raises Bad, NotFinite (for the NaN and Infinity that Python would let through)."""
    try:
        return json.loads(body, parse_float=Decimal, parse_constant=_refuse)
    except (ValueError, RecursionError, ArithmeticError):
        raise Bad("unexpected answer (not JSON)") from None


def _refuse(word: str) -> NoReturn:
    raise NotFinite(f"the answer holds {word}")
