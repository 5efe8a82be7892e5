"""The payloads' shapes for the OpenAPI document. What is accepted is decided by ``contract.validate`` alone."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from aria_tui.hub import contract

Priority = Literal["URGENT", "HIGH", "MEDIUM", "LOW"]
Status = Literal["TODO", "IN_PROGRESS", "DONE", "CANCELLED"]
Uuid = Annotated[str, Meta(pattern="^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$")]
Date = Annotated[str, Meta(extra_json_schema={"format": "date"})]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Title = Annotated[str, Meta(min_length=1, max_length=contract.TITLE_CHARACTERS, pattern=r"\S")]
Text = Annotated[str, Meta(max_length=contract.TEXT_BYTES)]
Body = Annotated[str, Meta(min_length=1, max_length=contract.TEXT_BYTES, pattern=r"\S")]
Name = Annotated[str, Meta(min_length=1, max_length=contract.PROJECT_CHARACTERS, pattern=r"\S")]
Tag = Annotated[str, Meta(min_length=1, max_length=contract.TAG_CHARACTERS, pattern=r"\S")]
Tags = Annotated[list[Tag], Meta(max_length=contract.TAGS_COUNT)]
Count = Annotated[int, Meta(ge=0, lt=2**31)]
OpId = Annotated[str, Meta(min_length=1, max_length=255, pattern="^[!-~]+$")]
AnyId = Annotated[str, Meta(min_length=1, max_length=255, pattern=r"\S")]


class _Payload(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An absent field has its default, or stays."""


class TaskChanges(_Payload, kw_only=True):
    title: Title | UnsetType = UNSET
    description: Text | UnsetType | None = UNSET
    priority: Priority | UnsetType = UNSET
    status: Status | UnsetType = UNSET
    project_name: Name | UnsetType | None = UNSET
    due_date: Date | UnsetType | None = UNSET
    tags: Tags | UnsetType = UNSET
    completed_at: Time | UnsetType | None = UNSET


class CreateTask(_Payload, kw_only=True):
    title: Title
    id: Uuid | UnsetType = UNSET
    description: Text | UnsetType | None = UNSET
    priority: Priority | UnsetType | None = UNSET
    status: Status | UnsetType | None = UNSET
    project_name: Name | UnsetType | None = UNSET
    due_date: Date | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    created_at: Time | UnsetType | None = UNSET
    completed_at: Time | UnsetType | None = UNSET


class UpdateTask(_Payload, kw_only=True):
    id: AnyId
    changes: TaskChanges


class CompleteTask(_Payload, kw_only=True):
    id: AnyId
    completed_at: Time | UnsetType | None = UNSET


class CompleteTaskBody(_Payload, kw_only=True):
    completed_at: Time | UnsetType | None = UNSET


class DeleteTask(_Payload, kw_only=True):
    id: AnyId


class CaptureInsight(_Payload, kw_only=True):
    content: Body
    id: Uuid | UnsetType = UNSET
    project: Name | UnsetType | None = UNSET
    tags: Tags | UnsetType | None = UNSET
    captured_at: Time | UnsetType | None = UNSET


class InsightChanges(_Payload, kw_only=True):
    content: Body | UnsetType = UNSET
    project: Name | UnsetType | None = UNSET
    tags: Tags | UnsetType = UNSET


class UpdateInsight(_Payload, kw_only=True):
    id: AnyId
    changes: InsightChanges


class DeleteInsight(_Payload, kw_only=True):
    id: AnyId


class StoreBriefing(_Payload, kw_only=True):
    date: Date
    content: str
    data: Any = UNSET
    captured_at: Time | UnsetType | None = UNSET


class StoreBriefingBody(_Payload, kw_only=True):
    content: str
    data: Any = UNSET
    captured_at: Time | UnsetType | None = UNSET


class RecordActivity(_Payload, kw_only=True):
    project: Name
    date: Date
    commits: Count | UnsetType | None = UNSET
    summary: Text | UnsetType | None = UNSET
    notes: Text | UnsetType | None = UNSET


class Operation(_Payload, kw_only=True):
    """One operation of a batch."""

    op_id: OpId
    operation: str
    payload: Any
    entity: str | UnsetType | None = UNSET
    occurred_at: str | UnsetType | None = UNSET
    schema_version: int | UnsetType = UNSET
    base_version: int | UnsetType | None = UNSET
    base: dict[str, Any] | UnsetType | None = UNSET


class Batch(_Payload, kw_only=True):
    ops: list[Operation]
    """At most contract.BATCH_OPS, else 413."""
    client_id: str | UnsetType | None = UNSET


class Written(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a single or direct write answers, the first time and every time."""

    op_id: str
    status: Literal["applied", "duplicate", "superseded"]
    entity: str
    version: int | UnsetType = UNSET
    current: contract.Briefing | UnsetType = UNSET
    task: contract.Task | UnsetType = UNSET
    insight: contract.Insight | UnsetType = UNSET
    briefing: contract.Briefing | UnsetType = UNSET
    activity: contract.Activity | UnsetType = UNSET


class Result(msgspec.Struct, kw_only=True):
    op_id: str
    status: Literal["applied", "duplicate", "superseded", "conflict", "rejected", "retry", "skipped"]
    entity: str
    version: int | UnsetType = UNSET
    current: Any = UNSET
    problem: contract.Problem | UnsetType = UNSET


class Results(msgspec.Struct, kw_only=True):
    results: list[Result]
    cursor: str
    server_time: Time


class TaskAnswer(msgspec.Struct, kw_only=True):
    task: contract.Task


class Tasks(msgspec.Struct, kw_only=True):
    tasks: list[contract.Task]
    next_cursor: str | None


class Insights(msgspec.Struct, kw_only=True):
    insights: list[contract.Insight]
    next_cursor: str | None


class Briefings(msgspec.Struct, kw_only=True):
    briefings: list[contract.Briefing]


class BriefingAnswer(msgspec.Struct, kw_only=True):
    briefing: contract.Briefing
    revisions: list[contract.Briefing]


class Activities(msgspec.Struct, kw_only=True):
    activity: list[contract.Activity]


class Summary(msgspec.Struct, kw_only=True):
    open: int
    in_progress: int
    overdue: int
    due_today: int
    done_today: int
    by_project: dict[str, int]
    by_priority: dict[str, int]
    as_of: Time


class Change(msgspec.Struct, kw_only=True):
    entity: str
    version: int
    deleted: bool
    task: contract.Task | UnsetType = UNSET
    insight: contract.Insight | UnsetType = UNSET
    briefing: contract.Briefing | UnsetType = UNSET
    activity: contract.Activity | UnsetType = UNSET


class Changes(msgspec.Struct, kw_only=True):
    changes: list[Change]
    cursor: str
    has_more: bool


class Health(msgspec.Struct, kw_only=True):
    status: str
