"""An operation as it came in, from whichever path, with all that can be known of it without the database."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from aria_tui.errors import FieldError, InvalidInput
from aria_tui.hub import contract
from aria_tui.hub.contract import Problem
from aria_tui.hub.server import problems

OP_ID = re.compile(r"[\x21-\x7e]{1,255}\Z")
"""1–255 visible ASCII characters (hub-api.md)."""


class Incoming(msgspec.Struct, kw_only=True):
    """``payload`` is what ``contract.validate`` gives; ``broken`` says why the operation can't be taken, and counts
    only when its key isn't known: a retry of what was applied is answered before any check that it would now fail."""

    op_id: str
    operation: str
    fingerprint: str
    entity: str
    payload: dict[str, Any] = {}
    broken: Problem | None = None
    occurred_at: str | None = None
    base_version: int | None = None
    base: dict[str, Any] | None = None
    if_match: int | None = None
    """The version that the sender insists on; 0 for any version, but there must be one."""


class WireOp(msgspec.Struct, forbid_unknown_fields=True):
    """One operation of a batch as it is written. The payload is checked later, whatever it is."""

    op_id: str
    operation: str
    payload: Any
    entity: str | None = None
    occurred_at: str | None = None
    schema_version: int = contract.SCHEMA_VERSION
    base_version: int | None = None
    base: dict[str, Any] | None = None


class Batch(msgspec.Struct, forbid_unknown_fields=True):
    ops: list[WireOp]
    client_id: str | None = None


class LooseBatch(msgspec.Struct, forbid_unknown_fields=True):
    """The same envelope when an operation in it is broken: each is then looked at alone."""

    ops: list[dict[str, Any]]
    client_id: str | None = None


_BATCH = msgspec.json.Decoder(Batch)
_ANYTHING = msgspec.json.Decoder()
_LOOSE = msgspec.json.Decoder(LooseBatch)


def read_batch(body: bytes) -> list[Incoming]:
    """A batch's operations. Raises problems.Refusal for an envelope that is broken as a whole (400, 413, 422)."""
    try:
        ops = [prepare(op) for op in _read(_BATCH, body).ops]
    except msgspec.ValidationError:
        ops = [_one_by_one(number, op) for number, op in enumerate(_read_loose(body).ops)]
    if len(ops) > contract.BATCH_OPS:
        raise problems.too_large(f"the batch has {len(ops)} operations, at most {contract.BATCH_OPS}")
    return ops


def _read(decoder: Any, body: bytes) -> Any:
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        if decoder is _ANYTHING:  # a number that is out of range
            raise problems.not_json(error) from None
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise problems.not_json(error) from None


def _read_loose(body: bytes) -> LooseBatch:
    _read(_ANYTHING, body)  # what is no JSON at all is 400, wherever the envelope is wrong as well
    try:
        loose: LooseBatch = _read(_LOOSE, body)
    except msgspec.ValidationError as error:
        raise problems.invalid([FieldError("", str(error))]) from None
    return loose


def _one_by_one(number: int, given: dict[str, Any]) -> Incoming:
    """A broken operation that has a readable op_id is rejected alone; without one the envelope is broken."""
    op_id = given.get("op_id")
    if not isinstance(op_id, str) or not OP_ID.match(op_id):
        why = "must be 1 to 255 visible ASCII characters"
        raise problems.invalid([FieldError(f"ops[{number}].op_id", why)])
    try:
        return prepare(msgspec.convert(given, WireOp))
    except msgspec.ValidationError as error:
        operation, entity = given.get("operation"), given.get("entity")
        name = operation if isinstance(operation, str) else "unknown"
        payload = given.get("payload")
        broken = problems.invalid([FieldError("", str(error))]).problem
        if not isinstance(entity, str):
            entity = contract.entity_of(name, payload if isinstance(payload, dict) else {}, op_id)
        return Incoming(
            op_id=op_id,
            operation=name,
            entity=entity,
            fingerprint=contract.fingerprint(name, payload),
            broken=broken,
        )


def prepare(op: WireOp, *, if_match: int | None = None) -> Incoming:
    """Fingerprint, entity and validation of one operation. Raises problems.Refusal for an op_id that is none."""
    if not OP_ID.match(op.op_id):
        raise problems.invalid([FieldError("op_id", "must be 1 to 255 visible ASCII characters")])
    payload = op.payload if isinstance(op.payload, dict) else {}
    made = Incoming(
        op_id=op.op_id,
        operation=op.operation,
        fingerprint=contract.fingerprint(op.operation, op.payload),
        entity=contract.entity_of(op.operation, payload, op.op_id),
        occurred_at=op.occurred_at,
        base_version=op.base_version,
        base=op.base,
        if_match=if_match,
    )
    made.broken = _check(made, op)
    return made


def _check(made: Incoming, op: WireOp) -> Problem | None:
    if (known := contract.OPERATIONS.get(op.operation)) is None:
        made.entity = op.entity or made.entity
        return problems.unknown_operation(op.operation).problem
    if op.schema_version != known:
        return problems.unsupported_schema(op.operation, op.schema_version).problem
    errors: list[FieldError] = []
    try:
        made.payload = contract.validate(op.operation, op.payload)
    except InvalidInput as invalid:
        errors += invalid.errors
    if op.entity is not None and op.entity != made.entity:
        errors.append(FieldError("entity", f"must be {made.entity[:300]}, as the payload says, or left out"))
    if op.occurred_at is not None:
        try:
            contract.read_time(op.occurred_at)
        except (ValueError, OverflowError):
            errors.append(FieldError("occurred_at", "must be a time, RFC 3339 in UTC such as 2026-12-01T08:00:00Z"))
    return problems.invalid(errors).problem if errors else None
