"""The forms for a task and an insight, new or to be edited."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from textual import on
from textual.widget import Widget
from textual.widgets._input import Input

from aria_tui.dates import parse_due
from aria_tui.errors import FieldError, InvalidInput
from aria_tui.hub.contract import PRIORITIES
from aria_tui.locale import _, formats
from aria_tui.models import InsightView, TaskView, WriteResult
from aria_tui.outbox.ids import new_id
from aria_tui.tui.content import say
from aria_tui.tui.screens.form import FormScreen, LastWord, tags_of
from aria_tui.tui.task_rows import priority_word
from aria_tui.tui.wallclock import local_now
from aria_tui.tui.widgets.block_input import BlockInput
from aria_tui.tui.widgets.choice import Choice
from aria_tui.tui.widgets.inputs import LineInput
from aria_tui.tui.widgets.lines import Hint
from aria_tui.tui.writes import Undo, changed

Fields = dict[str, Any]


def _changes(now: Fields, wanted: Fields, shown: Fields, typed: Fields) -> Fields:
    """What differs from ``now``. A field that reads as it was shown is as it was: what its form would take away (a
    space at the end, the comma in a tag) stays."""
    return {name: value for name, value in wanted.items() if value != now[name] and typed[name] != shown[name]}


class TaskForm(FormScreen):
    """A task: title, project, due date in words, priority, tags, description."""

    def __init__(self, task: TaskView | None = None, *, error: str = "") -> None:
        super().__init__(f"task:{task.id}" if task else "task", error=error)
        self._edited = task

    def title_words(self) -> str:
        return _("Edit task") if self._edited else _("New task")

    def _shown(self) -> dict[str, str]:
        """The texts that the fields begin with, by the fields' names."""
        task = self._edited
        return {
            "title": task.title if task else "",
            "project": (task and task.project_name) or "",
            "due": (task and task.due_date) or "",
            "priority": task.priority if task else "MEDIUM",
            "tags": ", ".join(task.tags) if task else "",
            "description": (task and task.description) or "",
        }

    def fields(self) -> Iterator[tuple[str, Widget]]:
        first = {**self._shown(), **self.draft()}
        projects = LastWord(self.aria.captures.projects())
        yield _("Title"), LineInput(first["title"], id="title", compact=True)
        yield _("Project"), LineInput(first["project"], id="project", compact=True, suggester=projects)
        hint = _("today, fri, +3d, 2026-12-01")
        yield _("Due"), LineInput(first["due"], id="due", compact=True, placeholder=hint)
        yield _("Priority"), Choice(PRIORITIES[::-1], first["priority"], priority_word, id="priority")
        tags = LastWord(self.aria.captures.tags())
        yield _("Tags"), LineInput(first["tags"], id="tags", compact=True, suggester=tags)
        yield _("Notes"), BlockInput(first["description"], id="description")

    def hint_for(self, field: Widget) -> Widget | None:
        return Hint(id="due-hint") if field.id == "due" else None

    def on_mount(self) -> None:
        super().on_mount()
        self._understood(self.query_one("#due", LineInput).value)

    @on(Input.Changed, "#due")
    def _due_typed(self, event: Input.Changed) -> None:
        self._understood(event.value)

    def _understood(self, text: str) -> None:
        """Shows the date that was understood, or why there is none."""
        today = local_now().date()
        hint = self.query_one("#due-hint", Hint)
        if not text.strip():
            hint.show(())
            return
        try:
            day = parse_due(text, today)
        except InvalidInput as error:
            hint.show(((say(f"? {error.errors[0].message}", "warn"),),))
            return
        hint.show(
            ((say(f"= {formats.short_day(day, today)} {day.year} ({formats.due(day.isoformat(), today)})", "good"),),)
        )

    def worth_keeping(self) -> bool:
        values = self.values()
        return any(
            values[name].strip() for name in ("title", "project", "due", "tags", "description") if name in values
        )

    def begin(self, values: dict[str, Any]) -> asyncio.Task[WriteResult] | None:
        due = parse_due(values["due"], local_now().date()).isoformat() if values["due"].strip() else None
        wanted: dict[str, Any] = {
            "title": values["title"].strip(),
            "project_name": values["project"].strip() or None,
            "due_date": due,
            "priority": values["priority"],
            "tags": tags_of(values["tags"], self._edited.tags if self._edited else ()),
            "description": values["description"].strip() or None,
        }
        if not wanted["title"]:
            raise InvalidInput([FieldError(_("title"), _("must not be empty"))])
        return self._create(wanted) if self._edited is None else self._edit(self._edited, wanted, values)

    def _create(self, wanted: dict[str, Any]) -> asyncio.Task[WriteResult]:
        task = changed(TaskView(id=new_id(), title="", mark="new"), wanted)
        label = _("new task: {title}").format(title=task.title)
        return self.aria.writes.start(
            lambda a: a.create_task(
                task.title, project=task.project_name, description=task.description, priority=task.priority,
                due=task.due_date, tags=task.tags, id=task.id,
            ),
            overlay=task,
            undo=lambda _result: Undo(label, task.id, lambda a, now: a.delete_task(now)),
        )  # fmt: skip

    def _edit(self, task: TaskView, wanted: dict[str, Any], values: dict[str, Any]) -> asyncio.Task[WriteResult] | None:
        now = {**{name: getattr(task, name) for name in wanted}, "tags": list(task.tags)}
        shown, typed = (
            {{"project": "project_name", "due": "due_date"}.get(name, name): text for name, text in texts.items()}
            for texts in (self._shown(), values)
        )
        changes = _changes(now, wanted, shown, typed)
        if not changes:
            return None
        former = {name: now[name] for name in changes}
        label = _("edited: {title}").format(title=task.title)
        return self.aria.writes.start(
            lambda a: a.update_task(task.id, changes),
            overlay=changed(task, changes),
            undo=lambda _r: Undo(label, task.id, lambda a, now: a.update_task(now, former), changed(task, former)),
        )


