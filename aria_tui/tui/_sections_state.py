"""The sections that say how things stand: projects, containers, money, the queue."""

from __future__ import annotations

from datetime import datetime

from aria_tui import _briefing_lines as briefing
from aria_tui._briefing_words import say as said
from aria_tui.locale import _, formats, ngettext
from aria_tui.tui._scene import Data, Scene
from aria_tui.tui.content import Line, Piece, cell_width, fit, say, visible, wrapped


def projects(data: Data, scene: Scene) -> list[Line]:
    """The projects that were worked on lately, and those with a problem."""
    projects = list(data.get("projects") or [])
    shown = [project for project in projects if project.get("freshness") != "stale" or project.get("problem")]
    if not projects:
        return [(say("  " + _("no projects found"), "dim"),)]
    longest = max((cell_width(visible(str(project.get("name", "")))) for project in shown), default=0)
    width = max(min(20, max(8, scene.width // 4)), min(longest, 32, scene.width - 38))
    return [_project(project, scene, width) for project in shown]


def stale(data: Data) -> Line:
    """How many projects lie still, and which."""
    projects = list(data.get("projects") or [])
    stale = int(data.get("stale") or 0)
    if not stale:
        return ()
    text = ngettext("{n} stale of {total}", "{n} stale of {total}", stale).format(n=stale, total=len(projects))
    names = ", ".join(str(p.get("name", "")) for p in projects if p.get("freshness") == "stale")
    return (say(text, "warn"), say(f": {names}", "dim"))


def _project(project: Data, scene: Scene, name_width: int) -> Line:
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


def docker(data: Data, scene: Scene) -> list[Line]:
    """The containers that aren't well."""
    return [
        (Piece("  ✗ ", "bad"), say(f"{problem.get('name', '')}: {said(str(problem.get('problem', '')))}", "warn"))
        for problem in data.get("problems") or []
    ]


def running(data: Data) -> Line:
    """How many containers run."""
    running = int(data.get("running") or 0)
    return (say(_("{n} running of {total}").format(n=running, total=data.get("total", running))),)


def finance(data: Data, scene: Scene) -> list[Line]:
    """Budgets near their limit, then what is due."""
    currency = str(data.get("currency") or "")
    lines: list[Line] = []
    for budget in data.get("budgets") or []:
        if budget.get("level") in ("warning", "critical"):
            text = _budget(budget, currency)
            mark, style = ("  ✗ ", "bad") if budget["level"] == "critical" else ("  ⚠ ", "warn")
            lines.append((Piece(mark, style), say(text, style)))
    for item in data.get("due") or []:
        amount = formats.money(str(item.get("amount", "")), str(item.get("currency") or currency))
        day = formats.due(str(item.get("due") or ""), scene.today)
        lines.append(
            (say("  " + _("due"), "dim"), say(f"  {item.get('description', '')}  {amount}  "), say(day, "dim"))
        )
    return lines


def _budget(budget: Data, currency: str) -> str:
    """Money spent where none was allowed has no share."""
    category, percent = budget.get("category"), budget.get("percent")
    if percent is None:
        return _("{category}: {amount} spent without a budget").format(
            category=category, amount=formats.amount(str(budget.get("spent")), currency)
        )
    share = formats.number(percent, 1 if percent % 1 else 0)
    return _("{category} budget at {percent} %").format(category=category, percent=share)


def flows(data: Data) -> Line:
    """Income, expenses and balance."""
    text = briefing.flows(data)
    return (say(text),) if text else ()


def queue_sentence(data: Data, hub_state: str, since: str, now: datetime) -> str:
    """``QUEUE: 3 waiting (Hub offline since 21:40) · 2× capture_insight, 1× store_briefing · press s to sync``."""
    count = int(data.get("pending_total") or 0)
    why = ""
    if hub_state == "offline":
        why = _("Hub offline since {time}").format(time=formats.when(since, now)) if since else _("Hub offline")
    kinds = ", ".join(f"{n}× {operation}" for operation, n in (data.get("by_operation") or {}).items())
    parts = [_("QUEUE: {n} waiting").format(n=count) + (f" ({why})" if why else "")]
    return " · ".join([*parts, *([kinds] if kinds else []), _("press s to sync")])


def queue(data: Data, scene: Scene) -> list[Line]:
    """What waits, and what needs the user."""
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
