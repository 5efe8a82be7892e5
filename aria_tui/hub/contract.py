"""The wire's shapes and rules, once, for both ends (hub-api.md).

The server and the client validate a payload by the same function, so that what the client accepts offline is what
the Hub accepts later. Times on the wire are RFC 3339 text in UTC with ``Z``, dates ``YYYY-MM-DD``.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import msgspec

from aria_tui.errors import FieldError, InvalidInput

SCHEMA_VERSION = 1
API_VERSION = 1
BATCH_OPS = 1_000
BODY_BYTES = 1024 * 1024
TITLE_CHARACTERS = 500
TEXT_BYTES = 64 * 1024
TAGS_COUNT, TAG_CHARACTERS = 20, 50
PROJECT_CHARACTERS = 200
PRIORITIES = ("URGENT", "HIGH", "MEDIUM", "LOW")
STATUSES = ("TODO", "IN_PROGRESS", "DONE", "CANCELLED")
PROBLEM_JSON = "application/problem+json"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    description: str | None = None
    priority: str = "MEDIUM"
    status: str = "TODO"
    project_name: str | None = None
    due_date: str | None = None
    tags: list[str] = []
    created_at: str
    updated_at: str
    completed_at: str | None = None
    version: int


class Insight(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    content: str
    project: str | None = None
    tags: list[str] = []
    captured_at: str
    version: int = 1


class Briefing(msgspec.Struct, frozen=True, kw_only=True):
    date: str
    content: str
    data: Any = None
    captured_at: str
    version: int


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    project: str
    date: str
    commits: int = 0
    summary: str | None = None
    notes: str | None = None
    version: int = 1


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """RFC 9457. ``type`` ends in one of the words of hub-api.md; look at ``word``, never at text."""

    type: str = "about:blank"
    title: str = ""
    status: int = 0
    detail: str = ""
    op_id: str | None = None
    retryable: bool = False
    errors: list[dict[str, str]] = []
    blocked_by: str | None = None
    current: Any = None

    @property
    def word(self) -> str:
        return re.split(r"[/:]", self.type)[-1]


class Op(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation of a batch, as it is sent. What hub-api.md asks for has no default here: that would be left out."""

    op_id: str
    operation: str
    payload: msgspec.Raw
    schema_version: int
    entity: str | None = None
    occurred_at: str | None = None
    base_version: int | None = None
    base: dict[str, Any] | None = None


class OpResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    op_id: str
    status: str
    entity: str | None = None
    version: int | None = None
    current: Any = None
    problem: Problem | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    batch_ops: int = BATCH_OPS
    body_bytes: int = BODY_BYTES


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    key_days: int = 90
    delta_days: int = 90


IF_REACHED = "if-reached"
"""The Hub honours ``Aria-If-Reached: EPOCH.SEQ`` on writes: where its epoch is another one, or the account's last
change number lower, it was restored from a backup, and it refuses (412 ``restored``) before anything is applied."""


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """``GET /api/meta``. ``seq`` is the account's last change number, ``epoch`` changes when the Hub was restored."""

    hub_id: str
    epoch: str
    seq: int
    account: str
    api: int
    operations: dict[str, int]
    limits: Limits
    retention: Retention
    server_time: str
    features: tuple[str, ...] = ()
    """What this Hub can do beside the contract's first version, such as ``IF_REACHED``."""


_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?\Z", re.ASCII
)  # RFC 3339, section 5.6; the zone may be missing in what older programs wrote (SQLite's datetime('now')): UTC
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.ASCII | re.IGNORECASE)


def write_time(moment: datetime) -> str:
    """A moment as RFC 3339 in UTC with Z: to the second, or to the millisecond where it has a fraction."""
    there = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    text = there.isoformat("T", "milliseconds")
    return f"{text[: 19 if text[20:23] == '000' else 23]}Z"


@functools.lru_cache(maxsize=4096)
def read_time(text: str) -> datetime:
    """Reads RFC 3339, and ``2026-02-21 08:14:22`` (taken as UTC). Raises ValueError for anything else."""
    found = _TIME.match(text)
    if found is None:
        raise ValueError(f"not a time: {text!r}")
    day, clock, fraction, zone = found.groups()
    if zone is None or zone in "Zz":
        zone = "+00:00"
    return datetime.fromisoformat(f"{day}T{clock}{(fraction or '')[:7]}{zone}").astimezone(UTC)


