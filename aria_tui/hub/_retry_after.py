"""How long a server asks to be left alone: ``Retry-After`` (RFC 9110, section 10.2.3) and ``Aria-Backoff``."""

from __future__ import annotations

import re
from datetime import UTC, datetime

LONGEST = 3600.0
"""No wait is longer than an hour (queue.md)."""
_OVERFLOW = 2**31
"""RFC 9111, section 1.2.2: what delta-seconds can't go beyond; more than that is nonsense."""

_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_DATES = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"[A-Z][a-z]{{2}}, (?P<day>\d\d) {_MONTH} (?P<year>\d{{4}}) {_CLOCK} (?:GMT|UTC|\+0000)",  # IMF-fixdate
        rf"[A-Z][a-z]{{5,8}}, (?P<day>\d\d)-{_MONTH}-(?P<year>\d\d) {_CLOCK} GMT",  # RFC 850
        rf"[A-Z][a-z]{{2}} {_MONTH} (?P<day>[ \d]\d) {_CLOCK} (?P<year>\d{{4}})",  # asctime
    )
)


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds to wait, at most an hour; None for no header and for junk.

    ``now`` is the moment that a date is measured from: best the answer's own ``Date``, so that a wrong clock on this
    machine does no harm. A date that has gone by is 0.
    """
    if value is None:
        return None
    value = value.strip()
    if re.fullmatch(r"\d+", value, re.ASCII):
        seconds = int(value) if len(value) <= 10 else _OVERFLOW
        return min(float(seconds), LONGEST) if seconds < _OVERFLOW else None
    moment = parse_http_date(value, now)
    return None if moment is None else min(max((moment - now).total_seconds(), 0.0), LONGEST)


def parse_http_date(value: str | None, now: datetime) -> datetime | None:
    """An HTTP date (RFC 9110, section 5.6.7) in any of its three forms, or None. ``now`` settles two-digit years."""
    for form in _DATES:
        if found := form.fullmatch((value or "").strip()):
            part = found.groupdict()
            year = int(part["year"])
            if len(part["year"]) == 2:  # over 50 years ahead means the past century (RFC 9110, section 5.6.7)
                year += now.year // 100 * 100
                year -= 100 if year > now.year + 50 else 0
            day, hour, minute = int(part["day"]), int(part["hour"]), int(part["minute"])
            second = min(int(part["second"]), 59)  # a leap second
            try:
                return datetime(year, _MONTHS[part["month"]], day, hour, minute, second, tzinfo=UTC)
            except ValueError:
                return None
    return None


def parse_backoff(value: str | None) -> float | None:
    """``Aria-Backoff: SECONDS``, which may have a fraction; at most an hour; None for none, zero and junk."""
    value = (value or "").strip()
    if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value, re.ASCII):
        return None
    return min(float(value), LONGEST) or None
