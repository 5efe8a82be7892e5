"""What an operation does, decided on loaded rows: no I/O, so that both engines share it and may call it again.

``Court`` judges a request's operations in order. An operation that fails leaves no trace in the rows, which is what
a savepoint of its own would give, at the price of none (hub-api.md, "Idempotency" and "Batch").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from aria_tui.hub import contract
from aria_tui.hub.server import entities, merge, problems
from aria_tui.hub.server.incoming import Incoming
from aria_tui.hub.server.problems import Refusal
from aria_tui.hub.server.storage.base import Loaded, Record, Revision, Row, Writes

AHEAD_MS = 5 * 60 * 1000
"""A briefing's captured_at that is further ahead of the Hub's clock than this becomes the Hub's now (hub-api.md)."""

Charge = Callable[[int], None]
"""Takes how many operations are not answered from the record; raises Refusal (429) when the bucket is empty."""


class Verdict(msgspec.Struct):
    """One operation's outcome: its record where it had an effect, now or before, else its refusal."""

    op: Incoming
    status: str
    record: Record | None = None
    replayed: bool = False
    refusal: Refusal | None = None
    document: msgspec.Raw | None = None
    """The entity as the record's version has it, where that is the loaded one."""

    def result(self) -> dict[str, Any]:
        """As a batch answers it; a replay of what was applied is a duplicate there."""
        status = "duplicate" if self.replayed and self.status == "applied" else self.status
        result: dict[str, Any] = {"op_id": self.op.op_id, "status": status, "entity": self.op.entity}
        if self.record is not None:
            result["entity"] = self.record.entity
            if self.record.version is not None:
                result["version"] = self.record.version
            if self.status == "superseded" and self.document is not None:
                result["current"] = self.document
        if self.refusal is not None:
            problem = self.refusal.problem
            if problem.current is not None:
                result["current"] = problem.current
            result["problem"] = problems.members(msgspec.structs.replace(problem, current=None))
        return result


class Court:
    """One request's judging. ``now`` is the Hub's clock in milliseconds since 1970; ``least`` is the change number
    that the account must have reached."""

    def __init__(self, ops: Sequence[Incoming], now: int, charge: Charge, least: int = 0) -> None:
        self._ops, self._now, self._charge, self._least = ops, now, charge, least
        self.verdicts: list[Verdict] = []

    def __call__(self, loaded: Loaded) -> Writes:
        """Judges all operations; may be called again with fresh rows."""
        if loaded.seq < self._least:
            raise problems.restored(f"the account's last change is {loaded.seq}, and {self._least} was seen")
        unknown = sum(op.op_id not in loaded.records for op in self._ops)
        if unknown:
            self._charge(unknown)
            self._charge = _nothing
        bench = _Bench(loaded, self._now)
        self.verdicts = [bench.judge(op) for op in self._ops]
        return bench.writes()


def _nothing(_: int) -> None:
    return None


