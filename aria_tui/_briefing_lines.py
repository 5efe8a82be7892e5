"""Each section's data as lines of words: ``(text, look, indent)``, the last two where they aren't plain and 0.

Every function takes the ``data`` of briefing.md and the local moment at which the briefing was made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from aria_tui._briefing_words import say
from aria_tui.hub.contract import read_time
from aria_tui.locale import _, formats, ngettext
from aria_tui.models import BriefingDoc

Lines = Sequence[tuple[Any, ...]]
MOST = 10
"""Tasks, events or projects of one group that are listed; more are counted."""


def head_lines(doc: BriefingDoc, now: datetime) -> list[str]:
    """Greeting, day, time, zone and period; then how the Hub stands and what waits."""
    context = next((section.data for section in doc.sections if section.name == "context"), {})
    period = context.get("period", "")
    greeting = {"morning": _("Good morning"), "afternoon": _("Good afternoon"), "evening": _("Good evening")}
    words = {"morning": _("morning"), "afternoon": _("afternoon"), "evening": _("evening")}
    day = formats.long_day(now.date(), year=True)
    first = [greeting.get(period, "ARIA"), day, formats.clock(now), doc.timezone, words.get(period, "")]
    hub = context.get("hub") or {}
    waiting = (context.get("queue") or {}).get("pending_total")
    second = [hub_words(hub, now)]
    if waiting:
        second.append(ngettext("{n} waiting", "{n} waiting", waiting).format(n=waiting))
    return [" · ".join(part for part in first if part), " · ".join(part for part in second if part)]


def hub_words(hub: dict[str, Any], now: datetime) -> str:
    """``Hub offline since 21:40``."""
    names = {
        "embedded": _("Hub on this machine"),
        "online": _("Hub online"),
        "slow": _("Hub slow"),
        "offline": _("Hub offline"),
        "refused": _("Hub sign-in needed"),
        "not_the_hub": _("Hub gave an unexpected answer (login page?)"),
    }
    state = hub.get("state", "unknown")
    text = names.get(state, _("Hub not known"))
    if state in ("offline", "refused", "not_the_hub") and hub.get("since"):
        return _("{hub} since {time}").format(hub=text, time=formats.when(hub["since"], now))
    return text


def queue_line(queue: dict[str, Any], hub: dict[str, Any], now: datetime) -> str:
    """``QUEUE: 3 waiting (Hub offline since 21:40) · 2× capture_insight, 1× store_briefing · press s to sync``."""
    by_operation = sorted(queue["by_operation"].items(), key=lambda pair: (-pair[1], pair[0]))
    operations = ", ".join(f"{count}× {operation}" for operation, count in by_operation)
    waiting = ngettext("QUEUE: {n} waiting", "QUEUE: {n} waiting", queue["pending_total"])
    text = f"{waiting.format(n=queue['pending_total'])} ({hub_words(hub, now)})"
    return " · ".join(part for part in (text, operations, _("press s to sync")) if part)


def _queue(data: dict[str, Any], now: datetime) -> Lines:
    lines: list[tuple[Any, ...]] = []
    if data["pending_total"]:
        lines.append((queue_line(data, data["hub"], now), "mark"))
    parked = []
    if data["dead_letters"]:
        text = ngettext("{n} dead letter", "{n} dead letters", data["dead_letters"])
        parked.append(text.format(n=data["dead_letters"]))
    if data["conflicts"]:
        parked.append(ngettext("{n} conflict", "{n} conflicts", data["conflicts"]).format(n=data["conflicts"]))
    if data.get("held"):
        parked.append(_("{n} held for another Hub").format(n=data["held"]))
    return [*lines, (" · ".join(parked), "problem")] if parked else lines


def _calendar(data: dict[str, Any], now: datetime) -> Lines:
    """A day without events is only said to be one where all of the calendar was read."""
    whole = not data.get("partial")
    lines: list[tuple[Any, ...]] = [
        (event_line(event, now.date(), now), "mark" if event["now"] else "plain") for event in data["today"]
    ]
    if not lines and whole:
        lines.append((_("No events today"),))
    tomorrow = now.date() + timedelta(days=1)
    if data["tomorrow"]:
        lines.append((_("Tomorrow"),))
        lines += [(event_line(event, tomorrow, now), "plain", 1) for event in data["tomorrow"]]
    elif whole:
        lines.append((_("No events tomorrow"),))
    return lines


def event_line(event: dict[str, Any], day: date, now: datetime) -> str:
    """``09:00–09:30  Stand-up``; on now: ``▸``; what began before the day by its end or its count of days."""
    note = f" ({note_words(event['note'])})" if event.get("note") else ""
    mark = "▸ " if event["now"] else ""
    soon = ""
    if event["all_day"]:
        when = _("all day")
    else:
        start, end = (read_time(event[key]).astimezone(now.tzinfo) for key in ("start", "end"))
        when = formats.clock(start) if start.date() == day else "00:00"
        if end > start and end.date() == day:
            when = f"{when}–{formats.clock(end)}"
        minutes = (start - now).total_seconds() / 60
        if 0 < minutes <= 60:
            soon = " " + _("(in {n} min)").format(n=int(-(-minutes // 1)))
    return f"{mark}{when}  {event['summary'] or _('(no title)')}{soon}{note}"


def note_words(note: str) -> str:
    """An event's notes, in the language: ``until 02:00``, ``day 2 of 3``, ``zone?``."""
    return ", ".join(say(part) for part in note.split(", "))


