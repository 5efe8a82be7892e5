"""A plain Hub (hub-api.md): somebody's own server with the endpoints marked *plain*. No Hub id, perhaps no keys.

Here an acknowledgement is 2xx, a JSON content type, and a JSON object that is not empty and holds no error; a refusal
is a JSON object too.
"""

from __future__ import annotations

from typing import Any

import msgspec

from aria_tui.hub import _reasons as reasons
from aria_tui.hub._acknowledge import answered, judge_outage, no_answer, problem_of, read_object, refusal, result_of
from aria_tui.hub._outcomes import Answer, NoAnswer, Outcome
from aria_tui.hub.contract import OpResult, Problem

DIRECT = {"create_task": "/api/tasks", "capture_insight": "/api/insights"}
"""Where an operation goes when ``/api/queue/{operation}`` is missing: only these have a direct plain endpoint."""
_WORDS = {
    400: "validation", 401: "unauthenticated", 403: "forbidden", 404: "not-found", 405: "method-not-allowed",
    409: "conflict", 412: "version", 413: "too-large", 422: "validation", 501: "unknown-operation",
}  # fmt: skip


def judge_plain(got: Answer | NoAnswer, *, op_id: str, has_endpoint: bool) -> Outcome:
    """The outcome of one write to a plain Hub.

    ``has_endpoint``: the path is known to be there, so that a 404 is about the task or insight. Without it a 404 is
    taken to be about the path: an operation that is held can still be sent later, a deletion taken for done can't.
    """
    if isinstance(got, NoAnswer):
        return no_answer(got)
    body = read_object(got)
    if 200 <= got.status < 300:
        if got.fault:
            return Outcome(kind="in_doubt", state="offline", reason=got.fault, status=got.status)
        if body is None or holds_error(got, body):
            return _not_acknowledged(got, body)
        found = server_id(body)
        outcome = answered(got, (_result(body, op_id),), server_id=None if found is None else str(found))
        return msgspec.structs.replace(outcome, server_id_is_number=isinstance(found, int))
    if (outage := judge_outage(got, ours=True)) is not None:
        return outage
    if got.status in (404, 405) and not has_endpoint and not _names_a_missing_thing(got, body):
        return _no_endpoint(got)
    if body is None:
        words = reasons.LOGIN_PAGE_STATUS.format(status=got.status)
        return Outcome(kind="unreachable", state="not_the_hub", reason=words, status=got.status)
    return refusal(got, plain_problem(body, got.status))


def _not_acknowledged(got: Answer, body: dict[str, Any] | None) -> Outcome:
    """A page is a portal's; JSON that says nothing, or that something went wrong, leaves a doubt."""
    if body is None and got.body and "json" not in got.content_type:
        return Outcome(kind="unreachable", state="not_the_hub", reason=reasons.LOGIN_PAGE, status=got.status)
    words = reasons.GARBLED if got.body else reasons.CUT_SHORT
    return Outcome(kind="in_doubt", state="not_the_hub", reason=words, status=got.status)


def _no_endpoint(got: Answer) -> Outcome:
    return Outcome(kind="no_endpoint", state="online", reason=reasons.NO_ENDPOINT, status=got.status)


def _names_a_missing_thing(got: Answer, body: dict[str, Any] | None) -> bool:
    """A 404 that says, as a problem document, that the task isn't there, and not the path."""
    if got.status != 404 or body is None or got.content_type != "application/problem+json":
        return False
    problem = problem_of(body)
    return problem is not None and problem.word == "not-found"


def holds_error(got: Answer, body: dict[str, Any]) -> bool:
    """Whether an object with status 2xx says after all that nothing was done."""
    return bool(
        not body
        or got.content_type == "application/problem+json"
        or body.get("error")
        or body.get("errors")
        or body.get("ok") is False
        or body.get("success") is False
        or body.get("status") in ("error", "failed", "failure", "fail")
    )


def server_id(body: dict[str, Any]) -> str | int | None:
    """The id that the Hub handed out: ``{"task": {"id": 142}}``, ``{"insight": {…}}``, ``{"id": …}``."""
    for holder in (body.get("task"), body.get("insight"), body):
        found = holder.get("id") if isinstance(holder, dict) else None
        if isinstance(found, str) and found:
            return found
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None


def _result(body: dict[str, Any], op_id: str) -> OpResult:
    """A plain Hub has no words for what it did, unless it speaks of this operation in ours."""
    said = result_of(body)
    return said if said is not None and said.op_id == op_id else OpResult(op_id=op_id, status="applied")


def plain_problem(body: dict[str, Any], status: int) -> Problem:
    """What a plain Hub says, whatever its dialect, as a problem document with the word that its status stands for."""
    word = _WORDS.get(status, "validation")
    known = problem_of(body, status)
    if known is not None and known.type != "about:blank":
        return known
    said = next((body[key] for key in ("detail", "error", "message", "title") if body.get(key)), "")
    errors: list[dict[str, str]] = []
    if isinstance(said, list):  # FastAPI's list of {loc, msg}
        errors = [_field_error(entry) for entry in said if isinstance(entry, dict)]
        said = ""
    elif isinstance(said, dict):
        said = said.get("message") or said.get("detail") or ""
    text = said if isinstance(said, str) else ""
    return Problem(type=f"/problems/{word}", title=word, status=status, detail=text[:1000], errors=errors[:50])


def _field_error(entry: dict[str, Any]) -> dict[str, str]:
    where = entry.get("loc")
    steps = [str(step) for step in where if step != "body"] if isinstance(where, list) else []
    return {"field": ".".join(steps), "message": str(entry.get("msg", ""))[:300]}
