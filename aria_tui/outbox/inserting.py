"""Rows on their way into the table: many by one statement, or each under a savepoint of its own (queue.md).

The target is looked up by the very statement that commits the row, so that no binding of an address comes between.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiosqlite
import msgspec

from aria_tui.errors import InvalidInput, NotSaved, QueueFull
from aria_tui.outbox import names

_ALWAYS = ("operation", "payload", "created_at", "op_id", "entity", "origin")
_COLUMNS = (*_ALWAYS, "base_version", "base", "asked")
_VALUES = {len(columns): operator.attrgetter(*columns) for columns in (_ALWAYS, _COLUMNS)}
"""How many columns are given → what takes their values out of a row."""
_TARGET = "ifnull((SELECT target FROM targets WHERE address = ?1), ?2)"
NUMBERS = "SELECT id, op_id FROM queue WHERE op_id IN (SELECT value FROM json_each(?))"
AT_ONCE = 256
"""Rows that one statement inserts at most: a size of SQL text that is still quickly read."""


@functools.cache
def _statement(rows: int, width: int) -> str:
    """The statement that inserts ``rows`` rows if there is room for all: ?1 the address, ?2 its name while nobody
    is bound to it, ?3 the limit, then the rows, of which the first ``width`` columns are given.

    As VALUES, which takes half the time of JSON, and without RETURNING, which costs a tenth of a single save.
    """
    given = _COLUMNS[:width]
    marks = (f"({', '.join(f'?{4 + row * width + n}' for n in range(width))})" for row in range(rows))
    columns = ", ".join(f"column{n}" for n in range(1, width + 1))
    return (
        f"INSERT INTO queue({', '.join(given)}, target) SELECT {columns}, {_TARGET} FROM (VALUES {', '.join(marks)})"  # noqa: S608
        f" WHERE (SELECT total(waiting) FROM counters) + {rows} <= ?3"
    )


class NewRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A row to be accepted.

    ``address``: where it is to go, as ``names.address`` names it; it is stored as the target that is bound there.
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


class Accepted(msgspec.Struct, frozen=True, gc=False):
    """A row that is committed, by its queue number. ``known``: it was there before."""

    number: int
    known: bool = False


async def insert_all(
    connection: aiosqlite.Connection, rows: Sequence[NewRow], limit: int, path: Path
) -> list[Accepted | Exception]:
    """All rows by one statement, which is a transaction of its own; where one of them can't be kept, one by one."""
    address = rows[0].address
    if len(rows) > AT_ONCE or any(row.asked is not None or row.address != address for row in rows):
        return await insert_each(connection, rows, limit, path)  # a caller's key may be one that was here before
    try:
        last = await _insert(connection, rows, limit)
    except (sqlite3.IntegrityError, UnicodeError):
        last = 0
    if not last:
        return await insert_each(connection, rows, limit, path)
    # Nobody else's row is among them, and AUTOINCREMENT numbers them in the order in which they are given.
    return [Accepted(number) for number in range(last - len(rows) + 1, last + 1)]


async def _insert(connection: aiosqlite.Connection, rows: Sequence[NewRow], limit: int) -> int:
    """The number of the last of these rows, which go to one address; 0 where there is no room for all of them."""
    width = max(map(_width, rows))
    address = rows[0].address
    values = itertools.chain.from_iterable(map(_VALUES[width], rows))
    statement = _statement(len(rows), width)
    cursor = await connection.execute(statement, (address, names.unbound(address), limit, *values))
    return cursor.lastrowid or 0 if cursor.rowcount == len(rows) else 0


def _width(row: NewRow) -> int:
    """How many columns it takes: most rows rest on nothing, and have no key of their caller's."""
    plain = row.base_version is None and row.base is None and row.asked is None
    return len(_ALWAYS if plain else _COLUMNS)


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
    number = await _insert(connection, [row], limit)
    if not number:
        raise QueueFull(f"{limit} operations wait already", path=str(path), hint="sync, or raise [queue] limit")
    return Accepted(number)


async def _known(connection: aiosqlite.Connection, row: NewRow) -> Accepted | None:
    """The row that bears this key, or was edited from it. Raises InvalidInput where it stands for something else."""
    sql = (
        "SELECT id, asked FROM queue WHERE op_id = ?1 UNION ALL"
        " SELECT id, asked FROM parked WHERE op_id = ?1 UNION ALL"
        " SELECT id, asked FROM queue WHERE edited_from = ?1 UNION ALL"
        " SELECT id, asked FROM parked WHERE edited_from = ?1 LIMIT 1"
    )
    found: list[Any] = list(await connection.execute_fetchall(sql, (row.op_id,)))
    if not found:
        return None
    number, asked = found[0]
    if asked != row.asked:
        raise InvalidInput(f"the idempotency key {row.op_id} stands for another operation (#{number}); use a new key")
    return Accepted(number, known=True)
