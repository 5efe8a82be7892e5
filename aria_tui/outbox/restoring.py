"""What of an operation that a restored Hub lost is still to be done (queue.md, "Hub restored from a backup").

Between the restoration and the moment when it was noticed the Hub may have acknowledged later operations of the same
entity. What these decided stays as they decided it: an older value never overwrites a newer one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

WHOLE = "*"
"""Instead of a field: everything of the entity was decided."""
_STATUS = ("status", "completed_at")
_NAMES = ("project", "date")


def decided(operation: str, payload: dict[str, Any]) -> set[str]:
    """The fields that an acknowledged operation decided."""
    match operation:
        case "update_task" | "update_insight":
            changes = set(payload.get("changes") or {})
            return changes | set(_STATUS) if "status" in changes else changes
        case "complete_task":
            return set(_STATUS)
        case "record_activity":
            return payload.keys() - set(_NAMES)
        case _:
            return {WHOLE}


def left_of(operation: str, payload: dict[str, Any], later: Collection[str]) -> dict[str, Any] | None:
    """The payload without what ``later`` operations decided; None: nothing of it is left.

    A create is left as it is, since what is changed later needs it. A delete is overtaken by whatever came after it.
    """
    if not later:
        return payload
    if WHOLE in later:
        return None
    match operation:
        case "update_task" | "update_insight":
            changes = {name: value for name, value in (payload.get("changes") or {}).items() if name not in later}
            return {**payload, "changes": changes} if changes else None
        case "complete_task":
            return None if "status" in later else payload
        case "record_activity":
            kept = {name: value for name, value in payload.items() if name not in later}
            return kept if kept.keys() - set(_NAMES) else None
        case "delete_task" | "delete_insight":
            return None
        case _:
            return payload
