"""A dashboard on which a place's keys can be pressed, and the list of what each is for."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

from tests.helpers.hub import HubProcess
from tests.tui.conftest import Running, until

PANES = ("briefing", "tasks", "hub", "queue")


class Stage:
    """A dashboard on which a place's keys can be pressed."""

    def __init__(self, place: str, running: Running, hub: HubProcess | None, switch: Switch | None) -> None:
        self.where, self.running, self.hub, self.switch = place, running, hub, switch
        self.app, self.live = running.app, running.app.live
        self.assistant = running.assistant

    @property
    def board(self) -> Any:
        """The dashboard, whatever lies over it."""
        return self.app.screen_stack[0]

    @property
    def kind(self) -> str:
        return type(self.app.screen).__name__

    async def press(self, *keys: str) -> None:
        await self.running.keys(*keys)

    async def opened(self, kind: str) -> Any:
        await until(lambda: self.kind == kind, kind)
        return self.app.screen

    async def back(self, kind: str = "DashboardScreen") -> None:
        """To the dashboard, by escape as often as it takes."""
        for _ in range(4):
            if self.kind == kind:
                return
            await self.press("escape")
        await until(lambda: self.kind == kind, f"the way back to {kind}")

    async def told(self, text: str) -> None:
        """A toast holds the text; it and the others are taken away, so that the next check waits for its own."""
        await self.running.told(text)
        self.app.clear_notifications()

    def waiting(self) -> list[tuple[int, str, dict[str, Any]]]:
        """Number, operation and payload of what waits, from the queue's own file."""
        with contextlib.closing(sqlite3.connect(self.app.home / "queue.db", timeout=20)) as file:
            rows = file.execute("SELECT id, operation, payload FROM queue WHERE synced_at IS NULL ORDER BY id")
            return [(number, operation, json.loads(payload)) for number, operation, payload in rows]

    async def written(self, operation: str, **fields: Any) -> None:
        """The newest waiting row is of the operation, and has the fields (or changes them)."""

        def there() -> bool:
            _number, found, payload = self.waiting()[-1]
            payload = {**payload, **payload.get("changes", {})}
            return found == operation and all(payload.get(name) == value for name, value in fields.items())

        await until(there, f"{operation} {fields}, not {self.waiting()[-3:]}")

    async def shows_task(self, title: str) -> None:
        """The tasks' cursor is on a task."""
        pane = self.board.tasks_pane
        await until(lambda: any(task.title == title for task in pane._rows.tasks), title)
        task = next(task for task in pane._rows.tasks if task.title == title)
        assert pane.rows.select(task.id)
        await self.press("2")

    async def new_task(self, title: str, **fields: Any) -> str:
        """A task that waits, with the cursor on it."""
        made = await self.assistant.create_task(title, offline=True, **fields)
        self.live.ask("tasks")
        await self.shows_task(title)
        return str(made.id)


class Switch:
    """What ``aria demo`` hands in."""

    on = True

    async def toggle(self) -> bool:
        self.on = not self.on
        return self.on


Check = Callable[[Stage, str], Awaitable[None]]
CHECKS: dict[str, Check] = {}


def checks(*names: str) -> Callable[[Check], Check]:
    """Says which commands a check is for; it gets the stage and the key, and leaves the stage as it was."""

    def note(check: Check) -> Check:
        for name in names:
            assert name not in CHECKS, name
            CHECKS[name] = check
        return check

    return note
