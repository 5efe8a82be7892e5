"""Finance from an hledger journal, by its own program: the month's income and expenses, budgets (periodic transactions
as goals) and payments due (periodic transactions that have a description).

What hledger has against a journal is what the section says. One thing it lets pass: ``1.000`` of a commodity with no
declared style, which it takes for one. That is flagged with file and line, and the figures are marked incomplete.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from aria_tui.config import FinanceConfig
from aria_tui.sources import Moment
from aria_tui.sources import _finance_money as money
from aria_tui.sources._files import NotReadable, read_regular
from aria_tui.sources._process import run

BYTES = 32 * 1024 * 1024
_AMBIGUOUS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?![\d.,])")
_STYLE = re.compile(r"^(?:commodity|D)\s+(?P<amount>[^;\n]*\d[^;\n]*)", re.M)
_FORMAT = re.compile(
    r"^commodity\s+(?P<name>[^\d;\n]+?)\s*(?:;[^\n]*)?\n(?:[ \t]+(?!format)[^\n]*\n)*[ \t]+format\b", re.M
)
_DECIMAL_MARK = re.compile(r"^decimal-mark\s", re.M)
_POSTING = re.compile(r"^[ \t]+(?:[*!]\s*)?[^\s;](?:[^\n;]*?\S)?(?:  +|\t)\s*(?P<amount>[^;\n]+)")
_SYMBOL = r"""(?:"[^"]+"|[^\s\d"+\-.,@=;()]+)"""
_AMOUNT = re.compile(rf"\s*[+-]?\s*(?P<left>{_SYMBOL})?\s*[+-]?\s*\d(?:[\d.,']*\d)?[.,]?\s*(?P<right>{_SYMBOL})?")
_NEITHER = {"asset", "assets", "liability", "liabilities", "debt", "debts", "equity"}
"""Accounts that are neither income nor expenses by the names that hledger knows (hledger manual, "Account types")."""
_SOURCE_LINE = re.compile(r"\s*\d*\s*\|")


async def read(config: FinanceConfig, when: Moment, deadline: float, environ: Mapping[str, str]) -> money.Finances:
    """The journal's finances. Raises Bad: hledger's own words, with file and line."""
    path = Path(config.path or environ.get("LEDGER_FILE") or "~/.hledger.journal").expanduser().absolute()
    today = when.now.date()
    first = today.replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    month = ("-b", first.isoformat(), "-e", following.isoformat())
    until = (today + timedelta(days=config.due_days + 1)).isoformat()
    income, expenses = (f"^{re.escape(name)}(:|$)" for name in (config.income, config.expenses))
    asked = (
        ("balance", "-O", "json", "--flat", "-N", *month, income, expenses),
        ("balance", "-O", "json", "--flat", "--budget", *month, expenses),
        ("print", "-O", "json", f"--forecast={today.isoformat()}..{until}", "-b", first.isoformat(), "-e", until),
        ("files",),
        ("accounts",),
    )
    end = asyncio.get_running_loop().time() + deadline
    answers = await asyncio.gather(*(_run(path, words, end, environ) for words in asked), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    balance, goals, entries = (_json(answer) for answer in answers[:3] if isinstance(answer, bytes))
    finances = money.Finances(month=f"{today:%Y-%m}", currency=config.currency or None)
    try:
        _totals(balance, config, finances, _lines(answers[4]))
        finances.budgets = _goals(goals, config, finances)
        finances.due = money.payments(_periodic(entries, config, today), today, config.due_days, finances.currency)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise money.Bad("hledger's answer has another form than expected") from None
    finances.problems += ambiguous([Path(name) for name in _lines(answers[3])])
    return finances


def _lines(answer: bytes | BaseException) -> list[str]:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else ""
    return [line for line in text.splitlines() if line]


def ambiguous(files: Sequence[Path]) -> list[str]:
    """Amounts of the journal's files that can be read in two ways, with file and line; the first few of them. And
    files that can't be looked through, such as a pipe."""
    texts, problems = {}, []
    for file in files:
        try:
            texts[file] = read_regular(file, BYTES).decode("utf-8", "replace")
        except NotReadable as error:
            problems.append(f"{file}: its amounts can't be checked: {error}")
    declared = {commodity(found["amount"]) for text in texts.values() for found in _STYLE.finditer(text)}
    declared |= {found["name"].strip().strip('"') for text in texts.values() for found in _FORMAT.finditer(text)}
    for file, text in texts.items():
        if _DECIMAL_MARK.search(text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if not (posting := _POSTING.match(line)):
                continue
            written = posting["amount"]
            found = _AMBIGUOUS.search(written)
            if found and commodity(written) not in declared:
                problems.append(f"{file}:{number}: {found[0]} can be read in two ways (declare its commodity)")
    if len(problems) > 3:
        problems[3:] = [f"and {len(problems) - 3} more of these"]
    return problems


def commodity(written: str) -> str:
    """The commodity of the first amount in a text: what stands before its digits, else after."""
    found = _AMOUNT.match(written)
    return ((found["left"] or found["right"] or "") if found else "").strip('"')


async def _run(path: Path, words: Sequence[str], end: float, environ: Mapping[str, str]) -> bytes:
    """Standard output of one command. Raises Bad: why there is none."""
    left = end - asyncio.get_running_loop().time()
    try:
        command = ["hledger", "-f", str(path), *words]
        status, output, errors = await run(command, left, environ={**environ, "LC_ALL": "C.UTF-8"})
    except FileNotFoundError:
        raise money.Bad("there is no hledger program") from None
    except TimeoutError:
        raise money.Bad("hledger gave no answer in time") from None
    except OSError as error:
        raise money.Bad(f"hledger can't be run: {error.strerror}") from None
    if status:
        raise money.Bad(own_words(errors.decode("utf-8", "replace")))
    if len(output) > BYTES:
        raise money.Bad("hledger's answer is over 32 MiB")
    return output


def own_words(errors: str) -> str:
    """What hledger said, on one line: where, and what; without the picture of the line."""
    lines = [line.strip() for line in errors.splitlines() if line.strip() and not _SOURCE_LINE.match(line)]
    said = " ".join(lines[:3]).removeprefix("hledger: ").removeprefix("Error: ")
    return f"hledger: {said[:800]}" if said else "hledger failed without a word"


def _json(answer: bytes) -> Any:
    return json.loads(answer)


def _amounts(given: Sequence[Mapping[str, Any]]) -> dict[str, Decimal]:
    """Amounts by commodity, exactly: a mantissa and its decimal places."""
    found: dict[str, Decimal] = {}
    for entry in given:
        quantity = entry["aquantity"]
        value = Decimal(int(quantity["decimalMantissa"])).scaleb(-int(quantity["decimalPlaces"]))
        name = entry["acommodity"]
        found[name] = found.get(name, Decimal(0)) + money.amount(value, "an amount")
    return found


def _totals(balance: Any, config: FinanceConfig, finances: money.Finances, accounts: Sequence[str]) -> None:
    """Income and expenses in one currency; what is in others is named and not added."""
    missing = _missing(accounts, config)
    if missing:
        there = ", ".join(_others(accounts, config)[:8])
        words = f"no account named {', '.join(missing)} (there are: {there}): set [finance] income and expenses"
        finances.problems.append(words)
    sums: dict[str, dict[str, Decimal]] = {"income": {}, "expenses": {}}
    for account, _, _, amounts in balance[0]:
        side = "income" if _is_under(account, config.income) else "expenses"
        for name, value in _amounts(amounts).items():
            sums[side][name] = sums[side].get(name, Decimal(0)) + value
    names = sorted({name for side in sums.values() for name, value in side.items() if value})
    chosen = _chosen(names, config.currency)
    if chosen is None:
        finances.problems.append(f"several currencies ({', '.join(names)}): set [finance] currency")
        return
    if others := [name or "no commodity" for name in names if name != chosen]:
        finances.problems.append(f"not added: {', '.join(others)}")
    if config.income not in missing:
        finances.income = -sums["income"].get(chosen, Decimal(0))
    if config.expenses not in missing:
        finances.expenses = sums["expenses"].get(chosen, Decimal(0))
    if finances.income is not None and finances.expenses is not None:
        finances.balance = finances.income - finances.expenses
    finances.currency = money.CODES.get(chosen, chosen) or config.currency or None


def _missing(accounts: Sequence[str], config: FinanceConfig) -> list[str]:
    """The configured accounts that are not in the journal where one of another name may be it: their sums are not
    zero, but unknown."""
    wanted = (config.income, config.expenses)
    missing = [name for name in wanted if not any(_is_under(account, name) for account in accounts)]
    return missing if _others(accounts, config) else []


def _others(accounts: Sequence[str], config: FinanceConfig) -> list[str]:
    """Top accounts that may be income or expenses under another name."""
    known = _NEITHER | {name.partition(":")[0] for name in (config.income, config.expenses)}
    return sorted({account.partition(":")[0] for account in accounts} - known)


def _is_under(account: str, name: str) -> bool:
    return account == name or account.startswith(f"{name}:")


def _chosen(names: Sequence[str], wanted: str) -> str | None:
    """The commodity that the figures are in; None when there are several and none was chosen."""
    if wanted:
        return next((name for name in names if wanted in (name, money.CODES.get(name))), wanted)
    return names[0] if len(names) == 1 else "" if not names else None


def _goals(goals: Any, config: FinanceConfig, finances: money.Finances) -> list[dict[str, Any]]:
    found = []
    for row in goals["prRows"]:
        spent, goal = row["prrAmounts"][0]
        if not goal:
            continue
        used = _amounts(spent or [])
        name = row["prrName"] if isinstance(row["prrName"], str) else row["prrName"][0]
        category = name.removeprefix(f"{config.expenses}:")
        limits = {key: value for key, value in _amounts(goal).items() if value}
        for key, limit in limits.items():
            shown = f"{category} ({key})" if len(limits) > 1 else category
            found.append(money.budget(shown, limit, used.get(key, Decimal(0)), config.budget_warning))
    return found


def _periodic(entries: Any, config: FinanceConfig, today: date) -> list[dict[str, Any]]:
    """Payments to come from periodic transactions; one of the same description in this month's journal is its
    payment."""
    generated, written = [], set()
    for entry in entries:
        if any(tag[0] == "generated-transaction" for tag in entry["ttags"]):
            generated.append(entry)
        else:
            written.add((entry["tdescription"], entry["tdate"][:7]))
    found = []
    for entry in generated:
        name = entry["tdescription"].strip()
        paid = (entry["tdescription"], entry["tdate"][:7]) in written
        for posting in entry["tpostings"]:
            account = posting["paccount"]
            if name and _is_under(account, config.expenses):
                for key, value in _amounts(posting["pamount"]).items():
                    item = {"desc": name, "amount": value, "currency": money.CODES.get(key, key), "due": entry["tdate"]}
                    found.append(item | {"paid": paid})
    return found
