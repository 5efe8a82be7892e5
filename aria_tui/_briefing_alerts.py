"""What comes before everything: a failed nightly job first, then by level."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from aria_tui.hub.contract import read_time
from aria_tui.models import Alert, AlertLevel, HubStatus, Section

OLD_HOURS = 24
_LEVELS: tuple[AlertLevel, ...] = ("critical", "warning", "info")
_HUB_DOWN: dict[str, tuple[AlertLevel, str]] = {
    "offline": ("warning", "Hub offline"),
    "refused": ("critical", "Hub sign-in needed"),
    "not_the_hub": ("critical", "Hub gave an unexpected answer (login page?)"),
}


def alerts_of(sections: Sequence[Section], hub: HubStatus | None, now: datetime) -> tuple[Alert, ...]:
    """Every alert of a briefing, in the order in which it is shown."""
    found = [alert for section in sections for alert in section.alerts]
    found += hub_alerts(hub)
    found += [alert for section in sections if section.name == "queue" for alert in queue_alerts(section, now)]
    return tuple(sorted(found, key=_rank))


def hub_alerts(hub: HubStatus | None) -> list[Alert]:
    if hub is None or hub.state not in _HUB_DOWN:
        return []
    level, text = _HUB_DOWN[hub.state]
    return [Alert(level=level, source="hub", text=f"{text} since {hub.since}" if hub.since else text)]


def queue_alerts(section: Section, now: datetime) -> list[Alert]:
    data = section.data
    if section.state != "ok":
        return [Alert(level="critical", source="queue", text=section.reason)]
    found = []
    try:
        hours = (now - read_time(data["oldest"])).total_seconds() / 3600 if data["oldest"] else 0.0
    except (ValueError, OverflowError):
        hours = 0.0
    if hours > OLD_HOURS:
        found.append(Alert(level="warning", source="queue", text=f"the oldest waits for {_span(hours)}"))
    for count, one, many in (
        (data["dead_letters"], "1 dead letter", "{n} dead letters"),
        (data["conflicts"], "1 conflict", "{n} conflicts"),
    ):
        if count:
            found.append(Alert(level="warning", source="queue", text=one if count == 1 else many.format(n=count)))
    return found


def _span(hours: float) -> str:
    return f"{int(hours // 24)} d" if hours >= 48 else f"{int(hours)} h"


def _rank(alert: Alert) -> tuple[bool, int]:
    failed_report = alert.source == "reports" and alert.level == "critical"
    return not failed_report, _LEVELS.index(alert.level)
