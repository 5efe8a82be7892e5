"""Money is exact or it is not shown; a book with a mistake says where; each part of a service fails alone."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aria_tui._briefing_lines import flows
from aria_tui.config import parse
from aria_tui.models import Section
from aria_tui.sources import Moment
from aria_tui.sources import _finance_money as money
from aria_tui.sources.finance import FinanceSource
from tests.helpers.aria import Aria
from tests.sources.service import Request, Service

PLACE = ZoneInfo("America/Fortaleza")
PROMISED = 2.0
"""Seconds within which a book with a mistake is told of."""
needs_hledger = pytest.mark.skipif(shutil.which("hledger") is None, reason="hledger is not installed")


def at(text: str = "2026-11-30T08:00") -> Moment:
    return Moment(now=datetime.fromisoformat(text).replace(tzinfo=PLACE), zone=PLACE)


async def finance(settings: str, *, when: Moment | None = None, deadline: float = 5.0) -> Section:
    source = FinanceSource(parse(f"[finance]\n{settings}"), home=Path("/nonexistent"))
    return await source.gather(when or at(), deadline)


SUMMARY = {"receita": 3200, "despesa": "1100.00", "saldo": 2100.0, "month": "2026-11", "currency": "BRL"}
BUDGETS = {
    "categories": [
        {"category": "Software", "limit": 100, "spent": 82},
        {"category": "Exactly", "limit": 100, "spent": 80},
        {"category": "Nearly", "limit": 100, "spent": "99.99"},
        {"category": "Full", "limit": 100, "spent": 100},
        {"category": "None", "limit": 0, "spent": 1},
    ]
}
UPCOMING = {
    "upcoming": [
        {"desc": "Neon DB", "amount": 19, "due": "2026-12-03", "currency": "USD"},
        {"desc": "Today", "amount": 1, "due": 30},
        {"desc": "Last day", "amount": 2, "due": 31},
        {"desc": "Fifth", "amount": 3, "due": "2026-12-05"},
        {"desc": "Sixth", "amount": 3, "due": "2026-12-06"},
        {"desc": "Gone", "amount": 3, "due": "2026-11-29"},
        {"desc": "Paid", "amount": 3, "due": "2026-12-01", "paid": True},
    ]
}


async def test_the_local_service_whole(service: Service) -> None:
    service.answers |= {"/api/summary": SUMMARY, "/api/budget": BUDGETS, "/api/recurring?days=5": UPCOMING}
    section = await finance(f'kind = "http"\nurl = "{service.url}"\ntoken = "s3cr3t-token"')
    assert (section.state, section.reason) == ("ok", "")
    data = section.data
    assert (data["month"], data["currency"]) == ("2026-11", "BRL")
    assert (data["income"], data["expenses"], data["balance"]) == ("3200.00", "1100.00", "2100.00")
    levels = {entry["category"]: (entry["percent"], entry["level"]) for entry in data["budgets"]}
    assert levels == {
        "Software": (82, "warning"),
        "Exactly": (80, "ok"),
        "Nearly": (99.9, "warning"),
        "Full": (100, "critical"),
        "None": (None, "critical"),
    }
    assert [(item["description"], item["due"], item["currency"]) for item in data["due"]] == [
        ("Last day", "2026-11-30", "BRL"),
        ("Today", "2026-11-30", "BRL"),
        ("Neon DB", "2026-12-03", "USD"),
        ("Fifth", "2026-12-05", "BRL"),
    ]
    alerts = [alert.text for alert in section.alerts]
    assert "Software budget at 82 %" in alerts and "None: 1.00 BRL spent without a budget" in alerts
    assert {request.headers["authorization"] for request in service.requests} == {"Bearer s3cr3t-token"}


async def test_a_summary_of_another_month_is_stale_and_says_which(service: Service) -> None:
    service.answers |= {"/api/summary": SUMMARY | {"month": "2026-10"}, "/api/budget": BUDGETS}
    service.answers |= {"/api/recurring?days=5": UPCOMING}
    section = await finance(f'kind = "http"\nurl = "{service.url}"')
    assert (section.state, section.reason) == ("stale", "summary of 2026-10")
    assert section.alerts == ()


@pytest.mark.case("F02")
async def test_one_part_fails_and_the_others_are_shown(service: Service) -> None:
    service.answers |= {"/api/summary": SUMMARY, "/api/recurring?days=5": UPCOMING}
    service.statuses["/api/budget"] = 500
    section = await finance(f'kind = "http"\nurl = "{service.url}"')
    assert (section.state, section.reason) == ("partial", "budgets: HTTP 500")
    assert section.data["balance"] == "2100.00"
    assert section.data["budgets"] is None


def cut(_: Request) -> bytes:
    return b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"categories": ['


@pytest.mark.case("F02")
@pytest.mark.parametrize(
    ("answer", "status", "hangs", "reason"),
    [
        (b"", 500, False, "budgets: HTTP 500"),
        (BUDGETS, 200, True, "budgets: no answer"),
        (b"<html>login", 200, False, "budgets: unexpected answer (not JSON)"),
        (cut, 200, False, "budgets: "),
        ({"categories": [{"category": "x", "limit": "1.234,56", "spent": 1}]}, 200, False, "budgets: "),
    ],
)
async def test_a_whole_summary_and_budgets_that_fail_are_partial_in_time(
    service: Service, answer: Any, status: int, hangs: bool, reason: str
) -> None:
    service.answers |= {"/api/summary": SUMMARY, "/api/budget": answer, "/api/recurring?days=5": UPCOMING}
    service.statuses["/api/budget"] = status
    service.hangs = {"/api/budget"} if hangs else set()
    began = time.monotonic()
    section = await finance(f'kind = "http"\nurl = "{service.url}"')
    assert time.monotonic() - began < PROMISED
    assert section.state == "partial" and section.reason.startswith(reason) and section.reason != "budgets: "
    assert (section.data["balance"], section.data["budgets"]) == ("2100.00", None)
    assert [item["description"] for item in section.data["due"]] == ["Last day", "Today", "Neon DB", "Fifth"]


@pytest.mark.case("F01")
@pytest.mark.parametrize("number", ["NaN", "1e309", "Infinity", "-1e400", '"nan"', '"1e309"', '"9999999999999999"'])
@pytest.mark.parametrize("place", ["/api/summary", "/api/budget", "/api/recurring?days=5"])
async def test_what_is_no_number_makes_the_section_unavailable(service: Service, number: str, place: str) -> None:
    bodies = {"/api/summary": SUMMARY, "/api/budget": BUDGETS, "/api/recurring?days=5": UPCOMING}
    service.answers |= bodies
    odd = json.dumps(bodies[place]).replace("82}", "@}").replace("2100.0", "@").replace('"amount": 19', '"amount": @')
    service.answers[place] = odd.replace("@", number).encode()
    section = await finance(f'kind = "http"\nurl = "{service.url}"')
    assert section.state == "unavailable"
    assert section.data == {}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>login", "summary: unexpected answer (not JSON)"),
        (b"[]", "summary: the summary is not an object"),
        (b"{}", "summary: income is missing"),
        (b'{"income": "1e3", "expenses": 1, "balance": 1, "month": "2026-11"}', "summary: income is not an amount"),
        (
            b'{"income": "1.234,56", "expenses": 1, "balance": 1, "month": "2026-11"}',
            "summary: income is not an amount",
        ),
        (b'{"income": true, "expenses": 1, "balance": 1, "month": "2026-11"}', "summary: income is not an amount"),
        (b'{"income": 1, "expenses": 1, "balance": 1, "month": "november"}', "summary: month is not YYYY-MM"),
    ],
)
async def test_a_bad_summary_is_said(service: Service, body: bytes, reason: str) -> None:
    service.answers |= {"/api/summary": body, "/api/budget": BUDGETS, "/api/recurring?days=5": UPCOMING}
    section = await finance(f'kind = "http"\nurl = "{service.url}"')
    assert section.state == "partial"
    assert section.reason.startswith(reason)


async def test_a_service_that_is_away_or_never_answers(service: Service) -> None:
    service.hang = True
    section = await finance(f'kind = "http"\nurl = "{service.url}"', deadline=0.3)
    assert (section.state, section.reason) == (
        "unavailable",
        "summary: no answer; budgets: no answer; recurring: no answer",
    )
    await service.close()
    section = await finance(f'kind = "http"\nurl = "{service.url}"')
    assert section.state == "unavailable"
    assert section.reason.startswith("summary: connection refused")


@pytest.mark.case("F01")
def test_a_tenth_and_two_tenths_are_three_tenths() -> None:
    total = money.amount("0.10", "a") + money.amount(money.read_json(b"0.20"), "b")
    assert total == Decimal("0.30")
    assert money.written(total) == "0.30"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12))
def test_money_as_text_is_the_same_money(value: Decimal) -> None:
    written = money.written(value)
    assert Decimal(written) == value
    assert "E" not in written and "." in written


@pytest.mark.parametrize(
    ("due", "today", "wanted"),
    [
        (31, "2026-11-30", "2026-11-30"),
        (31, "2026-02-27", "2026-02-28"),
        (30, "2028-02-29", "2028-02-29"),
        (1, "2026-12-31", "2027-01-01"),
        ("15", "2026-11-16", "2026-12-15"),
        ("2026-12-01", "2026-11-30", "2026-12-01"),
        (datetime(2026, 12, 3, 22), "2026-11-30", "2026-12-03"),
    ],
)
def test_when_a_payment_is_due(due: Any, today: str, wanted: str) -> None:
    assert money.due_date(due, date.fromisoformat(today)) == date.fromisoformat(wanted)


@pytest.mark.parametrize("due", [0, 32, "soon", None, True, "2026-13-01", 1.5])
def test_a_due_day_that_is_none_is_an_error(due: Any) -> None:
    with pytest.raises(money.Bad):
        money.due_date(due, date(2026, 11, 30))


BY_HAND = """currency = "BRL"

