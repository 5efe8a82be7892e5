"""Finance: the month so far, budgets that run out, payments that are due; from one of four kinds of books."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from aria_tui.config import Config
from aria_tui.models import Alert, AlertLevel, Section
from aria_tui.sources import Moment
from aria_tui.sources import _finance_money as money

_SHARE = 0.95
"""Of the deadline, for asking: what came in time is shown though something else did not."""


class FinanceSource:
    name = "finance"

    def __init__(self, config: Config, *, home: Path, environ: Mapping[str, str] | None = None) -> None:
        self._config = config.finance
        self._environ = os.environ if environ is None else environ

    async def gather(self, when: Moment, deadline: float) -> Section:
        if not self._config.kind:
            reason = 'set [finance] kind = "http", "file", "hledger" or "firefly"'
            return Section(name=self.name, state="not_configured", reason=reason)
        try:
            finances = await self._read(when, deadline * _SHARE)
        except (money.Bad, money.NotFinite) as error:
            return Section(name=self.name, state="unavailable", reason=str(error))
        return _section(finances, when)

    async def _read(self, when: Moment, deadline: float) -> money.Finances:
        match self._config.kind:
            case "http":
                from aria_tui.sources import _finance_http

                return await _finance_http.local(self._config, when, deadline)
            case "firefly":
                from aria_tui.sources import _finance_http

                return await _finance_http.firefly(self._config, when, deadline)
            case "hledger":
                from aria_tui.sources import _finance_hledger

                return await _finance_hledger.read(self._config, when, deadline, self._environ)
        from aria_tui.sources import _finance_file

        return _finance_file.read(self._config, when)


def _section(finances: money.Finances, when: Moment) -> Section:
    reason = "; ".join(finances.problems)
    if not finances.known:
        return Section(name="finance", state="unavailable", reason=reason)
    figures = {"income": finances.income, "expenses": finances.expenses, "balance": finances.balance}
    data = {
        "month": finances.month,
        "currency": finances.currency,
        **{name: None if value is None else money.written(value) for name, value in figures.items()},
        "budgets": finances.budgets,
        "due": finances.due,
    }
    state = "partial" if finances.problems else "ok"
    alerts: tuple[Alert, ...] = ()
    if finances.month not in (None, f"{when.now:%Y-%m}"):
        state = "stale"
        reason = "; ".join([f"summary of {finances.month}", *finances.problems])
    else:
        alerts = tuple(_alert(one, finances.currency) for one in finances.budgets or [] if one["level"] != "ok")
    return Section(name="finance", state=state, reason=reason, data=data, alerts=alerts)  # type: ignore[arg-type]


def _alert(entry: Mapping[str, object], currency: str | None) -> Alert:
    level: AlertLevel = "critical" if entry["level"] == "critical" else "warning"
    text = f"{entry['category']} budget at {entry['percent']} %"
    if entry["percent"] is None:
        amount = f"{entry['spent']} {currency}" if currency else entry["spent"]
        text = f"{entry['category']}: {amount} spent without a budget"
    return Alert(level=level, source="finance", text=text)
