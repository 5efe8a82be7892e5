"""Tasks as rows: filtered, sorted, grouped. Plain functions over a frozen snapshot; 10,000 take milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from aria_tui.locale import _, formats
from aria_tui.models import TaskView
from aria_tui.tui.content import Line, Piece, cell_width, fit, say, visible

SORTS = ("due", "priority", "title", "project", "newest")
OPEN = ("TODO", "IN_PROGRESS")
_RANK = {"URGENT": 0, "HIGH": 1, "MEDIUM": 2, "LOW": 3}
_PRIORITY_STYLE = {"URGENT": "bad", "HIGH": "warn"}


@dataclass(frozen=True)
class TaskChoice:
    """How the user wants to see the tasks."""

    filter: str = ""
    sort: str = "due"
    grouped: bool = False
    closed: bool = False


def priority_word(priority: str) -> str:
    """A priority in the user's language; one we don't know as the Hub wrote it."""
    words = {"URGENT": _("URGENT"), "HIGH": _("HIGH"), "MEDIUM": _("MEDIUM"), "LOW": _("LOW")}
    return words.get(priority, priority)


def status_word(status: str) -> str:
    """A task's status in the user's language; one we don't know as the Hub wrote it."""
    words = {"TODO": _("to do"), "IN_PROGRESS": _("in progress"), "DONE": _("done"), "CANCELLED": _("cancelled")}
    return words.get(status, status)


def is_open(task: TaskView) -> bool:
    """Whether the task is still to be done, as far as this machine knows."""
    return task.status in OPEN


def unfiltered(tasks: Sequence[TaskView], choice: TaskChoice) -> list[TaskView]:
    """The tasks that a filter chooses from."""
    return [task for task in tasks if choice.closed or is_open(task) or task.waiting]


def chosen(tasks: Sequence[TaskView], choice: TaskChoice) -> list[TaskView]:
    """The tasks to show, in order."""
    words = choice.filter.casefold().split()
    found = [task for task in unfiltered(tasks, choice) if _matches(task, words)]
    if choice.sort == "newest":
        found.sort(key=lambda task: task.created_at or "", reverse=True)
    else:
        keys = {
            "due": lambda t: (t.due_date or "9999", _RANK.get(t.priority, 9), t.title.casefold()),
            "priority": lambda t: (_RANK.get(t.priority, 9), t.due_date or "9999", t.title.casefold()),
            "title": lambda t: t.title.casefold(),
            "project": lambda t: ((t.project_name or "\uffff").casefold(), t.due_date or "9999"),
        }
        found.sort(key=keys.get(choice.sort, keys["due"]))
    if choice.closed:
        found.sort(key=lambda task: not is_open(task))
    if choice.grouped:
        found.sort(key=lambda task: (task.project_name or "\uffff").casefold())
    return found


def _matches(task: TaskView, words: list[str]) -> bool:
    if not words:
        return True
    text = f"{task.title} {task.project_name or ''} {' '.join(task.tags)} {task.priority}".casefold()
    return all(word in text for word in words)


class TaskRows:
    """Rows for a RowList: headings (``notes`` and groups) and tasks."""

    def __init__(
        self,
        tasks: Sequence[TaskView],
        choice: TaskChoice,
        selected: frozenset[str],
        today: date,
        notes: Sequence[Line],
        old: bool = False,
    ) -> None:
        self._selected, self._today, self._old = selected, today, old
        self._rows: list[Line | TaskView] = list(notes)
        self.tasks = chosen(tasks, choice)
        group: str | None = None
        for task in self.tasks:
            if choice.grouped and (name := task.project_name or _("no project")) != group:
                group = name
                self._rows.append((say(name, "title"),))
            self._rows.append(task)
        self._grouped = choice.grouped
        self._index = {row.id: number for number, row in enumerate(self._rows) if isinstance(row, TaskView)}
        every = unfiltered(tasks, choice)  # the columns stay where they are while a filter is typed
        self._due = {day: visible(formats.due(day, today)) for day in {task.due_date for task in every} if day}
        self._widths = (
            max((cell_width(visible(name)) for name in {task.project_name for task in every} if name), default=0),
            min(18, max((cell_width(word) for word in self._due.values()), default=0)),
            min(8, max((cell_width(priority_word(p)) for p in {task.priority for task in every}), default=0)),
        )

    def __len__(self) -> int:
        return len(self._rows)

    def key(self, index: int) -> str | None:
        row = self._rows[index]
        return row.id if isinstance(row, TaskView) else None

    def find(self, key: str) -> int | None:
        return self._index.get(key)

    def task(self, key: str) -> TaskView | None:
        """The task with this id, if it is among the rows."""
        row = self._rows[self._index[key]] if key in self._index else None
        return row if isinstance(row, TaskView) else None

    def line(self, index: int, width: int) -> Line:
        row = self._rows[index]
        if not isinstance(row, TaskView):
            return row
        project = 0 if self._grouped or width < 44 else min(self._widths[0], 16, width // 5)
        due_width, priority_width = self._widths[1:]
        title = width - 3 - project - due_width - priority_width - (3 if project else 2)
        faint = not is_open(row) or (self._old and not row.waiting)  # what this machine wrote is known
        style = "strike" if row.mark == "deleted" else "dim" if faint else ""
        due = self._due.get(row.due_date or "", "")
        due_style = style or self._due_style(row)
        priority = priority_word(row.priority)
        pieces = [
            Piece("✓" if row.id in self._selected else " ", "accent"),
            Piece(_mark(row), "accent" if row.mark != "deleted" else "bad"),
            fit(row.title, title, style),
            Piece(" "),
        ]
        if project:
            pieces += [fit(row.project_name or "", project, style or "dim"), Piece(" ")]
        pieces += [fit(due, due_width, due_style, right=True), Piece(" ")]
        pieces.append(fit(priority, priority_width, style or _PRIORITY_STYLE.get(row.priority, "dim")))
        return tuple(pieces)

    def _due_style(self, task: TaskView) -> str:
        if not is_open(task) or not task.due_date:
            return "dim"
        today = self._today.isoformat()
        return "bad" if task.due_date < today else "warn" if task.due_date == today else ""


def _mark(task: TaskView) -> str:
    """Two cells: what this machine has that the Hub doesn't know yet, else the task's state."""
    if task.mark:
        return {"new": "⇡ ", "edited": "✎ ", "deleted": "✗ "}[task.mark]
    if task.waiting:
        return "⇡ "
    return {"DONE": "✔ ", "CANCELLED": "– ", "IN_PROGRESS": "▶ "}.get(task.status, "  ")
