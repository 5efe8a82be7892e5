"""The service layer's one door: what the command line, the screen and the MCP server call, and all they call.

Every write is committed to the outbox before anything else, then sent at once if that is possible within the
budget (queue.md). Reads degrade: HubUnavailable says which state, since when and why.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from aria_tui import paths
from aria_tui.config import Config
from aria_tui.errors import HubUnavailable, NotFound, NotSaved, QueueUnavailable
from aria_tui.hub.contract import Activity, Briefing
from aria_tui.models import (
    BriefingDoc,
    Change,
    Conflict,
    HubStatus,
    InsightList,
    Origin,
    QueueItem,
    QueueStatus,
    Section,
    SyncEvent,
    TaskList,
    TaskView,
    WriteResult,
)
from aria_tui.outbox import accept, lists, writing
from aria_tui.outbox.clock import Clock, SystemClock
from aria_tui.outbox.engine import Engine

if TYPE_CHECKING:
    import httpx

Kind = Literal["task", "insight"]
QueueKind = Literal["waiting", "dead", "conflicts", "journal"]


class Assistant:
    """One per program; everything is asynchronous, nothing blocks the event loop.

    ``queue_problem``: why the queue can't be used, or None; everything that doesn't need it works all the same.
    ``queue_notice``: what the user must know of the file, e.g. that a damaged one was set aside.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.config, self.home = engine.config, engine.home
        self.queue_problem: str | None = None

    @classmethod
    async def open(
        cls,
        config: Config,
        *,
        origin: Origin = "cli",
        home: Path | None = None,
        clock: Clock | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> Assistant:
        """Opens the queue's file; the Hub is reached for when something needs it. Raises nothing for either."""
        assistant = cls(Engine(config, home or paths.home(), clock or SystemClock(), origin, transport))
        try:
            await assistant._engine.store.open()
        except QueueUnavailable as error:
            assistant.queue_problem = str(error)
        except BaseException:
            await assistant.close()
            raise
        return assistant

    async def close(self) -> None:
        """Empties the writer, lets a drain finish what is in flight, closes every connection. May be called twice."""
        await self._engine.close()

    async def __aenter__(self) -> Assistant:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def queue_notice(self) -> str | None:
        said = [self._engine.store.notice, self._engine.hub_notice]
        return "; ".join(text for text in said if text) or None

    # Writes. Each raises InvalidInput, NotSaved (QueueFull); never for a Hub that is away.

    async def create_task(
        self,
        title: str,
        *,
        project: str | None = None,
        description: str | None = None,
        priority: str | None = None,
        status: str | None = None,
        due: str | None = None,
        tags: Sequence[str] = (),
        id: str | None = None,
        op_id: str | None = None,
        offline: bool = False,
    ) -> WriteResult:
        """A new task; ``due`` is a date, ``id`` a UUID of the caller's."""
        payload = {
            "id": id,
            "title": title,
            "description": description,
            "priority": priority,
            "status": status,
            "project_name": project,
            "due_date": due,
            "tags": list(tags) or None,
        }
        return await self._write("create_task", _given(payload), op_id, offline)

    async def update_task(
        self, id: str, changes: Mapping[str, Any], *, offline: bool = False, op_id: str | None = None
    ) -> WriteResult:
        """Changes fields of a task, named as on the wire."""
        return await self._write("update_task", {"id": id, "changes": dict(changes)}, op_id, offline)

    async def complete_task(self, id: str, *, offline: bool = False, op_id: str | None = None) -> WriteResult:
        return await self._write("complete_task", {"id": id}, op_id, offline)

    async def delete_task(self, id: str, *, offline: bool = False, op_id: str | None = None) -> WriteResult:
        return await self._write("delete_task", {"id": id}, op_id, offline)

    async def capture_insight(
        self,
        content: str,
        *,
        project: str | None = None,
        tags: Sequence[str] = (),
        offline: bool = False,
        op_id: str | None = None,
    ) -> WriteResult:
        payload = {"content": content, "project": project, "tags": list(tags) or None}
        return await self._write("capture_insight", _given(payload), op_id, offline)

    async def update_insight(
        self, id: str, changes: Mapping[str, Any], *, offline: bool = False, op_id: str | None = None
    ) -> WriteResult:
        return await self._write("update_insight", {"id": id, "changes": dict(changes)}, op_id, offline)

    async def delete_insight(self, id: str, *, offline: bool = False, op_id: str | None = None) -> WriteResult:
        return await self._write("delete_insight", {"id": id}, op_id, offline)

    async def store_briefing(
        self, date: str, content: str, data: Any = None, *, offline: bool = False, op_id: str | None = None
    ) -> WriteResult:
        """Stores a day's briefing (Markdown, and the same as data), in place of an earlier one of that day."""
        return await self._write(
            "store_briefing", _given({"date": date, "content": content, "data": data}), op_id, offline
        )

    async def record_activity(
        self,
        project: str,
        date: str,
        *,
        commits: int | None = None,
        summary: str | None = None,
        notes: str | None = None,
        offline: bool = False,
        op_id: str | None = None,
    ) -> WriteResult:
        """Records a project's day; what is not given stays as it is."""
        payload = {"project": project, "date": date, "commits": commits, "summary": summary, "notes": notes}
        return await self._write("record_activity", _given(payload), op_id, offline)

    async def _write(self, operation: str, payload: dict[str, Any], op_id: str | None, offline: bool) -> WriteResult:
        engine = self._engine
        row = accept.prepare(
            operation, payload, clock=engine.clock, origin=engine.origin, address=engine.address, op_id=op_id
        )
        try:
            return await writing.write(engine, row, payload, offline=offline)
        except QueueUnavailable as error:
            self.queue_problem = str(error)
            raise NotSaved(error.reason, path=error.path, hint=error.hint) from error

    # Reads of the Hub. Each raises HubUnavailable when it is away.

    async def list_tasks(
        self,
        *,
        status: str | None = None,
        project: str | None = None,
        priority: str | None = None,
        last_seen: bool = False,
        drain: bool = True,
    ) -> TaskList:
        """Tasks, newest first, with this machine's waiting changes laid over them.

        ``last_seen``: when the Hub is away, what was last seen of it instead of an error. ``drain``: what waits is
        sent first, within the budget.
        """
        as_of, source = await self._engine.refresh("task", last_seen=last_seen, drain=drain)
        tasks = await lists.tasks(self._engine)
        wanted = {"status": status, "project_name": project, "priority": priority}
        kept = tuple(t for t in tasks if all(v is None or getattr(t, n) == v for n, v in wanted.items()))
        return TaskList(tasks=kept, as_of=as_of, source=source)

    async def waiting_tasks(self) -> TaskList:
        """Tasks of which something waits in the queue: what is known without the Hub."""
        return TaskList(tasks=tuple(await lists.waiting_tasks(self._engine)), source="last-seen")

    async def get_task(self, id: str) -> TaskView:
        """One task, with its waiting changes. Raises NotFound and HubUnavailable."""
        id = (await lists.renamed(self._engine, "task")).get(id, id)
        try:
            listed = (await self.list_tasks(drain=False)).tasks
        except HubUnavailable:
            for task in (await self.waiting_tasks()).tasks:
                if task.id == id:
                    return task
            if self.config.ui.offline_tasks != "last-seen":
                raise
            listed = (await self.list_tasks(last_seen=True, drain=False)).tasks
        for task in listed:
            if task.id == id:
                return task
        raise NotFound(f"there is no task {id}")

    async def resolve_id(self, kind: Kind, beginning: str) -> str:
        """The whole id for a unique beginning of one that was seen or waits. Raises NotFound, Ambiguous."""
        return await lists.resolve_id(self._engine, kind, beginning)

    async def list_insights(
        self,
        *,
        query: str | None = None,
        project: str | None = None,
        since: str | None = None,
        last_seen: bool = False,
        drain: bool = True,
    ) -> InsightList:
        """Insights, newest first; ``query``: every word of it is in the text, case ignored; ``since``: a time."""
        as_of, source = await self._engine.refresh("insight", last_seen=last_seen, drain=drain)
        found = await lists.insights(self._engine, query=query, project=project, since=since)
        return InsightList(insights=tuple(found), as_of=as_of, source=source)

    async def list_briefings(self, *, before: str | None = None, limit: int = 30) -> list[Briefing]:
        """Stored briefings, newest first, of days before ``before``."""
        found = await self._engine.get("/api/briefings", {"before": before, "limit": limit})
        return [lists.briefing(one) for one in found.get("briefings", []) if isinstance(one, dict)]

    async def get_briefing(self, date: str) -> Briefing | None:
        """A day's stored briefing, or None."""
        try:
            found = await self._engine.get(f"/api/briefings/{date}")
        except NotFound:
            return None
        return lists.briefing(found.get("briefing") or {})

    async def list_activity(self, *, since: str | None = None, project: str | None = None) -> list[Activity]:
        """Projects' days, from a date on."""
        found = await self._engine.get("/api/activity", {"since": since, "project": project})
        return [lists.activity(one) for one in found.get("activity", []) if isinstance(one, dict)]

    async def summary(self, *, zone: str | None = None) -> dict[str, Any]:
        """The Hub's counts (open, overdue, …); ``zone``: whose today."""
        return await self._engine.get("/api/summary", {"tz": zone})

    # The Hub

    async def hub_status(self, *, probe: bool = True) -> HubStatus:
        """How the Hub stands; ``probe``: it is asked. Never raises for a Hub that is away."""
        return await self._engine.hub_status(probe=probe)

    def hub_now(self) -> HubStatus:
        """What is known now."""
        return self._engine.hub_now()

    # The queue. Each raises QueueUnavailable.

    async def queue_status(self) -> QueueStatus:
        """Counts, and the first five rows with why they are still here."""
        views = await self._engine.views()
        return await views.status()

    async def queue_list(self, kind: QueueKind = "waiting", *, after: int = 0, limit: int = 100) -> list[QueueItem]:
        """A page of rows after a number (of the journal: below it, newest first)."""
        views = await self._engine.views()
        match kind:
            case "waiting":
                return await views.waiting(after, limit)
            case "dead":
                return await views.parked("dead", after, limit)
            case "conflicts":
                return await views.parked("conflict", after, limit)
            case _:
                return await views.journal(after, limit)

    async def queue_show(self, id: int) -> QueueItem:
        """One row, wherever it is. Raises NotFound."""
        views = await self._engine.views()
        return await views.show(id)

    async def queue_retry(self, id: int | None) -> int:
        """Puts a dead letter (None: all) back; how many. What lost a conflict comes back as a new operation."""
        from aria_tui.outbox import parked

        return await parked.retry(self._engine.store, id)

    async def queue_edit(self, id: int, payload: Mapping[str, Any]) -> QueueItem:
        """Another payload and a new key for a dead letter or a row that was never sent."""
        from aria_tui.outbox import parked

        await parked.edit(self._engine.store, id, payload)
        return await self.queue_show(id)

    async def queue_discard(self, id: int) -> QueueItem:
        """Takes a row out for good, and with a create what waits behind it (``queue_dependents``)."""
        from aria_tui.outbox import parked

        await parked.discard(self._engine.store, id, self._engine.now())
        return await self.queue_show(id)

    async def queue_dependents(self, id: int) -> list[QueueItem]:
        """What would go with a row that is discarded."""
        from aria_tui.outbox import parked

        return [await self.queue_show(number) for number in await parked.dependents(self._engine.store, id)]

    async def conflicts(self) -> list[Conflict]:
        """The conflict inbox."""
        views = await self._engine.views()
        return await views.conflicts()

    async def resolve_conflict(
        self, id: int, choice: Literal["mine", "theirs", "both"] | Mapping[str, Literal["mine", "theirs"]]
    ) -> WriteResult:
        """Settles a conflict, and sends what comes of it at once. Raises HubUnavailable, and then it stays, unless the
        choice sends nothing (``theirs``)."""
        return await writing.resolve(self._engine, id, choice)

    async def queue_plan(self) -> dict[str, Any]:
        """What would go over the wire: ``{"operations": […], "cancelled": […]}``."""
        from aria_tui.outbox import folds

        await self._engine.views()
        plain = self.config.hub.kind == "plain"
        return await folds.plan(self._engine.store, await self._engine.target(), plain=plain)

    async def queue_adopt(self) -> int:
        """Gives what waits for other Hubs to the configured one; how many rows."""
        return await self._engine.adopt()

    async def queue_verify(self, *, waive: bool = False, resend: bool = False) -> dict[str, Any]:
        """After a Hub was restored: asks for what the journal holds, or waives that. Raises HubUnavailable."""
        return await self._engine.verify(waive=waive, resend=resend)

    async def queue_export(self) -> AsyncIterator[str]:
        """What waits and what is parked, as JSON Lines."""
        from aria_tui.outbox import transfer

        await self._engine.views()
        async for line in transfer.export(self._engine.store):
            yield line

    async def queue_import(self, lines: Iterable[str]) -> dict[str, int]:
        """Takes in an export: ``{"imported", "known"}``. Raises InvalidInput."""
        from aria_tui.outbox import transfer

        engine = self._engine
        return await transfer.import_lines(engine.store, lines, now=engine.now(), target=await engine.target())

    def sync(self, *, manual: bool = True) -> AsyncIterator[SyncEvent]:
        """Drains the queue: SyncProgress…, and at the end one SyncFinished. Another process's drain is followed."""
        return self._engine.syncer.events(manual=manual)

    def stop_sync(self) -> None:
        """Ends the running drain; what is in flight is awaited briefly."""
        self._engine.syncer.stop()

    # Living with it

    def watch(self) -> AsyncIterator[Change]:
        """What changes, for ever. While it is iterated the Hub is probed, and the queue drains by itself."""
        return self._engine.monitor().changes()

    async def check_queue(self) -> str | None:
        """Reads the whole file once, as is not done at each start; why it is damaged, or None."""
        return await self._engine.check()

    # The briefing

    async def briefing(
        self, *, kind: Literal["morning", "evening"] = "morning"
    ) -> AsyncIterator[Section | BriefingDoc]:
        """Sections as they come in, last the whole document. Never raises for a source or the Hub."""
        from aria_tui import briefing

        async for part in briefing.gather(kind, config=self.config, home=self.home, hub=self):
            yield part

    async def stored_briefing(self, date: str) -> BriefingDoc | None:
        """A day's briefing from the Hub's history, or None. Raises HubUnavailable."""
        from aria_tui import briefing

        found = await self.get_briefing(date)
        if found is None or not isinstance(found.data, dict):
            return None
        return briefing.from_data(found.data)

    async def save_briefing(self, doc: BriefingDoc) -> list[WriteResult]:
        """Stores a briefing through the queue: the morning's by date, the evening's as each project's activity, and
        that as the daily note too, where one is configured. Raises NotSaved for the note, when all else is stored."""
        from aria_tui import briefing

        if doc.kind == "evening":
            days = briefing.evening_activities(doc)
            stored = [await self.record_activity(**day) for day in days]
            if self.config.briefing.daily_note:
                await asyncio.to_thread(briefing.append_daily_note, self.config.briefing.daily_note, doc)
            return stored
        data = briefing.without_secrets(briefing.as_data(doc))
        return [await self.store_briefing(doc.date, briefing.render_markdown(doc), data)]

    async def projects(self) -> Section:
        """The projects section alone."""
        from aria_tui import briefing

        return await briefing.gather_projects(config=self.config, home=self.home)


def _given(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if value is not None}