class _Bench:
    def __init__(self, loaded: Loaded, now: int) -> None:
        self.seq, self.now = loaded.seq, now
        self.known, self.rows = loaded.records, dict(loaded.rows)
        self.changed: dict[str, Row] = {}
        self.records: list[Record] = []
        self.revisions: list[Revision] = []
        self.blocked: dict[str, str] = {}

    def writes(self) -> Writes:
        return Writes(self.seq, self.records, list(self.changed.values()), self.revisions)

    def judge(self, op: Incoming) -> Verdict:
        if (known := self.known.get(op.op_id)) is not None:
            if known.fingerprint == op.fingerprint:
                return Verdict(op, known.status, known, replayed=True, document=self._document(known))
            return self._refuse(op, "rejected", problems.key_reused())
        if (blocker := self.blocked.get(op.entity)) is not None:
            return Verdict(op, "skipped", refusal=problems.blocked(blocker))
        if op.broken is not None:
            return self._refuse(op, "rejected", Refusal(op.broken))
        try:
            status, version = _ACTIONS[op.operation](self, op)
        except Refusal as refusal:
            return self._refuse(op, "conflict", refusal)
        return self._record(op, status, version)

    def _refuse(self, op: Incoming, status: str, refusal: Refusal) -> Verdict:
        self.blocked.setdefault(op.entity, op.op_id)
        return Verdict(op, status, refusal=refusal)

    def _record(self, op: Incoming, status: str, version: int | None) -> Verdict:
        self.seq += 1
        record = Record(
            op_id=op.op_id,
            fingerprint=op.fingerprint,
            operation=op.operation,
            entity=op.entity,
            status=status,
            version=version,
            created=int(self._is_new(op)),
            seq=self.seq,
            recorded_at=self.now,
        )
        self.records.append(record)
        self.known[op.op_id] = record
        return Verdict(op, status, record, document=self._document(record))

    def _is_new(self, op: Incoming) -> bool:
        row = self.changed.get(op.entity)
        return row is not None and row.version == 1 and row.seq == self.seq

    def _document(self, record: Record) -> msgspec.Raw | None:
        row = self.rows.get(record.entity)
        return msgspec.Raw(row.doc.encode()) if row and row.doc and row.version == record.version else None

    # -- what actions are made of

    def when(self, op: Incoming, given: str | None = None) -> str:
        """The time a payload bears, else when it happened, else now."""
        return entities.canonical_time(given or op.occurred_at or entities.time_text(self.now))

    def living(self, op: Incoming) -> tuple[Row, dict[str, Any]]:
        """The operation's entity. Raises Refusal when it isn't there or isn't the version that was insisted on."""
        row = self.rows.get(op.entity)
        if row is None or row.deleted_at is not None:
            raise problems.gone(op.entity)
        self.insist(op, row)
        return row, entities.decode(row)

    def insist(self, op: Incoming, row: Row | None) -> None:
        """If-Match (RFC 9110, 13.1.1)."""
        if op.if_match is None:
            return
        there = row.version if row is not None and row.deleted_at is None else None
        if there is None or op.if_match not in (0, there):
            current = entities.decode(row) if row is not None and row.doc else None
            raise problems.version(f"the current version is {there or 'none'}", current)

    def put(
        self, op: Incoming, document: dict[str, Any], old: Row | None, touched: str | None, origin: str | None
    ) -> int:
        """Makes ``document`` the entity's next version; keeps what it was as a revision, but never an insight's:
        a pasted secret must be removable. Gives the version."""
        version = (old.version if old else 0) + 1
        document["version"] = version
        if old is not None and old.doc and old.kind != "insight":
            self.keep(f"v:{old.version}", op.entity, old.doc)
        self._set(entities.row(op.entity, document, seq=self.seq + 1, origin=origin, touched=touched))
        return version

    def remove(self, op: Incoming, row: Row) -> int:
        if row.kind != "insight":
            self.keep(f"v:{row.version}", op.entity, row.doc)
        grave = entities.tombstone(row, seq=self.seq + 1, now=self.now)
        self._set(grave)
        return grave.version

    def keep(self, revision: str, entity: str, doc: str) -> None:
        self.revisions.append(Revision(entity=entity, revision=revision, made_at=self.now, doc=doc))

    def _set(self, row: Row) -> None:
        self.rows[row.entity] = self.changed[row.entity] = row


def _create(bench: _Bench, op: Incoming) -> tuple[str, int | None]:
    """create_task, capture_insight: an id dedupes for ever (hub-api.md, "Idempotency")."""
    kind = op.entity.partition(":")[0]
    row = bench.rows.get(op.entity)
    bench.insist(op, row)
    document = {"id": op.entity.partition(":")[2], **entities.DEFAULTS[kind], **op.payload}
    if row is not None:
        if row.deleted_at is not None:
            return "superseded", row.version
        if _origin(row) == entities.digest(kind, document):
            return "duplicate", row.version
        raise problems.conflict("another create has this id", current=entities.decode(row))
    if kind == "task":
        document["created_at"] = bench.when(op, document["created_at"])
        document["updated_at"] = entities.time_text(bench.now)
        if document["status"] == "DONE":
            document["completed_at"] = bench.when(op, document["completed_at"])
        elif document["completed_at"]:
            document["completed_at"] = entities.canonical_time(document["completed_at"])
    else:
        document["captured_at"] = bench.when(op, document["captured_at"])
    return "applied", bench.put(op, document, None, None, None)


def _origin(row: Row) -> str:
    """The digest of what the create said: worked out when it is first changed, until then the document says it."""
    return row.origin or entities.digest(row.kind, entities.decode(row))


def _update(bench: _Bench, op: Incoming) -> tuple[str, int | None]:
    """update_task, update_insight: the three-way merge by field."""
    row, document = bench.living(op)
    return "applied", _merged(bench, op, row, document, dict(op.payload["changes"]))


