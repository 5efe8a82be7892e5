"""The briefing as lines: for a terminal, for Markdown, and as blocks for a screen to draw in its own way."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo

from aria_tui import clean
from aria_tui._briefing_lines import LINES, head_lines, project_line, queue_line
from aria_tui._briefing_words import say
from aria_tui.hub.contract import read_time
from aria_tui.locale import _, formats, ngettext
from aria_tui.models import BriefingDoc, Section

Look = Literal["alert", "plain", "dim", "mark", "problem"]
_UNWRAPPED = 1_000_000
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~])")
_LINE_START = re.compile(r"^(\s*)([#+\-]|\d+\.)(?=\s)")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a block: text as it was given from outside (not yet cleaned), and how it is to look."""

    text: str
    look: Look = "plain"
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """One section as words: ``title``, its ``state``, a ``note`` with reason and age where it isn't ``ok``, lines."""

    name: str
    title: str
    state: str
    note: str
    lines: tuple[Line, ...]


def local_now(doc: BriefingDoc) -> datetime:
    """The moment at which the briefing was made, in its own zone."""
    try:
        zone = ZoneInfo(doc.timezone)
    except (KeyError, ValueError, OSError):
        zone = ZoneInfo("UTC")
    return read_time(doc.generated_at).astimezone(zone)


def titles() -> dict[str, str]:
    return {
        "alerts": _("Alerts"),
        "context": _("Context"),
        "calendar": _("Calendar"),
        "tasks": _("Tasks"),
        "yesterday": _("Since yesterday"),
        "projects": _("Projects"),
        "docker": _("Docker"),
        "finance": _("Finance"),
        "reports": _("Reports"),
        "queue": _("Queue"),
        "done": _("Done today"),
        "insights": _("Insights"),
        "commits": _("Commits"),
        "tomorrow": _("Tomorrow"),
    }


def blocks(doc: BriefingDoc) -> list[Block]:
    """Everything that is shown, in order: alerts first; what isn't configured, and an empty queue, are not shown."""
    now = local_now(doc)
    found = []
    if doc.alerts:
        lines = tuple(
            Line(f"{'✗' if a.level == 'critical' else '⚠'} {_source_text(a.source, say(a.text, now))}", "alert")
            for a in doc.alerts
        )
        found.append(Block("alerts", titles()["alerts"], "ok", "", lines))
    hub = next((section.data.get("hub") for section in doc.sections if section.name == "context"), None)
    made = (block_of(section, now, hub) for section in doc.sections)
    return found + [block for block in made if block is not None]


def block_of(section: Section, now: datetime, hub: dict[str, Any] | None = None) -> Block | None:
    """One section's block, or None where there is nothing to show. ``hub`` is the context's, for the queue's line."""
    if section.state == "not_configured":
        return None
    title = titles().get(section.name, section.name)
    make = LINES.get(section.name, _any_lines)
    lines: tuple[Line, ...] = ()
    if section.data:
        try:
            more: dict[str, dict[str, Any]] = {
                "queue": {"hub": hub or {}},
                "calendar": {"partial": section.state == "partial"},
            }
            data = section.data | more.get(section.name, {})
            lines = tuple(Line(*parts) for parts in make(data, now))
        except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError):
            lines = (Line(_("can't be shown: the data has another form"), "problem"),)
    if section.name in ("queue", "reports") and section.state == "ok" and not lines:
        return None
    if section.state == "stale":
        lines = tuple(replace(line, look="dim") for line in lines)
    return Block(section.name, title, section.state, _note(section, title, now), lines)


def _note(section: Section, title: str, now: datetime) -> str:
    """Why a section isn't whole, and of when it is: ``Calendar unavailable: HTTP 404``."""
    reason = say(section.reason, now)
    since = _("as of {time}").format(time=formats.when(section.as_of, now)) if section.as_of else ""
    match section.state:
        case "unavailable":
            if section.reason.startswith("Hub "):
                return reason
            text = _("{section} unavailable").format(section=title)
            return f"{text}: {reason}" if reason else text
        case "stale":
            return " · ".join(part for part in (since or _("not current"), reason) if part)
        case "partial":
            return " · ".join(part for part in (_("incomplete"), reason, since) if part)
    return " · ".join(part for part in (reason, since) if part)


def _source_text(source: str, text: str) -> str:
    title = titles().get(source)
    return f"{title}: {text}" if title and source in ("docker", "finance", "queue", "calendar", "reports") else text


def _any_lines(data: dict[str, Any], now: datetime) -> list[tuple[Any, ...]]:
    """A user's own section: its ``lines`` if it has such, else each key and value."""
    given = data.get("lines")
    if isinstance(given, list):
        return [(str(line),) for line in given]
    return [(f"{key}: {value}",) for key, value in data.items()]


def render_text(doc: BriefingDoc, width: int | None = None) -> str:
    """The briefing as text, wrapped for a terminal of ``width`` columns (None: not wrapped); nothing in it can disturb
    a terminal."""
    width = _UNWRAPPED if width is None else max(20, width)
    shown = [clean.cut(clean.visible(line), width) for line in head_lines(doc, local_now(doc))]
    for block in blocks(doc):
        if block.name == "context" and block.state == "ok":
            continue  # it is the head
        if block.name == "queue":
            shown += ["", *(part for line in block.lines for part in _wrapped(line.text, width, 0))]
            if block.note:
                shown += _wrapped(block.note, width, 0)
            continue
        shown += ["", clean.visible(block.title)]
        if block.note:
            shown += _wrapped(block.note, width, 2)
        lines = () if block.name == "context" else block.lines
        shown += [part for line in lines for part in _wrapped(line.text, width, 2 + 2 * line.indent)]
    return "\n".join(shown) + "\n"