def entity_of(operation: str, payload: dict[str, Any], op_id: str) -> str:
    """The entity an operation is about: ``task:ID``, ``insight:ID``, ``briefing:DATE``, ``activity:PROJECT:DATE``.

    An operation that isn't known is an entity of its own, so that it holds nothing else up.
    """
    match operation:
        case "create_task" | "update_task" | "complete_task" | "delete_task":
            return f"task:{payload.get('id') or op_id}"
        case "capture_insight" | "update_insight" | "delete_insight":
            return f"insight:{payload.get('id') or op_id}"
        case "store_briefing":
            return f"briefing:{payload.get('date')}"
        case "record_activity":
            return f"activity:{payload.get('project')}:{payload.get('date')}"
        case _:
            return f"{operation}:{op_id}"


def fingerprint(operation: str, payload: Any) -> str:
    """Hex SHA-256 of the canonical JSON of ``{operation, payload}``: keys sorted, no white space."""
    return hashlib.sha256(canonical({"operation": operation, "payload": payload})).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no white space, UTF-8."""
    return msgspec.json.encode(value, order="sorted")


Check = Callable[[str, Any], str | None]
"""Takes a field's name and value, gives None or why the value can't be accepted."""


def text_problem(value: str) -> str | None:
    """Why a text can't be kept by every Hub, or None: lone surrogates can't be sent, U+0000 can't be stored."""
    if "\x00" in value:
        return "must not hold the character U+0000"
    if value.isascii():
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return "is not valid Unicode (a lone surrogate)"
    return None


def data_problem(value: Any, depth: int = 0) -> str | None:
    """Why a JSON-like value can't be kept, or None: NaN and infinity, bad text, over 32 levels deep."""
    if depth > 32:
        return "is nested more than 32 deep"
    match value:
        case str():
            return text_problem(value)
        case float():
            return None if math.isfinite(value) else "must not hold NaN or infinity"
        case dict():
            for key, item in value.items():
                if not isinstance(key, str):
                    return "must have texts for keys"
                if why := text_problem(key) or data_problem(item, depth + 1):
                    return why
        case list() | tuple():
            for item in value:
                if why := data_problem(item, depth + 1):
                    return why
        case None | bool() | int():
            return None
        case _:
            return f"can't be written as JSON ({type(value).__name__})"
    return None


def _text(low: int, high: int, *, by_bytes: bool = False, null: bool = False) -> Check:
    def check(_: str, value: Any) -> str | None:
        if value is None and null:
            return None
        if not isinstance(value, str):
            return "must be a text"
        if why := text_problem(value):
            return why
        if low and not value.strip():
            return "must not be empty"
        size = len(value.encode()) if by_bytes and not value.isascii() else len(value)
        if size > high:
            return f"is too long: {size} {'bytes' if by_bytes else 'characters'}, at most {high}"
        return None

    return check


def _one_of(*words: str) -> Check:
    return lambda _, value: None if value in words else f"must be one of {', '.join(words)}"


def _date(_: str, value: Any) -> str | None:
    try:
        if isinstance(value, str) and _DATE.match(value) and date.fromisoformat(value):
            return None
    except ValueError:
        pass
    return "must be a date, YYYY-MM-DD"


def _time(_: str, value: Any) -> str | None:
    try:
        if isinstance(value, str) and read_time(value):
            return None
    except (ValueError, OverflowError):
        pass
    return "must be a time, RFC 3339 in UTC such as 2026-12-01T08:00:00Z"


