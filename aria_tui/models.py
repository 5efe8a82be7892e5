"""What the program talks about: frozen, typed, no I/O. Screens, command line and MCP draw these and nothing else.

Times are RFC 3339 text in UTC with ``Z``; dates are ``YYYY-MM-DD``; durations are seconds as float unless the
name says ``_ms``. What the wire carries (Task, Insight, …) is in ``hub/contract.py``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

HubState = Literal["embedded", "online", "slow", "offline", "refused", "not_the_hub", "unknown"]
WriteStatus = Literal["synced", "queued", "superseded", "conflict", "rejected"]
Origin = Literal["tui", "cli", "mcp", "import", "other"]
ReasonCode = Literal[
    "sending", "next", "backoff", "retry_after", "behind", "parked_ahead", "offline", "paused",
    "held_operation", "held_target", "in_doubt",
]  # fmt: skip
SectionState = Literal["ok", "stale", "partial", "unavailable", "not_configured"]
AlertLevel = Literal["critical", "warning", "info"]
Mark = Literal["", "new", "edited", "deleted"]


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the program's values: immutable, compared by content, encoded by msgspec.

    What is made by the thousand has ``gc=False``: no cycle can go through it, and it doesn't set the collector going.
    """


class WriteResult(Frozen, frozen=True, kw_only=True, gc=False):
    """The answer to one write. ``id`` is the entity's (a date for a briefing); ``queue_id`` its queue number."""

    status: WriteStatus
    destination: Literal["hub", "local"]
    id: str
    message: str
    queue_id: int | UnsetType = UNSET


class HubStatus(Frozen, frozen=True, kw_only=True):
    """How the Hub stands, as far as this process knows.

    ``since``: when this state began; ``reason``: why, in words, empty when online; ``next_probe_in``: seconds.
    """

    state: HubState = "unknown"
    since: str | None = None
    url: str = ""
    latency_ms: float | None = None
    reason: str = ""
    hub_id: str = ""
    account: str = ""
    api: int | None = None
    last_sync: str | None = None
    next_probe_in: float | None = None
    latencies_ms: tuple[float | None, ...] = ()
    """The newest probes' latencies, oldest first, None for one that failed: for a sparkline."""
    uptime_7d: float | None = None
    """Share of the last 7 days' probes that were answered, 0 to 1; None when there were none."""


class QueueItem(Frozen, frozen=True, kw_only=True):
    """One row that waits, is parked, or was delivered. ``payload`` is the stored text, byte for byte."""

    id: int
    operation: str
    payload: str
    created_at: str
    reason: str
    reason_code: str
    entity: str = ""
    op_id: str = ""
    attempts: int = 0
    next_attempt_at: str | None = None
    origin: str = "other"
    target: str = ""
    error: str | None = None
    synced_at: str | None = None
    outcome: str = ""
    """For a journal row: applied, duplicate, superseded, cancelled, foreign."""
    reason_args: dict[str, str] = {}
    """What fills the reason's sentence (``outbox.reasons.SENTENCES``), so that a screen can say it in its language."""


class QueueStatus(Frozen, frozen=True, kw_only=True):
    """What waits: ``items`` holds the first five rows; ``oldest`` the first waiting row's time by queue order."""

    pending_total: int = 0
    by_operation: dict[str, int] = {}
    oldest: str | None = None
    items: tuple[QueueItem, ...] = ()
    dead_letters: int = 0
    conflicts: int = 0
    paused: bool = False
    held: int = 0


class Conflict(Frozen, frozen=True, kw_only=True):
    """A conflict in the inbox: ``base`` and ``mine`` hold the changed fields, ``theirs`` the Hub's copy."""

    id: int
    operation: str
    entity: str
    title: str
    created_at: str
    base: dict[str, Any]
    mine: dict[str, Any]
    theirs: dict[str, Any] | None
    fields: tuple[str, ...]
    """The fields that really conflict."""


class SyncReport(Frozen, frozen=True, kw_only=True):
    """The end of a sync. ``dead_letters`` and ``conflicts`` count the new ones of this run; ``problem``: what kept the
    queue's own file from being written, or nothing."""

    synced: int = 0
    superseded: int = 0
    failed: int = 0
    remaining: int = 0
    dead_letters: int = 0
    conflicts: int = 0
    hub: HubStatus = HubStatus()
    stopped: bool = False
    sentence: str = ""
    problem: str = ""


class SyncProgress(Frozen, frozen=True, kw_only=True):
    """One step of a drain, this process's or (``own`` False) another's. ``rate`` is operations a second."""

    done: int = 0
    total: int = 0
    synced: int = 0
    superseded: int = 0
    failed: int = 0
    conflicts: int = 0
    current: str = ""
    rate: float | None = None
    seconds_left: float | None = None
    own: bool = True


class SyncFinished(Frozen, frozen=True, kw_only=True):
    """The last event of a drain."""

    report: SyncReport
    own: bool = True


SyncEvent = SyncProgress | SyncFinished


class TaskView(Frozen, frozen=True, kw_only=True):
    """A task as the Hub last gave it, with this machine's waiting changes laid over it."""

    id: str
    title: str
    description: str | None = None
    priority: str = "MEDIUM"
    status: str = "TODO"
    project_name: str | None = None
    due_date: str | None = None
    tags: tuple[str, ...] = ()
    created_at: str | None = None
    updated_at: str | None = None
    completed_at: str | None = None
    version: int | None = None
    waiting: bool = False
    mark: Mark = ""


class TaskList(Frozen, frozen=True, kw_only=True):
    """Tasks, newest first. ``source`` last-seen: the Hub was away and ``as_of`` is when they were read."""

    tasks: tuple[TaskView, ...] = ()
    as_of: str | None = None
    source: Literal["hub", "last-seen"] = "hub"


class InsightView(Frozen, frozen=True, kw_only=True):
    id: str
    content: str
    project: str | None = None
    tags: tuple[str, ...] = ()
    captured_at: str | None = None
    waiting: bool = False
    mark: Mark = ""


class InsightList(Frozen, frozen=True, kw_only=True):
    insights: tuple[InsightView, ...] = ()
    as_of: str | None = None
    source: Literal["hub", "last-seen"] = "hub"


class Alert(Frozen, frozen=True, kw_only=True):
    level: AlertLevel
    source: str
    text: str


class Section(Frozen, frozen=True, kw_only=True):
    """One section of the briefing. ``data`` has the shape that briefing.md gives for ``name``; ``reason`` says why
    it isn't ``ok``; ``as_of`` is the time of data that is not of now."""

    name: str
    state: SectionState
    data: dict[str, Any] = {}
    reason: str = ""
    as_of: str | None = None
    alerts: tuple[Alert, ...] = ()


class BriefingDoc(Frozen, frozen=True, kw_only=True):
    """A whole briefing; sections in the order of ``briefing.SECTIONS``."""

    date: str
    kind: Literal["morning", "evening"]
    generated_at: str
    timezone: str
    alerts: tuple[Alert, ...] = ()
    sections: tuple[Section, ...] = ()


class Change(Frozen, frozen=True, kw_only=True):
    """Something a screen may want to read again, or progress to draw."""

    what: Literal["hub", "queue", "tasks", "insights", "sync", "notice"]
    hub: HubStatus | None = None
    sync: SyncEvent | None = None
    text: str = ""
