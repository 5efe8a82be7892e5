"""Commits what became of a batch: one transaction, which first looks whether a stranger was there (queue.md)."""

from __future__ import annotations

from collections.abc import Sequence

import aiosqlite
import msgspec

from aria_tui.models import Frozen
from aria_tui.outbox import backoff
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.rows import Row, id_list
from aria_tui.outbox.verdict import Verdict

_PARKED = (
    "id, operation, payload, created_at, error, op_id, entity, origin, target, base_version, base, schema_version,"
    " sent_at, tries, attempts, edited_from, asked"
)
Judged = tuple[Row, Verdict]


class Tally(Frozen, frozen=True, kw_only=True):
    """What one settlement did, counted in rows."""

    synced: int = 0
    superseded: int = 0
    failed: int = 0
    dead_letters: int = 0
    conflicts: int = 0

    def plus(self, other: Tally) -> Tally:
        return Tally(
            synced=self.synced + other.synced,
            superseded=self.superseded + other.superseded,
            failed=self.failed + other.failed,
            dead_letters=self.dead_letters + other.dead_letters,
            conflicts=self.conflicts + other.conflicts,
        )

    @property
    def done(self) -> int:
        """Rows that left the queue."""
        return self.synced + self.superseded + self.dead_letters + self.conflicts


async def mark_sent(
    connection: aiosqlite.Connection, rows: Sequence[Row], now: str, edits: int | None = None
) -> tuple[list[Row], list[Row]]:
    """Marks rows before they are sent: from here on an end without an answer is known as ambiguous. Gives those that
    wait just as they were read, which are marked, and those that wait as something else.

    The second were edited, given to another Hub, or rest on something else since; the later ones of their entities
    are in neither list, so that nothing overtakes them. What was discarded, or marked by a stranger, is left out too.
    ``edits``: how often anybody had changed waiting rows before these were read. Where that stands, they are as they
    were, and only who is gone has to be found.
    """
    marked = await _mark(connection, rows, now, edits) if edits is not None else 0
    if marked == len(rows):
        return list(rows), []
    kept, changed = await _as_read(connection, rows)
    if kept and not marked:
        await _mark(connection, kept, now)
    return kept, changed


async def _mark(connection: aiosqlite.Connection, rows: Sequence[Row], now: str, edits: int | None = None) -> int:
    """How many rows were marked; with ``edits``, none where that stands no longer."""
    cursor = await connection.execute(
        "UPDATE queue SET sent_at = ifnull(sent_at, ?1), tries = tries + 1, why = 'in_doubt', due = NULL"
        # "+": found by their numbers, not through the index of those that wait.
        " WHERE id IN (SELECT value FROM json_each(?2)) AND +synced_at IS NULL"
        " AND (?3 IS NULL OR ?3 = (SELECT CAST(value AS INTEGER) FROM state WHERE name = 'edits'))",
        (now, id_list(rows), edits),
    )
    return cursor.rowcount


