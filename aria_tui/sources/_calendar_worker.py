"""Reads calendars and gives two days of events. Runs in a process of its own (``_child``): a rule may take for ever.

Text first: a calendar is cut into its events without a library, so that one that can't be read costs itself, and one
that is far from the wanted days costs nothing. What is left goes through ``icalendar`` and ``recurring_ical_events``,
one series at a time, each under an alarm clock.
"""

from __future__ import annotations

import base64
import os
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from aria_tui.sources import _calendar_series as series
from aria_tui.sources._calendar_text import NotACalendar, Parts, split
from aria_tui.sources._calendar_zones import Zones
from aria_tui.sources._files import NotReadable, read_regular

BYTES = 20 * 1024 * 1024
_FILES = 20_000


def run(*, body: str | None, path: str | None, days: list[str], zone: str) -> dict[str, Any]:
    """Events of ``body`` (base64) or of the folder at ``path``, for each of ``days``.

    ``{"days": [[event, …], …], "unreadable": n, "too_large": n}``, or ``{"problem": why}`` when it is no calendar.
    Events are ``{"start", "end", "all_day", "summary", "note"?}``, times with their offset from UTC.
    """
    place = ZoneInfo(zone)
    wanted = [date.fromisoformat(day) for day in days]
    reading = series.Reading(wanted, place)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a library's doubts about a zone's name are not the user's business
            if body is not None:
                _add(reading, base64.b64decode(body), place)
            else:
                _add_folder(reading, Path(path or ""), place)
    except NotACalendar as error:
        return {"problem": str(error)}
    return reading.result()


def _add(reading: series.Reading, raw: bytes, place: ZoneInfo) -> None:
    for parts in split(raw):
        _add_parts(reading, parts, place)


def _add_parts(reading: series.Reading, parts: Parts, place: ZoneInfo) -> None:
    reading.unreadable += parts.broken
    zones = Zones(parts.timezones, parts.zone, place)
    for blocks in parts.series():
        reading.add(blocks, zones)


def _add_folder(reading: series.Reading, folder: Path, place: ZoneInfo) -> None:
    """A file of it that can't be read costs itself; over 20 MiB together are refused."""
    left = BYTES
    try:
        for number, file in enumerate(_files(folder), 1):
            if number > _FILES:
                raise NotACalendar("over 20,000 files")
            try:
                raw = read_regular(file, BYTES)
                _add(reading, raw, place)
            except (NotACalendar, NotReadable):
                reading.unreadable += 1
                continue
            left -= len(raw)
            if left < 0:
                raise NotACalendar("over 20 MiB")
    except OSError as error:
        raise NotACalendar(error.strerror or "can't be read") from None


def _files(folder: Path) -> Iterator[Path]:
    """The ``.ics`` files of a folder and of the folders in it (vdirsyncer's collections)."""
    for place, folders, names in os.walk(folder, onerror=_raise):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if depth < 2 and not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(".ics") and not name.startswith("."):
                yield Path(place) / name


def _raise(error: OSError) -> None:
    raise error
