"""Finance by hand: ``finance.toml`` with recurring payments, budgets and, if wanted, the month's summary.

currency = "BRL"

[[recurring]]
desc = "Neon DB"
amount = 19            # or "19.00"
due = 3                # a day of the month, or a date
currency = "USD"       # else the file's

[[budgets]]
category = "Software"
limit = 100
spent = 82

[summary]
income = 3200
expenses = 1100
balance = 2100
month = "2026-11"
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from aria_tui.config import FinanceConfig
from aria_tui.sources import Moment
from aria_tui.sources import _finance_money as money
from aria_tui.sources._files import NotReadable, read_regular

BYTES = 1024 * 1024
_KEYS: dict[str, tuple[str, ...]] = {
    "": ("currency", "recurring", "budgets", "summary"),
    "recurring": ("desc", "description", "amount", "due", "paid", "currency"),
    "budgets": ("category", "limit", "spent"),
    "summary": ("income", "receita", "expenses", "despesa", "balance", "saldo", "month", "currency"),
}


def read(config: FinanceConfig, when: Moment) -> money.Finances:
    """The file's finances. Raises Bad with file and line, NotFinite."""
    path = Path(config.path or "~/.aria/finance.toml").expanduser()
    text = _text(path)
    given = _parse(text, path)
    _check_keys(given, text, path)
    finances = money.Finances(currency=config.currency or given.get("currency") or None)
    today = when.now.date()
    try:
        if "summary" in given:
            money.summary(given["summary"], finances)
        finances.budgets = money.budgets({"categories": given.get("budgets", [])}, config.budget_warning)
        finances.due = money.payments(given.get("recurring", []), today, config.due_days, finances.currency)
    except money.Bad as error:
        raise money.Bad(_placed(str(error), text, path)) from None
    return finances


def _text(path: Path) -> str:
    try:
        raw = read_regular(path, BYTES)
    except NotReadable as error:
        raise money.Bad(f"{path}: {error}") from None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise money.Bad(f"{path}: is not UTF-8") from None


def _parse(text: str, path: Path) -> dict[str, Any]:
    def number(written: str) -> Decimal:
        """A number as written: ``1.000`` is one to a computer and a thousand to half of the world."""
        if re.fullmatch(r"[+-]?[1-9]\d{0,2}\.\d{3}", written):
            line = _line(text, re.escape(written))
            raise money.Bad(f"{path}:{line}: {written} can be read in two ways (write 1000 or 1.00)")
        value = Decimal(written)
        if not value.is_finite():
            raise money.NotFinite(f"{path}:{_line(text, re.escape(written))}: {written} is not a finite amount")
        return value

    try:
        return tomllib.loads(text, parse_float=number)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        raise money.Bad(f"{path}:{found[1] if found else '?'}: is not TOML: {error}") from None


def _check_keys(given: Mapping[str, Any], text: str, path: Path) -> None:
    tables: list[tuple[str, Any, int]] = [("", given, 0), ("summary", given.get("summary", {}), 0)]
    for name in ("recurring", "budgets"):
        entries = given.get(name, [])
        if not isinstance(entries, list):
            raise money.Bad(f"{path}:{_line(text, name)}: {name} must be a list: [[{name}]]")
        tables += [(name, entry, number) for number, entry in enumerate(entries)]
    for name, table, number in tables:
        if not isinstance(table, Mapping):
            raise money.Bad(f"{path}:{_line(text, name)}: {name} must be a table")
        for key in table:
            if key not in _KEYS[name]:
                close = difflib.get_close_matches(key, _KEYS[name], 1)
                hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(_KEYS[name])}"
                line = _line_within(text, name, number, re.escape(key))
                raise money.Bad(f"{path}:{line}: unknown key {key!r} ({hint})")


def _placed(problem: str, text: str, path: Path) -> str:
    """A problem with the line of what it names, where that can be found."""
    name = problem.partition(":")[0]
    line = _line(text, re.escape(name)) if name else 0
    return f"{path}:{line}: {problem}" if line else f"{path}: {problem}"


def _line_within(text: str, table: str, number: int, pattern: str) -> int:
    """The first line that holds it in the ``number``-th table of that name (from 0); anywhere where it isn't there."""
    headers = [
        (index, found[1])
        for index, line in enumerate(text.splitlines())
        if (found := re.match(r"\s*\[+\s*(\w+)", line))
    ]
    starts = [-1] if not table else [index for index, name in headers if name == table]
    if number < len(starts):
        start = starts[number] + 1
        end = next((index for index, _ in headers if index >= start), None)
        if line := _line("\n".join(text.splitlines()[start:end]), pattern):
            return start + line
    return _line(text, pattern)


def _line(text: str, pattern: str) -> int:
    """The first line that holds it as a word, or 0."""
    found = re.compile(rf"(?<![\w.]){pattern}(?![\w.])")
    return next((number for number, line in enumerate(text.splitlines(), 1) if found.search(line)), 0)
