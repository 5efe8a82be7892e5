"""One series of events at a time: from text to what happens on the wanted days."""

from __future__ import annotations

import contextlib
import re
import signal
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import recurring_ical_events
from dateutil.rrule import rrulestr  # type: ignore[import-untyped]

from aria_tui.sources._calendar_zones import Zones

INSTANCES = 10_000
"""A rule that gives more, from its start to the end of the wanted days, is left out (briefing.md, "Calendar")."""
_RULE_SECONDS, _RULE_SECONDS_LATER, _PATIENCE = 0.5, 0.05, 2.0
_TIMES = ("DTSTART", "DTEND", "DURATION", "RECURRENCE-ID", "RRULE", "RDATE", "EXDATE", "EXRULE")
_SIMPLE_START = re.compile(r"^DTSTART[^:\n]*:(\d{8})", re.M | re.I)
_SIMPLE_END = re.compile(r"^DTEND[^:\n]*:(\d{8})", re.M | re.I)
_REPEATS = re.compile(r"^(RRULE|RDATE|RECURRENCE-ID|EXRULE|DURATION)\b", re.M | re.I)
_PER_DAY = {"SECONDLY": 86400, "MINUTELY": 1440, "HOURLY": 24}


class TooLarge(Exception):
    """A rule gives too many instances, or takes too long to say how many."""


