"""Which zone a calendar means. Today's rules by the zone's name; a calendar's own VTIMEZONE only for a name that
nobody knows; a floating time is the calendar's, else the user's."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

_AREA = re.compile(r"(?:^|/)([A-Z][A-Za-z_]+/[A-Z][A-Za-z_+\-0-9]+(?:/[A-Z][A-Za-z_]+)?)$")


class Zones:
    """Zones of one calendar: ``own`` its VTIMEZONE texts by name, ``default`` X-WR-TIMEZONE, ``place`` the user's."""

    def __init__(self, own: dict[str, str], default: str, place: ZoneInfo) -> None:
        self._own, self._place = own, place
        self._known: dict[str, tzinfo | None] = {}
        self.floating: tzinfo = (self.named(default) if default else None) or place

    def named(self, name: str) -> tzinfo | None:
        """The zone of a TZID, or None for one that nobody knows."""
        if name not in self._known:
            self._known[name] = _zone(name) or self._from_own(name)
        return self._known[name]

    def placed(self, value: datetime, name: str | None) -> tuple[datetime, bool]:
        """A time in its zone, and whether that zone is known: one of an unknown zone is taken as it is written."""
        if name is None:
            return (value if value.tzinfo else value.replace(tzinfo=self.floating)), True
        if name.upper() in ("UTC", "GMT", "Z") and value.tzinfo is not None:
            return value, True
        if (zone := self.named(name)) is not None:
            return value.replace(tzinfo=zone), True
        return value.replace(tzinfo=self._place), False

    def _from_own(self, name: str) -> tzinfo | None:
        text = self._own.get(name)
        if text is None:
            return None
        for line in text.split("\n"):
            if line.upper().startswith("X-LIC-LOCATION") and (zone := _zone(line.partition(":")[2].strip())):
                return zone
        try:
            from icalendar import Timezone

            made: Any = Timezone.from_ical(text)
            zone = made.to_tz(lookup_tzid=False)
            zone.utcoffset(datetime(2026, 1, 1))
        except Exception:  # noqa: BLE001 - a zone that can't be read is an unknown one
            return None
        return zone if isinstance(zone, tzinfo) else None


def _zone(name: str) -> ZoneInfo | None:
    """A name of the time-zone database, or of Windows, or one that ends in the former."""
    from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

    name = name.strip().strip('"')
    candidates = [name, WINDOWS_TO_OLSON.get(name, "")]
    if found := _AREA.search(name):
        candidates.append(found[1])
    for candidate in candidates:
        try:
            if candidate:
                return ZoneInfo(candidate)
        except (KeyError, ValueError, OSError):
            continue
    return None
