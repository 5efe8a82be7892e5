"""Tasks and insights as they are seen: what was read, with what waits laid over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from aria_tui.errors import Ambiguous, NotFound, QueueUnavailable
from aria_tui.hub.contract import Activity, Briefing
from aria_tui.models import InsightView, Mark, TaskView
from aria_tui.outbox import overlay

if TYPE_CHECKING:
    from aria_tui.outbox.engine import Engine

_TASK = ("title", "description", "priority", "status", "project_name", "due_date", "created_at", "updated_at")
Kind = Literal["task", "insight"]
_OPERATIONS = {
    "task": '["create_task", "update_task", "complete_task", "delete_task"]',
    "insight": '["capture_insight", "update_insight", "delete_insight"]',
}


async def tasks(engine: Engine) -> list[TaskView]:
    """All tasks, newest first; one that is deleted but waits still stands, marked."""
    found, marks = await _laid_over(engine, "task")
    views = [task_view(body, marks.get(thing)) for thing, body in found.items()]
    return sorted(views, key=lambda task: (_order(task.created_at), task.id), reverse=True)


async def waiting_tasks(engine: Engine) -> list[TaskView]:
    """Tasks of which something waits. Of one that was never seen only the new values are known."""
    found, marks = await _laid_over(engine, "task")
    views = [task_view(found[thing], mark) for thing, mark in marks.items() if thing in found]
    return sorted(views, key=lambda task: (_order(task.created_at), task.id), reverse=True)


async def insights(engine: Engine, *, query: str | None, project: str | None, since: str | None) -> list[InsightView]:
    """Insights that fit, newest first."""
    found, marks = await _laid_over(engine, "insight")
    words = (query or "").casefold().split()
    views = []
    for thing, body in found.items():
        view = insight_view(body, marks.get(thing))
        fits = all(word in view.content.casefold() for word in words)
        if (
            fits
            and (project is None or view.project == project)
            and (since is None or _order(view.captured_at) >= _order(since))
        ):
            views.append(view)
    return sorted(views, key=lambda insight: (_order(insight.captured_at), insight.id), reverse=True)


def _order(time: str | None) -> str:
    """A time of the contract as it is sorted: with its Z, a whole second would come after all the fractions of it."""
    return (time or "").removesuffix("Z")


async def resolve_id(engine: Engine, kind: Kind, beginning: str) -> str:
    """The whole id for a unique beginning, of the id that a plain Hub gave or of the one that it was made with.
    Raises NotFound, Ambiguous."""
    found, _ = await _laid_over(engine, kind)
    if beginning in found:
        return beginning
    begins = beginning.lower()
    fitting = {thing for thing in found if thing.startswith(begins)} if beginning else set()
    if beginning:
        fitting |= {
            own for made, own in (await renamed(engine, kind)).items() if made.startswith(begins) and own in found
        }
    if len(fitting) == 1:
        return fitting.pop()
    if fitting:
        shown = ", ".join(sorted(fitting)[:3])
        raise Ambiguous(f"{beginning!r} fits {len(fitting)} {kind}s ({shown}…); give more of the id")
    raise NotFound(f"no {kind} is known by an id that begins with {beginning!r}")


async def renamed(engine: Engine, kind: Kind) -> dict[str, str]:
    """The ids that things were made with → those that a plain Hub gave them."""
    try:
        return await engine.ids_of(await engine.target(), kind)
    except QueueUnavailable:
        return {}


async def _laid_over(engine: Engine, kind: Kind) -> tuple[dict[str, dict[str, Any]], dict[str, Mark]]:
    """What was read with what waits for the same Hub, and the marks of what waits."""
    await engine.load_mirror()
    things = dict(engine.mirror.things[kind])
    marks: dict[str, Mark] = {}
    deleted: dict[str, dict[str, Any]] = {}
    try:
        target = await engine.target()
        ids = await engine.ids_of(target, kind)
        waiting = await engine.store.read(
            "SELECT CAST(operation AS TEXT), CAST(payload AS TEXT), entity, CAST(created_at AS TEXT) FROM queue"
            " WHERE synced_at IS NULL AND operation IN (SELECT value FROM json_each(?)) AND target = ?"
            " AND entity IS NOT NULL ORDER BY id",
            (_OPERATIONS[kind], target),
        )
    except QueueUnavailable:
        return things, marks  # what the Hub has is worth showing; that the queue is away is said elsewhere
    for operation, payload, entity, at in waiting:
        change = overlay.change_of(operation, payload, entity, at)
        if change is None:
            continue
        if (own := ids.get(change.id)) is not None:
            change = msgspec.structs.replace(change, id=own)
        before = things.get(change.id)
        mark = overlay.apply(things, change)
        if mark == "deleted":
            if marks.get(change.id) == "new":
                marks.pop(change.id)
                continue
            if before is not None:
                deleted[change.id] = before
        if mark and not (mark == "edited" and marks.get(change.id) == "new"):
            marks[change.id] = mark
    return {**things, **{k: v for k, v in deleted.items() if k not in things}}, marks


def task_view(body: dict[str, Any], mark: Mark | None) -> TaskView:
    """A task from whatever a Hub gave: a plain one may leave fields out, or give other types."""
    known: dict[str, Any] = {name: _text(body.get(name)) for name in _TASK}
    version = body.get("version")
    return TaskView(
        id=str(body.get("id")),
        title=known["title"] or "",
        description=known["description"],
        priority=known["priority"] or "MEDIUM",
        status=known["status"] or "TODO",
        project_name=known["project_name"] or _text(body.get("project")),
        due_date=(known["due_date"] or "")[:10] or None,
        tags=_tags(body.get("tags")),
        created_at=known["created_at"],
        updated_at=known["updated_at"],
        completed_at=_text(body.get("completed_at")),
        version=version if isinstance(version, int) else None,
        waiting=mark is not None,
        mark=mark or "",
    )


def insight_view(body: dict[str, Any], mark: Mark | None) -> InsightView:
    """An insight, read as forgivingly."""
    return InsightView(
        id=str(body.get("id")),
        content=_text(body.get("content")) or "",
        project=_text(body.get("project")),
        tags=_tags(body.get("tags")),
        captured_at=_text(body.get("captured_at")),
        waiting=mark is not None,
        mark=mark or "",
    )


def briefing(body: dict[str, Any]) -> Briefing:
    """A stored briefing."""
    version = body.get("version")
    return Briefing(
        date=_text(body.get("date")) or "",
        content=_text(body.get("content")) or "",
        data=body.get("data"),
        captured_at=_text(body.get("captured_at")) or "",
        version=version if isinstance(version, int) else 1,
    )


def activity(body: dict[str, Any]) -> Activity:
    """A project's day."""
    commits = body.get("commits")
    return Activity(
        project=_text(body.get("project")) or "",
        date=_text(body.get("date")) or "",
        commits=commits if isinstance(commits, int) else 0,
        summary=_text(body.get("summary")),
        notes=_text(body.get("notes")),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None if value is None else str(value)


def _tags(value: Any) -> tuple[str, ...]:
    return tuple(str(tag) for tag in value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
