"""Where and when the user is: the zone, by configuration or by the system, and the words for the hour."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

Period = Literal["morning", "afternoon", "evening"]
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def zone_of(
    configured: str, environ: Mapping[str, str] | None = None, *, localtime: Path = Path("/etc/localtime")
) -> tuple[ZoneInfo, str]:
    """The user's zone and, where the configured one can't be used, why. Never raises.

    Order: configuration, ``TZ``, the link ``/etc/localtime``, ``/etc/timezone``, UTC.
    """
    environ = os.environ if environ is None else environ
    problem = ""
    if configured:
        if zone := _zone(configured):
            return zone, ""
        problem = f"[briefing] timezone: no such zone: {configured}"
    given = environ.get("TZ", "").lstrip(":")
    if zone := _zone(given) or _zone(_whole_hours(given)):
        return zone, problem
    try:
        _, found, name = str(localtime.resolve()).rpartition("/zoneinfo/")
        if found and (zone := _zone(name)):
            return zone, problem
        if zone := _zone((localtime.parent / "timezone").read_text(encoding="utf-8").strip()):
            return zone, problem
    except (OSError, UnicodeDecodeError, RuntimeError):
        pass
    return ZoneInfo("UTC"), problem


def period_of(now: datetime) -> Period:
    """Morning from 05 to 12, afternoon from 12 to 18, evening else (briefing.md, "Context")."""
    return "morning" if 5 <= now.hour < 12 else "afternoon" if 12 <= now.hour < 18 else "evening"


def _whole_hours(text: str) -> str:
    """The zone's name of ``UTC+3`` or ``<-03>3`` (POSIX: hours west of Greenwich, as ``Etc/GMT+3`` counts them)."""
    found = re.fullmatch(r"(?:<[\w+-]{3,}>|[A-Za-z]{3,})([+-]?)(\d{1,2})(?::?00)?", text)
    return f"Etc/GMT{found[1] or '+'}{int(found[2])}" if found else ""


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):
        return None
