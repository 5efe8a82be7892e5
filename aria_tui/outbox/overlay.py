"""What an operation does to a task or an insight, as the Hub would do it: to lay waiting and acknowledged changes
over what was read."""

from __future__ import annotations

import json
from typing import Any, Literal

from aria_tui.models import Frozen, Mark


class Change(Frozen, frozen=True, kw_only=True):
    """One operation on one thing. ``fields``: the new values; for a create all of them."""

    kind: Literal["task", "insight"]
    id: str
    act: Literal["create", "update", "delete"]
    fields: dict[str, Any]


def change_of(operation: str, payload: str, entity: str, at: str) -> Change | None:
    """The change that an operation makes, or None for what isn't about a task or an insight, or can't be read."""
    kind, _, thing = entity.partition(":")
    if kind not in ("task", "insight"):
        return None
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    act, fields = _parts(operation, value, at)
    if act is None:
        return None
    return Change(kind="task" if kind == "task" else "insight", id=thing, act=act, fields=fields)


def _parts(
    operation: str, value: dict[str, Any], at: str
) -> tuple[Literal["create", "update", "delete"] | None, dict[str, Any]]:
    match operation:
        case "create_task":
            if "project" in value:
                value["project_name"] = value.pop("project")
            return "create", {"priority": "MEDIUM", "status": "TODO", "tags": [], "created_at": at} | value
        case "capture_insight":
            return "create", {"tags": [], "captured_at": at} | value
        case "update_task" | "update_insight":
            changes = dict(value.get("changes") or {})
            if changes.get("status", "DONE") != "DONE":
                changes.setdefault("completed_at", None)
            return "update", changes
        case "complete_task":
            return "update", {"status": "DONE", "completed_at": value.get("completed_at") or at}
        case "delete_task" | "delete_insight":
            return "delete", {}
        case _:
            return None, {}


def apply(things: dict[str, dict[str, Any]], change: Change, *, version: int | None = None) -> Mark:
    """Makes the change in a collection by id and gives the mark that a screen shows for it.

    ``version``: what the Hub made of it. It is kept only where it follows on the one that was known: else others
    changed fields in between that were never read, and it would say that they were. Where it is the one that was
    known, the Hub changed nothing (done what was done already), and no later read would correct what is changed here.
    """
    thing = things.get(change.id)
    known = (thing or {}).get("version", 0)
    if change.act == "delete":
        things.pop(change.id, None)
        return "deleted"
    if thing is not None and version is not None and version == known:
        return "edited"
    if thing is None:
        if change.act == "update":
            return ""  # nothing is guessed of a thing that was never seen
        things[change.id] = {"id": change.id, **change.fields}
    else:
        things[change.id] = {**thing, **change.fields, "id": change.id}
    if version is not None:
        if version == known + 1:
            things[change.id]["version"] = version
        else:
            things[change.id].pop("version", None)
    return "new" if change.act == "create" else "edited"
