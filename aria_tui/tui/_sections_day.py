"""The sections that are about the user's day: calendar, tasks, what was done and written."""

from __future__ import annotations

import contextlib
from datetime import date, datetime, timedelta
from typing import Any

from aria_tui.locale import _, formats, ngettext
from aria_tui.tui._scene import Data, Scene
from aria_tui.tui.content import Line, Piece, between, cell_width, fit, say, wrapped
from aria_tui.tui.task_rows import priority_word

MOST = 5
"""Tasks of one kind (overdue, due today …) that are listed: a briefing is seen whole, the list is in its own pane."""


def context(data: Data, scene: Scene) -> list[Line]:
    """The greeting, the day, the time and the zone."""
    greeting = {
        "morning": _("Good morning"),
        "afternoon": _("Good afternoon"),
        "evening": _("Good evening"),
    }.get(str(data.get("period", "")), "")
    parts = [part for part in (greeting, formats.long_day(scene.today), str(data.get("time") or "")) if part]
    if zone := data.get("zone") or data.get("timezone"):
        parts.append(str(zone))
    return [(say("  " + " · ".join(parts)),)]


def calendar(data: Data, scene: Scene) -> list[Line]:
    """Today's events, then tomorrow's; how many could not be read. Without all of it nothing is said of none."""
    lines: list[Line] = []
    today, tomorrow = data.get("today") or [], data.get("tomorrow") or []
    if not today and "today" in data and not data.get("partial"):
        lines.append((say("  " + _("no events today"), "dim"),))
    lines += [_event(event, scene, "") for event in today]
    lines += [_event(event, scene, _("tomorrow") + ": ") for event in tomorrow]
    if count := int(data.get("unreadable") or 0):
        lines.append((say("  " + ngettext("{n} unreadable", "{n} unreadable", count).format(n=count), "warn"),))
    if count := int(data.get("too_large") or 0):
        lines.append(
            (say("  " + ngettext("{n} rule too large", "{n} rules too large", count).format(n=count), "warn"),)
        )
    return lines


def _event(event: Data, scene: Scene, day: str) -> Line:
    clock = _("all day") if event.get("all_day") else _hour(event.get("start"), scene)
    notes = [str(event["note"])] if event.get("note") else []
    if event.get("now"):
        notes.append(_("now"))
    elif not day and not event.get("all_day") and (soon := _soon(event.get("start"), scene)):
        notes.append(soon)
    note = f" ({', '.join(notes)})" if notes else ""
    mark = "▸ " if event.get("now") or (notes and not event.get("note")) else "  "
    return (
        Piece(mark, "accent"),
        say(f"{day}{clock}", "dim" if day else "accent"),
        Piece("  "),
        say(str(event.get("summary") or _("no title")), "dim" if day else ""),
        say(note, "warn" if event.get("now") else "dim"),
    )


def _hour(text: Any, scene: Scene) -> str:
    with contextlib.suppress(ValueError, TypeError):
        moment = datetime.fromisoformat(str(text))
        return formats.clock(moment.astimezone(scene.now.tzinfo) if moment.tzinfo else moment)
    return str(text or "")


def _soon(text: Any, scene: Scene) -> str:
    with contextlib.suppress(ValueError, TypeError):
        moment = datetime.fromisoformat(str(text))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=scene.now.tzinfo)
        left = moment - scene.now
        if timedelta(0) <= left <= timedelta(minutes=60):
            return _("in {time}").format(time=formats.duration(left.total_seconds() + 59))
    return ""


def open_count(data: Data) -> Line:
    """How many tasks are open; nothing where that isn't known."""
    if data.get("open_total") is None:
        return ()
    count = int(data["open_total"])
    return (say(ngettext("{n} open", "{n} open", count).format(n=count), "dim"),)


