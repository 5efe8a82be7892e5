"""What becomes of an operation, by what the Hub said of it: one decision in one place (queue.md, "When it fails")."""

from __future__ import annotations

from typing import Literal

import msgspec

from aria_tui.hub.contract import OpResult, Problem
from aria_tui.models import Frozen

Fate = Literal["delivered", "dead", "conflict", "held", "failed", "behind"]
"""delivered · dead: a dead letter · conflict: to the inbox · held: the Hub doesn't know the operation ·
failed: try again, an attempt was spent · behind: an earlier one of its entity failed, nothing was spent."""

_UNKNOWN = {"unknown-operation", "unsupported-schema"}
_CONFLICTS = {"conflict", "version", "not-found"}
_LATER = {"in-progress", "slow-down"}


class Verdict(Frozen, frozen=True, kw_only=True, gc=False):
    fate: Fate
    outcome: str = ""
    error: str = ""
    problem: Problem | None = None
    result: OpResult | None = None


def of_result(result: OpResult | None, operation: str) -> Verdict:
    """The verdict on one operation of a request that the Hub answered; None: it is missing from the answer."""
    if result is None:
        return Verdict(fate="failed", error="the Hub's answer does not mention it")
    problem = result.problem
    match result.status:
        case "applied" | "duplicate" | "superseded":
            return Verdict(fate="delivered", outcome=result.status, result=result)
        case "conflict":
            return Verdict(
                fate="conflict", error=in_words(problem, "changed on both sides"), problem=problem, result=result
            )
        case "rejected":
            return msgspec.structs.replace(of_problem(problem or Problem(detail="rejected"), operation), result=result)
        case "skipped":
            return Verdict(fate="behind", error=in_words(problem, "an earlier one of its entity failed"))
        case _:
            return Verdict(fate="failed", error=in_words(problem, "the Hub could not do it now"), problem=problem)


def of_problem(problem: Problem, operation: str) -> Verdict:
    """The verdict on a single operation that the Hub refused with a problem document."""
    error = in_words(problem, "refused by the Hub")
    if problem.word in _UNKNOWN:
        return Verdict(fate="held", error=error, problem=problem)
    if problem.word == "not-found" and operation in ("delete_task", "delete_insight"):
        return Verdict(fate="delivered", outcome="applied", problem=problem)
    if problem.word in _LATER or problem.retryable:
        return Verdict(fate="failed", error=error, problem=problem)
    if problem.word in _CONFLICTS or problem.status == 412:
        result = OpResult(op_id=problem.op_id or "", status="conflict", current=problem.current, problem=problem)
        return Verdict(fate="conflict", error=error, problem=problem, result=result)
    return Verdict(fate="dead", error=error, problem=problem)


def in_words(problem: Problem | None, otherwise: str) -> str:
    """A problem document as one line: its detail or title, and each field's error."""
    if problem is None:
        return otherwise
    what = problem.detail or problem.title or problem.word or otherwise
    fields = "; ".join(_field(e.get("field", ""), e.get("message", "")) for e in problem.errors)
    if fields and fields not in what:
        named = ", ".join(e.get("field", "") for e in problem.errors)
        what = what.removesuffix(named).rstrip(": ")  # each of them is named again with what is wrong with it
        what = f"{what}: {fields}" if what else fields
    return what[:1000]


def _field(name: str, message: str) -> str:
    return message if message.startswith(f"{name}:") else f"{name}: {message}".strip(": ")
