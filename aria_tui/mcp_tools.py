"""The assistant's tools (product.md): what each takes, what it gives, and its one call of the service layer.

Arguments and results are typed once, here and in ``documents``; their JSON Schemas are made from that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from aria_tui import documents, meaning
from aria_tui.errors import AriaError, InvalidInput, NotSaved, QueueUnavailable
from aria_tui.models import Section, SyncFinished, SyncProgress, WriteResult

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant

Progress = Callable[[float, float | None, str], Awaitable[None]]
Priority = Literal["URGENT", "HIGH", "MEDIUM", "LOW"]
TaskStatus = Literal["TODO", "IN_PROGRESS", "DONE", "CANCELLED"]
Id = Annotated[str, Meta(description="The id, or a beginning that only it has")]
Due = Annotated[str, Meta(description="A date: 2026-12-01, or today, tomorrow, fri, +3d")]
Day = Annotated[str, Meta(description="YYYY-MM-DD")]


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every tool's arguments: a name that isn't known is an error."""


class Nothing(Arguments, frozen=True, kw_only=True):
    """No arguments."""


class Write(Arguments, frozen=True, kw_only=True):
    """What every write takes besides its own."""

    offline: Annotated[bool, Meta(description="Keep it in the queue, even if the Hub is there")] = False
    idempotency_key: Annotated[
        str | None, Meta(description="The caller's own key: the same write again with the same key is done once")
    ] = None

    @property
    def how(self) -> dict[str, Any]:
        return {"offline": self.offline, "op_id": self.idempotency_key or None}


class CreateTask(Write, frozen=True, kw_only=True):
    title: Annotated[str, Meta(description="1 to 500 characters")]
    project: str | None = None
    description: Annotated[str | None, Meta(description="Markdown")] = None
    priority: Priority | None = None
    status: TaskStatus | None = None
    due: Due | None = None
    tags: list[str] = []


class UpdateTask(Write, frozen=True, kw_only=True):
    """Only what is given is changed; null clears."""

    id: Id
    title: str | UnsetType = UNSET
    project: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    priority: Priority | UnsetType = UNSET
    status: TaskStatus | UnsetType = UNSET
    due: Due | UnsetType | None = UNSET
    tags: list[str] | UnsetType = UNSET


class ListTasks(Arguments, frozen=True, kw_only=True):
    status: TaskStatus | None = None
    project: str | None = None
    priority: Priority | None = None


class CaptureInsight(Write, frozen=True, kw_only=True):
    content: Annotated[str, Meta(description="The insight, Markdown, at most 64 KiB")]
    project: str | None = None
    tags: list[str] = []


class ListInsights(Arguments, frozen=True, kw_only=True):
    query: Annotated[str | None, Meta(description="Only those with these words")] = None
    project: str | None = None
    since: Day | None = None


class StoreBriefing(Write, frozen=True, kw_only=True):
    date: Day
    content: Annotated[str, Meta(description="The briefing, Markdown")]
    data: Annotated[dict[str, Any] | None, Meta(description="The same as structure")] = None


class RecordActivity(Write, frozen=True, kw_only=True):
    project: str
    date: Day | None = None
    commits: Annotated[int, Meta(ge=0)] | None = None
    summary: str | None = None
    notes: str | None = None


_ALSO = {"due_date": "due", "project_name": "project"}
"""A task's fields as the results bear them: who has read one says them back so."""


def as_taken(given: dict[str, Any], takes: type[Arguments]) -> dict[str, Any]:
    """Arguments by the tool's own names."""
    names = {field.name for field in msgspec.structs.fields(takes)}
    usual = {name: _ALSO.get(name, name) for name in given}
    return {
        own if own in names and (own == name or own not in given) else name: given[name] for name, own in usual.items()
    }


class Context(documents.Document, frozen=True, kw_only=True):
    """Where and when the user is, and how Hub and queue stand."""

    date: str
    weekday: str
    time: str
    timezone: str
    period: Literal["morning", "afternoon", "evening"]
    hub: documents.Hub
    queue: documents.Counts