def _or_null(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _tags(_: str, value: Any) -> str | None:
    if not isinstance(value, list | tuple):
        return "must be a list of texts"
    if len(value) > TAGS_COUNT:
        return f"has {len(value)} tags, at most {TAGS_COUNT}"
    for tag in value:
        if why := _TAG("", tag):
            return f"{tag!r:.60} {why}" if isinstance(tag, str) and not text_problem(tag) else why
    return None


def _count(_: str, value: Any) -> str | None:
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return None if fine else "must be a whole number, 0 or more"


def _uuid(_: str, value: Any) -> str | None:
    return None if isinstance(value, str) and _UUID.match(value) else "must be a UUID"


def _opaque_id(_: str, value: Any) -> str | None:
    """Another Hub's ids are opaque: any short text."""
    return _text(1, 255)("", value)


def _data(_: str, value: Any) -> str | None:
    return data_problem(value)


_TAG = _text(1, TAG_CHARACTERS)
_PROJECT = _text(1, PROJECT_CHARACTERS, null=True)
_BODY = _text(0, TEXT_BYTES, by_bytes=True, null=True)

TASK_CHANGES: dict[str, Check] = {
    "title": _text(1, TITLE_CHARACTERS),
    "description": _BODY,
    "priority": _one_of(*PRIORITIES),
    "status": _one_of(*STATUSES),
    "project_name": _PROJECT,
    "due_date": _or_null(_date),
    "tags": _tags,
    "completed_at": _or_null(_time),
}
INSIGHT_CHANGES: dict[str, Check] = {
    "content": _text(1, TEXT_BYTES, by_bytes=True),
    "project": _PROJECT,
    "tags": _tags,
}
_FIELDS: dict[str, tuple[tuple[str, ...], dict[str, Check]]] = {
    # operation: (required fields, every field's check)
    "create_task": (("title",), {"id": _uuid, "created_at": _time, **TASK_CHANGES}),
    "update_task": (("id", "changes"), {"id": _opaque_id}),
    "complete_task": (("id",), {"id": _opaque_id, "completed_at": _or_null(_time)}),
    "delete_task": (("id",), {"id": _opaque_id}),
    "capture_insight": (("content",), {"id": _uuid, "captured_at": _time, **INSIGHT_CHANGES}),
    "update_insight": (("id", "changes"), {"id": _opaque_id}),
    "delete_insight": (("id",), {"id": _opaque_id}),
    "store_briefing": (
        ("date", "content"),
        {"date": _date, "content": _text(0, BODY_BYTES, by_bytes=True), "data": _data, "captured_at": _time},
    ),
    "record_activity": (
        ("project", "date"),
        {
            "project": _text(1, PROJECT_CHARACTERS),
            "date": _date,
            "commits": _count,
            "summary": _BODY,
            "notes": _BODY,
        },
    ),
}
_CHANGES = {"update_task": TASK_CHANGES, "update_insight": INSIGHT_CHANGES}
OPERATIONS: dict[str, int] = dict.fromkeys(_FIELDS, SCHEMA_VERSION)
"""Operations by name, with the schema version that this program speaks."""


def validate(operation: str, given: Any) -> dict[str, Any]:
    """Checks an operation's payload and gives it in the contract's form (a task's ``project`` read as
    ``project_name``; None for a field that may be absent is the same as absent, on a create).

    Raises InvalidInput with every field's error; ValueError for an operation that isn't known.
    """
    if operation not in _FIELDS:
        raise ValueError(f"unknown operation {operation!r}")
    if not isinstance(given, dict):
        raise InvalidInput("the payload must be a JSON object")
    required, checks = _FIELDS[operation]
    payload: dict[str, Any] = dict(given)
    errors: list[FieldError] = []
    if operation == "create_task":
        _rename_project(payload, errors, "")
    if operation in ("create_task", "capture_insight", "store_briefing", "record_activity"):
        payload = {k: v for k, v in payload.items() if v is not None or k not in checks}
    errors += [FieldError(name, "is missing") for name in required if name not in payload]
    allowed = {**checks, "changes": _skip} if operation in _CHANGES else checks
    errors += _check_fields(payload, allowed, "")
    if operation in _CHANGES and "changes" in payload:
        payload["changes"], found = _check_changes(operation, payload["changes"])
        errors += found
    if errors:
        raise InvalidInput(errors)
    return payload


def _skip(_: str, __: Any) -> None:
    return None


def _rename_project(fields: dict[str, Any], errors: list[FieldError], prefix: str) -> None:
    """Older programs write a task's project as ``project`` (hub-api.md)."""
    if "project" in fields:
        if "project_name" in fields:
            errors.append(FieldError(f"{prefix}project", "is the same as project_name; give one of them"))
        fields["project_name"] = fields.pop("project")


def _check_fields(fields: dict[str, Any], checks: dict[str, Check], prefix: str) -> list[FieldError]:
    errors = []
    for name, value in fields.items():
        if (check := checks.get(name)) is None:
            shown = name if isinstance(name, str) and not text_problem(name) else repr(name)
            errors.append(FieldError(f"{prefix}{shown[:60]}", "is not a field of this operation"))
        elif why := check(name, value):
            errors.append(FieldError(f"{prefix}{name}", why))
    return errors


def _check_changes(operation: str, changes: Any) -> tuple[Any, list[FieldError]]:
    if not isinstance(changes, dict):
        return changes, [FieldError("changes", "must be an object of fields and values")]
    if not changes:
        return changes, [FieldError("changes", "must not be empty")]
    errors: list[FieldError] = []
    changes = dict(changes)
    if operation == "update_task":
        _rename_project(changes, errors, "changes.")
    return changes, errors + _check_fields(changes, _CHANGES[operation], "changes.")
