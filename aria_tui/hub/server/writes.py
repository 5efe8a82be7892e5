"""Every write: the batch, the single operation, and the direct endpoints over the same handler (hub-api.md)."""

from __future__ import annotations

import re
import uuid
from typing import Any

import msgspec
from starlette.responses import Response

from aria_tui.errors import FieldError
from aria_tui.hub import contract
from aria_tui.hub.server import problems, reads
from aria_tui.hub.server.incoming import OP_ID, WireOp, prepare, read_batch
from aria_tui.hub.server.problems import Refusal
from aria_tui.hub.server.storage.base import Record
from aria_tui.hub.server.web import Call, json_response

_ETAG = re.compile(r'"(\d{1,18})"\Z', re.ASCII)
_REACHED = re.compile(r"([!-~]{1,64})\.(\d{1,18})\Z", re.ASCII)
_ESCAPED = re.compile(r"\\([\"\\])")


async def batch(call: Call) -> Response:
    """POST /api/queue"""
    ops = read_batch(await call.body())
    verdicts, seq = await call.hub.apply(call.account, ops, least=await _least(call))
    return json_response(
        {
            "results": [verdict.result() for verdict in verdicts],
            "cursor": reads.changes_cursor(call.hub.epoch, seq),
            "server_time": call.hub.now_text(),
        }
    )


async def single(call: Call) -> Response:
    """POST /api/queue/{operation}"""
    operation = call.path("operation")
    payload = await call.payload(empty=True)
    if operation not in contract.OPERATIONS:
        raise problems.unknown_operation(operation)
    return await _apply(call, operation, payload)


async def recorded(call: Call) -> Response:
    """GET /api/queue/ops/{op_id}"""
    call.query(())
    record = await call.hub.recorded(call.account, call.path("op_id"))
    return json_response(_body(record, await call.hub.document(call.account, record)))


async def create_task(call: Call) -> Response:
    """POST /api/tasks"""
    return await _apply(call, "create_task", await call.payload())


async def update_task(call: Call) -> Response:
    """PATCH /api/tasks/{id}: the body is the changes."""
    return await _apply(call, "update_task", {"id": call.path("id"), "changes": await call.payload()})


async def delete_task(call: Call) -> Response:
    """DELETE /api/tasks/{id}"""
    return await _apply(call, "delete_task", _with("id", call.path("id"), await call.payload(empty=True)))


async def complete_task(call: Call) -> Response:
    """POST /api/tasks/{id}/complete"""
    return await _apply(call, "complete_task", _with("id", call.path("id"), await call.payload(empty=True)))


async def capture_insight(call: Call) -> Response:
    """POST /api/insights"""
    return await _apply(call, "capture_insight", await call.payload())


async def store_briefing(call: Call) -> Response:
    """PUT /api/briefings/{date}"""
    return await _apply(call, "store_briefing", _with("date", call.path("date"), await call.payload()))


def _with(name: str, value: str, payload: Any) -> Any:
    """The payload with what the path says, which it may repeat but not contradict."""
    if not isinstance(payload, dict):
        return payload
    if payload.get(name, value) != value:
        raise problems.invalid([FieldError(name, "is not the one of the path")])
    return {**payload, name: value}


async def _apply(call: Call, operation: str, payload: Any) -> Response:
    op_id = _key(call) or str(uuid.uuid4())
    try:
        op = prepare(WireOp(op_id, operation, payload), if_match=_if_match(call))
        verdicts, _ = await call.hub.apply(call.account, [op], least=await _least(call))
        verdict = verdicts[0]
        if verdict.refusal is not None:
            raise verdict.refusal
    except Refusal as refusal:
        refusal.problem = msgspec.structs.replace(refusal.problem, op_id=op_id)
        raise
    record = verdict.record
    assert record is not None
    document = verdict.document or await call.hub.document(call.account, record)
    headers = {"Idempotent-Replayed": "true"} if verdict.replayed else {}
    return json_response(_body(record, document), 201 if record.created else 200, headers)


def _body(record: Record, document: msgspec.Raw | None) -> dict[str, Any]:
    """What a write answers, the first time and every time."""
    body: dict[str, Any] = {"op_id": record.op_id, "status": record.status, "entity": record.entity}
    if record.version is not None:
        body["version"] = record.version
    if document is not None:
        if record.status == "superseded":
            body["current"] = document
        body[record.entity.partition(":")[0]] = document
    return body


def _key(call: Call) -> str | None:
    """The Idempotency-Key, quoted or bare. Raises Refusal (400) for one that is none."""
    given = call.request.headers.getlist("idempotency-key")
    if not given:
        return None
    key = given[0].strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = _ESCAPED.sub(r"\1", key[1:-1])
    if len(given) > 1 or not OP_ID.match(key):
        raise problems.bad_request("Idempotency-Key must be 1 to 255 visible ASCII characters, once")
    return key


async def _least(call: Call) -> int:
    """The change number that the sender saw reached, 0 for none. Raises Refusal (400, 412)."""
    given = call.request.headers.get("aria-if-reached")
    if given is None:
        return 0
    if (found := _REACHED.match(given.strip())) is None:
        raise problems.bad_request("Aria-If-Reached must be an epoch, a dot, and a change number")
    await call.hub.check_epoch(found[1])
    return int(found[2])


def _if_match(call: Call) -> int | None:
    """The version of an If-Match header, 0 for ``*``. Raises Refusal (400)."""
    given = call.request.headers.get("if-match")
    if given is None:
        return None
    if given.strip() == "*":
        return 0
    if (found := _ETAG.match(given.strip())) is None or not int(found[1]):
        raise problems.bad_request('If-Match must be a version in quotes, such as "3"')
    return int(found[1])