def task_line(task: dict[str, Any], today: date) -> str:
    """``title — project [HIGH]``, when it is due, and a mark for one that waits in the queue."""
    project = f" — {task['project_name']}" if task.get("project_name") else ""
    due = f" ({formats.due(task['due_date'], today)})" if task.get("due_date") else ""
    waiting = "⇡ " if task.get("waiting") else ""
    priority = f" [{task['priority']}]" if task.get("priority") else ""
    return f"{waiting}{task['title']}{project}{priority}{due}"


def _tasks(data: dict[str, Any], now: datetime) -> Lines:
    today = now.date()
    lines: list[tuple[Any, ...]] = []
    if "open_total" in data:
        lines.append((ngettext("{n} open", "{n} open", data["open_total"]).format(n=data["open_total"]),))
    groups = (
        ("overdue", _("Overdue"), "problem"),
        ("due_today", _("Due today"), "mark"),
        ("in_progress", _("In progress"), "plain"),
        ("other", _("Next"), "plain"),
    )
    for name, title, look in groups:
        if tasks := data.get(name):
            lines.append((f"{title} ({len(tasks)})", look))
            lines += _some([(task_line(task, today), "plain", 1) for task in tasks])
    if "open_total" not in data and (waiting := data.get("waiting")):
        lines.append((_("Waiting in the queue"),))
        lines += _some([(task_line(task, today), "plain", 1) for task in waiting])
    return lines


