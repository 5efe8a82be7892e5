"""Accepting a write: validated, keyed, committed; only then sent (queue.md, "Accepting a write")."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from aria_tui.errors import InvalidInput
from aria_tui.hub.contract import entity_of, fingerprint, validate, write_time
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.ids import new_id
from aria_tui.outbox.inserting import NewRow

KEY = re.compile(r"[\x21-\x7e]{1,255}\Z")
"""What an idempotency key may be (hub-api.md, "Headers")."""
_OWN_ID = {"create_task": "created_at", "capture_insight": "captured_at"}


def prepare(
    operation: str, payload: dict[str, Any], *, clock: Clock, origin: str, address: str, op_id: str | None = None
) -> NewRow:
    """A row ready to be committed. Raises InvalidInput, and then nothing was stored.

    Our own payloads always hold id and times, so that a copy sent without our key still dedupes by entity. ``op_id`` is
    a key of the caller's own: the same one again with the same payload is the same operation.
    """
    if op_id is not None and not KEY.match(op_id):
        raise InvalidInput("an idempotency key must be 1 to 255 visible ASCII characters")
    key = op_id or new_id()
    now = write_time(clock.now())
    whole = validate(operation, payload)
    if (time_name := _OWN_ID.get(operation)) is not None:
        whole.setdefault("id", _id_of(key) if op_id else key)
        whole.setdefault(time_name, now)
    elif operation == "complete_task":
        whole.setdefault("completed_at", now)
    elif operation == "store_briefing":
        whole.setdefault("captured_at", now)
    asked = fingerprint(operation, payload) if op_id is not None else None
    return NewRow(
        operation=operation,
        payload=msgspec.json.encode(whole).decode(),
        created_at=f"{now[:19]}Z",
        op_id=key,
        entity=entity_of(operation, whole, key),
        origin=origin,
        address=address,
        asked=asked,
    )


def _id_of(key: str) -> str:
    """The id of what a key creates: the key itself, or one that follows from it where a caller's key is no UUID."""
    import uuid  # only for those who bring a key

    try:
        return key if str(uuid.UUID(key)) == key else str(uuid.uuid5(uuid.NAMESPACE_OID, key))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, key))


def former_values(
    operation: str, payload: dict[str, Any], thing: dict[str, Any] | None
) -> tuple[int | None, str | None]:
    """The version that an edit is based on, and the former values of what it changes; nothing where it isn't known."""
    if thing is None:
        return None, None
    version = thing.get("version")
    version = version if isinstance(version, int) and not isinstance(version, bool) else None
    if operation in ("update_task", "update_insight"):
        base = {name: thing.get(name) for name in payload.get("changes", {})}
    elif operation == "complete_task":
        base = {"status": thing.get("status", "TODO")}
    else:
        names = ("title", "description", "priority", "status", "project_name", "due_date", "tags")
        base = {name: thing.get(name) for name in names} if operation == "delete_task" else {}
    return version, json.dumps(base, ensure_ascii=False) if base else None
