"""Cuts iCalendar text (RFC 5545) into zones and events, without reading them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_FOLD, _LINE = re.compile(r"\r?\n[ \t]"), re.compile(r"\r?\n")
_UID = re.compile(r"^UID[^:]*:(.*)$", re.I)
_HTML = re.compile(rb"\s*<(!doctype|html|\?xml|head|body)", re.I)


class NotACalendar(Exception):
    """The text is no calendar, or not a whole one; ``str()`` says why."""


@dataclass
class Parts:
    """One VCALENDAR: its events as text, its zones by name, and ``X-WR-TIMEZONE``."""

    events: list[str] = field(default_factory=list)
    timezones: dict[str, str] = field(default_factory=dict)
    zone: str = ""
    broken: int = 0
    """Events that have no end."""

    def series(self) -> Iterator[list[str]]:
        """Events that belong together: one UID, the series and its changed instances."""
        grouped: dict[str, list[str]] = {}
        for index, event in enumerate(self.events):
            uid = next((found[1] for line in event.split("\n") if (found := _UID.match(line))), f"\n{index}")
            grouped.setdefault(uid, []).append(event)
        yield from grouped.values()


def split(raw: bytes) -> list[Parts]:
    """Every calendar in the text. Raises NotACalendar: for a web page, an empty text, and one that was cut short,
    since a part of a calendar would look like a quiet day."""
    if not raw.strip(b" \t\r\n\0\xef\xbb\xbf"):
        raise NotACalendar("empty")
    if _HTML.match(raw.removeprefix(b"\xef\xbb\xbf")):
        raise NotACalendar("not a calendar (a web page)")
    text = _decoded(raw)
    if "\n" not in text:  # else a carriage return alone is a character of its line
        text = text.replace("\r", "\n")
    lines = _LINE.split(_FOLD.sub("", text))
    calendars: list[Parts] = []
    inside: list[str] = []
    current: Parts | None = None
    block: list[str] | None = None
    for line in lines:
        begin, end = _name(line, "BEGIN:"), _name(line, "END:")
        if begin == "VCALENDAR":
            if current is not None:
                raise NotACalendar("cut short")
            current = Parts()
            calendars.append(current)
        elif current is None:
            continue
        elif begin in ("VEVENT", "VTIMEZONE") and len(inside) <= 1:
            if block is not None:
                current.broken += 1
            block, inside = [line], [begin]
        elif block is not None:
            block.append(line)
            if begin:
                inside.append(begin)
            elif end and end in inside:
                del inside[inside.index(end) :]
                if not inside:
                    _keep(current, end, block)
                    block = None
            elif end == "VCALENDAR":
                current.broken += 1
                current, block, inside = None, None, []
        elif end == "VCALENDAR":
            current = None
        elif line[:14].upper().startswith("X-WR-TIMEZONE"):
            current.zone = line.partition(":")[2].strip()
    if not calendars:
        raise NotACalendar("not a calendar")
    if current is not None:
        raise NotACalendar("cut short")
    return calendars


def _name(line: str, word: str) -> str:
    return line[len(word) :].strip().upper() if line[: len(word)].upper() == word else ""


def _keep(parts: Parts, kind: str, block: list[str]) -> None:
    text = "\n".join(line for line in block if line.strip())
    if kind == "VEVENT":
        parts.events.append(text)
        return
    name = next((line.partition(":")[2].strip() for line in block if line[:5].upper() == "TZID:"), "")
    parts.timezones[name] = text


def _decoded(raw: bytes) -> str:
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")  # older programs' files; every byte is a character there
