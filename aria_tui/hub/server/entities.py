"""Entities between the wire's shape (a dict), the stored row, and the digest of what a create said."""

from __future__ import annotations

import functools
import hashlib
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec

from aria_tui.hub import contract
from aria_tui.hub.server.storage.base import Row

KINDS = ("task", "insight", "briefing", "activity")
DEFAULTS: dict[str, dict[str, Any]] = {
    "task": {
        "title": "", "description": None, "priority": "MEDIUM", "status": "TODO", "project_name": None,
        "due_date": None, "tags": [], "created_at": None, "updated_at": None, "completed_at": None,
    },
    "insight": {"content": "", "project": None, "tags": [], "captured_at": None},
    "briefing": {"content": "", "data": None, "captured_at": None},
    "activity": {"commits": 0, "summary": None, "notes": None},
}  # fmt: skip
"""What a field has that a create doesn't bear; None for a time means that the Hub gives it."""

_EPOCH, _MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
_TIMES = ("created_at", "updated_at", "captured_at", "completed_at")


@functools.lru_cache(maxsize=4096)
def moment(text: str) -> int:
    """A time of the wire as milliseconds since 1970."""
    return (contract.read_time(text) - _EPOCH) // _MILLISECOND


@functools.lru_cache(maxsize=4096)
def time_text(moment: int) -> str:
    """Milliseconds since 1970 as the wire's time."""
    return contract.write_time(_EPOCH + moment * _MILLISECOND)


@functools.lru_cache(maxsize=4096)
def day(text: str) -> int:
    """A date of the wire as the milliseconds of its midnight in UTC."""
    return (date.fromisoformat(text) - date(1970, 1, 1)).days * 86_400_000


@functools.lru_cache(maxsize=4096)
def canonical_time(text: str) -> str:
    """A time in the one form that the Hub stores and answers."""
    return contract.write_time(contract.read_time(text))


def decode(row: Row) -> dict[str, Any]:
    """A row's document. A tombstone has none."""
    document: dict[str, Any] = msgspec.json.decode(row.doc) if row.doc else {}
    return document


def digest(kind: str, document: dict[str, Any]) -> str:
    """What a create said, apart from its times: the same create by id has the same digest for ever."""
    said = {name: document.get(name, default) for name, default in DEFAULTS[kind].items() if name not in _TIMES}
    return hashlib.sha256(contract.canonical(said)).hexdigest()[:32]


def row(entity: str, document: dict[str, Any], *, seq: int, origin: str | None, touched: str | None) -> Row:
    """The row of a living entity, with the columns that lists are filtered by."""
    kind = entity.partition(":")[0]
    made = Row(entity=entity, kind=kind, version=document["version"], seq=seq, sort_at=0, doc="")
    made.origin, made.touched = origin, touched
    match kind:
        case "task":
            made.sort_at = moment(document["created_at"])
            made.status, made.priority = document["status"], document["priority"]
            made.project, made.due_date = document["project_name"], document["due_date"]
            if document["completed_at"]:
                made.completed_at = moment(document["completed_at"])
        case "insight":
            made.sort_at, made.project = moment(document["captured_at"]), document["project"]
            made.folded = fold(document["content"])
        case "briefing":
            made.sort_at = day(document["date"])
        case _:
            made.sort_at, made.project = day(document["date"]), document["project"]
    made.doc = msgspec.json.encode(document).decode()
    return made


def tombstone(row: Row, *, seq: int, now: int) -> Row:
    """What stays of a deleted entity, for ever: its id, its last version and when."""
    return Row(
        entity=row.entity, kind=row.kind, version=row.version + 1, seq=seq, deleted_at=now, sort_at=row.sort_at, doc=""
    )


def fold(text: str) -> str:
    """A text as it is searched: case apart, for every language alike on both engines."""
    return text.casefold()
