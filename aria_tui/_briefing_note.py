"""What the evening leaves behind: an activity per project, and the daily note."""

from __future__ import annotations

import os
import re
import stat
from datetime import date
from pathlib import Path
from typing import Any

from aria_tui._briefing_render import render_markdown
from aria_tui.errors import NotSaved
from aria_tui.models import BriefingDoc

_SUMMARY = 2000
_PROJECT = 200
_DATE_PART = re.compile(r"(?<![A-Za-z])(?:YYYY|MM|DD)(?![A-Za-z])")


def evening_activities(doc: BriefingDoc) -> list[dict[str, Any]]:
    """The payloads of ``record_activity``, one a project with a commit or a finished task: ``project``, ``date``,
    ``commits`` and ``summary`` (commit subjects, then tasks done)."""
    days: dict[str, tuple[list[str], list[str]]] = {}
    for section in doc.sections:
        if section.name == "commits":
            for entry in section.data.get("projects", []):
                subjects = days.setdefault(entry["project"], ([], []))[0]
                subjects += [commit["subject"] for commit in entry["commits"]]
        elif section.name == "done":
            for task in section.data.get("tasks", []):
                if task["project_name"]:
                    days.setdefault(task["project_name"], ([], []))[1].append(task["title"])
    activities = []
    for project, (subjects, done) in sorted(days.items()):
        summary = "\n".join([*subjects, *(f"done: {title}" for title in done)])
        activities.append(
            {
                "project": project[:_PROJECT],
                "date": doc.date,
                "commits": len(subjects),
                "summary": summary.replace("\x00", "\ufffd")[:_SUMMARY],
            }
        )
    return activities


def note_path(template: str, day: date) -> Path:
    """The note's file: ``YYYY``, ``MM`` and ``DD`` in the template stand for the day's date."""
    parts = {"YYYY": f"{day.year:04}", "MM": f"{day.month:02}", "DD": f"{day.day:02}"}
    named = template.replace("YYYYMMDD", "".join(parts.values()))
    return Path(_DATE_PART.sub(lambda found: parts[found[0]], named)).expanduser()


def append_daily_note(template: str, doc: BriefingDoc) -> Path:
    """Appends the briefing as Markdown to the day's note, which is created where it isn't there and never overwritten.

    The same text is not appended twice. Gives the file. Raises NotSaved, with the file, when it can't be written.
    """
    text = render_markdown(doc).strip() + "\n"
    path = Path(template)
    try:
        path = note_path(template, date.fromisoformat(doc.date))
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotSaved("daily note: not a file", path=str(path), hint="see [briefing] daily_note")
            there = file.readall() or b""
            if text.encode() in there:
                return path
            gap = "" if not there else "\n" if there.endswith(b"\n") else "\n\n"
            left = memoryview((gap + text).encode())
            while left:
                left = left[file.write(left) or 0 :]
            os.fsync(descriptor)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise NotSaved(f"daily note: {reason}", path=str(path), hint="see [briefing] daily_note") from None
    return path
