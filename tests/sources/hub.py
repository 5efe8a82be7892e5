"""A Hub's readings for the briefing's tests, set by hand: the briefing is what is tested, not the assistant."""

from __future__ import annotations

import asyncio
from typing import Any

from aria_tui.errors import HubUnavailable
from aria_tui.hub.contract import Activity, Briefing
from aria_tui.models import HubStatus, InsightList, QueueStatus, TaskList


class Readings:
    """Answers as the assistant would. ``down``: what every read of the Hub raises; ``slow``: seconds before it."""

    def __init__(
        self,
        *,
        status: HubStatus | None = None,
        queue: QueueStatus | None = None,
        tasks: TaskList | None = None,
        last_seen: TaskList | None = None,
        waiting: TaskList | None = None,
        briefings: list[Briefing] | None = None,
        insights: InsightList | None = None,
        down: HubUnavailable | None = None,
        slow: float = 0.0,
        broken: Exception | None = None,
    ) -> None:
        self.status = status or HubStatus(state="online", since="2026-11-30T11:00:00Z")
        self.queue = queue or QueueStatus()
        self.tasks, self.last_seen, self.waiting = tasks or TaskList(), last_seen, waiting or TaskList()
        self.briefings, self.insights = briefings or [], insights or InsightList()
        self.down, self.slow, self.broken = down, slow, broken

    async def _hub(self) -> None:
        await asyncio.sleep(self.slow)
        if self.broken:
            raise self.broken
        if self.down:
            raise self.down

    async def hub_status(self, *, probe: bool = True) -> HubStatus:
        await asyncio.sleep(self.slow)
        return self.status

    async def queue_status(self) -> QueueStatus:
        if self.broken:
            raise self.broken
        return self.queue

    async def list_tasks(self, *, status: str | None = None, last_seen: bool = False, **_: Any) -> TaskList:
        if self.down and last_seen and self.last_seen is not None:
            return self.last_seen
        await self._hub()
        tasks = tuple(task for task in self.tasks.tasks if status is None or task.status == status)
        return TaskList(tasks=tasks)

    async def waiting_tasks(self) -> TaskList:
        return self.waiting

    async def list_briefings(self, *, before: str | None = None, limit: int = 30) -> list[Briefing]:
        await self._hub()
        earlier = [b for b in self.briefings if before is None or b.date < before]
        return sorted(earlier, key=lambda b: b.date, reverse=True)[:limit]

    async def list_insights(self, *, since: str | None = None, **_: Any) -> InsightList:
        await self._hub()
        return self.insights

    async def list_activity(self, *, since: str | None = None, **_: Any) -> list[Activity]:
        await self._hub()
        return []
