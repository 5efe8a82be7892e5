"""Finance from HTTP services: a local one such as Neutron, and Firefly III."""

from __future__ import annotations

import asyncio
import calendar
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from aria_tui.config import CommandSecret, FinanceConfig
from aria_tui.sources import Moment, _http
from aria_tui.sources import _finance_money as money
from aria_tui.sources._secrets import SecretError, resolve

if TYPE_CHECKING:
    import httpx

_PAGES, _PAGE = 20, 100
LATE_SECONDS = 1.2
"""How much longer than its first part a local service may take for the others: what it has is not held up by what it
lacks."""

Get = Callable[[str], Awaitable[Any]]


async def local(config: FinanceConfig, when: Moment, deadline: float) -> money.Finances:
    """A service with a summary, budgets and recurring payments; each of the three may fail alone. Raises NotFinite."""
    finances = money.Finances(currency=config.currency or None)
    async with _service(config, deadline, finances) as get:
        if get is None:
            return finances
        recurring = config.recurring_path.replace("{days}", str(config.due_days))
        answers = await _first_then_others(
            [_asked(get, path) for path in (config.summary_path, config.budget_path, recurring)]
        )
    today = when.now.date()
    _part(finances, "summary", answers[0], lambda given: money.summary(given, finances))

    def take_budgets(given: Any) -> None:
        finances.budgets = money.budgets(given, config.budget_warning)

    def take_due(given: Any) -> None:
        items = given.get("upcoming") if isinstance(given, Mapping) else None
        if not isinstance(items, list):
            raise money.Bad("no list of upcoming payments")
        finances.due = money.payments(items, today, config.due_days, finances.currency)

    _part(finances, "budgets", answers[1], take_budgets)
    _part(finances, "recurring", answers[2], take_due)
    return finances


async def firefly(config: FinanceConfig, when: Moment, deadline: float) -> money.Finances:
    """Firefly III's API, version 1: summary, budgets with their limits, bills. Raises NotFinite."""
    finances = money.Finances(currency=config.currency or None)
    today = when.now.date()
    last = today.replace(day=calendar.monthrange(today.year, today.month)[1])
    month = urlencode({"start": today.replace(day=1).isoformat(), "end": last.isoformat()})
    window = urlencode({"start": today.isoformat(), "end": (today + timedelta(days=config.due_days)).isoformat()})
    async with _service(config, deadline, finances) as get:
        if get is None:
            return finances
        answers = await asyncio.gather(
            _asked(get, f"/api/v1/summary/basic?{month}"),
            _asked_pages(get, f"/api/v1/budgets?{month}"),
            _asked_pages(get, f"/api/v1/budget-limits?{month}"),
            _asked_pages(get, f"/api/v1/bills?{window}"),
        )

    def take_summary(given: Any) -> None:
        _firefly_summary(given, finances)
        finances.month = f"{today:%Y-%m}"

    def take_budgets(given: Any) -> None:
        if isinstance(answers[1], Exception):
            raise answers[1]
        finances.budgets = _firefly_budgets(answers[1], given, config.budget_warning)

    def take_due(given: Any) -> None:
        items = [item for bill in given for item in _firefly_bill(bill)]
        finances.due = money.payments(items, today, config.due_days, finances.currency)

    _part(finances, "summary", answers[0], take_summary)
    _part(finances, "budgets", answers[2], take_budgets)
    _part(finances, "bills", answers[3], take_due)
    return finances


class _service:
    def __init__(self, config: FinanceConfig, deadline: float, finances: money.Finances) -> None:
        self._config, self._deadline, self._finances = config, deadline, finances
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Get | None:
        config = self._config
        end = asyncio.get_running_loop().time() + self._deadline
        base = config.url.rstrip("/")
        if not base.lower().startswith(("http://", "https://")):
            self._finances.problems.append("[finance] url must begin with http:// or https://")
            return None
        headers = {"Accept": "application/json"}
        try:
            if config.token or config.token_command:
                secret = config.token or CommandSecret(command=config.token_command)
                headers["Authorization"] = f"Bearer {await resolve(secret, self._deadline / 2)}"
        except SecretError as error:
            self._finances.problems.append(str(error))
            return None
        try:
            client = self._client = _http.client(self._deadline, url=base)
        except _http.Unreachable as error:
            self._finances.problems.append(str(error))
            return None

        async def get(path: str) -> Any:
            async with asyncio.timeout_at(end):
                answer = await _http.get(client, f"{base}/{path.lstrip('/')}", headers=headers)
            if answer.status in (401, 403):
                raise _http.Unreachable(f"sign-in needed (HTTP {answer.status})")
            if answer.status != 200:
                raise _http.Unreachable(f"HTTP {answer.status}")
            return money.read_json(answer.body)

        return get

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.aclose()


