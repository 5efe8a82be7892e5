"""RFC 9457 problem documents: every refusal of the Hub, in one place (hub-api.md, "Errors")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from aria_tui.errors import FieldError
from aria_tui.hub.contract import Problem

PREFIX = "/problems/"


class Refusal(Exception):
    """Ends a request with a problem document, and the headers that go with it."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        self.problem, self.headers = problem, dict(headers or {})
        super().__init__(problem.title)


def _refusal(
    word: str,
    status: int,
    title: str,
    detail: str,
    *,
    retryable: bool = False,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Refusal:
    problem = Problem(type=PREFIX + word, title=title, status=status, detail=detail, retryable=retryable, **more)
    return Refusal(problem, headers)


def invalid(errors: Sequence[FieldError]) -> Refusal:
    said = [{"field": _shown(e.field), "message": _shown(e.message)} for e in errors]
    detail = "; ".join(f"{e['field']}: {e['message']}" if e["field"] else e["message"] for e in said[:5])
    return _refusal("validation", 422, "The request can't be accepted", detail, errors=said)


def not_json(error: Exception) -> Refusal:
    return _refusal("validation", 400, "The body is not JSON", _shown(str(error)) or "nested too deep")


def bad_request(detail: str) -> Refusal:
    return _refusal("validation", 400, "The request can't be read", detail)


def unauthenticated(detail: str) -> Refusal:
    return _refusal("unauthenticated", 401, "A valid token is needed", detail, headers={"WWW-Authenticate": "Bearer"})


def forbidden(detail: str) -> Refusal:
    return _refusal("forbidden", 403, "The token's scope does not allow this", detail)


def not_found(what: str) -> Refusal:
    return _refusal("not-found", 404, "Not found", f"{_shown(what)} is not here")


def unknown_operation(name: str) -> Refusal:
    return _refusal("unknown-operation", 404, "Unknown operation", f"this Hub knows no operation {_shown(name)[:80]!r}")


def unsupported_schema(name: str, version: int) -> Refusal:
    detail = f"this Hub does not know schema version {version} of {name}"
    return _refusal("unsupported-schema", 422, "Unsupported schema version", detail)


def method_not_allowed(allowed: Sequence[str]) -> Refusal:
    allow = ", ".join(sorted(allowed))
    return _refusal("method-not-allowed", 405, "Method not allowed", f"allowed: {allow}", headers={"Allow": allow})


def conflict(detail: str, *, fields: Sequence[str] = (), current: Any = None) -> Refusal:
    errors = [{"field": name, "message": "was changed on the Hub as well"} for name in fields]
    return _refusal("conflict", 409, "Changed on both sides", detail, errors=errors, current=current)


def version(detail: str, current: Any = None) -> Refusal:
    return _refusal("version", 412, "Another version is current", detail, current=current)


def restored(detail: str) -> Refusal:
    return _refusal("restored", 412, "The Hub is not as far as it was", detail)


def gone(what: str) -> Refusal:
    return _refusal("not-found", 404, "Not found", f"{_shown(what)} is not here, or was deleted")


def key_reused() -> Refusal:
    detail = "this idempotency key was used for another operation or another payload"
    return _refusal("key-reused", 422, "Idempotency key reused", detail)


def in_progress() -> Refusal:
    detail = "the same operation is being applied now"
    return _refusal("in-progress", 409, "In progress", detail, retryable=True, headers={"Retry-After": "1"})


def blocked(op_id: str) -> Refusal:
    detail = "an earlier operation on the same entity did not succeed"
    return _refusal("blocked", 409, "Skipped", detail, retryable=True, blocked_by=op_id)


def cursor_expired() -> Refusal:
    return _refusal("cursor-expired", 410, "The cursor is too old", "read everything again, then go on from there")


def too_large(detail: str) -> Refusal:
    return _refusal("too-large", 413, "Too large", detail)


def slow_down(detail: str, seconds: float, *, status: int = 429) -> Refusal:
    wait = {"Retry-After": str(max(1, round(seconds)))}
    title = "Too many requests" if status == 429 else "Not available now"
    return _refusal("slow-down", status, title, detail, retryable=True, headers=wait)


def failed() -> Refusal:
    detail = "the Hub failed; the same request may be sent again with the same key"
    return _refusal("internal", 500, "Internal error", detail, retryable=True)


def members(problem: Problem) -> dict[str, Any]:
    """A problem as it is written on the wire: ``retryable`` always, other members where they say something."""
    return {"retryable": problem.retryable, **msgspec.to_builtins(problem)}


def _shown(text: str) -> str:
    """A text that can be sent: a lone surrogate, which JSON can't carry, is written as its escape."""
    return text.encode("utf-8", "backslashreplace").decode()
