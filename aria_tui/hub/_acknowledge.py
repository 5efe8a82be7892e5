"""What counts as an acknowledgement, and what counts as a refusal (hub-api.md, "What counts as an acknowledgement").

Both need the expected Hub's id and a body that can be read; all else is an outage or, once the request was sent, a
doubt. Pure: an answer in, an outcome out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from aria_tui.hub import _reasons as reasons
from aria_tui.hub._outcomes import Answer, NoAnswer, Outcome, OutcomeKind, shown_problem
from aria_tui.hub.contract import OpResult, Problem
from aria_tui.models import HubState

SLOW_MS = 1000.0
STATUSES = frozenset({"applied", "duplicate", "superseded", "conflict", "rejected", "retry", "skipped"})

Reader = Callable[[Answer], "tuple[OpResult, ...] | None"]
"""Reads the results out of a 2xx answer, or None if it holds no acknowledgement."""


def judge(got: Answer | NoAnswer, *, expected: str | None, read: Reader, batch: bool = False) -> Outcome:
    """The outcome of a write to a Hub of ours. ``expected`` None: any Hub that names itself."""
    if isinstance(got, NoAnswer):
        return no_answer(got)
    ours = bool(got.hub_id) and expected in (None, got.hub_id)
    foreign = bool(got.hub_id) and not ours
    if foreign:
        return _outcome(got, "unreachable", "not_the_hub", reasons.OTHER_HUB)
    if 200 <= got.status < 300:
        return _judge_success(got, ours, read, batch)
    if (outage := judge_outage(got, ours=ours)) is not None:
        return outage
    problem = read_problem(got) if ours else None
    if problem is None:
        return _outcome(got, "unreachable", "not_the_hub", reasons.LOGIN_PAGE_STATUS.format(status=got.status))
    return refusal(got, problem)


def _judge_success(got: Answer, ours: bool, read: Reader, batch: bool) -> Outcome:
    if got.fault:
        return _outcome(got, "in_doubt", "offline" if ours else "not_the_hub", got.fault)
    if not ours:
        return _outcome(got, "unreachable", "not_the_hub", reasons.LOGIN_PAGE)
    results = read(got)
    if results is None:
        return _outcome(got, "in_doubt", "not_the_hub", reasons.GARBLED if got.body else reasons.CUT_SHORT)
    return answered(got, results, batch=batch)


def answered(
    got: Answer, results: tuple[OpResult, ...], *, batch: bool = False, server_id: str | None = None
) -> Outcome:
    """An acknowledgement. A long batch says nothing about how slow the Hub is."""
    state: HubState = "slow" if got.latency_ms > SLOW_MS and not batch else "online"
    return msgspec.structs.replace(_outcome(got, "answered", state, ""), results=results, server_id=server_id)


def no_answer(got: NoAnswer) -> Outcome:
    """Sent and unanswered is a doubt; never sent is an outage."""
    return Outcome(kind="in_doubt" if got.sent else "unreachable", state=got.state, reason=got.reason)


def judge_outage(got: Answer, *, ours: bool) -> Outcome | None:
    """The statuses that mean the same whoever gives them: redirects, waits, dead gateways, server errors."""
    match got.status:
        case status if status < 200 or 300 <= status < 400:
            words = reasons.LOGIN_PAGE_STATUS.format(status=status)
            if got.location:
                words = reasons.REDIRECTED.format(target=got.location)
            return _outcome(got, "unreachable", "not_the_hub", words)
        case 408 | 429 | 503:
            state: HubState = "online" if ours and got.status != 503 else "offline"
            return _outcome(got, "wait", state, reasons.UNAVAILABLE.format(status=got.status))
        case 407:
            return _outcome(got, "unreachable", "offline", reasons.PROXY_SIGN_IN)
        case 502 | 504:
            return _outcome(got, "unreachable", "offline", reasons.GATEWAY.format(status=got.status))
        case 501:
            return None  # a Hub that doesn't know the operation
        case status if status >= 500:
            return _outcome(got, "server_error", "online", reasons.SERVER_ERROR.format(status=status))
    return None


def refusal(got: Answer, problem: Problem) -> Outcome:
    """A refusal that is known to come from the Hub itself."""
    kind: OutcomeKind = "refused"
    state: HubState = "online"
    words = shown_problem(problem)
    match got.status:
        case 401:
            kind, state, words = "paused", "refused", reasons.TOKEN_REFUSED
        case 403:
            kind, state, words = "paused", "refused", reasons.TOKEN_LACKS
        case 412 if problem.word == "restored":
            kind, words = "restored", reasons.RESTORED
        case 413:
            kind, words = "too_large", reasons.TOO_LARGE
    return msgspec.structs.replace(_outcome(got, kind, state, words), problem=problem)


def _outcome(got: Answer, kind: OutcomeKind, state: HubState, reason: str) -> Outcome:
    return Outcome(
        kind=kind,
        state=state,
        reason=reason,
        status=got.status,
        wait_s=got.retry_after_s,
        slow_down_s=got.slow_down_s if kind == "answered" else None,
        latency_ms=got.latency_ms,
        replayed=got.replayed,
        epoch=got.epoch,
    )


def read_object(got: Answer) -> dict[str, Any] | None:
    """The body, if it is whole, said to be JSON, and a JSON object."""
    if not _is_json(got):
        return None
    try:
        value = msgspec.json.decode(got.body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_json(got: Answer) -> bool:
    """The body is whole, and said to be JSON."""
    media = got.content_type
    said = media == "application/json" or (media.startswith("application/") and media.endswith("+json"))
    return said and not got.fault


def read_problem(got: Answer) -> Problem | None:
    """The body as a problem document (RFC 9457) of this status, or None."""
    found = read_object(got)
    if found is None or not ({"type", "title", "status"} & found.keys()):
        return None
    return problem_of(found, got.status)


def problem_of(found: Any, status: int = 0) -> Problem | None:
    """A Problem from decoded JSON; a member of the wrong type is left out (RFC 9457, section 3.1)."""
    if not isinstance(found, dict):
        return None
    kept: dict[str, Any] = {}
    for field in msgspec.structs.fields(Problem):
        if field.name in found:
            try:
                kept[field.name] = msgspec.convert(found[field.name], field.type)
            except msgspec.ValidationError:
                continue
    if status:
        kept["status"] = status
    return Problem(**kept)


def batch_reader(op_ids: Collection[str]) -> Reader:
    """Reads a batch's answer: the results that name an operation of this batch, once, with a status that is known."""

    def read(got: Answer) -> tuple[OpResult, ...] | None:
        listed = _results_in(got)
        if listed is None:
            return None
        asked = set(op_ids)
        results: dict[str, OpResult] = {}
        contradicted = set()
        for result in listed:
            if result.op_id not in asked or result.status not in STATUSES:
                continue
            first = results.setdefault(result.op_id, result)
            if first is not result and first != result:
                contradicted.add(result.op_id)
        return tuple(r for op_id, r in results.items() if op_id not in contradicted)

    return read


def single_reader(op_id: str) -> Reader:
    """Reads the answer to a single write, which has to name this operation."""

    def read(got: Answer) -> tuple[OpResult, ...] | None:
        result = result_of(read_object(got))
        return (result,) if result is not None and result.op_id == op_id else None

    return read


class _Results(msgspec.Struct):
    results: list[OpResult]


def _results_in(got: Answer) -> list[OpResult] | None:
    """Those results that can be understood; None: it is no answer to a batch."""
    if not _is_json(got):
        return None
    try:
        text = got.body.decode()  # what the decoder skips it doesn't look at
        return msgspec.json.decode(text, type=_Results).results  # as long as each member is of the right type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        listed = (read_object(got) or {}).get("results")
    if not isinstance(listed, list):
        return None
    return [result for entry in listed if (result := result_of(entry)) is not None]


def result_of(entry: Any) -> OpResult | None:
    """One operation's result, or None if it can't be understood: then the operation is not acknowledged."""
    if not isinstance(entry, dict):
        return None
    fields = {**entry, "problem": problem_of(entry.get("problem"))}
    try:
        result = msgspec.convert(fields, OpResult)
    except msgspec.ValidationError:
        return None
    return result if result.status in STATUSES else None
