"""The briefing's sections that come from the Hub and the queue. Nothing is guessed when the Hub is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from aria_tui.config import Config
from aria_tui.errors import AriaError, HubUnavailable
from aria_tui.hub.contract import PRIORITIES, read_time, write_time
from aria_tui.models import HubStatus, QueueStatus, Section, TaskList, TaskView
from aria_tui.sources import Moment
from aria_tui.sources.context import WEEKDAYS, period_of

if TYPE_CHECKING:
    from aria_tui.briefing import HubReads, Kind

T = TypeVar("T")

OPEN = ("TODO", "IN_PROGRESS")
_PAGES = 12
_NO_TASKS = {
    "offline": "Hub offline — task list unavailable",
    "refused": "Hub sign-in needed — task list unavailable",
    "not_the_hub": "Hub gave an unexpected answer — task list unavailable",
}
_ITEM = ("id", "operation", "payload", "created_at", "reason", "reason_code")


class NoAnswer(Exception):
    """A read did not end in time, or failed; ``str()`` says why."""


class Reader:
    """Reads what one briefing needs, each read within the briefing's timeout. ``status`` is the Hub's, once known."""

    def __init__(self, hub: HubReads, config: Config, when: Moment) -> None:
        self.status: HubStatus | None = None
        self._hub, self._when = hub, when
        self._timeout = config.briefing.timeout
        self._last_seen = config.ui.offline_tasks == "last-seen"

    async def sections(self, kind: Kind, zone_problem: str) -> AsyncIterator[Section]:
        """Context first, then the queue, then what needs the Hub's data."""
        status = asyncio.create_task(self._status())
        queue = asyncio.create_task(self._queue())
        if kind == "morning":
            others = [asyncio.create_task(self._tasks_and_yesterday())]
        else:
            others = [asyncio.create_task(work) for work in (self._done(), self._insights(), self._tomorrow())]
        try:
            self.status = await status
            waiting = await queue
            yield context(self._when, self.status, waiting, zone_problem)
            yield queue_section(waiting)
            for ready in asyncio.as_completed(others):
                for section in await ready:
                    yield section
        finally:
            for task in (status, queue, *others):
                task.cancel()
            await asyncio.gather(status, queue, *others, return_exceptions=True)

    async def _read(self, work: Callable[[], Awaitable[T]]) -> T:
        """Raises HubUnavailable as it comes, and NoAnswer for everything else."""
        try:
            async with asyncio.timeout(self._timeout):
                return await work()
        except HubUnavailable:
            raise
        except TimeoutError:
            raise NoAnswer(f"timed out after {self._timeout:g} s") from None
        except AriaError as error:
            raise NoAnswer(str(error)) from None
        except Exception as error:
            raise NoAnswer(f"failed: {type(error).__name__}") from error

    async def _status(self) -> HubStatus:
        try:
            return await self._read(lambda: self._hub.hub_status())
        except HubUnavailable as error:
            return HubStatus(state=error.state, since=error.since, reason=error.reason)  # type: ignore[arg-type]
        except NoAnswer as error:
            return HubStatus(reason=str(error))

    async def _queue(self) -> QueueStatus | str:
        try:
            return await self._read(lambda: self._hub.queue_status())
        except (NoAnswer, HubUnavailable) as error:
            return str(error)

    async def _tasks_and_yesterday(self) -> Sequence[Section]:
        """All reads start at once, so that the slowest is all there is to wait for."""
        waiting = asyncio.create_task(self._read(lambda: self._hub.waiting_tasks()))
        history = asyncio.create_task(self._read(lambda: self._newest_before(self._when.now.date().isoformat())))
        try:
            tasks = await self._tasks(waiting)
            if tasks.state != "ok":
                return (tasks,)  # "yesterday" is left out altogether
            return (tasks, await self._yesterday(tasks, history))
        finally:
            waiting.cancel()
            history.cancel()
            await asyncio.gather(waiting, history, return_exceptions=True)

    async def _tasks(self, waiting: Awaitable[TaskList]) -> Section:
        try:
            listed = await self._read(lambda: self._hub.list_tasks(last_seen=self._last_seen))
        except (HubUnavailable, NoAnswer) as error:
            return await self._tasks_unavailable(error, waiting)
        data = tasks_data(listed.tasks, self._when.now.date())
        if listed.source == "last-seen":
            return Section(name="tasks", state="stale", reason="Hub offline", as_of=listed.as_of, data=data)
        return Section(name="tasks", state="ok", data=data)

    async def _tasks_unavailable(self, error: Exception, waiting: Awaitable[TaskList]) -> Section:
        """What waits in the queue is known, and nothing else."""
        reason = _reason(error, "task list unavailable")
        try:
            known = [task_item(task) for task in (await waiting).tasks]
        except (HubUnavailable, NoAnswer):
            return Section(name="tasks", state="unavailable", reason=reason)
        return Section(name="tasks", state="unavailable", reason=reason, data={"waiting": known})

    async def _yesterday(self, tasks: Section, history: Awaitable[tuple[str, set[str]] | None]) -> Section:
        try:
            stored = await history
        except (HubUnavailable, NoAnswer) as error:
            return Section(name="yesterday", state="unavailable", reason=_reason(error, "history unavailable"))
        now = open_ids(tasks.data)
        data: dict[str, Any] = {"date": None, "open_then": None, "open_now": len(now), "new": None, "done": None}
        if stored is not None:
            day, then = stored
            data |= {"date": day, "open_then": len(then), "new": len(now - then), "done": len(then - now)}
        return Section(name="yesterday", state="ok", data=data)

    async def _newest_before(self, day: str) -> tuple[str, set[str]] | None:
        """Date and open tasks of the newest stored briefing of an earlier date whose tasks were ``ok``."""
        for _ in range(_PAGES):
            page = await self._hub.list_briefings(before=day, limit=30)
            earlier = sorted((b for b in page if b.date < day), key=lambda b: b.date, reverse=True)
            for briefing in earlier:
                if (then := _stored_open(briefing.data)) is not None:
                    return briefing.date, then
            if not earlier:
                return None
            day = earlier[-1].date
        return None

    async def _done(self) -> Sequence[Section]:
        try:
            listed = await self._read(lambda: self._hub.list_tasks(status="DONE"))
        except (HubUnavailable, NoAnswer) as error:
            return (Section(name="done", state="unavailable", reason=_reason(error, "task list unavailable")),)
        today = self._when.now.date()
        done = [task for task in listed.tasks if task.status == "DONE" and self._day_of(task.completed_at) == today]
        data = {"total": len(done), "tasks": [task_item(task) for task in done]}
        return (Section(name="done", state="ok", data=data),)

    async def _insights(self) -> Sequence[Section]:
        midnight = self._when.now.replace(hour=0, minute=0, second=0, microsecond=0)
        try:
            listed = await self._read(lambda: self._hub.list_insights(since=write_time(midnight)))
        except (HubUnavailable, NoAnswer) as error:
            return (Section(name="insights", state="unavailable", reason=_reason(error, "insights unavailable")),)
        today = self._when.now.date()
        found = [
            {"id": i.id, "content": i.content, "project": i.project, "captured_at": i.captured_at, "waiting": i.waiting}
            for i in listed.insights
            if self._day_of(i.captured_at) == today and i.mark != "deleted"
        ]
        return (Section(name="insights", state="ok", data={"total": len(found), "insights": found}),)

    async def _tomorrow(self) -> Sequence[Section]:
        try:
            listed = await self._read(lambda: self._hub.list_tasks())
        except (HubUnavailable, NoAnswer) as error:
            return (Section(name="tomorrow", state="unavailable", reason=_reason(error, "task list unavailable")),)
        tomorrow = (self._when.now.date() + timedelta(days=1)).isoformat()
        due = [
            task_item(task) for task in sorted(filter(is_open, listed.tasks), key=_rank) if task.due_date == tomorrow
        ]
        return (Section(name="tomorrow", state="ok", data={"date": tomorrow, "total": len(due), "tasks": due}),)

    def _day_of(self, text: str | None) -> date | None:
        try:
            return read_time(text or "").astimezone(self._when.zone).date()
        except (ValueError, OverflowError):
            return None


