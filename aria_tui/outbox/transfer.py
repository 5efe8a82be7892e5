"""Export and import of what waits and what is parked, as JSON Lines with keys and targets (queue.md).

The key goes along, so that importing twice, or on another machine, still applies each operation once. What was
exported may have been sent from where it came, so an imported row counts as sent: it is never folded.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiosqlite
import msgspec

from aria_tui.errors import FieldError, InvalidInput
from aria_tui.hub.contract import entity_of
from aria_tui.outbox.store import Store

_FIELDS = (
    "operation", "payload", "created_at", "op_id", "entity", "origin", "target", "base_version", "base",
    "schema_version", "sent_at", "attempts", "error",
)  # fmt: skip
_PAGE = 500


async def export(store: Store) -> AsyncIterator[str]:
    """One line for each waiting, dead or conflicting operation, in order of the numbers within each kind."""
    for source, kind in (("queue", "waiting"), ("parked", "")):
        after = 0
        while True:
            which = "synced_at IS NULL AND" if source == "queue" else ""
            more = "" if source == "queue" else ", kind, problem, current"
            found = await store.read(
                f"SELECT id, {', '.join(_FIELDS)}{more} FROM {source} WHERE {which} id > ? ORDER BY id LIMIT ?",  # noqa: S608
                (after, _PAGE),
            )
            for row in found:
                line = {"id": row[0], **dict(zip(_FIELDS, row[1:], strict=False))}
                line["state"] = kind or row[len(_FIELDS) + 1]
                if not kind:
                    line["problem"], line["current"] = row[-2], row[-1]
                yield msgspec.json.encode({"aria_queue": 1, **line}).decode()
            if len(found) < _PAGE:
                break
            after = found[-1][0]


async def import_lines(store: Store, lines: Iterable[str], *, now: str, target: str) -> dict[str, int]:
    """Takes in an export, all or nothing; a key that is known here (waiting, parked, delivered) is passed over.

    Raises InvalidInput with the line that can't be read.
    """
    entries = [_read(number, line) for number, line in enumerate(lines, 1) if line.strip()]

    async def job(connection: aiosqlite.Connection) -> dict[str, int]:
        imported = 0
        for entry in entries:
            known = await connection.execute_fetchall(
                "SELECT 1 FROM queue WHERE op_id = ?1 UNION ALL SELECT 1 FROM parked WHERE op_id = ?1",
                (entry["op_id"],),
            )
            if list(known):
                continue
            await _insert(connection, entry, now, target)
            imported += 1
        return {"imported": imported, "known": len(entries) - imported}

    return await store.write(job)


def _read(number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput([FieldError(f"line {number}", f"is no JSON: {error}")]) from None
    if not isinstance(entry, dict) or entry.get("aria_queue") != 1:
        raise InvalidInput([FieldError(f"line {number}", "is no line of `aria queue export`")])
    for name in ("operation", "payload", "op_id"):
        if not isinstance(entry.get(name), str) or not entry[name]:
            raise InvalidInput([FieldError(f"line {number}", f"has no {name}")])
    return entry


async def _insert(connection: aiosqlite.Connection, entry: dict[str, Any], now: str, target: str) -> None:
    try:
        payload = json.loads(entry["payload"])
    except ValueError:
        payload = {}
    entity = entry.get("entity") or entity_of(entry["operation"], payload, entry["op_id"])
    parked = entry.get("state") in ("dead", "conflict")
    cursor = await connection.execute(
        "INSERT INTO queue(operation, payload, created_at, op_id, entity, origin, target, base_version, base,"
        " schema_version, sent_at, attempts, error, why)"
        " VALUES (?, ?, ?, ?, ?, 'import', ?, ?, ?, ?, ?, ?, ?, 'in_doubt')",
        (
            entry["operation"], entry["payload"], entry.get("created_at") or now, entry["op_id"], entity,
            entry.get("target") or target, entry.get("base_version"), entry.get("base"),
            entry.get("schema_version") or 1, entry.get("sent_at") or now, entry.get("attempts") or 0,
            entry.get("error"),
        ),
    )  # fmt: skip
    if parked:
        number = cursor.lastrowid
        await connection.execute(
            "INSERT INTO parked(id, kind, operation, payload, created_at, error, op_id, entity, origin, target,"
            " base_version, base, schema_version, sent_at, attempts, parked_at, problem, current)"
            " SELECT id, ?, operation, payload, created_at, error, op_id, entity, origin, target, base_version, base,"
            " schema_version, sent_at, attempts, ?, ?, ? FROM queue WHERE id = ?",
            (entry["state"], now, entry.get("problem"), entry.get("current"), number),
        )
        await connection.execute("DELETE FROM queue WHERE id = ?", (number,))
