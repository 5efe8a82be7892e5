"""The JSON that programs read (product.md, "JSON shapes"), once: for ``--json`` and for the assistant's tools.

A document is a value of its own, apart from ``models``: these keys are promised, a model's fields may change.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from aria_tui.models import (
    HubState,
    HubStatus,
    InsightList,
    InsightView,
    QueueItem,
    QueueStatus,
    SyncReport,
    TaskList,
    TaskView,
)

_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""JSON allows these bare; a terminal, or whoever splits lines, trips over them."""


def encode(document: Any) -> str:
    """Compact JSON in one line. Control, bidi and line separator characters are escaped, which changes no value."""
    return escape(msgspec.json.encode(document).decode())


def escape(text: str) -> str:
    """The same JSON text with those characters as escapes."""
    return text if text.isascii() and "\x7f" not in text else _ESCAPED.sub(lambda c: f"\\u{ord(c[0]):04x}", text)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the documents."""


class BriefItem(Document, frozen=True, kw_only=True):
    """One of the first five of ``queue status``."""

    id: int
    operation: str
    payload: str
    created_at: str
    reason: str
    reason_code: str


class Counts(Document, frozen=True, kw_only=True):
    """The queue's part of ``status``."""

    pending_total: int
    by_operation: dict[str, int]
    oldest: str | None
    dead_letters: int
    conflicts: int
    paused: bool
    held: int


class Queue(Document, frozen=True, kw_only=True):
    """``queue status``."""

    pending_total: int
    by_operation: dict[str, int]
    oldest: str | None
    items: list[BriefItem]
    dead_letters: int
    conflicts: int
    paused: bool
    held: int


class Hub(Document, frozen=True, kw_only=True):
    """The Hub's part of ``status``."""

    state: HubState
    since: str | None
    url: str
    latency_ms: float | None


class Status(Document, frozen=True, kw_only=True):
    """``status``."""

    hub: Hub
    queue: Counts


class HubStateOnly(Document, frozen=True, kw_only=True):
    state: HubState


class Sync(Document, frozen=True, kw_only=True):
    """``sync``; ``dead_letters`` and ``conflicts`` are this run's."""

    synced: int
    superseded: int
    failed: int
    remaining: int
    dead_letters: int
    conflicts: int
    hub: HubStateOnly


class Task(Document, frozen=True, kw_only=True):
    """A task as on the wire, plus ``waiting``: it, or a change to it, is still in the queue."""

    id: str
    title: str
    description: str | None
    priority: str
    status: str
    project_name: str | None
    due_date: str | None
    tags: list[str]
    created_at: str | None
    updated_at: str | None
    completed_at: str | None
    version: int | None
    waiting: bool


class Tasks(Document, frozen=True, kw_only=True):
    """``task list``."""

    tasks: list[Task]
    as_of: str | None
    source: Literal["hub", "last-seen"]


class Insight(Document, frozen=True, kw_only=True):
    """An insight as on the wire, plus ``waiting``."""

    id: str
    content: str
    project: str | None
    tags: list[str]
    captured_at: str | None
    waiting: bool


class Insights(Document, frozen=True, kw_only=True):
    """``insight list``."""

    insights: list[Insight]
    as_of: str | None
    source: Literal["hub", "last-seen"]


def _picked(kind: type[Any], value: Any, **more: Any) -> Any:
    """A document from the fields of the same name."""
    names = (field.name for field in msgspec.structs.fields(kind))
    return kind(**{name: more[name] if name in more else getattr(value, name) for name in names})


def queue(status: QueueStatus) -> Queue:
    document: Queue = _picked(Queue, status, items=[_picked(BriefItem, item) for item in status.items])
    return document


def status(hub_status: HubStatus, queue_status: QueueStatus) -> Status:
    return Status(hub=_picked(Hub, hub_status), queue=_picked(Counts, queue_status))


def sync(report: SyncReport) -> Sync:
    document: Sync = _picked(Sync, report, hub=HubStateOnly(state=report.hub.state))
    return document


def task(view: TaskView) -> Task:
    document: Task = _picked(Task, view, tags=list(view.tags))
    return document


def tasks(found: TaskList) -> Tasks:
    return Tasks(tasks=[task(view) for view in found.tasks], as_of=found.as_of, source=found.source)


def insight(view: InsightView) -> Insight:
    document: Insight = _picked(Insight, view, tags=list(view.tags))
    return document


def insights(found: InsightList) -> Insights:
    return Insights(insights=[insight(view) for view in found.insights], as_of=found.as_of, source=found.source)


def row(item: QueueItem) -> dict[str, Any]:
    """A row of ``queue list`` and ``queue show``; a delivered one with when and how it ended."""
    names = [
        "id", "operation", "payload", "created_at", "reason", "reason_code",
        "entity", "op_id", "attempts", "next_attempt_at", "origin", "target", "error",
    ]  # fmt: skip
    if item.synced_at:
        names += ["synced_at", "outcome"]
    return {name: getattr(item, name) for name in names}
