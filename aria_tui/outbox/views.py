"""What waits, what is parked, what was delivered, and why: read for people (queue.md, "Seeing it")."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from aria_tui.errors import NotFound
from aria_tui.hub.contract import read_time, write_time
from aria_tui.models import Conflict, QueueItem, QueueStatus
from aria_tui.outbox import names, reasons, state, targets
from aria_tui.outbox.clock import Clock
from aria_tui.outbox.connecting import shown
from aria_tui.outbox.gates import Gate
from aria_tui.outbox.gist import gist_of
from aria_tui.outbox.rows import COLUMNS, Row
from aria_tui.outbox.running import Sending
from aria_tui.outbox.store import Store

FIRST = 5
_HEAD = "id, CAST(operation AS TEXT), CAST(payload AS TEXT), CAST(created_at AS TEXT), op_id"
_PARKED = f"{_HEAD}, entity, origin, target, attempts, error, kind, problem, current, base"
_JOURNAL = f"{_HEAD}, entity, origin, target, attempts, error, outcome, synced_at"
_AHEAD = "(SELECT min(b.id) FROM queue b WHERE b.synced_at IS NULL AND b.entity = q.entity AND b.id < q.id)"
_WORDS = {
    "applied": "delivered",
    "delivered": "delivered",
    "duplicate": "was there already",
    "superseded": "superseded by a newer one",
    "foreign": "delivered by another program",
    "folded": "folded into #{into}",
    "cancelled": "cancelled, never sent",
    "lost": "given up in a conflict",
    "discarded": "discarded",
    "edited": "replaced by an edited one",
}


class Views:
    """Reads of one queue as one Hub's user sees it."""

    def __init__(self, store: Store, clock: Clock, *, target: str, gate: Gate | None) -> None:
        self.store, self.clock = store, clock
        self.target, self.gate = target, gate

    async def status(self) -> QueueStatus:
        """Counts from the counters, and the first five rows."""
        counted = await self._read("SELECT operation, target, waiting FROM counters WHERE waiting > 0")
        by_operation: dict[str, int] = {}
        held = 0
        for operation, target, waiting in sorted(counted):
            by_operation[operation] = by_operation.get(operation, 0) + waiting
            held += waiting if target not in ("", self.target) else 0
        parked = dict(await self._read("SELECT kind, count(*) FROM parked GROUP BY kind"))
        items = await self.waiting(0, FIRST) if by_operation else []
        return QueueStatus(
            pending_total=sum(by_operation.values()),
            by_operation=by_operation,
            oldest=items[0].created_at if items else None,
            items=tuple(items),
            dead_letters=parked.get("dead", 0),
            conflicts=parked.get("conflict", 0),
            paused=self.gate is not None and self.gate.code in ("paused", "restored"),
            held=held,
        )

    async def waiting(self, after: int = 0, limit: int = 100) -> list[QueueItem]:
        """Waiting rows by number, each with its reason."""
        # What is in flight is read with the rows: a batch's beginning or end in between would show them in doubt.
        sql = (
            f"SELECT {COLUMNS}, {_AHEAD}, (SELECT value FROM state WHERE name = 'sending')"  # noqa: S608
            " FROM queue q WHERE synced_at IS NULL AND id > ? ORDER BY id LIMIT ?"
        )
        found = await self._read(sql, (after, limit))
        if not found:
            return []
        queue = await self._queue(state.decoded(found[0][-1], Sending))
        return [self._waiting_item(queue, Row(*row[:-2]), row[-2]) for row in found]

    async def parked(self, kind: str, after: int = 0, limit: int = 100) -> list[QueueItem]:
        """Dead letters (``dead``) or conflicts (``conflict``), by number."""
        found = await self._read(
            f"SELECT {_PARKED} FROM parked WHERE kind = ? AND id > ? ORDER BY id LIMIT ?",  # noqa: S608
            (kind, after, limit),
        )
        return [_parked_item(row) for row in found]

    async def journal(self, after: int = 0, limit: int = 100) -> list[QueueItem]:
        """Delivered rows, newest first; ``after``: go on below this number."""
        found = await self._read(
            f"SELECT {_JOURNAL}, folded_into FROM queue WHERE synced_at IS NOT NULL"  # noqa: S608
            " AND (? = 0 OR id < ?) ORDER BY id DESC LIMIT ?",
            (after, after, limit),
        )
        return [_journal_item(row) for row in found]

    async def show(self, number: int) -> QueueItem:
        """One row, wherever it is. Raises NotFound."""
        for item in await self.waiting(number - 1, 1):
            if item.id == number:
                return item
        found = await self._read(f"SELECT {_PARKED} FROM parked WHERE id = ?", (number,))  # noqa: S608
        if found:
            return _parked_item(found[0])
        found = await self._read(
            f"SELECT {_JOURNAL}, folded_into FROM queue WHERE id = ?",  # noqa: S608
            (number,),
        )
        if found:
            return _journal_item(found[0])
        raise NotFound(f"there is no operation #{number} in the queue")

    async def conflicts(self) -> list[Conflict]:
        """The conflict inbox, by number."""
        found = await self._read(f"SELECT {_PARKED} FROM parked WHERE kind = 'conflict' ORDER BY id")  # noqa: S608
        return [_conflict(row) for row in found]

    async def _read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows as people may see them: bytes of a stranger's that are no text are U+FFFD."""
        found = await self.store.read(sql, parameters)
        return [tuple(shown(value) if isinstance(value, str) else value for value in row) for row in found]

    async def _queue(self, flight: Sending | None) -> reasons.Queue:
        sending = (flight.first, flight.last) if flight is not None and flight.first and flight.alive else None
        parked = dict(await self._read("SELECT entity, min(id) FROM parked GROUP BY entity"))
        known = await targets.labels(self.store)
        return reasons.Queue(
            self.clock, target=self.target, labels=known, gate=self.gate, sending=sending, parked=parked
        )

    def _waiting_item(self, queue: reasons.Queue, row: Row, ahead: int | None) -> QueueItem:
        code, arguments = queue.reason(row, ahead)
        if code == "held_target":
            arguments = {"target": names.label(row.target, queue.labels)}
        return QueueItem(
            id=row.id,
            operation=row.operation,
            payload=row.payload,
            created_at=as_time(row.created_at),
            reason=queue.sentence(code, arguments),
            reason_code=code,
            reason_args=arguments,
            entity=row.entity or "",
            op_id=row.op_id or "",
            attempts=row.attempts,
            next_attempt_at=queue.next_attempt_at(row),
            origin=row.origin or "other",
            target=row.target or "",
            error=row.error,
        )