[[recurring]]
desc = "Neon DB"
amount = "19.00"
due = 3
currency = "USD"

[[budgets]]
category = "Software"
limit = 100
spent = 82.5
"""


async def test_finance_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "finance.toml"
    file.write_text(BY_HAND)
    section = await finance(f'kind = "file"\npath = "{file}"')
    assert (section.state, section.reason) == ("ok", "")
    assert section.data["due"] == [
        {"description": "Neon DB", "amount": "19.00", "currency": "USD", "due": "2026-12-03"}
    ]
    assert section.data["budgets"][0]["percent"] == 82.5
    assert section.data["balance"] is None


@pytest.mark.case("F02")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("spent =", "spend =", ":12: unknown key 'spend' (did you mean 'spent'?)"),
        ('currency = "BRL"', 'curency = "BRL"', ":1: unknown key 'curency' (did you mean 'currency'?)"),
        ("spent = 82.5", 'spent = 82.5\ncurrency = "USD"', ":13: unknown key 'currency' (known here: category, "),
        ("due = 3", "due = 40", "Neon DB: due is no day of a month: 40"),
        ("due = 3", "", "Neon DB: due is missing"),
        ("82.5", "1.000", ":12: 1.000 can be read in two ways"),
        ("82.5", "nan", "not a finite amount"),
        ('"19.00"', '"1.234,56"', "amount is not an amount with a decimal point"),
        ("limit = 100", "limit = ", ":11: is not TOML"),
    ],
)
async def test_a_mistake_in_the_file_is_named_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "finance.toml"
    file.write_text(BY_HAND.replace(old, new))
    section = await finance(f'kind = "file"\npath = "{file}"')
    assert section.state == "unavailable"
    assert said in section.reason


async def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    section = await finance(f'kind = "file"\npath = "{tmp_path}/none.toml"')
    assert (section.state, section.reason) == ("unavailable", f"{tmp_path}/none.toml: No such file or directory")


JOURNAL = """commodity R$ 1.000,00
~ monthly
  expenses:software  R$ 100,00
  assets