def _some(lines: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    if len(lines) <= MOST:
        return lines
    more = len(lines) - MOST
    return [*lines[:MOST], (ngettext("{n} more", "{n} more", more).format(n=more), "dim", lines[0][2])]


def _yesterday(data: dict[str, Any], now: datetime) -> Lines:
    if data["date"] is None:
        return [(_("no earlier briefing to compare with"), "dim")]
    day = formats.short_day(date.fromisoformat(data["date"]), now.date())
    text = _("{then} open then, {now} now: {new} new, {done} done").format(
        then=data["open_then"], now=data["open_now"], new=data["new"], done=data["done"]
    )
    return [(f"{day}: {text}",)]


def project_line(project: dict[str, Any], now: datetime, *, full: bool = False) -> str:
    """``● menthos  main  ±3  ↑1  2 h``: freshness, name, branch, changes, ahead and behind, the last commit's age."""
    mark = {"fresh": "●", "quiet": "○", "stale": "·"}.get(project["freshness"] or "", "?")
    parts = [f"{mark} {project['name']}"]
    if project.get("problem"):
        return "  ".join([*parts, say(project["problem"])])
    if project["branch"]:
        parts.append(project["branch"])
    if project["state"] != "ok":
        parts.append(state_words(project["state"]))
    if project["state"] != "bare":
        parts.append(changes_words(project))
    parts += [f"{sign}{project[key]}" for sign, key in (("↑", "ahead"), ("↓", "behind")) if project[key]]
    if project["stash"]:
        parts.append(_("{n} stashed").format(n=project["stash"]))
    if commit := project["last_commit"]:
        parts.append(formats.age(commit["at"], now))
        if full:
            parts.append(f"{commit['subject']} ({commit['author']})")
    if project.get("position"):
        parts.append(project["position"])
    return "  ".join(parts)


def state_words(state: str) -> str:
    words = {
        "no commits": _("no commits"),
        "detached": _("detached"),
        "bare": _("bare"),
        "rebasing": _("rebasing"),
        "merging": _("merging"),
        "cherry-picking": _("cherry-picking"),
        "reverting": _("reverting"),
        "bisecting": _("bisecting"),
        "timed out": _("timed out"),
        "not trusted (owner)": _("not trusted (owner)"),
        "error": _("error"),
        "unread": _("still being read"),
    }
    return words.get(state, state)


def changes_words(project: dict[str, Any]) -> str:
    """``clean`` or ``±3``, with conflicts named."""
    count = project["staged"] + project["unstaged"] + project["untracked"]
    text = f"±{count}" if count else ""
    if project["conflicts"]:
        conflicts = ngettext("{n} conflict", "{n} conflicts", project["conflicts"]).format(n=project["conflicts"])
        text = f"{text}  {conflicts}".strip()
    return text or _("clean")


def _projects(data: dict[str, Any], now: datetime) -> Lines:
    projects = data["projects"]
    lines: list[tuple[Any, ...]] = [
        (project_line(project, now), "problem" if project.get("problem") else "plain")
        for project in projects
        if project["freshness"] != "stale"
    ]
    if data["stale"]:
        text = _("{stale} stale of {total} · aria projects --stale lists them")
        lines.append((text.format(stale=data["stale"], total=len(projects)), "dim"))
    return lines or [(_("no repositories found"), "dim")]


def _docker(data: dict[str, Any], now: datetime) -> Lines:
    lines: list[tuple[Any, ...]] = [
        (_("{running} running of {total}").format(running=data["running"], total=data["total"]),)
    ]
    return lines + [(say(f"{p['name']}: {p['problem']}"), "problem") for p in data["problems"]]


def _finance(data: dict[str, Any], now: datetime) -> Lines:
    lines: list[tuple[Any, ...]] = []
    currency = data.get("currency") or ""
    if text := flows(data):
        lines.append((f"{month_words(data['month'], now)}{text}",))
    over = [budget for budget in data["budgets"] or [] if budget["level"] in ("warning", "critical")]
    lines += [(budget_line(budget, currency), "problem") for budget in over]
    for item in data["due"] or []:
        amount = formats.money(item["amount"], item["currency"] or "")
        text = _("due {what} {amount} {day}").format(
            what=item["description"], amount=amount, day=formats.due(item["due"], now.date())
        )
        lines.append((text,))
    if not lines and data["budgets"] is not None and data["due"] is not None:
        lines.append((_("nothing is due, and no budget runs out"), "dim"))
    return lines


def flows(data: Mapping[str, Any]) -> str:
    """The month's income, expenses and balance, as far as they are known."""
    currency = str(data.get("currency") or "")
    parts = []
    if (income := data.get("income")) is not None:
        parts.append(_("{income} in").format(income=formats.money(str(income), currency)))
    if (expenses := data.get("expenses")) is not None:
        parts.append(_("{expenses} out").format(expenses=formats.money(str(expenses), currency)))
    if (balance := data.get("balance")) is not None:
        parts.append(formats.money(str(balance), currency, signed=True))
    return " · ".join(parts)


def budget_line(budget: dict[str, Any], currency: str) -> str:
    """``Software at 82 % of its budget``; money spent where none was allowed has no share."""
    if budget["percent"] is None:
        return _("{category}: {amount} spent without a budget").format(
            category=budget["category"], amount=formats.amount(budget["spent"], currency)
        )
    percent = Decimal(str(budget["percent"]))
    shown = formats.number(percent, 1 if percent % 1 else 0)
    return _("{category} at {percent} % of its budget").format(category=budget["category"], percent=shown)


def month_words(month: str | None, now: datetime) -> str:
    """The month's name only where it isn't this one."""
    return f"{month}: " if month and month != f"{now:%Y-%m}" else ""


def _reports(data: dict[str, Any], now: datetime) -> Lines:
    return [(_report(report, now), "problem" if report["failed"] else "plain") for report in data["reports"]]


def _report(report: dict[str, Any], now: datetime) -> str:
    """What went well is a count, or only that it did."""
    counted = _("{file}: {ok} ok, {failed} failed, {age} ago")
    text = _("{file}: {failed} failed, {age} ago") if isinstance(report["ok"], bool) else counted
    return text.format(**report, age=formats.age(report["timestamp"], now))


def _done(data: dict[str, Any], now: datetime) -> Lines:
    if not data["tasks"]:
        return [(_("nothing finished today"), "dim")]
    return _some([(f"✓ {task_line(task | {'due_date': None}, now.date())}", "plain", 0) for task in data["tasks"]])


def _insights(data: dict[str, Any], now: datetime) -> Lines:
    if not data["insights"]:
        return [(_("no insights today"), "dim")]
    lines: list[tuple[Any, ...]] = []
    for insight in data["insights"]:
        project = f" — {insight['project']}" if insight["project"] else ""
        first = insight["content"].partition("\n")[0].rstrip()
        lines.append((f"{first}{project}", "plain", 0))
    return _some(lines)


def _commits(data: dict[str, Any], now: datetime) -> Lines:
    lines: list[tuple[Any, ...]] = []
    for entry in data["projects"]:
        lines.append((f"{entry['project']} ({entry['count']})",))
        lines += _some([(commit["subject"], "plain", 1) for commit in entry["commits"]])
    return lines or [(_("no commits today"), "dim")]


def _tomorrow(data: dict[str, Any], now: datetime) -> Lines:
    if not data["tasks"]:
        return [(_("nothing is due tomorrow"), "dim")]
    return _some([(task_line(task | {"due_date": None}, now.date()), "plain", 0) for task in data["tasks"]])


LINES: dict[str, Callable[[dict[str, Any], datetime], Lines]] = {
    "context": lambda data, now: [],
    "calendar": _calendar,
    "tasks": _tasks,
    "yesterday": _yesterday,
    "projects": _projects,
    "docker": _docker,
    "finance": _finance,
    "reports": _reports,
    "queue": _queue,
    "done": _done,
    "insights": _insights,
    "commits": _commits,
    "tomorrow": _tomorrow,
}