def context(when: Moment, hub: HubStatus, queue: QueueStatus | str, zone_problem: str) -> Section:
    """Weekday, time and period of the day, how the Hub stands and how much waits."""
    known = isinstance(queue, QueueStatus)
    data = {
        "weekday": WEEKDAYS[when.now.weekday()],
        "time": f"{when.now:%H:%M}",
        "period": period_of(when.now),
        "hub": {"state": hub.state, "since": hub.since},
        "queue": {
            "pending_total": queue.pending_total if isinstance(queue, QueueStatus) else None,
            "oldest": queue.oldest if isinstance(queue, QueueStatus) else None,
        },
    }
    problems = [problem for problem in (zone_problem, "" if known else str(queue)) if problem]
    return Section(name="context", state="partial" if problems else "ok", reason="; ".join(problems), data=data)


def queue_section(queue: QueueStatus | str) -> Section:
    """The queue as ``aria queue status --json`` gives it."""
    if isinstance(queue, str):
        return Section(name="queue", state="unavailable", reason=queue)
    data = msgspec.to_builtins(queue)
    data["items"] = [{key: item[key] for key in _ITEM} for item in data["items"][:5]]
    return Section(name="queue", state="ok", data=data)


def commits(projects: Section) -> Section:
    """The day's commits by project, from a ``projects`` section that was gathered in the evening."""
    found = []
    for project in projects.data.get("projects", []):
        if today := project.get("today"):
            entry = {"project": project["name"], "path": project["path"], "count": len(today), "commits": today}
            found.append(entry)
    data: dict[str, Any] = {}
    if projects.state in ("ok", "partial", "stale"):
        data = {"total": sum(entry["count"] for entry in found), "projects": found}
    return msgspec.structs.replace(projects, name="commits", data=data)