def as_time(text: str) -> str:
    """A row's time in the form that is written; what is no time stays as a stranger wrote it."""
    try:
        return write_time(read_time(text))
    except (ValueError, TypeError):
        return str(text)


def _parked_item(row: Any) -> QueueItem:
    number, operation, payload, created_at, op_id, entity, origin, target, attempts, error, kind, *_ = row
    sentence = reasons.DEAD if kind == "dead" else reasons.CONFLICT
    if kind != "dead" and (error or "").startswith(reasons.CONFLICT.partition(":")[0]):
        sentence = "{why}"
    return QueueItem(
        id=number,
        operation=operation,
        payload=payload,
        created_at=as_time(created_at),
        reason=sentence.format(why=error or ""),
        reason_code="dead" if kind == "dead" else "conflict",
        reason_args={"why": error or ""},
        entity=entity or "",
        op_id=op_id or "",
        attempts=attempts,
        origin=origin or "other",
        target=target or "",
        error=error,
    )


def _journal_item(row: Any) -> QueueItem:
    number, operation, payload, created_at, op_id, entity, origin, target, attempts, error, outcome, at, into = row
    words = _WORDS.get(outcome or "foreign", outcome or "").format(into=into)
    return QueueItem(
        id=number,
        operation=operation,
        payload=payload,
        created_at=as_time(created_at),
        reason=reasons.DELIVERED.format(outcome=words, at=as_time(at)) if at else "",
        reason_code=outcome or "foreign",
        reason_args={"at": as_time(at), "into": str(into or "")},
        entity=entity or "",
        op_id=op_id or "",
        attempts=attempts,
        origin=origin or "other",
        target=target or "",
        error=error,
        synced_at=as_time(at),
        outcome=outcome or "foreign",
    )


def _conflict(row: Any) -> Conflict:
    number, operation, payload, created_at, _, entity, *rest = row
    current, base_text = rest[-2], rest[-1]
    mine = new_values(operation, json.loads(payload))
    base = json.loads(base_text) if base_text else {}
    theirs = json.loads(current) if current else None
    if theirs is not None and "candidates" in theirs:
        theirs = theirs["candidates"][0]  # a plain Hub has several that may be ours
    fields = [name for name in mine if theirs is not None and differs(name, mine, base, theirs)]
    return Conflict(
        id=number,
        operation=operation,
        entity=entity or "",
        title=(theirs or {}).get("title") or gist_of(operation, payload),
        created_at=as_time(created_at),
        base=base,
        mine=mine,
        theirs=theirs,
        fields=tuple(fields or mine),
    )


def new_values(operation: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The fields that an operation sets, with their new values."""
    if operation == "complete_task":
        return {"status": "DONE"}
    if operation in ("create_task", "capture_insight"):
        return {k: v for k, v in payload.items() if k not in ("id", "created_at", "captured_at")}
    return dict(payload.get("changes") or {})


def differs(name: str, mine: dict[str, Any], base: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """The rule of the merge by field: the Hub's value differs from both the base and the new one (hub-api.md)."""
    there = theirs.get(name)
    return there != mine.get(name) and there != base.get(name)
