"""Retry-After and Aria-Backoff in all their forms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aria_tui.hub._retry_after import parse_backoff, parse_http_date
from aria_tui.hub.client import HubClient, parse_retry_after
from tests.helpers.fuzz import EXAMPLES
from tests.hub.client.conftest import Connect
from tests.hub.client.servers import answer, problem, serving

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.case("H04")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("007", 7.0),
        ("3600", 3600.0),
        ("7200", 3600.0),
        ("2147483647", 3600.0),
        ("Mon, 30 Nov 2026 12:01:30 GMT", 90.0),
        ("Mon, 30 Nov 2026 12:01:30 UTC", 90.0),
        ("Mon, 30 Nov 2026 12:01:30 +0000", 90.0),
        ("Monday, 30-Nov-26 12:01:30 GMT", 90.0),
        ("Mon Nov 30 12:01:30 2026", 90.0),
        ("Tue Dec  1 12:00:00 2026", 3600.0),
        ("Mon, 30 Nov 2026 12:00:60 GMT", 59.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("Fri, 30 Nov 2029 12:00:00 GMT", 3600.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
    ],
)
def test_what_makes_sense(value: str, seconds: float) -> None:
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.case("H04")
@pytest.mark.parametrize(
    "value",
    [
        None, "", "-5", "+5", "1.5", "1e3", "inf", "nan", "Infinity", "soon", "120 s", "0x10", "1_000", "١٢٠",
        "120, 60",
        "99999999999999999999", "2147483648", "9" * 5000, "Wed, 21 Oct 99999 07:28:00 GMT",
        "Tue, 31 Feb 2026 07:28:00 GMT",
        "Mon, 30 Nov 2026 12:01:30 -0000", "Mon, 30 Nov 2026 12:01:30", "Mon, 30 Nov 2026 25:01:30 GMT",
        "Mon, 30 Nov 2026 12:01:30 PST", "2026-11-30T12:01:30Z", "Mon, 30 Foo 2026 12:01:30 GMT",
        "Mon, 30 Nov 0000 12:01:30 GMT",
    ],
)  # fmt: skip
def test_junk(value: str | None) -> None:
    assert parse_retry_after(value, NOW) is None


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text())
@example("0\x1f")
def test_no_text_raises_or_waits_over_an_hour(value: str) -> None:
    seconds = parse_retry_after(value, NOW)
    assert seconds is None or 0 <= seconds <= 3600
    backoff = parse_backoff(value)
    assert backoff is None or 0 < backoff <= 3600


@given(st.integers(0, 3600))
def test_a_date_is_its_distance(seconds: int) -> None:
    assert parse_retry_after(format_datetime(NOW + timedelta(seconds=seconds), usegmt=True), NOW) == seconds


def test_two_digit_years_are_at_most_fifty_years_ahead() -> None:
    assert parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT", NOW) == datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
    assert parse_http_date("Sunday, 06-Nov-70 08:49:37 GMT", NOW) == datetime(2070, 11, 6, 8, 49, 37, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2", 2.0), ("0.5", 0.5), ("99999", 3600.0), ("0", None), ("-1", None), ("nan", None), ("inf", None), ("", None)],
)
def test_backoff(value: str, seconds: float | None) -> None:
    assert parse_backoff(value) == seconds


async def ask(client: HubClient) -> Any:
    return await client.send_batch([b'{"op_id":"op-1"}'], ["op-1"], client_id="me", timeout=5)


@pytest.mark.case("H04")
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        ("120", None, 120.0),
        ("Mon, 30 Nov 2026 12:01:30 GMT", None, 90.0),
        # the server's clock is an hour behind ours: its own Date counts
        ("Mon, 30 Nov 2026 11:01:30 GMT", "Mon, 30 Nov 2026 11:00:00 GMT", 90.0),
        ("Mon, 30 Nov 2026 12:01:30 GMT", "yesterday", 90.0),
        ("nan", None, None),
        ("99999999999999999999", None, None),
    ],
)
async def test_on_the_wire(status: int, value: str, date: str | None, seconds: float | None) -> None:
    from aria_tui.config import HubConfig

    headers = {"Retry_After": value} | ({"Date": date} if date else {})
    async with serving(answer(status, b"", hub_id=None, **headers)) as server:
        client = HubClient(HubConfig(url=server.url), now=lambda: NOW)
        outcome = await ask(client)
        probe = await client.probe(5)
        await client.aclose()
    assert (outcome.kind, outcome.wait_s) == ("wait", seconds)
    assert (probe.state, probe.wait_s) == ("offline", seconds)


async def test_a_409_may_ask_to_wait_too(connect: Connect) -> None:
    data = problem(409, "in-progress").replace(b"\r\n", b"\r\nRetry-After: 3\r\n", 1)
    async with serving(data) as server:
        outcome = await ask(connect(server.url))
    assert (outcome.kind, outcome.wait_s) == ("refused", 3.0)
