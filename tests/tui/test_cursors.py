"""The lists' cursors: whatever happens to the rows, the cursor is on one that is there, and on the same as before.

Sequences are made up by Hypothesis over a list on a screen; a failing one is shrunk to its shortest. The rows come and
go as they do when the Hub answers, another program writes, or the user filters, sorts, groups, deletes and takes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from aria_tui.models import TaskView
from aria_tui.tui.content import say
from aria_tui.tui.task_rows import SORTS, TaskChoice
from aria_tui.tui.themes import register
from aria_tui.tui.widgets.tasks_pane import TasksPane, TasksState
from tests.tui.conftest import Running, configured, until

TITLES = ("alpha", "beta", "gamma", "delta", "alphabet", "")
PROJECTS = (None, "red", "blue", "[/x]")
KEYS = ("up", "down", "j", "k", "pageup", "pagedown", "home", "end", "G")
SIZES = ((120, 40), (60, 20), (1, 1), (20, 5), (80, 3), (200, 60))
NOTE = (say("the list is old", "dim"),)


class Bench(App[int]):
    """The tasks' pane and nothing else."""

    CSS = "TasksPane { height: 100%; } RowList { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        register(self, "dark")

    def compose(self) -> ComposeResult:
        yield TasksPane()


class Desk:
    """What a user and the world do to the list, and what must hold after each of it."""

    def __init__(self, app: Bench, pilot: Any) -> None:
        self.pilot, self.pane = pilot, app.query_one(TasksPane)
        self.tasks: tuple[TaskView, ...] = ()
        self.gone: list[TaskView] = []
        self.choice, self.selected, self.notes = TaskChoice(), frozenset[str](), ()
        self.made = 0

    def show(self) -> None:
        """Draws what there is; the cursor's task stays if it is still shown."""
        before = self.pane.current()
        self.pane.update_state(TasksState(self.tasks, date(2026, 11, 30), self.choice, self.selected, self.notes))
        self.holds()
        shown = {task.id for task in self.pane._rows.tasks}  # type: ignore[union-attr]
        if before is not None and before.id in shown:
            now = self.pane.current()
            assert now is not None and now.id == before.id, "the cursor keeps its task"

    def holds(self) -> None:
        """The cursor is on a task wherever there is one; what it is on is what the pane gives."""
        rows, list_ = self.pane._rows, self.pane.rows
        assert rows is not None
        task = self.pane.current()
        if rows.tasks:
            assert task is not None and list_.cursor_key == task.id
            assert rows.key(list_.cursor) == task.id
            assert 0 <= list_.scroll_offset.y <= list_.cursor or not list_.size.height
        else:
            assert task is None
        for line in range(list_.size.height):
            list_.render_line(line)

    def current(self) -> TaskView | None:
        return self.pane.current()

    async def do(self, step: tuple[str, Any]) -> None:
        what, value = step
        await getattr(self, f"do_{what}")(value)
        self.holds()

    async def do_add(self, given: tuple[int, int, int]) -> None:
        title, project, at = given
        self.made += 1
        task = TaskView(
            id=f"{self.made}", title=TITLES[title % len(TITLES)], project_name=PROJECTS[project % len(PROJECTS)],
            due_date=f"2026-12-{1 + at % 9:02}" if at % 3 else None, priority=("URGENT", "HIGH", "LOW")[at % 3],
        )  # fmt: skip
        at %= len(self.tasks) + 1
        self.tasks = (*self.tasks[:at], task, *self.tasks[at:])
        self.show()

    async def do_vanish(self, at: int) -> None:
        """A row is gone, by this program or another; the one under the cursor for a negative number."""
        if not self.tasks:
            return
        current = self.current()
        gone = current if at < 0 and current is not None else self.tasks[at % len(self.tasks)]
        self.gone.append(gone)
        self.tasks = tuple(task for task in self.tasks if task.id != gone.id)
        self.show()

    async def do_undo(self, at: int) -> None:
        if self.gone:
            back = self.gone.pop()
            at %= len(self.tasks) + 1
            self.tasks = (*self.tasks[:at], back, *self.tasks[at:])
            self.show()

    async def do_reorder(self, by: int) -> None:
        by %= len(self.tasks) + 1
        self.tasks = (*self.tasks[by:], *self.tasks[:by])[:: -1 if by % 2 else 1]
        self.show()

    async def do_all_gone(self, _value: int) -> None:
        self.gone += self.tasks
        self.tasks = ()
        self.show()

    async def do_filter(self, text: str) -> None:
        """As it is typed: letter by letter, then perhaps cleared by escape."""
        for end in range(len(text) + 1):
            self.choice = TaskChoice(text[:end], self.choice.sort, self.choice.grouped)
            self.show()

    async def do_clear(self, _value: int) -> None:
        self.choice = TaskChoice("", self.choice.sort, self.choice.grouped)
        self.show()

    async def do_sort(self, by: int) -> None:
        self.choice = TaskChoice(self.choice.filter, SORTS[by % len(SORTS)], self.choice.grouped)
        self.show()

    async def do_group(self, _value: int) -> None:
        self.choice = TaskChoice(self.choice.filter, self.choice.sort, not self.choice.grouped)
        self.show()

    async def do_note(self, lines: int) -> None:
        """The Hub went away or came back: lines above the list."""
        self.notes = (NOTE,) * (lines % 3)
        self.show()

    async def do_select(self, _value: int) -> None:
        if (task := self.current()) is not None:
            self.selected ^= {task.id}
            self.show()
            self.pane.rows.action_move(1)

    async def do_key(self, which: int) -> None:
        self.pane.rows.focus()
        await self.pilot.press(KEYS[which % len(KEYS)])

    async def do_size(self, which: int) -> None:
        await self.pilot.resize_terminal(*SIZES[which % len(SIZES)])