class HubData(documents.Document, frozen=True, kw_only=True):
    """What the Hub knows, read after the queue was drained."""

    tasks: list[documents.Task]
    insights: list[documents.Insight]
    summary: dict[str, Any]
    as_of: str | None
    waiting: Annotated[int, Meta(description="Writes that still wait in the queue")]


class SectionData(documents.Document, frozen=True, kw_only=True):
    """A local source's data; ``stale`` and ``partial`` say so, with a reason and a time."""

    state: Literal["ok", "stale", "partial"]
    reason: str
    as_of: str | None
    data: dict[str, Any]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool. The hints are MCP's, and true."""

    name: str
    title: str
    text: str
    takes: type[Arguments]
    gives: type[Any]
    call: Callable[[Assistant, Any, Progress], Awaitable[Any]]
    reads: bool = False
    destroys: bool = False
    again: bool = False
    """Calling it twice is the same as once."""
    what: str = ""
    """What of the Hub it reads, for when that is away (``wording.unavailable``)."""
    outside: bool = False
    """It may talk to another machine."""


async def _context(assistant: Assistant, _args: Nothing, _progress: Progress) -> Context:
    from aria_tui.sources.context import WEEKDAYS, period_of

    now = meaning.now(assistant.config)
    status = documents.status(await assistant.hub_status(), await assistant.queue_status())
    return Context(
        date=now.date().isoformat(), weekday=WEEKDAYS[now.weekday()], time=f"{now:%H:%M}", timezone=str(now.tzinfo),
        period=period_of(now), hub=status.hub, queue=status.queue,
    )  # fmt: skip


def _day(text: str, assistant: Assistant, *, field: str = "due") -> str:
    return meaning.day(text, assistant.config, field=field).isoformat()


async def _hub_data(assistant: Assistant, _args: Nothing, _progress: Progress) -> HubData:
    tasks = await assistant.list_tasks()  # drains first, within the budget
    insights = await assistant.list_insights(drain=False)
    waiting = await assistant.queue_status()
    return HubData(
        tasks=documents.tasks(tasks).tasks, insights=documents.insights(insights).insights[:50],
        summary=await assistant.summary(), as_of=tasks.as_of, waiting=waiting.pending_total,
    )  # fmt: skip


async def _written(write: Awaitable[WriteResult]) -> WriteResult:
    """A write's answer; a queue that can't be used is "not saved", as everywhere."""
    try:
        return await write
    except QueueUnavailable as error:
        raise NotSaved(str(error)) from None


async def _create_task(assistant: Assistant, args: CreateTask, _progress: Progress) -> WriteResult:
    due = _day(args.due, assistant) if args.due else None
    write = assistant.create_task(
        args.title, project=args.project or None, description=args.description or None, priority=args.priority,
        status=args.status, due=due, tags=args.tags, **args.how,
    )  # fmt: skip
    return await _written(write)


async def _update_task(assistant: Assistant, args: UpdateTask, _progress: Progress) -> WriteResult:
    names = {"project": "project_name", "due": "due_date"}
    changes: dict[str, Any] = {}
    for name in ("title", "project", "description", "priority", "status", "due", "tags"):
        value = getattr(args, name)
        if value is not UNSET:
            changes[names.get(name, name)] = _day(value, assistant) if name == "due" and value else value
    if not changes:
        raise InvalidInput("nothing to change: give title, project, description, priority, status, due or tags")
    found = await meaning.find_id(assistant, "task", args.id)
    if changes == {"status": "DONE"}:
        return await _written(assistant.complete_task(found, **args.how))
    return await _written(assistant.update_task(found, changes, **args.how))


async def _list_tasks(assistant: Assistant, args: ListTasks, _progress: Progress) -> documents.Tasks:
    last_seen = assistant.config.ui.offline_tasks == "last-seen"
    found = await assistant.list_tasks(
        status=args.status, project=args.project, priority=args.priority, last_seen=last_seen
    )
    return documents.tasks(found)


async def _capture_insight(assistant: Assistant, args: CaptureInsight, _progress: Progress) -> WriteResult:
    write = assistant.capture_insight(args.content, project=args.project or None, tags=args.tags, **args.how)
    return await _written(write)