class InsightForm(FormScreen):
    """An insight: several lines of text, project, tags."""

    def __init__(self, insight: InsightView | None = None, *, error: str = "") -> None:
        super().__init__(f"insight:{insight.id}" if insight else "insight", error=error)
        self._insight = insight

    def title_words(self) -> str:
        return _("Edit insight") if self._insight else _("New insight")

    def _shown(self) -> dict[str, str]:
        """The texts that the fields begin with, by the fields' names."""
        insight = self._insight
        return {
            "content": insight.content if insight else "",
            "project": (insight and insight.project) or "",
            "tags": ", ".join(insight.tags) if insight else "",
        }

    def fields(self) -> Iterator[tuple[str, Widget]]:
        first = {**self._shown(), **self.draft()}
        yield _("Text"), BlockInput(first["content"], id="content")
        projects = LastWord(self.aria.captures.projects())
        yield _("Project"), LineInput(first["project"], id="project", compact=True, suggester=projects)
        tags = LastWord(self.aria.captures.tags())
        yield _("Tags"), LineInput(first["tags"], id="tags", compact=True, suggester=tags)

    def begin(self, values: dict[str, Any]) -> asyncio.Task[WriteResult] | None:
        insight = self._insight
        text, project = values["content"].strip("\n"), values["project"].strip() or None
        tags = tags_of(values["tags"], insight.tags if insight else ())
        if not text.strip():
            raise InvalidInput([FieldError(_("text"), _("must not be empty"))])
        if insight is None:
            return self.aria.writes.start(
                lambda a: a.capture_insight(text, project=project, tags=tags),
                undo=lambda made: Undo(_("new insight"), made.id, lambda a, now: a.delete_insight(now)),
            )
        wanted: dict[str, Any] = {"content": text, "project": project, "tags": tags}
        now = {"content": insight.content, "project": insight.project, "tags": list(insight.tags)}
        changes = _changes(now, wanted, self._shown(), values)
        if not changes:
            return None
        former = {name: now[name] for name in changes}
        return self.aria.writes.start(
            lambda a: a.update_insight(insight.id, changes),
            undo=lambda _r: Undo(_("edited insight"), insight.id, lambda a, now: a.update_insight(now, former)),
        )
