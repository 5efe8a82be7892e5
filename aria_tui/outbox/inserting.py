"""Rows on their way into the table: many by one statement, or each under a savepoint of its own (queue.md).

The target is looked up by the very statement that commits the row, so that no binding of an address comes between.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiosqlite
import msgspec

from aria_tui.errors import InvalidInput, NotSaved, QueueFull

_NAMES = (
    "operation", "payload", "created_at", "op_id", "entity", "origin", "target", "base_version", "base", "asked",
)  # fmt: skip
_COLUMNS = ", ".join(_NAMES)
_TARGET = "ifnull((SELECT target FROM targets WHERE address = {0}), iif({0} = 'embedded', {0}, 'addr:' || {0}))"
_MARKS = ", ".join(_TARGET.format(f"?{n}") if name == "target" else f"?{n}" for n, name in enumerate(_NAMES, 1))
_FIELDS = ", ".join(
    _TARGET.format(f"json_extract(value, '$[{n}]')") if name == "target" else f"json_extract(value, '$[{n}]')"
    for n, name in enumerate(_NAMES)
)
_ROOM = "(SELECT total(waiting) FROM counters)"
_ONE = f"INSERT INTO queue({_COLUMNS}) SELECT {_MARKS} WHERE {_ROOM} < ?{len(_NAMES) + 1} RETURNING id, op_id, target"
_MANY = (
    f"INSERT INTO queue({_COLUMNS}) SELECT {_FIELDS} FROM json_each(?1)"  # noqa: S608
    f" WHERE {_ROOM} + ?2 <= ?3 ORDER BY key RETURNING id, op_id, target"
)


NUMBERS = "SELECT id, op_id, ifnull(target, '') FROM queue WHERE op_id IN (SELECT value FROM json_each(?))"


class NewRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A row to be accepted, in the order of the columns.

    ``address``: where it is to go, as ``targets.address`` names it; it is stored as the target that is bound there.
    ``asked``: a digest of what the caller asked for, where the key is the caller's own.
    """

    operation: str
    payload: str
    created_at: str
    op_id: str
    entity: str
    origin: str
    address: str
    base_version: int | None = None
    base: str | None = None
    asked: str | None = None


class Accepted(msgspec.Struct, frozen=True):
    """A row that is committed: its queue number and its target. ``known``: it was there before."""

    number: int
    target: str
    known: bool = False


async def insert_all(
    connection: aiosqlite.Connection, rows: Sequence[NewRow], limit: int, path: Path
) -> list[Accepted | Exception]:
    """All rows by one statement, which is a transaction of its own; where one of them can't be kept, one by one."""
    if any(row.asked is not None for row in rows):
        return await insert_each(connection, rows, limit, path)  # the key may be one that was here before
    try:
        if len(rows) == 1:
            made = await connection.execute_fetchall(_ONE, (*msgspec.structs.astuple(rows[0]), limit))
        else:
            text = msgspec.json.encode(rows).decode()
            made = await connection.execute_fetchall(_MANY, (text, len(rows), limit))
    except (sqlite3.IntegrityError, UnicodeError):
        made = []
    found = {op_id: Accepted(number, target) for number, op_id, target in made}
    if len(found) != len(rows):
        return await insert_each(connection, rows, limit, path)
    return [found[row.op_id] for row in rows]


async def insert_each(
    connection: aiosqlite.Connection, rows: Sequence[NewRow], limit: int, path: Path
) -> list[Accepted | Exception]:
    """Each row under a savepoint of its own; a key that is there already gives the row that bears it."""
    outcomes: list[Accepted | Exception] = []
    await connection.execute("BEGIN IMMEDIATE")
    try:
        for row in rows:
            await connection.execute("SAVEPOINT row")
            try:
                outcomes.append(await insert_row(connection, row, limit, path))
            except (sqlite3.IntegrityError, sqlite3.ProgrammingError, UnicodeError, NotSaved, InvalidInput) as error:
                await connection.execute("ROLLBACK TO row")
                told = isinstance(error, NotSaved | InvalidInput)
                outcomes.append(error if told else NotSaved(str(error), path=str(path)))
            await connection.execute("RELEASE row")
        await connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                await connection.execute("ROLLBACK")
        raise
    return outcomes


async def insert_row(connection: aiosqlite.Connection, row: NewRow, limit: int, path: Path) -> Accepted:
    """One row, inside a transaction of the caller's. Raises QueueFull, InvalidInput."""
    known = await _known(connection, row)
    if known is not None:
        return known
    made = list(await connection.execute_fetchall(_ONE, (*msgspec.structs.astuple(row), limit)))
    if not made:
        raise QueueFull(f"{limit} operations wait already", path=str(path), hint="sync, or raise [queue] limit")
    return Accepted(made[0][0], made[0][2])


async def _known(connection: aiosqlite.Connection, row: NewRow) -> Accepted | None:
    """The row that bears this key, or was edited from it. Raises InvalidInput where it stands for something else."""
    sql = (
        "SELECT id, target, asked FROM queue WHERE op_id = ?1 UNION ALL"
        " SELECT id, target, asked FROM parked WHERE op_id = ?1 UNION ALL"
        " SELECT id, target, asked FROM queue WHERE edited_from = ?1 UNION ALL"
        " SELECT id, target, asked FROM parked WHERE edited_from = ?1 LIMIT 1"
    )
    found: list[Any] = list(await connection.execute_fetchall(sql, (row.op_id,)))
    if not found:
        return None
    number, target, asked = found[0]
    if asked != row.asked:
        raise InvalidInput(f"the idempotency key {row.op_id} stands for another operation (#{number}); use a new key")
    return Accepted(number, target or "", known=True)