~ every 3rd day of month  Neon DB
  expenses:software  R$ 19,00
  assets

2026-11-01 market
  expenses:food  R$ 1.234,56
  assets
2026-11-02 salary
  income:job  R$ -5.000,00
  assets
2026-11-03 tools
  expenses:software  R$ 110,00
  assets
"""


@needs_hledger
async def test_a_journal(tmp_path: Path) -> None:
    file = tmp_path / "a.journal"
    file.write_text(JOURNAL)
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    assert (section.state, section.reason) == ("ok", "")
    data = section.data
    assert (data["currency"], data["income"], data["expenses"], data["balance"]) == (
        "BRL", "5000.00", "1344.56", "3655.44",
    )  # fmt: skip
    software = next(entry for entry in data["budgets"] if entry["category"] == "software")
    assert (software["spent"], software["level"]) == ("110.00", "warning")
    assert data["due"] == [{"description": "Neon DB", "amount": "19.00", "currency": "BRL", "due": "2026-12-03"}]


@pytest.mark.case("F01")
@needs_hledger
@pytest.mark.parametrize(("style", "written"), [("R$ 1.000,00", "R$ 1.234,56"), ("$1,000.00", "$1,234.56")])
async def test_a_declared_style_is_read_as_it_says(tmp_path: Path, style: str, written: str) -> None:
    file = tmp_path / "a.journal"
    file.write_text(f"commodity {style}\n2026-11-01 x\n  expenses:food  {written}\n  assets\n")
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    assert (section.state, section.data["expenses"]) == ("ok", "1234.56")


@pytest.mark.case("F01")
@needs_hledger
async def test_an_amount_that_can_be_read_in_two_ways_is_flagged(tmp_path: Path) -> None:
    file = tmp_path / "a.journal"
    file.write_text("2026-11-01 x\n  expenses:food  R$ 1.000\n  assets\n")
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    assert section.state == "partial"
    assert section.reason == f"{file}:2: 1.000 can be read in two ways (declare its commodity)"
    file.write_text("commodity R$ 1.000,00\n2026-11-01 x\n  expenses:food  R$ 1.000\n  assets\n")
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    assert (section.state, section.data["expenses"]) == ("ok", "1000.00")


@pytest.mark.case("F01")
@needs_hledger
async def test_currencies_are_never_added(tmp_path: Path) -> None:
    file = tmp_path / "a.journal"
    file.write_text("2026-11-01 x\n  expenses:food  10.50 EUR\n  expenses:food  $4.25\n  assets\n")
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    assert section.state == "partial"
    assert section.reason == "several currencies ($, EUR): set [finance] currency"
    assert section.data["expenses"] is None
    section = await finance(f'kind = "hledger"\npath = "{file}"\ncurrency = "EUR"')
    assert (section.state, section.reason, section.data["expenses"]) == ("partial", "not added: $", "10.50")


@pytest.mark.case("F01")
@needs_hledger
async def test_accounts_of_other_names_are_not_taken_for_zero(tmp_path: Path) -> None:
    file = tmp_path / "a.journal"
    file.write_text("2026-11-01 x\n  despesas:casa  10.50 EUR\n  ativos\n2026-11-02 y\n  income  -1 EUR\n  assets\n")
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    said = "no account named expenses (there are: ativos, despesas): set [finance] income and expenses"
    assert (section.state, section.reason) == ("partial", said)
    assert (section.data["income"], section.data["expenses"], section.data["balance"]) == ("1.00", None, None)
    assert flows(section.data) == "€ 1 in", "what is known is told, and nothing is guessed"
    section = await finance(f'kind = "hledger"\npath = "{file}"\nexpenses = "despesas"')
    assert (section.state, section.data["income"], section.data["expenses"]) == ("ok", "1.00", "10.50")
    file.write_text("2026-11-01 x\n  assets  10.50 EUR\n  equity\n")
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    assert (section.state, section.data["income"], section.data["expenses"]) == ("ok", "0.00", "0.00")


@pytest.mark.case("F02")
@needs_hledger
@pytest.mark.parametrize(
    ("journal", "place", "said"),
    [
        ("2026-11-01 x\n  a  7\n  b\n\n2026-11-02 y\n  a  7.00\n  b  -5.00\n", "(lines 5-7)", "could not balance"),
        ("include *.journal\n", ":1:", "Cyclic include"),
        ("include b.journal\n", "b.journal:1:", "Cyclic include"),
        ("include sub/c.journal\n", 'c.journal" (lines 1-3)', "could not balance"),
        ("include .\n", ":1:", "directory"),
        ("2026-13-45 x\n  a  1\n  b\n", ":1:1:", "invalid date"),
        ("2026-11-01 x\na  1\n", ":2:1:", "unexpected"),
        ("2026-11-01 x\n  a  7.00\n  b  -5.00\n", "(lines 1-3)", "could not balance"),
        ("include nope.journal\n", ":1:", "nope.journal"),
        ("2026-11-01 x\n  a  7.00 = 8.00\n  b\n", "(line 2, column 11)", "balance assertion"),
        ("include a.journal\n", ":1:", "include"),
    ],
)
async def test_a_journal_with_a_mistake_says_it_in_hledgers_words(
    tmp_path: Path, journal: str, place: str, said: str
) -> None:
    file = tmp_path / "a.journal"
    file.write_text(journal)
    (tmp_path / "b.journal").write_text("include a.journal\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.journal").write_text("2026-11-01 x\n  a  7.00\n  b  -5.00\n")
    began = time.monotonic()
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    assert time.monotonic() - began < PROMISED
    assert section.state == "unavailable"
    assert str(tmp_path) in section.reason and place in section.reason and said in section.reason


@pytest.mark.case("F02")
@needs_hledger
async def test_a_pipe_among_the_journal_s_files_is_said_and_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "a.journal"
    file.write_text("include f.journal\n2026-11-01 x\n  expenses:food  7.00\n  assets\n")
    os.mkfifo(tmp_path / "f.journal")
    began = time.monotonic()
    section = await finance(f'kind = "hledger"\npath = "{file}"')
    assert time.monotonic() - began < PROMISED
    assert section.state == "partial" and section.data["expenses"] == "7.00"
    assert section.reason == f"{tmp_path}/f.journal: its amounts can't be checked: not a file"


@pytest.mark.case("F02")
@needs_hledger
def test_the_program_shows_the_mistake_and_never_a_blank(make_aria: Callable[[str], Aria], tmp_path: Path) -> None:
    """The case's own books, each in a briefing of its own, all at once."""
    file = tmp_path / "books"
    books = {
        "unbalanced": ("hledger", "2026-11-01 x\n  a  7.00\n  b  -5.00\n", "(lines 1-3)"),
        "missing": ("hledger", "include nope.journal\n", "missing:1:"),
        "assertion": ("hledger", "2026-11-01 x\n  a  7.00 = 8.00\n  b\n", "(line 2, column 11)"),
        "itself": ("hledger", "include itself\n", "itself:1:"),
        "unknown-key": ("file", 'currency = "BRL"\nbalanse = 3\n', "unknown-key:2: unknown key 'balanse'"),
    }
    file.mkdir()
    runs = {}
    for name, (kind, text, _) in books.items():
        (file / name).write_text(text)
        aria = make_aria(name)
        aria.home.mkdir()
        (aria.home / "config.toml").write_text(f'[finance]\nkind = "{kind}"\npath = "{file / name}"\n')
        runs[name] = aria.start("briefing", "--no-store")
    for name, (_, _, place) in books.items():
        shown = " ".join(runs[name].wait().ok().out.split())
        said = shown.partition("Finance unavailable: ")[2]
        assert f"{file}/{name}" in said and place in said, (name, shown)