def tasks(data: Data, scene: Scene) -> list[Line]:
    """By due date and priority, the first few of each kind; what waits in the queue bears its mark, and stands last
    where it is nowhere else."""
    waiting = {task.get("id"): task for task in data.get("waiting") or []}
    groups: list[list[tuple[Data, str, str]]] = []
    for name, mark, style in (
        ("overdue", "  ", "bad"),
        ("due_today", "  ", "warn"),
        ("in_progress", "▶ ", "dim"),
        ("other", "  ", "dim"),
    ):
        group = [
            (task, mark if waiting.pop(task.get("id"), None) is None else "⇡ ", style) for task in data.get(name) or []
        ]
        groups.append(group)
    groups.append([(task, "⇡ ", "dim") for task in waiting.values()])
    lines = iter(_task_lines([row for group in groups for row in group[:MOST]], scene))
    result: list[Line] = []
    for group in groups:
        result += [next(lines) for _row in group[:MOST]]
        if (count := len(group) - MOST) > 0:
            result.append((say("    " + ngettext("{n} more", "{n} more", count).format(n=count), "dim"),))
    return result


def _task_lines(found: list[tuple[Data, str, str]], scene: Scene) -> list[Line]:
    """Tasks with their mark and the style of their due date; dates and priorities stand in columns."""
    rows = []
    for task, mark, style in found:
        project = task.get("project_name") or task.get("project")
        text = f"{task.get('title', '')} — {project}" if project else str(task.get("title", ""))
        due = formats.due(str(task["due_date"]), scene.today) if task.get("due_date") else ""
        rows.append((mark, text, due, style, f"[{priority_word(str(task.get('priority') or 'MEDIUM'))}]"))
    priority_width = max((cell_width(row[4]) for row in rows), default=0)
    return [
        between(
            (Piece("  "), Piece(mark, "accent"), say(text)),
            (say(due, style), Piece(" "), fit(priority, priority_width, "dim")),
            scene.width,
        )
        for mark, text, due, style, priority in rows
    ]


def yesterday(data: Data, scene: Scene) -> list[Line]:
    """What changed since the briefing before."""
    if data.get("open_then") is None:
        return [(say("  " + _("no earlier briefing to compare with"), "dim"),)]
    text = _("{then} open then, {now} now: {new} new, {done} done").format(
        then=data.get("open_then"), now=data.get("open_now"), new=data.get("new"), done=data.get("done")
    )
    if data.get("date"):
        text += f" ({formats.short_day(date.fromisoformat(str(data['date'])), scene.today)})"
    return wrapped(text, scene.width, indent="  ")


def plain_tasks(data: Data, scene: Scene) -> list[Line]:
    """A list of tasks, for done and due tomorrow."""
    items = next((value for value in data.values() if isinstance(value, list)), [])
    if not items:
        return [(say("  " + _("none"), "dim"),)]
    return _task_lines([(item, "  ", "dim") for item in items], scene)


def insights(data: Data, scene: Scene) -> list[Line]:
    """The day's insights, each with its project."""
    items = next((value for value in data.values() if isinstance(value, list)), [])
    if not items:
        return [(say("  " + _("none"), "dim"),)]
    lines: list[Line] = []
    for item in items:
        project = say(str(item.get("project") or ""), "dim")
        lines.append(between((Piece("  · "), say(str(item.get("content", ""))[:500])), (project,), scene.width))
    return lines


def commits(data: Data, scene: Scene) -> list[Line]:
    """The day's commits by project."""
    lines: list[Line] = []
    for project in data.get("projects") or []:
        subjects = project.get("commits") or []
        count = int(project.get("count") or len(subjects))
        text = ngettext("{n} commit", "{n} commits", count).format(n=count)
        lines.append((Piece("  ● ", "good"), say(str(project.get("project", ""))), say(f"  {text}", "dim")))
        for subject in subjects:
            words = subject.get("subject", "") if isinstance(subject, dict) else subject
            lines.append((Piece("      "), say(str(words), "dim")))
    return lines or [(say("  " + _("none"), "dim"),)]
