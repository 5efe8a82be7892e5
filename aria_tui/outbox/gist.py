"""An operation in a few words, for lists and progress: what the user would know it by. Outside text stays raw."""

from __future__ import annotations

import json
from typing import Any

from aria_tui.outbox.rows import Row

_LENGTH = 80


def gist(row: Row) -> str:
    """The title, the first line of the text, or the date that the operation is about; at most 80 characters."""
    return gist_of(row.operation, row.payload)


def gist_of(operation: str, payload: str) -> str:
    """The same from operation and stored payload; the operation's name where nothing else can be read."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return operation
    changes = value.get("changes")
    for holder in (value, changes if isinstance(changes, dict) else {}):
        for name in ("title", "content", "project", "date"):
            if words := _first_line(holder.get(name), name, operation):
                return words
    return f"{operation} {value.get('id', '')}".strip()[:_LENGTH]


def _first_line(value: Any, name: str, operation: str) -> str:
    if not isinstance(value, str) or not value.strip():
        return ""
    if name == "content" and operation == "store_briefing":
        return ""  # a briefing is known by its date
    return value.strip().partition("\n")[0].rstrip()[:_LENGTH]