def is_open(task: TaskView) -> bool:
    return task.status in OPEN and task.mark != "deleted"


def tasks_data(tasks: Sequence[TaskView], today: date) -> dict[str, Any]:
    """Open tasks in their groups, each task in the first group that fits; due dates are the user's days."""
    groups: dict[str, list[dict[str, Any]]] = {"overdue": [], "due_today": [], "in_progress": [], "other": []}
    listed = sorted(filter(is_open, tasks), key=_rank)
    for task in listed:
        due = _date(task.due_date)
        if due is not None and due < today:
            group = "overdue"
        elif due == today:
            group = "due_today"
        else:
            group = "in_progress" if task.status == "IN_PROGRESS" else "other"
        groups[group].append(task_item(task))
    waiting = [task_item(task) for task in tasks if task.waiting]
    return {"open_total": len(listed), **groups, "waiting": waiting}


def task_item(task: TaskView) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "project_name": task.project_name,
        "priority": task.priority,
        "status": task.status,
        "due_date": task.due_date,
        "waiting": task.waiting,
    }


def open_ids(data: Any) -> set[str]:
    """The ids of the open tasks in ``tasks`` data."""
    groups = (data.get(name) for name in ("overdue", "due_today", "in_progress", "other"))
    return {str(task["id"]) for group in groups if isinstance(group, list) for task in group if "id" in task}


def _stored_open(data: Any) -> set[str] | None:
    """The open tasks of a stored briefing whose tasks were ``ok``; None for another program's or an offline one."""
    try:
        section = data["sections"]["tasks"]
        if section["state"] != "ok" or not isinstance(section["data"]["open_total"], int):
            return None
        return open_ids(section["data"])
    except (KeyError, TypeError, AttributeError, IndexError):
        return None


def _rank(task: TaskView) -> tuple[int, str, str]:
    urgency = PRIORITIES.index(task.priority) if task.priority in PRIORITIES else len(PRIORITIES)
    return urgency, task.due_date or "9999", task.created_at or ""


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _reason(error: Exception, consequence: str) -> str:
    """``Hub offline — task list unavailable``, word for word; another failure with its own reason."""
    if isinstance(error, HubUnavailable):
        said = _NO_TASKS.get(error.state)
        if said is not None:
            return said.replace("task list unavailable", consequence)
        return f"Hub {error.state.replace('_', ' ')} — {consequence}"
    return f"{error} — {consequence}"
