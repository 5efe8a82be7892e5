"""What can be done in the tasks pane, and the captures that work everywhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from textual import on

from aria_tui.errors import HubUnavailable
from aria_tui.locale import _, formats, ngettext
from aria_tui.models import TaskView
from aria_tui.outbox.ids import new_id
from aria_tui.tui.content import Line, say
from aria_tui.tui.messages import FilterChanged, FilterLeft
from aria_tui.tui.screens.base import AriaScreen
from aria_tui.tui.task_rows import SORTS, TaskChoice, is_open
from aria_tui.tui.widgets.tasks_pane import TasksPane, TasksState
from aria_tui.tui.writes import Undo, changed

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant
    from aria_tui.models import WriteResult


def unavailable_words(error: HubUnavailable) -> str:
    """Why there is no task list, as briefing.md words it."""
    return {
        "offline": _("Hub offline — task list unavailable"),
        "refused": _("Hub sign-in needed — task list unavailable"),
        "not_the_hub": _("Hub gave an unexpected answer — task list unavailable"),
    }.get(error.state, _("Hub {state} — task list unavailable").format(state=error.state.replace("_", " ")))


class TaskCommands(AriaScreen):
    """Mixin of the dashboard."""

    if TYPE_CHECKING:  # what the dashboard and the other mixins give

        @property
        def now(self) -> Any: ...

        def _activate(self, pane: str) -> None: ...

    _choice = TaskChoice()
    _selected: frozenset[str] = frozenset()

    @property
    def tasks_pane(self) -> TasksPane:
        return self.query_one(TasksPane)

    def load_task_choice(self) -> None:
        """Sort, filter and grouping as they were left."""
        kept = self.aria.session.get("tasks")
        kept = kept if isinstance(kept, dict) else {}
        sort = kept.get("sort")
        self._choice = TaskChoice(
            filter=str(kept.get("filter", "")),
            sort=sort if sort in SORTS else SORTS[0],
            grouped=kept.get("grouped") is True,
            closed=kept.get("closed") is True,
        )

    def draw_tasks(self) -> None:
        live = self.aria.live
        today = self.now.date()
        ids = {task.id for task in live.shown_tasks()} if self._selected else set()
        self._selected = frozenset(self._selected & ids)
        notes, headline = self._task_notes()
        self.tasks_pane.update_state(
            TasksState(
                live.shown_tasks(), today, self._choice, self._selected, notes, headline,
                old=live.tasks is not None and live.tasks.source == "last-seen",
            )
        )  # fmt: skip

    def _task_notes(self) -> tuple[tuple[Line, ...], str]:
        live = self.aria.live
        if live.tasks_error:
            return ((say(live.tasks_error, "bad"),),), _("unavailable")
        if live.tasks_problem is not None:
            words = unavailable_words(live.tasks_problem)
            key = (say(_("l shows the last list seen"), "dim"),)
            return ((say(words, "warn"),), key), _("unavailable")
        if live.tasks is None:
            return ((say(_("reading …"), "dim"),),), "…"
        if live.tasks.source == "last-seen":
            age = formats.when(live.tasks.as_of, self.now)
            return ((say(_("Hub offline — last list seen, of {time}").format(time=age), "warn dim"),),), _(
                "last seen {time}"
            ).format(time=age)
        if not live.shown_tasks():
            return ((say(_("no tasks; n or t adds one"), "dim"),),), ""
        return (), ""

    def _choose(self, **changes: Any) -> None:
        from dataclasses import asdict, replace

        self._choice = replace(self._choice, **changes)
        self.aria.session.put("tasks", asdict(self._choice))
        self.draw_tasks()

    # -- looking

    def do_filter(self) -> None:
        self._activate("tasks")
        self.tasks_pane.open_filter(self._choice.filter)

    @on(FilterChanged)
    def _filter_changed(self, event: FilterChanged) -> None:
        self._choose(filter=event.text)

    @on(FilterLeft)
    async def _filter_left(self, event: FilterLeft) -> None:
        await self.tasks_pane.close_filter()
        if not event.kept:
            self._choose(filter="")

    def do_task_sort(self) -> None:
        self._choose(sort=SORTS[(SORTS.index(self._choice.sort) + 1) % len(SORTS)])

    def do_task_group(self) -> None:
        self._choose(grouped=not self._choice.grouped)

    def do_task_closed(self) -> None:
        self._choose(closed=not self._choice.closed)

    def do_task_last_seen(self) -> None:
        self.aria.live.last_seen_wanted = not self.aria.live.last_seen_wanted
        self.aria.live.ask("tasks")

    def do_task_clear(self) -> None:
        self._selected = frozenset()
        self._choose(filter="")

    def do_task_select(self) -> None:
        if (task := self.tasks_pane.current()) is not None:
            self._selected ^= {task.id}
            self.draw_tasks()
            self.tasks_pane.rows.action_move(1)

    # -- doing

    def _chosen(self) -> list[TaskView]:
        """The selected tasks, else the one under the cursor."""
        if self._selected:
            return [task for task in self.aria.live.shown_tasks() if task.id in self._selected]
        task = self.tasks_pane.current()
        return [] if task is None else [task]

    def do_task_done(self) -> None:
        for task in self._chosen():
            if task.mark == "deleted" or not is_open(task):
                continue
            self._write(task, {"status": "DONE"}, _("done: {title}"), partial(_complete, task.id))
        self._selected = frozenset()
        self.draw_tasks()

    def do_task_reopen(self) -> None:
        for task in self._chosen():
            if not is_open(task) and task.mark != "deleted":
                self._update(task, {"status": "TODO"}, _("reopened: {title}"))

    def do_task_postpone(self) -> None:
        for task in self._chosen():
            if not is_open(task):
                continue
            today = self.now.date()
            try:
                due = max(date.fromisoformat(task.due_date or ""), today) + timedelta(days=1)
            except (ValueError, OverflowError):
                due = today + timedelta(days=1)
            self._update(task, {"due_date": due.isoformat()}, _("postponed: {title}"))

    def _update(self, task: TaskView, changes: dict[str, Any], label: str) -> None:
        self._write(task, changes, label, lambda a: a.update_task(task.id, changes))

    def _write(
        self, task: TaskView, changes: dict[str, Any], label: str, call: Callable[[Assistant], Awaitable[WriteResult]]
    ) -> None:
        """One write that changes fields, with the way back: the fields as they were."""
        self.aria.writes.go(call, overlay=changed(task, changes), undo=lambda _r: self.way_back(task, changes, label))

    @staticmethod
    def way_back(task: TaskView, changes: dict[str, Any], label: str) -> Undo:
        """Undo of an update: a new write with the former values."""
        former = {name: getattr(task, name) for name in changes}
        if "tags" in former:
            former["tags"] = list(former["tags"])
        title = label.format(title=task.title)
        return Undo(title, task.id, lambda a, now: a.update_task(now, former), changed(task, former))

    async def do_task_delete(self) -> None:
        tasks = [task for task in self._chosen() if task.mark != "deleted"]
        if not tasks:
            return
        if len(tasks) > 1:
            from aria_tui.tui.screens.confirm import ConfirmScreen

            question = ngettext("Delete {n} task?", "Delete {n} tasks?", len(tasks)).format(n=len(tasks))
            if not await self.app.push_screen_wait(ConfirmScreen(question, _("delete"))):
                return
        for task in tasks:
            gone = msgspec.structs.replace(task, mark="deleted", waiting=True)
            self.aria.writes.go(
                partial(_delete, task.id),
                overlay=gone,
                undo=partial(_undelete, task),
            )
        self._selected = frozenset()

    # -- forms

    def do_task_new(self) -> None:
        self.aria.do_task()

    def do_task_edit(self) -> None:
        if (task := self.tasks_pane.current()) is not None and task.mark != "deleted":
            self.aria.edit_task(task)


def _complete(task_id: str, assistant: Assistant) -> Awaitable[WriteResult]:
    return assistant.complete_task(task_id)


def _delete(task_id: str, assistant: Assistant) -> Awaitable[WriteResult]:
    return assistant.delete_task(task_id)


def _undelete(task: TaskView, result: WriteResult) -> Undo:
    """Undo of a delete: of a waiting one the row is taken out; of a delivered one a new task gets the old fields."""
    fields = {
        "project": task.project_name, "description": task.description, "priority": task.priority,
        "status": task.status, "due": task.due_date, "tags": task.tags,
    }  # fmt: skip
    queued = result.queue_id if result.status == "queued" and isinstance(result.queue_id, int) else None
    again = msgspec.structs.replace(task, id=new_id(), waiting=True, mark="new")
    return Undo(
        _("deleted: {title}").format(title=task.title),
        task.id,
        lambda assistant, _now: assistant.create_task(task.title, id=again.id, **fields),  # type: ignore[arg-type]
        again,
        queued,
        anew=True,
    )