async def _as_read(connection: aiosqlite.Connection, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that wait just as they were read, and the first of each entity that waits as something else."""
    found = await connection.execute_fetchall(
        "SELECT id, op_id, target, base_version, base FROM queue"
        " WHERE +synced_at IS NULL AND id IN (SELECT value FROM json_each(?))",
        (id_list(rows),),
    )
    now = {row[0]: tuple(row[1:]) for row in found}
    kept: list[Row] = []
    changed: dict[str, Row] = {}
    for row in rows:
        if row.id not in now or row.entity in changed:
            continue
        if now[row.id] == (row.op_id, row.target, row.base_version, row.base):
            kept.append(row)
        else:
            changed[row.entity] = row
    return kept, list(changed.values())


async def unmark(connection: aiosqlite.Connection, rows: Sequence[Row], reason: str, *, reached: bool) -> None:
    """An attempt that did nothing at the Hub: each row is as it was before. Where the request ``reached`` nobody, what
    had never been sent still has never been sent; a row in memory may be older than its last attempt, so the count of
    tries in the file decides."""
    only = "?1 IS NULL AND tries <= 1"
    sent = "sent_at" if reached else f"CASE WHEN {only} THEN NULL ELSE sent_at END"
    await connection.executemany(
        f"UPDATE queue SET sent_at = {sent}, tries = tries - (NOT ?2),"  # noqa: S608
        f" why = CASE WHEN {only} THEN ?3 ELSE ifnull(?3, 'in_doubt') END, due = ?4, due_boot = ?5, error = ?6"
        " WHERE id = ?7 AND synced_at IS NULL",
        [(row.sent_at, reached, row.why, row.due, row.due_boot, reason, row.id) for row in rows],
    )


async def note_error(connection: aiosqlite.Connection, rows: Sequence[Row], reason: str) -> None:
    """The last attempt's error on each row; nothing was spent."""
    await connection.execute(
        "UPDATE queue SET error = ? WHERE id IN (SELECT value FROM json_each(?)) AND synced_at IS NULL",
        (reason, id_list(rows)),
    )


async def settle(
    connection: aiosqlite.Connection, clock: Clock, now: str, max_attempts: int, judged: Sequence[Judged]
) -> Tally:
    """Writes the verdicts of one batch inside the caller's transaction and counts them.

    A row that a stranger marked meanwhile counts as delivered by whoever marked it; one that a stranger deleted
    is gone.
    """
    marked = await _marked_by_strangers(connection, [row for row, _ in judged])
    judged = [pair for pair in judged if pair[0].id not in marked]
    tally = Tally(synced=len(marked))
    delivered = [pair for pair in judged if pair[1].fate == "delivered"]
    for outcome in sorted({verdict.outcome for _, verdict in delivered}):
        rows = [row for row, verdict in delivered if verdict.outcome == outcome]
        await connection.execute(
            "UPDATE queue SET synced_at = ?, outcome = ?, error = NULL, why = NULL, due = NULL"
            " WHERE id IN (SELECT value FROM json_each(?))",
            (now, outcome, id_list(rows)),
        )
        counted = Tally(superseded=len(rows)) if outcome == "superseded" else Tally(synced=len(rows))
        tally = tally.plus(counted)
    for row, verdict in judged:
        if verdict.fate != "delivered":
            tally = tally.plus(await _settle_one(connection, clock, now, max_attempts, row, verdict))
    return tally


async def _settle_one(
    connection: aiosqlite.Connection, clock: Clock, now: str, max_attempts: int, row: Row, verdict: Verdict
) -> Tally:
    match verdict.fate:
        case "dead":
            # The one attempt that it took; none, where the payload could not be sent at all.
            await connection.execute(
                "UPDATE queue SET attempts = attempts + (sent_at IS NOT NULL) WHERE id = ?", (row.id,)
            )
            dead = await park(connection, row, "dead", now, verdict)
            return Tally(dead_letters=dead, failed=dead)
        case "conflict":
            return Tally(conflicts=await park(connection, row, "conflict", now, verdict))
        case "held":
            await connection.execute(
                "UPDATE queue SET why = 'held_operation', error = ? WHERE id = ?", (verdict.error, row.id)
            )
            return Tally()
        case "behind":
            await connection.execute("UPDATE queue SET why = NULL, error = ? WHERE id = ?", (verdict.error, row.id))
            return Tally()
        case _:
            return await spend(connection, clock, now, max_attempts, row, verdict, why="backoff")


async def spend(
    connection: aiosqlite.Connection,
    clock: Clock,
    now: str,
    max_attempts: int,
    row: Row,
    verdict: Verdict,
    *,
    why: str,
    retry_after: float | None = None,
) -> Tally:
    """Spends one of the row's attempts: backoff, or after the last one a dead letter."""
    attempts = row.attempts + 1
    if attempts >= max_attempts:
        await connection.execute("UPDATE queue SET attempts = ? WHERE id = ?", (attempts, row.id))
        error = f"given up after {attempts} attempts: {verdict.error}"
        dead = await park(connection, row, "dead", now, msgspec.structs.replace(verdict, error=error))
        return Tally(dead_letters=dead, failed=dead)
    due = clock.steady() + backoff.delay(clock, attempts, retry_after=retry_after)
    await connection.execute(
        "UPDATE queue SET attempts = ?, why = ?, due = ?, due_boot = ?, error = ? WHERE id = ?",
        (attempts, why, due, clock.boot, verdict.error, row.id),
    )
    return Tally(failed=1)


async def park(connection: aiosqlite.Connection, row: Row, kind: str, now: str, verdict: Verdict) -> int:
    """Copies a row unchanged into the table of parked rows and takes it out of the queue; how many that were: none,
    where a stranger deleted it meanwhile."""
    problem = msgspec.json.encode(verdict.problem).decode() if verdict.problem else None
    current = verdict.result.current if verdict.result else None
    theirs = msgspec.json.encode(current).decode() if current is not None else None
    await connection.execute(
        f"INSERT INTO parked({_PARKED}, kind, parked_at, problem, current)"  # noqa: S608
        f" SELECT {_PARKED}, ?, ?, ?, ? FROM queue WHERE id = ? AND synced_at IS NULL",
        (kind, now, problem, theirs, row.id),
    )
    await connection.execute("UPDATE parked SET error = ? WHERE id = ?", (verdict.error, row.id))
    cursor = await connection.execute("DELETE FROM queue WHERE id = ? AND synced_at IS NULL", (row.id,))
    return cursor.rowcount


async def unpark(connection: aiosqlite.Connection, number: int) -> None:
    """Returns a parked row to the queue under its old number, so that its place in the order holds."""
    await connection.execute(
        f"INSERT INTO queue({_PARKED}) SELECT {_PARKED} FROM parked WHERE id = ?",  # noqa: S608
        (number,),
    )
    await connection.execute("DELETE FROM parked WHERE id = ?", (number,))


async def _marked_by_strangers(connection: aiosqlite.Connection, rows: Sequence[Row]) -> set[int]:
    found = await connection.execute_fetchall(
        "SELECT id FROM queue WHERE synced_at IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
        (id_list(rows),),
    )
    marked = {int(row[0]) for row in found}
    if marked:
        await connection.execute(
            "UPDATE queue SET outcome = 'foreign' WHERE outcome IS NULL AND id IN (SELECT value FROM json_each(?))",
            (id_list(marked),),
        )
    return marked
