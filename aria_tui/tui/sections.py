"""The briefing's sections as lines (briefing.md, "Sections, in order")."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime

from aria_tui._briefing_words import say as said
from aria_tui.locale import _, formats
from aria_tui.models import Alert, Section
from aria_tui.tui import _sections_day as day
from aria_tui.tui import _sections_state as state
from aria_tui.tui._scene import Data, Scene
from aria_tui.tui.content import Line, Piece, say, wrapped

MORNING = ("context", "calendar", "tasks", "yesterday", "projects", "docker", "finance", "reports", "queue")
EVENING = ("context", "done", "insights", "commits", "finance", "tomorrow", "reports", "queue")


def title_of(name: str) -> str:
    """A section's title; a user's own source by its name."""
    return {
        "alerts": _("Alerts"),
        "context": _("Today"),
        "calendar": _("Calendar"),
        "tasks": _("Tasks"),
        "yesterday": _("Since yesterday"),
        "projects": _("Projects"),
        "docker": _("Docker"),
        "finance": _("Finance"),
        "queue": _("Queue"),
        "reports": _("Reports"),
        "done": _("Done today"),
        "insights": _("Insights of the day"),
        "commits": _("Commits of the day"),
        "tomorrow": _("Due tomorrow"),
    }.get(name, name)


def state_note(section: Section, now: datetime) -> str:
    """What the heading says beside the title when the section isn't simply ``ok``."""
    age = formats.when(section.as_of, now) if section.as_of else ""
    match section.state:
        case "stale":
            return _("as of {time}").format(time=age) if age else _("not current")
        case "partial":
            return _("incomplete")
        case "unavailable":
            return _("unavailable")
        case "not_configured":
            return _("not configured")
    return ""


def alert_lines(alerts: tuple[Alert, ...], width: int, now: datetime) -> Iterator[tuple[Alert, Line]]:
    """Alerts with the mark and the style of their level."""
    for alert in alerts:
        style = {"critical": "bad", "warning": "warn"}.get(alert.level, "accent")
        mark = {"critical": "✗ ", "warning": "⚠ "}.get(alert.level, "· ")
        for number, line in enumerate(wrapped(said(alert.text, now), width - 2, style)):
            yield alert, (Piece(mark if number == 0 else "  ", style), *line)


def summary(section: Section) -> Line:
    """What is said beside a section's title; empty where it has no such sentence or isn't understood."""
    draw = _SUMMARY.get(section.name)
    if draw is None or not section.data:
        return ()
    with contextlib.suppress(*_OTHER_FORM):
        return draw(section.data)
    return ()


_OTHER_FORM = (KeyError, TypeError, ValueError, AttributeError, IndexError)


def body(section: Section, scene: Scene) -> list[Line]:
    """A section's lines without its heading and summary."""
    lines: list[Line] = []
    if section.state == "unavailable" and section.name == "tasks" and not section.data.get("open_total"):
        lines += wrapped(
            said(section.reason, scene.now) or _("task list unavailable"), scene.width, "warn", indent="  "
        )
    elif section.reason:
        lines += wrapped(said(section.reason, scene.now), scene.width, "warn", indent="  ")
    if not section.data:
        return lines
    draw = _DRAW.get(section.name)
    data = section.data | ({"partial": section.state == "partial"} if section.name == "calendar" else {})
    try:
        lines += draw(data, scene) if draw is not None else _unknown(section.data, scene)
    except _OTHER_FORM:
        # A section stored by another version, or made by somebody's own source: shown as far as it was understood.
        lines.append((say("  " + _("this section has another form than expected"), "warn"),))
    if section.state == "stale":
        lines = [tuple(piece._replace(style="dim") for piece in line) for line in lines]
    return lines


def _unknown(data: Data, scene: Scene) -> list[Line]:
    lines: list[Line] = []
    for name, value in data.items():
        lines += wrapped(f"{name}: {value}", scene.width, indent="  ")
    return lines[:50]


_DRAW: dict[str, Callable[[Data, Scene], list[Line]]] = {
    "context": day.context,
    "calendar": day.calendar,
    "tasks": day.tasks,
    "yesterday": day.yesterday,
    "projects": state.projects,
    "docker": state.docker,
    "finance": state.finance,
    "queue": state.queue,
    "done": day.plain_tasks,
    "tomorrow": day.plain_tasks,
    "insights": day.insights,
    "commits": day.commits,
}

_SUMMARY: dict[str, Callable[[Data], Line]] = {
    "tasks": day.open_count,
    "projects": state.stale,
    "docker": state.running,
    "finance": state.flows,
}

__all__ = ["EVENING", "MORNING", "Scene", "alert_lines", "body", "state_note", "summary", "title_of"]
