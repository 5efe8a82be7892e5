"""The briefing's sections as lines (briefing.md, "Sections, in order")."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from aria_tui._briefing_words import say as said
from aria_tui.locale import _, formats, ngettext
from aria_tui.models import Alert, Section
from aria_tui.tui.content import Line, Piece, between, cell_width, fit, say, wrapped
from aria_tui.tui.queue_rows import operation_word
from aria_tui.tui.task_rows import priority_word

MORNING = ("context", "calendar", "tasks", "yesterday", "projects", "docker", "finance", "reports", "queue")
EVENING = ("context", "done", "insights", "commits", "finance", "tomorrow", "reports", "queue")


@dataclass(frozen=True)
class Scene:
    """What every section may need to know to be drawn."""

    width: int
    now: datetime
    today: date


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
    try:
        lines += draw(section.data, scene) if draw is not None else _unknown(section.data, scene)
    except _OTHER_FORM:
        # A section stored by another version, or made by somebody's own source: shown as far as it was understood.
        lines.append((say("  " + _("this section has another form than expected"), "warn"),))
    if section.state == "stale":
        lines = [tuple(piece._replace(style="dim") for piece in line) for line in lines]
    return lines


Data = Mapping[str, Any]


def _context(data: Data, scene: Scene) -> list[Line]:
    greeting = {
        "morning": _("Good morning"),
        "afternoon": _("Good afternoon"),
        "evening": _("Good evening"),
    }.get(str(data.get("period", "")), "")
    parts = [part for part in (greeting, formats.long_day(scene.today), str(data.get("time") or "")) if part]
    if zone := data.get("zone") or data.get("timezone"):
        parts.append(str(zone))
    return [(say("  " + " · ".join(parts)),)]


def _calendar(data: Data, scene: Scene) -> list[Line]:
    lines: list[Line] = []
    today, tomorrow = data.get("today") or [], data.get("tomorrow") or []
    if not today and "today" in data:
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


def _open_count(data: Data) -> Line:
    if data.get("open_total") is None:
        return ()
    count = int(data["open_total"])
    return (say(ngettext("{n} open", "{n} open", count).format(n=count), "dim"),)


def _tasks(data: Data, scene: Scene) -> list[Line]:
    """By due date and priority; what waits in the queue bears its mark, and stands last where it is nowhere else."""
    waiting = {task.get("id"): task for task in data.get("waiting") or []}
    found = []
    for name, mark, style in (
        ("overdue", "  ", "bad"),
        ("due_today", "  ", "warn"),
        ("in_progress", "▶ ", "dim"),
        ("other", "  ", "dim"),
    ):
        found += [
            (task, mark if waiting.pop(task.get("id"), None) is None else "⇡ ", style) for task in data.get(name) or []
        ]
    return _task_lines([*found, *((task, "⇡ ", "dim") for task in waiting.values())], scene)


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


def _yesterday(data: Data, scene: Scene) -> list[Line]:
    if data.get("open_then") is None:
        return [(say("  " + _("no earlier briefing to compare with"), "dim"),)]
    text = _("{then} open then, {now} now: {new} new, {done} done").format(
        then=data.get("open_then"), now=data.get("open_now"), new=data.get("new"), done=data.get("done")
    )
    if data.get("date"):
        text += f" ({formats.short_day(date.fromisoformat(str(data['date'])), scene.today)})"
    return wrapped(text, scene.width, indent="  ")


def _projects(data: Data, scene: Scene) -> list[Line]:
    projects = list(data.get("projects") or [])
    shown = [project for project in projects if project.get("freshness") != "stale" or project.get("problem")]
    if not projects:
        return [(say("  " + _("no projects found"), "dim"),)]
    return [_project(project, scene) for project in shown]


def _stale(data: Data) -> Line:
    projects = list(data.get("projects") or [])
    stale = int(data.get("stale") or 0)
    if not stale:
        return ()
    text = ngettext("{n} stale of {total}", "{n} stale of {total}", stale).format(n=stale, total=len(projects))
    names = ", ".join(str(p.get("name", "")) for p in projects if p.get("freshness") == "stale")
    return (say(text, "warn"), say(f": {names}", "dim"))


def _project(project: Data, scene: Scene) -> Line:
    if problem := project.get("problem"):
        return (Piece("  ✗ ", "bad"), say(str(project.get("name", ""))), say(f"  {said(str(problem))}", "warn"))
    marks = []
    changed = sum(int(project.get(name) or 0) for name in ("staged", "unstaged", "untracked"))
    marks.append(f"±{changed}" if changed else _("clean"))
    if conflicts := project.get("conflicts"):
        marks.append(ngettext("{n} conflict", "{n} conflicts", int(conflicts)).format(n=conflicts))
    marks += [
        f"{sign}{project[name]}"
        for name, sign in (("ahead", "↑"), ("behind", "↓"), ("stash", "≡"))
        if project.get(name)
    ]
    commit = project.get("last_commit") or {}
    age = formats.age(str(commit.get("at") or ""), scene.now) if commit else ""
    name_width = min(20, max(8, scene.width // 4))
    line: Line = (
        Piece("  ● ", "good" if project.get("freshness") == "fresh" else "dim"),
        fit(str(project.get("name", "")), name_width),
        Piece(" "),
        fit(str(project.get("branch") or project.get("state") or ""), 12, "accent"),
        Piece(" "),
        fit(" ".join(marks), 12, "warn" if changed or conflicts else "dim"),
        Piece(" "),
        fit(age, 7, "dim"),
    )
    if position := project.get("position"):
        line = (*line, say(str(position), "dim"))
    return line


def _docker(data: Data, scene: Scene) -> list[Line]:
    return [
        (Piece("  ✗ ", "bad"), say(f"{problem.get('name', '')}: {said(str(problem.get('problem', '')))}", "warn"))
        for problem in data.get("problems") or []
    ]


def _running(data: Data) -> Line:
    running = int(data.get("running") or 0)
    return (say(_("{n} running of {total}").format(n=running, total=data.get("total", running))),)


def _finance(data: Data, scene: Scene) -> list[Line]:
    currency = str(data.get("currency") or "")
    lines: list[Line] = []
    for budget in data.get("budgets") or []:
        if budget.get("level") in ("warning", "critical"):
            text = _("{category} budget at {percent} %").format(
                category=budget.get("category"), percent=budget.get("percent")
            )
            lines.append((Piece("  ⚠ ", "warn"), say(text, "bad" if budget["level"] == "critical" else "warn")))
    for item in data.get("due") or []:
        amount = formats.money(str(item.get("amount", "")), str(item.get("currency") or currency))
        day = formats.due(str(item.get("due") or ""), scene.today)
        lines.append(
            (say("  " + _("due"), "dim"), say(f"  {item.get('description', '')}  {amount}  "), say(day, "dim"))
        )
    return lines


def _flows(data: Data) -> Line:
    if data.get("income") is None or data.get("expenses") is None:
        return ()

    def money(name: str, signed: bool = False) -> str:
        return formats.money(str(data[name]), str(data.get("currency") or ""), signed=signed)

    text = _("{income} in · {expenses} out").format(income=money("income"), expenses=money("expenses"))
    if data.get("balance") is not None:
        text += f" · {money('balance', True)}"
    return (say(text),)


def queue_sentence(data: Data, hub_state: str, since: str, now: datetime) -> str:
    """``QUEUE: 3 waiting (Hub offline since 21:40) · 2× capture_insight, 1× store_briefing · press s to sync``."""
    count = int(data.get("pending_total") or 0)
    why = ""
    if hub_state == "offline":
        why = _("Hub offline since {time}").format(time=formats.when(since, now)) if since else _("Hub offline")
    kinds = ", ".join(f"{n}× {operation}" for operation, n in (data.get("by_operation") or {}).items())
    parts = [_("QUEUE: {n} waiting").format(n=count) + (f" ({why})" if why else "")]
    return " · ".join([*parts, *([kinds] if kinds else []), _("press s to sync")])


def _queue(data: Data, scene: Scene) -> list[Line]:
    lines: list[Line] = []
    if data.get("pending_total"):
        hub = data.get("hub") or {}
        sentence = queue_sentence(data, str(hub.get("state", "")), str(hub.get("since") or ""), scene.now)
        lines += wrapped(sentence, scene.width, "accent", indent="  ")
    else:
        lines.append((say("  " + _("nothing waits"), "dim"),))
    dead, conflicts = int(data.get("dead_letters") or 0), int(data.get("conflicts") or 0)
    if dead:
        lines.append((say("  " + ngettext("{n} dead letter", "{n} dead letters", dead).format(n=dead), "bad"),))
    if conflicts:
        lines.append((say("  " + ngettext("{n} conflict", "{n} conflicts", conflicts).format(n=conflicts), "warn"),))
    return lines


def _plain_tasks(data: Data, scene: Scene) -> list[Line]:
    items = next((value for value in data.values() if isinstance(value, list)), [])
    if not items:
        return [(say("  " + _("none"), "dim"),)]
    return _task_lines([(item, "  ", "dim") for item in items], scene)


def _insights(data: Data, scene: Scene) -> list[Line]:
    items = next((value for value in data.values() if isinstance(value, list)), [])
    if not items:
        return [(say("  " + _("none"), "dim"),)]
    lines: list[Line] = []
    for item in items:
        project = f"  {item['project']}" if item.get("project") else ""
        lines.append((Piece("  · "), say(str(item.get("content", ""))[:500]), say(project, "dim")))
    return lines


def _commits(data: Data, scene: Scene) -> list[Line]:
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


def _unknown(data: Data, scene: Scene) -> list[Line]:
    lines: list[Line] = []
    for name, value in data.items():
        lines += wrapped(f"{name}: {value}", scene.width, indent="  ")
    return lines[:50]


_DRAW: dict[str, Callable[[Data, Scene], list[Line]]] = {
    "context": _context,
    "calendar": _calendar,
    "tasks": _tasks,
    "yesterday": _yesterday,
    "projects": _projects,
    "docker": _docker,
    "finance": _finance,
    "queue": _queue,
    "done": _plain_tasks,
    "tomorrow": _plain_tasks,
    "insights": _insights,
    "commits": _commits,
}

_SUMMARY: dict[str, Callable[[Data], Line]] = {
    "tasks": _open_count,
    "projects": _stale,
    "docker": _running,
    "finance": _flows,
}

__all__ = [
    "EVENING",
    "MORNING",
    "Scene",
    "alert_lines",
    "body",
    "operation_word",
    "queue_sentence",
    "state_note",
    "summary",
    "title_of",
]