async def _asked(get: Get, path: str) -> Any:
    """The answer, or the exception that came instead: one part's failure is that part's."""
    try:
        return await get(path)
    except (_http.Unreachable, money.Bad, money.NotFinite) as error:
        return error
    except TimeoutError:
        return _http.Unreachable("no answer")


async def _first_then_others(asked: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """The answers in order. Once one is there, the others have ``LATE_SECONDS`` more."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        for first in asyncio.as_completed(tasks):
            if not isinstance(await first, Exception):
                break
        await asyncio.wait(tasks, timeout=LATE_SECONDS)
        return [task.result() if task.done() else _http.Unreachable("no answer") for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _asked_pages(get: Get, path: str) -> Any:
    """All pages' ``data`` of a list in Firefly's form, or the exception that came instead."""
    found: list[Any] = []
    for page in range(1, _PAGES + 1):
        answer = await _asked(get, f"{path}&{urlencode({'limit': _PAGE, 'page': page})}")
        if isinstance(answer, Exception):
            return answer
        data = answer.get("data") if isinstance(answer, Mapping) else None
        if not isinstance(data, list) or not all(isinstance(entry, Mapping) for entry in data):
            return money.Bad("unexpected answer")
        found += data
        try:
            pages = int(answer["meta"]["pagination"]["total_pages"])
        except (KeyError, TypeError, ValueError):
            pages = 1
        if page >= pages:
            return found
    return money.Bad(f"over {_PAGES} pages")


def _part(finances: money.Finances, name: str, answer: Any, take: Callable[[Any], None]) -> None:
    if isinstance(answer, money.NotFinite):
        raise answer
    if isinstance(answer, Exception):
        finances.problems.append(f"{name}: {answer}")
        return
    try:
        take(answer)
    except (money.Bad, _http.Unreachable) as error:
        finances.problems.append(f"{name}: {error}")
    except (KeyError, TypeError, AttributeError):
        finances.problems.append(f"{name}: unexpected answer")


def _firefly_summary(given: Any, finances: money.Finances) -> None:
    """``earned-in-EUR`` and ``spent-in-EUR`` hold the month's sums, one of each a currency; they are not added."""
    if not isinstance(given, Mapping):
        raise money.Bad("unexpected answer")
    currencies = sorted({key.rpartition("-")[2] for key in given if key.startswith(("earned-in-", "spent-in-"))})
    if not currencies:
        raise money.Bad("no income and no expenses in it")
    wanted = finances.currency
    if wanted is None and len(currencies) > 1:
        raise money.Bad(f"several currencies ({', '.join(currencies)}): set [finance] currency")
    currency = wanted or currencies[0]
    if currency not in currencies:
        raise money.Bad(f"nothing in {currency}")
    if others := [name for name in currencies if name != currency]:
        finances.problems.append(f"not added: {', '.join(others)}")
    earned, spent = (_firefly_value(given.get(f"{name}-in-{currency}"), name) for name in ("earned", "spent"))
    finances.income, finances.expenses = earned, abs(spent)
    finances.balance, finances.currency = earned - abs(spent), currency


def _firefly_value(entry: Any, name: str) -> Decimal:
    return money.amount(entry["monetary_value"], name) if isinstance(entry, Mapping) else Decimal(0)


def _firefly_budgets(listed: list[Any], limits: list[Any], warning: float) -> list[dict[str, Any]]:
    names = {str(entry.get("id")): entry["attributes"]["name"] for entry in listed}
    found = []
    for entry in limits:
        about = entry["attributes"]
        name = money.text(names.get(str(about.get("budget_id"))), "the budget's name")
        spent = about.get("spent")
        if isinstance(spent, list):
            code = about.get("currency_code")
            parts = [part for part in spent if part.get("currency_code") in (code, None)]
            used = sum((abs(money.amount(part["sum"], name)) for part in parts), Decimal(0))
        else:
            used = abs(money.amount(spent if spent is not None else 0, name))
        found.append(money.budget(name, money.amount(about["amount"], name), used, warning))
    return found


def _firefly_bill(bill: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A bill's dates in the window that are not paid yet; its amount is the most it may be."""
    about = bill["attributes"]
    if about.get("active") is False:
        return []
    paid = len(about.get("paid_dates") or [])
    dates = sorted(str(day)[:10] for day in about.get("pay_dates") or [])
    base = {"desc": about["name"], "amount": about["amount_max"], "currency": about.get("currency_code")}
    return [base | {"due": day} for day in dates[paid:]]
