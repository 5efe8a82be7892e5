"""The tasks: a list with a filter above it that is applied as it is typed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from textual.app import ComposeResult

from aria_tui.locale import _, ngettext
from aria_tui.models import TaskView
from aria_tui.tui.content import Line, say
from aria_tui.tui.task_rows import SORTS, TaskChoice, TaskRows, is_open
from aria_tui.tui.widgets.lines import RowList
from aria_tui.tui.widgets.pane import Pane


@dataclass(frozen=True)
class TasksState:
    """What the pane draws. ``notes`` stand above the list: that it is old, or why there is none."""

    tasks: tuple[TaskView, ...]
    today: date
    choice: TaskChoice
    selected: frozenset[str] = frozenset()
    notes: tuple[Line, ...] = ()
    headline: str = ""
    old: bool = False
    """Whether this is a list that was seen before, and not the Hub's of now."""


def _open(tasks: Iterable[TaskView]) -> int:
    return sum(is_open(task) and task.mark != "deleted" for task in tasks)


class TasksPane(Pane):
    """Draws a TasksState; keeps nothing but the cursor."""

    def __init__(self) -> None:
        super().__init__(_("Tasks"), id="tasks")
        self._rows: TaskRows | None = None
        self._state: TasksState | None = None

    def compose(self) -> ComposeResult:
        yield RowList(id="task-rows")

    @property
    def rows(self) -> RowList:
        """The list that has the focus when the pane has."""
        return self.query_one(RowList)

    def update_state(self, state: TasksState) -> None:
        """Draws another state; the cursor stays on its task."""
        if state == self._state:
            return
        self._state = state
        self._rows = TaskRows(state.tasks, state.choice, state.selected, state.today, state.notes, state.old)
        if state.choice.filter and not self._rows.tasks and not state.notes:
            words = _("no task has all of this; esc clears the filter")
            self._rows = TaskRows((), state.choice, state.selected, state.today, ((say(words, "dim"),),))
        self.rows.show(self._rows)
        self.name_it(_("Tasks"), self._headline_for(state))

    def _headline_for(self, state: TasksState) -> str:
        parts = []
        if state.choice.filter:
            parts.append(f"/{state.choice.filter}")
        if state.choice.sort != SORTS[0]:
            names = {
                "priority": _("by priority"),
                "title": _("by title"),
                "project": _("by project"),
                "newest": _("newest"),
            }
            parts.append(names[state.choice.sort])
        if state.selected:
            parts.append(ngettext("{n} selected", "{n} selected", len(state.selected)).format(n=len(state.selected)))
        if state.headline:
            parts.append(state.headline)
        else:
            count, found = _open(state.tasks), _open(self._rows.tasks if self._rows is not None else ())
            words = ngettext("{n} open", "{n} open", count).format(n=count)
            parts.append(_("{found} of {all}").format(found=found, all=words) if state.choice.filter else words)
        return " · ".join(parts)

    def current(self) -> TaskView | None:
        """The task under the cursor."""
        key = self.rows.cursor_key
        return self._rows.task(key) if key is not None and self._rows is not None else None

    def open_filter(self, text: str) -> None:
        """Shows the filter's input with the focus in it: at once, so that the very next key is the filter's."""
        from aria_tui.tui.widgets.inputs import FilterInput  # not needed for the first paint

        if not self.query(FilterInput):
            self.mount(
                FilterInput(text, self.rows, id="filter", placeholder=_("filter"), compact=True), before=self.rows
            )
        self.screen.set_focus(self.query_one(FilterInput))

    async def close_filter(self) -> None:
        """Takes the filter's input away; the list has the focus already."""
        await self.query("FilterInput").remove()