async def _list_insights(assistant: Assistant, args: ListInsights, _progress: Progress) -> documents.Insights:
    last_seen = assistant.config.ui.offline_tasks == "last-seen"
    since = meaning.beginning_of(args.since, assistant.config) if args.since else None
    found = await assistant.list_insights(query=args.query, project=args.project, since=since, last_seen=last_seen)
    return documents.insights(found)


async def _store_briefing(assistant: Assistant, args: StoreBriefing, _progress: Progress) -> WriteResult:
    write = assistant.store_briefing(args.date, args.content, args.data, **args.how)
    return await _written(write)


async def _record_activity(assistant: Assistant, args: RecordActivity, _progress: Progress) -> WriteResult:
    fields: dict[str, Any] = {"commits": args.commits, "summary": args.summary, "notes": args.notes}
    day = _day(args.date or "today", assistant, field="date")
    write = assistant.record_activity(args.project, day, **fields, **args.how)
    return await _written(write)


async def _queue_status(assistant: Assistant, _args: Nothing, _progress: Progress) -> documents.Queue:
    return documents.queue(await assistant.queue_status())


async def _sync(assistant: Assistant, _args: Nothing, progress: Progress) -> documents.Sync:
    report = None
    async for event in assistant.sync():
        match event:
            case SyncProgress():
                await progress(event.done, event.total, event.current)
            case SyncFinished():
                report = event.report
    if report is None:
        raise RuntimeError("the sync ended without its report")
    return documents.sync(report)


async def _scan_projects(assistant: Assistant, _args: Nothing, _progress: Progress) -> SectionData:
    return _section(await assistant.projects())


async def _stale_projects(assistant: Assistant, _args: Nothing, _progress: Progress) -> SectionData:
    section = await assistant.projects()
    stale = [p for p in section.data.get("projects", ()) if p.get("freshness") == "stale"]
    return _section(section, {"projects": stale, "stale": len(stale)})


async def _docker(assistant: Assistant, _args: Nothing, _progress: Progress) -> SectionData:
    from aria_tui.sources.docker import DockerSource, EngineUnavailable

    if not assistant.config.docker.enabled:
        raise AriaError("docker is not configured: set [docker] enabled = true")
    try:
        data = await DockerSource(assistant.config, home=assistant.home).containers()
    except EngineUnavailable as error:
        raise AriaError(f"docker: {error}") from None
    return SectionData(state="ok", reason="", as_of=None, data=data)


async def _fin_summary(assistant: Assistant, _args: Nothing, _progress: Progress) -> SectionData:
    return await _gathered(assistant, "finance", "month", "currency", "income", "expenses", "balance")


async def _fin_budget(assistant: Assistant, _args: Nothing, _progress: Progress) -> SectionData:
    return await _gathered(assistant, "finance", "month", "currency", "budgets")


async def _fin_recurring(assistant: Assistant, _args: Nothing, _progress: Progress) -> SectionData:
    return await _gathered(assistant, "finance", "due")


async def _events_today(assistant: Assistant, _args: Nothing, _progress: Progress) -> SectionData:
    return await _gathered(assistant, "calendar", "today", "unreadable", "too_large")


async def _gathered(assistant: Assistant, name: str, *keys: str) -> SectionData:
    """One source's section, under the same guards as in the briefing, with only these keys of its data."""
    from aria_tui.briefing import moment
    from aria_tui.sources import last_section, load_sources

    config = assistant.config
    when, _problem = moment("morning", config)
    source = next(found for found in load_sources(config, home=assistant.home) if found.name == name)
    section = await last_section(source, when, config)
    return _section(section, {key: section.data[key] for key in keys if key in section.data})


def _section(section: Section, data: dict[str, Any] | None = None) -> SectionData:
    """A section as a result. What can't be reached, or isn't configured, is an error and never an empty list."""
    why = f": {section.reason}" if section.reason else ""
    if section.state == "not_configured":
        raise AriaError(f"{section.name} not configured{why}")
    if section.state == "unavailable":
        raise AriaError(f"{section.name} unavailable{why}")
    return SectionData(
        state=section.state, reason=section.reason, as_of=section.as_of, data=section.data if data is None else data
    )