@pytest.mark.case("F02")
@pytest.mark.parametrize("mistake", ["spent =", "[[budgets]]", "\x00", "currency = 3"])
async def test_a_file_with_a_mistake_ends_in_time(tmp_path: Path, mistake: str) -> None:
    file = tmp_path / "finance.toml"
    file.write_text(BY_HAND + mistake + "\n")
    began = time.monotonic()
    section = await finance(f'kind = "file"\npath = "{file}"')
    assert time.monotonic() - began < PROMISED
    assert section.state == "unavailable" and section.reason.startswith(f"{file}"), section.reason


@needs_hledger
async def test_a_journal_that_is_not_there_and_no_hledger(tmp_path: Path) -> None:
    section = await finance(f'kind = "hledger"\npath = "{tmp_path}/none"')
    assert section.state == "unavailable" and "was not found" in section.reason
    source = FinanceSource(
        parse(f'[finance]\nkind = "hledger"\npath = "{tmp_path}/none"'), home=tmp_path, environ={"PATH": ""}
    )
    section = await source.gather(at(), 5)
    assert "hledger" in section.reason


async def test_firefly(service: Service) -> None:
    month = "start=2026-11-01&end=2026-11-30"
    service.answers |= {
        f"/api/v1/summary/basic?{month}": {
            "earned-in-EUR": {"monetary_value": "3200.00", "currency_code": "EUR"},
            "spent-in-EUR": {"monetary_value": "-1100.50", "currency_code": "EUR"},
        },
        f"/api/v1/budgets?{month}&limit=100&page=1": {"data": [{"id": "7", "attributes": {"name": "Software"}}]},
        f"/api/v1/budget-limits?{month}&limit=100&page=1": {
            "data": [
                {"attributes": {"budget_id": "7", "amount": "100.00", "spent": "-82.00", "currency_code": "EUR"}}
            ],
            "meta": {"pagination": {"total_pages": 1}},
        },
        "/api/v1/bills?start=2026-11-30&end=2026-12-05&limit=100&page=1": {
            "data": [
                {"attributes": {"name": "Rent", "amount_max": "900", "currency_code": "EUR", "active": True,
                                "pay_dates": ["2026-12-01T00:00:00+00:00"], "paid_dates": []}},
                {"attributes": {"name": "Net", "amount_max": "30", "currency_code": "EUR", "active": True,
                                "pay_dates": ["2026-12-02"], "paid_dates": [{"date": "2026-12-02"}]}},
            ]
        },
    }  # fmt: skip
    section = await finance(f'kind = "firefly"\nurl = "{service.url}"\ntoken_command = "echo s3cr3t-token"')
    assert (section.state, section.reason) == ("ok", "")
    assert (section.data["income"], section.data["expenses"]) == ("3200.00", "1100.50")
    assert section.data["budgets"][0]["percent"] == 82
    assert [item["description"] for item in section.data["due"]] == ["Rent"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["income", "categories", "upcoming", "month", "due", "amount"]) | st.text(), inner
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_read_or_refused(value: Any) -> None:
    body = json.dumps(value).encode()
    for read in (
        lambda given: money.summary(given, money.Finances()),
        lambda given: money.budgets(given, 80),
        lambda given: money.payments(given if isinstance(given, list) else [given], date(2026, 11, 30), 5, None),
    ):
        try:
            read(money.read_json(body))
        except (money.Bad, money.NotFinite):
            continue