def _complete(bench: _Bench, op: Incoming) -> tuple[str, int | None]:
    row, document = bench.living(op)
    if document["status"] == "DONE":
        return "applied", row.version
    changes = {"status": "DONE", "completed_at": op.payload.get("completed_at") or bench.when(op)}
    return "applied", _merged(bench, op, row, document, changes)


def _merged(bench: _Bench, op: Incoming, row: Row, document: dict[str, Any], changes: dict[str, Any]) -> int:
    if changes.get("completed_at"):
        changes["completed_at"] = entities.canonical_time(changes["completed_at"])
    touched: dict[str, int] = msgspec.json.decode(row.touched) if row.touched else {}
    origin = _origin(row)
    new = merge.changed(
        document, changes, version=row.version, touched=touched, base_version=op.base_version, base=op.base
    )
    if not new:
        return row.version
    if row.kind == "task":
        _settle_completion(bench, op, document, new)
        document["updated_at"] = entities.time_text(bench.now)
    document.update(new)
    touched.update(dict.fromkeys(new, row.version + 1))
    return bench.put(op, document, row, msgspec.json.encode(touched).decode(), origin)


def _settle_completion(bench: _Bench, op: Incoming, document: dict[str, Any], new: dict[str, Any]) -> None:
    """A task that becomes DONE has a completed_at, one that is no longer DONE has none, unless the change says."""
    if "status" in new and "completed_at" not in new:
        if new["status"] == "DONE":
            new["completed_at"] = document["completed_at"] or bench.when(op)
        elif document["completed_at"]:
            new["completed_at"] = None


def _delete(bench: _Bench, op: Incoming) -> tuple[str, int | None]:
    """Deleting what is already gone is applied; what changed since its base is a conflict."""
    row = bench.rows.get(op.entity)
    if row is None or row.deleted_at is not None:
        bench.insist(op, row)
        return "applied", row.version if row else None
    bench.insist(op, row)
    fields = merge.changed_since(entities.decode(row), version=row.version, base_version=op.base_version, base=op.base)
    if fields is not None:
        raise problems.conflict("it changed since then", fields=fields, current=entities.decode(row))
    return "applied", bench.remove(op, row)


def _briefing(bench: _Bench, op: Incoming) -> tuple[str, int | None]:
    """store_briefing: the newest capture is current, a late one is superseded, and both are kept."""
    row = bench.rows.get(op.entity)
    bench.insist(op, row)
    given = op.payload.get("captured_at") or op.occurred_at
    captured = bench.now if given is None or entities.moment(given) > bench.now + AHEAD_MS else entities.moment(given)
    document = {"date": op.payload["date"], **entities.DEFAULTS["briefing"], **op.payload}
    document["captured_at"] = entities.time_text(captured)
    if row is None:
        return "applied", bench.put(op, document, None, None, None)
    current = entities.decode(row)
    document["version"] = current["version"]
    if document == current:
        return "applied", row.version
    if captured < entities.moment(current["captured_at"]):
        doc = msgspec.json.encode(document | {"version": 0}).decode()
        bench.keep(f"late:{hashlib.sha256(doc.encode()).hexdigest()[:32]}", op.entity, doc)
        return "superseded", row.version
    return "applied", bench.put(op, document, row, None, None)


def _activity(bench: _Bench, op: Incoming) -> tuple[str, int | None]:
    """record_activity replaces the fields that it bears; absent ones stay."""
    row = bench.rows.get(op.entity)
    bench.insist(op, row)
    if row is None:
        document = {"project": "", "date": "", **entities.DEFAULTS["activity"], **op.payload}
        return "applied", bench.put(op, document, None, None, None)
    current = entities.decode(row)
    if current | op.payload == current:
        return "applied", row.version
    return "applied", bench.put(op, current | op.payload, row, None, None)


_ACTIONS: dict[str, Callable[[_Bench, Incoming], tuple[str, int | None]]] = {
    "create_task": _create,
    "update_task": _update,
    "complete_task": _complete,
    "delete_task": _delete,
    "capture_insight": _create,
    "update_insight": _update,
    "delete_insight": _delete,
    "store_briefing": _briefing,
    "record_activity": _activity,
}
assert _ACTIONS.keys() == contract.OPERATIONS.keys()
