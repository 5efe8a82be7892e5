"""Export and import of what waits and what is parked, as JSON Lines with keys and targets (queue.md).

The key goes along, so that importing twice, or on another machine, still applies each operation once. What was
exported may have been sent from where it came, so an imported row counts as sent: it is never folded.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiosqlite
import msgspec

from aria_tui.errors import FieldError, InvalidInput, NotSaved, QueueFull, QueueUnavailable
from aria_tui.hub.contract import entity_of, text_problem
from aria_tui.outbox import state
from aria_tui.outbox.accept import KEY
from aria_tui.outbox.connecting import shown
from aria_tui.outbox.store import Store

_FIELDS = (
    "operation", "payload", "created_at", "op_id", "entity", "origin", "target", "base_version", "base",
    "schema_version", "sent_at", "attempts", "error",
)  # fmt: skip
_PAGE = 500
EXPORTED = "exported"
"""The newest number that was waiting when the queue was exported."""
_NEEDED = ("operation", "payload", "op_id")
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(_FIELDS, str), "base_version": int, "schema_version": int, "attempts": int,
    "state": str, "problem": str, "current": str, "remote": (str, int),
}  # fmt: skip


_SOURCES = (
    f"SELECT id, {', '.join(_FIELDS)}, 'waiting' AS state, NULL AS problem, NULL AS current"  # noqa: S608
    " FROM queue WHERE synced_at IS NULL"
    f" UNION ALL SELECT id, {', '.join(_FIELDS)}, kind, problem, current FROM parked"
)
_LINE = (
    "SELECT s.*, m.remote, typeof(m.remote) = 'integer'"  # noqa: S608
    f" FROM ({_SOURCES}) s LEFT JOIN id_map m ON m.target = s.target AND m.entity = s.entity"
    " WHERE s.id > ? ORDER BY s.id LIMIT ?"
)


async def export(store: Store) -> AsyncIterator[str]:
    """One line for each waiting, dead or conflicting operation, in order of the numbers: that is their order.

    From now on these may reach the Hub from elsewhere under their keys, so they are not folded any more. That is noted
    before the first of them is given out; a file that can't be written is exported all the same.
    """
    with contextlib.suppress(NotSaved, QueueUnavailable):
        await store.write(_note_exported)
    after = 0
    while found := await store.read(_LINE, (after, _PAGE)):
        for row in found:
            line = dict(zip(("id", *_FIELDS, "state", "problem", "current", "remote"), row, strict=False))
            line = {name: shown(value) if isinstance(value, str) else value for name, value in line.items()}
            yield msgspec.json.encode({"aria_queue": 1, **line}).decode()
        after = found[-1][0]


async def _note_exported(connection: aiosqlite.Connection) -> None:
    found = await connection.execute_fetchall("SELECT ifnull(max(id), 0) FROM queue WHERE synced_at IS NULL")
    await state.put_in(connection, EXPORTED, next(iter(found))[0])


async def import_lines(store: Store, lines: Iterable[str], *, now: str, target: str) -> dict[str, int]:
    """Takes in an export, all or nothing; a key that is known here (waiting, parked, delivered) is passed over.

    Raises InvalidInput with the line that can't be read, QueueFull.
    """
    entries = [_read(number, line) for number, line in enumerate(lines, 1) if line.strip()]

    async def job(connection: aiosqlite.Connection) -> dict[str, int]:
        imported = 0
        for entry in entries:
            known = await connection.execute_fetchall(
                "SELECT 1 FROM queue WHERE op_id = ?1 OR edited_from = ?1"
                " UNION ALL SELECT 1 FROM parked WHERE op_id = ?1 OR edited_from = ?1",
                (entry["op_id"],),
            )
            if list(known):
                continue
            await _insert(connection, entry, now, target)
            imported += 1
        waiting = next(iter(await connection.execute_fetchall("SELECT total(waiting) FROM counters")))[0]
        if imported and waiting > store.limit:
            raise QueueFull(
                f"with these, more than {store.limit} operations would wait", path=str(store.path),
                hint="sync, or raise [queue] limit",
            )  # fmt: skip
        return {"imported": imported, "known": len(entries) - imported}

    return await store.write(job)


def _read(number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput([FieldError(f"line {number}", f"is no JSON: {error}")]) from None
    if not isinstance(entry, dict) or entry.get("aria_queue") != 1:
        raise InvalidInput([FieldError(f"line {number}", "is no line of `aria queue export`")])
    for name, kind in _KINDS.items():
        value = entry.get(name)
        if name in _NEEDED and not value:
            raise InvalidInput([FieldError(f"line {number}", f"has no {name}")])
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise InvalidInput([FieldError(f"line {number}", f"{name} can't be read")])
        if isinstance(value, str) and (why := text_problem(value)):
            raise InvalidInput([FieldError(f"line {number}", f"{name} {why}")])
    if not KEY.match(entry["op_id"]):
        raise InvalidInput([FieldError(f"line {number}", "op_id is no idempotency key")])
    return entry


async def _insert(connection: aiosqlite.Connection, entry: dict[str, Any], now: str, target: str) -> None:
    try:
        payload = json.loads(entry["payload"])
    except (ValueError, RecursionError):
        payload = {}
    arguments = payload if isinstance(payload, dict) else {}
    entity = entry.get("entity") or entity_of(entry["operation"], arguments, entry["op_id"])
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
    if entry.get("remote") is not None:
        where = entry.get("target") or target
        await connection.execute("INSERT OR IGNORE INTO id_map VALUES (?, ?, ?)", (where, entity, entry["remote"]))
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