class Reading:
    """What was found for the wanted days; ``add`` takes one series after another."""

    def __init__(self, days: list[date], place: ZoneInfo) -> None:
        self.unreadable = self.too_large = 0
        self._days, self._place = days, place
        self._events: list[list[tuple[Any, dict[str, Any]]]] = [[] for _ in days]
        self._start = _midnight(days[0], place)
        self._end = _midnight(days[-1] + timedelta(days=1), place)
        self._spent = 0.0

    def result(self) -> dict[str, Any]:
        days = [[event for _, event in sorted(found, key=lambda pair: pair[0])] for found in self._events]
        return {"days": days, "unreadable": self.unreadable, "too_large": self.too_large}

    def add(self, blocks: list[str], zones: Zones) -> None:
        """Takes one UID's events; what can't be read is counted."""
        if len(blocks) == 1 and self._far(blocks[0]):
            return
        events = []
        for block in blocks:
            try:
                event, known = read_event(block, zones)
            except Exception:  # noqa: BLE001 - whatever a library makes of it: this event can't be read
                self.unreadable += 1
                continue
            events.append(event)
            if not known:
                event["X-ARIA-ZONE"] = "?"
        if not events:
            return
        try:
            with self._alarm():
                for instance in self._instances(events):
                    self._take(instance)
        except TooLarge:
            self.too_large += 1
        except Exception:  # noqa: BLE001 - see above
            self.unreadable += 1

    def _far(self, block: str) -> bool:
        """Whether a single event is clear of the wanted days by its dates alone (two days' room for zones)."""
        if _REPEATS.search(block) or not (start := _SIMPLE_START.search(block)):
            return False
        end = _SIMPLE_END.search(block)
        first, last = self._days[0] - timedelta(days=2), self._days[-1] + timedelta(days=2)
        try:
            begins = date.fromisoformat(start[1])
            ends = date.fromisoformat(end[1]) if end else begins
        except ValueError:
            return False
        return begins > last or max(begins, ends) < first

    def _instances(self, events: list[Any]) -> Iterator[Any]:
        for event in events:
            self._limit(event)
        calendar = icalendar.Calendar()
        for event in events:
            if len(events) == 1:
                self._hurry(event)
            calendar.add_component(event)
        if len(events) == 1 and not any(event.get(name) for name in ("RRULE", "RDATE")):
            yield events[0]
            return
        yield from recurring_ical_events.of(calendar).between(self._start, self._end)

    def _limit(self, event: Any) -> None:
        """Raises TooLarge for a rule that gives over 10,000 instances; only rules that may are counted."""
        for rule in _rules(event):
            per_day = _PER_DAY.get(str(rule.get("FREQ", [""])[0]).upper(), 1)
            for name in ("BYHOUR", "BYMINUTE", "BYSECOND"):
                per_day *= max(1, len(rule.get(name, [])))
            if per_day > 1:
                self._count(rule, event["DTSTART"].dt)

    def _count(self, rule: Any, start: Any) -> None:
        zone = getattr(start, "tzinfo", None)
        naive = _as_time(start).replace(tzinfo=None)
        end = self._end.astimezone(zone).replace(tzinfo=None) if zone else self._end.replace(tzinfo=None)
        until = (rule.get("UNTIL") or [None])[0]
        text = ";".join(part for part in rule.to_ical().decode().split(";") if not part.startswith("UNTIL="))
        if until is not None:
            limit = _as_time(until) + (timedelta() if isinstance(until, datetime) else timedelta(days=1))
            end = min(end, (limit.astimezone(zone) if zone and limit.tzinfo else limit).replace(tzinfo=None))
        for number, instance in zip(count(1), rrulestr(text, dtstart=naive), strict=False):
            if instance > end:
                return
            if number > INSTANCES:
                raise TooLarge

    def _hurry(self, event: Any) -> None:
        """Moves the start of a long daily or weekly series near to the wanted days, by whole periods: the library would
        walk through all the years between."""
        rules = _rules(event)
        if len(rules) != 1 or rules[0].get("COUNT") or event.get("RDATE") or event.get("EXRULE"):
            return
        step = {"DAILY": 1, "WEEKLY": 7}.get(str(rules[0].get("FREQ", [""])[0]).upper())
        interval = int((rules[0].get("INTERVAL") or [1])[0])
        start = event["DTSTART"].dt
        length = _length(event)
        room = (self._days[0] - _as_date(start)).days - 15 - length.days
        if step is None or interval < 1 or room <= step * interval:
            return
        shift = timedelta(days=room // (step * interval) * step * interval)
        for name in ("DTSTART", "DTEND"):
            if name in event:
                event[name].dt = event[name].dt + shift

    def _take(self, event: Any) -> None:
        if str(event.get("STATUS", "")).upper() == "CANCELLED":
            return
        start = event["DTSTART"].dt
        end = _end(start, event)
        all_day = not isinstance(start, datetime)
        summary = str(event.get("SUMMARY", "")).replace("\0", "\ufffd")
        notes = ["zone?"] if event.get("X-ARIA-ZONE") else []
        for index, day in enumerate(self._days):
            if all_day:
                later = self._on_all_day(day, start, end)
            else:
                start, end = start.astimezone(self._place), end.astimezone(self._place)
                later = self._on_timed(day, start, end)
            if later is None:
                continue
            shown = {"start": start.isoformat(), "end": end.isoformat(), "all_day": all_day, "summary": summary}
            if note := ", ".join([*([later] if later else []), *notes]):
                shown["note"] = note
            order = (not all_day, "" if all_day else start.astimezone(ZoneInfo("UTC")).isoformat(), summary)
            self._events[index].append((order, shown))

    @staticmethod
    def _on_all_day(day: date, start: date, end: date) -> str | None:
        """None when it isn't on that day; else the note of a later day (RFC 5545, 3.6.1: the end is not in it)."""
        if not start <= day < end:
            return None
        return f"day {(day - start).days + 1} of {(end - start).days}" if day > start else ""

    def _on_timed(self, day: date, start: datetime, end: datetime) -> str | None:
        begins, ends = _midnight(day, self._place), _midnight(day + timedelta(days=1), self._place)
        if not (start < ends and (end > begins or start == end >= begins)):
            return None
        if start >= begins:
            return ""
        if end < ends:
            return f"until {end:%H:%M}"
        last = (end - timedelta(microseconds=1)).date()
        return f"day {(day - start.date()).days + 1} of {(last - start.date()).days + 1}"

    @contextlib.contextmanager
    def _alarm(self) -> Iterator[None]:
        """Raises TooLarge in a series that takes too much computing; less and less patience when many do."""
        before = time.process_time()
        seconds = _RULE_SECONDS if self._spent < _PATIENCE else _RULE_SECONDS_LATER
        signal.signal(signal.SIGVTALRM, _ring)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            spent = time.process_time() - before
            self._spent += spent if spent >= seconds else 0.0


def read_event(block: str, zones: Zones) -> tuple[Any, bool]:
    """An event whose times are in their zones, and whether all its zones are known. Raises for one that can't be
    read."""
    event: Any = icalendar.Event.from_ical(block)
    if any(name.upper() in _TIMES for name, _ in event.errors if name):
        raise ValueError("a time can't be read")
    known = True
    for name in ("DTSTART", "DTEND", "RECURRENCE-ID", "EXDATE", "RDATE"):
        given = event.get(name)
        for value in given if isinstance(given, list) else [given] if given is not None else []:
            known &= _place(value, zones)
    if not isinstance(event["DTSTART"].dt, date):
        raise TypeError("no start")
    for rule in _rules(event):
        _bound(rule, event["DTSTART"].dt)
    _length(event)
    return event, known


def _place(value: Any, zones: Zones) -> bool:
    """Puts every time of a property into its zone; False when the zone is unknown."""
    known = True
    name = value.params.get("TZID")
    for entry in getattr(value, "dts", [value]):
        given = entry.dt
        if isinstance(given, datetime):
            entry.dt, fine = zones.placed(given, name)
            known &= fine
        elif isinstance(given, tuple):
            placed = [zones.placed(part, name) if isinstance(part, datetime) else (part, True) for part in given]
            entry.dt = tuple(part for part, _ in placed)
            known &= all(fine for _, fine in placed)
    return known


def _bound(rule: Any, start: Any) -> None:
    """Puts a rule's UNTIL where the library reads it right: it takes a bare date, and a time without a zone, for one in
    UTC. Written so they are meant where the event is, and a whole day is in it (RFC 5545, 3.3.10: inclusive)."""
    until = (rule.get("UNTIL") or [None])[0]
    if not isinstance(start, datetime) or not isinstance(until, date):
        return
    if not isinstance(until, datetime):
        until = datetime(until.year, until.month, until.day, 23, 59, 59)
    if until.tzinfo is None:
        rule["UNTIL"] = [until.replace(tzinfo=start.tzinfo).astimezone(UTC)]


def _length(event: Any) -> timedelta:
    """How long an event is: by its end, its duration, else a day for a date and nothing for a time (RFC 5545,
    3.6.1). One that ends before it begins has no length; one whole day that ends on its own date is that day."""
    start = event["DTSTART"].dt
    whole = not isinstance(start, datetime)
    least = timedelta(days=1) if whole else timedelta()
    if "DTEND" in event:
        end = event["DTEND"].dt
        if whole != (not isinstance(end, datetime)):
            end = _as_date(end) if whole else _as_time(end).replace(tzinfo=start.tzinfo)
        # Between zones the difference counts real time, within one it counts the wall clock.
        length = end - start if whole or end.tzinfo is start.tzinfo else end.astimezone(start.tzinfo) - start
        return max(least, timedelta(seconds=length.total_seconds()))
    if "DURATION" in event:
        given: timedelta = event["DURATION"].dt
        return max(least, given)
    return least


def _end(start: Any, event: Any) -> Any:
    """By the wall clock, as people mean a shift from 22:00 to 06:00. A given DURATION that is no count of days is real
    time (RFC 5545, 3.3.6), and so is what would else end before it begins, since the clock was put on in between."""
    length = _length(event)
    end = start + length
    if not isinstance(start, datetime):
        return end
    began = start.astimezone(UTC)
    exact = "DTEND" not in event and length % timedelta(days=1)
    return (began + length).astimezone(start.tzinfo) if exact or end.astimezone(UTC) < began else end


def _rules(event: Any) -> list[Any]:
    found = event.get("RRULE")
    return found if isinstance(found, list) else [found] if found is not None else []


def _as_time(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _as_date(value: Any) -> date:
    return value.date() if isinstance(value, datetime) else value


def _midnight(day: date, place: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=place)


def _ring(*_: Any) -> None:
    raise TooLarge