TOOLS: tuple[Tool, ...] = (
    Tool(name="aria_context", title="Context", takes=Nothing, gives=Context, call=_context, reads=True, outside=True,
         text="Date, time, time zone, and how the Hub and the queue stand. Never fails because the Hub is away."),
    Tool(name="aria_hub_data", title="Hub data", takes=Nothing, gives=HubData, call=_hub_data, what="hub", again=True,
         outside=True,
         text="Sends what waits in the queue, then reads tasks, recent insights and the summary from the Hub. An error "
              "while the Hub is away: nothing is guessed."),
    Tool(name="aria_create_task", title="Create a task", takes=CreateTask, gives=WriteResult, call=_create_task,
         outside=True, text="Adds a task. 'queued' is success: it is safe on this machine and goes to the Hub later."),
    Tool(name="aria_update_task", title="Change a task", takes=UpdateTask, gives=WriteResult, call=_update_task,
         destroys=True, again=True, outside=True,
         text="Changes the fields that are given; null clears one; status DONE completes it. 'queued' is success."),
    Tool(name="aria_list_tasks", title="List tasks", takes=ListTasks, gives=documents.Tasks, call=_list_tasks,
         what="tasks", again=True, outside=True,
         text="The Hub's tasks, with what waits here laid over them. Sends what waits first, within a short budget."),
    Tool(name="aria_capture_insight", title="Capture an insight", takes=CaptureInsight, gives=WriteResult,
         call=_capture_insight, outside=True, text="Keeps an insight. 'queued' is success."),
    Tool(name="aria_list_insights", title="Find insights", takes=ListInsights, gives=documents.Insights,
         call=_list_insights, what="insights", again=True, outside=True,
         text="The Hub's insights, newest first. Sends what waits first, within a short budget."),
    Tool(name="aria_store_briefing", title="Store a briefing", takes=StoreBriefing, gives=WriteResult,
         call=_store_briefing, destroys=True, again=True, outside=True,
         text="Stores the briefing of a day, in the place of an earlier one of that day. 'queued' is success."),
    Tool(name="aria_record_activity", title="Record activity", takes=RecordActivity, gives=WriteResult,
         call=_record_activity, destroys=True, again=True, outside=True,
         text="Records what was done on a project on a day (default: today); a field that is given replaces that "
              "day's. 'queued' is success."),
    Tool(name="aria_queue_status", title="Queue", takes=Nothing, gives=documents.Queue, call=_queue_status, reads=True,
         text="What waits for the Hub and why, from this machine's queue alone."),
    Tool(name="aria_sync", title="Sync", takes=Nothing, gives=documents.Sync, call=_sync, again=True, outside=True,
         text="Sends what waits to the Hub now, with progress, and says what became of it."),
    Tool(name="aria_scan_projects", title="Projects", takes=Nothing, gives=SectionData, call=_scan_projects, reads=True,
         text="The git repositories below the configured roots: branch, changes, last commit. Reads only."),
    Tool(name="aria_stale_projects", title="Stale projects", takes=Nothing, gives=SectionData, call=_stale_projects,
         reads=True, text="Those repositories that had no commit for long."),
    Tool(name="docker_list_containers", title="Containers", takes=Nothing, gives=SectionData, call=_docker, reads=True,
         outside=True, text="Every container of the configured engine, with its state and its problem if it has one."),
    Tool(name="fin_summary", title="Finance: month", takes=Nothing, gives=SectionData, call=_fin_summary, reads=True,
         outside=True, text="Income, expenses and balance of the month, amounts as decimal text."),
    Tool(name="fin_budget", title="Finance: budgets", takes=Nothing, gives=SectionData, call=_fin_budget, reads=True,
         outside=True, text="Budget categories with limit, spent and per cent."),
    Tool(name="fin_recurring", title="Finance: due soon", takes=Nothing, gives=SectionData, call=_fin_recurring,
         reads=True, outside=True, text="Recurring payments that are due within the configured days."),
    Tool(name="gcal_events_today", title="Events today", takes=Nothing, gives=SectionData, call=_events_today,
         reads=True, outside=True, text="Today's events of the configured calendars."),
)  # fmt: skip
"""Every tool, in the order of product.md."""