def render_markdown(doc: BriefingDoc) -> str:
    """The briefing as Markdown (CommonMark), as it is stored."""
    now = local_now(doc)
    first, *others = head_lines(doc, now)
    shown = [f"# {_escaped(first)}", ""]
    for line in others:
        shown += [_escaped(line), ""]
    for block in blocks(doc):
        if block.name == "context" and block.state == "ok":
            continue
        shown += [f"## {_escaped(block.title)}", ""]
        if block.note:
            shown += [f"_{_escaped(block.note)}_", ""]
        lines = () if block.name == "context" else block.lines
        shown += [f"{'  ' * line.indent}- {_escaped(line.text)}" for line in lines]
        if lines:
            shown.append("")
    return "\n".join(shown).rstrip() + "\n"


def render_projects(section: Section, *, stale_only: bool = False, width: int | None = None, now: datetime) -> str:
    """The ``projects`` section for ``aria projects``: every repository a line, or the stale ones alone. ``now`` is the
    user's local time."""
    width = width or _UNWRAPPED
    projects = section.data.get("projects", [])
    shown = []
    if section.state != "ok":
        note = section.reason if section.state == "not_configured" else _note(section, titles()["projects"], now)
        shown += _wrapped(note, width, 0)
    for project in projects:
        if not stale_only or project["freshness"] == "stale":
            shown += _wrapped(project_line(project, now, full=True), width, 0)
    if projects or section.state == "ok":
        stale = section.data.get("stale", 0)
        shown.append(_("{stale} stale of {total}").format(stale=stale, total=len(projects)))
    return "\n".join(shown) + "\n"


def render_compare(comparison: dict[str, Any], width: int | None = None) -> str:
    """Two days compared, as text."""
    width = width or _UNWRAPPED
    days = [formats.short_day(date.fromisoformat(comparison[key])) for key in ("from", "to")]
    shown = [_("{earlier} → {later}").format(earlier=days[0], later=days[1])]
    for title, lines in _compared(comparison):
        shown += ["", title, *(part for line in lines for part in _wrapped(line, width, 2))]
    if unknown := comparison["unknown"]:
        names = ", ".join(titles().get(name, name) for name in unknown)
        shown += ["", *_wrapped(_("not known on both days: {names}").format(names=names), width, 0)]
    return "\n".join(shown) + "\n"


def _compared(comparison: dict[str, Any]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    if tasks := comparison["tasks"]:
        counts = {"then": tasks["open_then"], "now": tasks["open_now"]}
        counts |= {"new": len(tasks["new"]), "done": len(tasks["done"])}
        lines = [_("{then} open then, {now} now: {new} new, {done} done").format(**counts)]
        lines += [f"+ {title}" for title in tasks["new"]] + [f"✓ {title}" for title in tasks["done"]]
        found.append((titles()["tasks"], lines))
    if projects := comparison["projects"]:
        lines = []
        for project in projects:
            then, now = (_gist(project[key]) for key in ("then", "now"))
            lines.append(f"{project['name']}: {then} → {now}")
        found.append((titles()["projects"], lines))
    if docker := comparison["docker"]:
        lines = [_("{then} running then, {now} now").format(then=docker["running_then"], now=docker["running_now"])]
        lines += [f"+ {text}" for text in docker["new"]] + [f"✓ {text}" for text in docker["gone"]]
        found.append((titles()["docker"], lines))
    if finance := comparison["finance"]:
        then, now = (formats.money(finance[key], finance["currency"]) for key in ("balance_then", "balance_now"))
        found.append((titles()["finance"], [f"{then} → {now}"]))
    alerts = comparison["alerts"]
    if alerts["new"] or alerts["gone"]:
        lines = [f"+ {say(text)}" for text in alerts["new"]] + [f"✓ {say(text)}" for text in alerts["gone"]]
        found.append((titles()["alerts"], lines))
    return found


def _gist(project: dict[str, Any] | None) -> str:
    if project is None:
        return "–"
    return " · ".join(str(project[key]) for key in ("branch", "state", "last_commit") if project[key])


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    """The text in lines of at most ``width`` cells, continued two cells further in."""
    text = clean.visible(text)
    lead, room = " " * indent, max(10, width - indent - 2)
    if clean.cell_width(text) <= width - indent:
        return [lead + text]
    if text.isascii():
        parts = textwrap.wrap(text, room) or [""]
    else:
        parts = _wrapped_cells(text, room)
    return [lead + parts[0], *(f"{lead}  {part}" for part in parts[1:])]


def _wrapped_cells(text: str, room: int) -> list[str]:
    parts = [""]
    for word in text.split(" "):
        joined = f"{parts[-1]} {word}" if parts[-1] else word
        if clean.cell_width(joined) <= room:
            parts[-1] = joined
        else:
            parts.append(clean.cut(word, room))
    return [part for part in parts if part] or [""]


def _escaped(text: str) -> str:
    text = _MARKDOWN.sub(r"\\\1", clean.visible(text))
    return _LINE_START.sub(r"\1\\\2", text)


Lines = Callable[[dict[str, Any], datetime], Sequence[tuple[Any, ...]]]
__all__ = ["Block", "Line", "block_of", "blocks", "ngettext", "queue_line", "render_text"]