number = st.integers(-2, 12)
STEP = st.one_of(
    st.tuples(st.just("add"), st.tuples(number, number, number)),
    st.tuples(st.just("filter"), st.sampled_from(["alp", "beta", "zzz", "red", "a", " ", "[/x]"])),
    *(
        st.tuples(st.just(name), number)
        for name in ("vanish", "undo", "reorder", "all_gone", "clear", "sort", "group", "note", "select", "key", "size")
    ),
    st.tuples(st.just("key"), number),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.integers(0, 60), st.lists(STEP, max_size=25))
def test_the_cursor_is_always_on_a_row_that_is_there(count: int, steps: list[tuple[str, Any]]) -> None:
    async def run() -> None:
        app = Bench()
        async with app.run_test(size=(60, 12)) as pilot:
            desk = Desk(app, pilot)
            for n in range(count):
                desk.made += 1
                task = TaskView(id=f"{desk.made}", title=f"{TITLES[n % 5]} {n}", project_name=PROJECTS[n % 4])
                desk.tasks = (*desk.tasks, task)
            desk.show()
            for step in steps:
                await desk.do(step)

    asyncio.run(run())


async def test_filters_sorts_and_writes_on_the_real_screen(dashboard: Any) -> None:
    """The same with the program's own keys: typed filters, escape, select, delete, done, undo, sizes, refreshes."""
    async with dashboard(config=configured(away=True)) as running:
        for number in range(12):
            await running.assistant.create_task(f"{TITLES[number % 5]} {number}", project=PROJECTS[number % 4])
        running.app.live.ask("tasks")
        await running.sees("gamma 7", "alpha 10")
        await running.keys("2", "end")
        pane = running.app.screen.tasks_pane
        for keys in (
            ("slash", "z", "z", "escape"), ("slash", "a", "l", "p", "enter"), ("end", "space", "escape"),
            ("O", "end", "g", "O"), ("slash", "r", "e", "d", "down", "d", "escape"), ("u",),
            ("home", "space", "space", "d", "enter"), ("end", "x"), ("u", "u"), ("g", "slash", "backspace", "escape"),
        ):  # fmt: skip
            await running.keys(*keys)
            await on_a_task(running)
            for size in ((1, 1), (60, 20), (120, 40)):
                await running.pilot.resize_terminal(*size)
                await on_a_task(running)
            before = pane.current().id
            running.app.live.ask("tasks")
            await running.assistant.create_task(f"above {keys[0]}", due="2026-01-01")
            await until(lambda: any(task.title.startswith("above") for task in running.app.live.shown_tasks()))
            await on_a_task(running)
            if any(task.id == before for task in pane._rows.tasks):
                assert pane.current().id == before, keys


async def on_a_task(running: Running) -> None:
    pane = running.app.screen_stack[0].tasks_pane
    holds: Callable[[], bool] = lambda: bool(pane._rows.tasks) == (pane.current() is not None)  # noqa: E731
    await until(holds, "the cursor to be on a task")
