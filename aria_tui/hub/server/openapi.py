"""The OpenAPI document, made from the msgspec shapes of both ends: ``python -m aria_tui.hub.server.openapi``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from aria_tui.hub import contract
from aria_tui.hub.server import shapes

_DATE = {"type": "string", "format": "date"}
_ID = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": r"\S"}
_OP_ID = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}
_CURSOR = {"type": "string"}
_REACHED = {"type": "string", "pattern": r"^[!-~]{1,64}\.[0-9]{1,18}$"}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 500, "default": 100}
_TEXT = {"type": "string"}
_SINCE = {"type": "string", "format": "date"}
_NONE: Mapping[str, dict[str, Any]] = MappingProxyType({})


class Endpoint(NamedTuple):
    """One method of one path. ``refuses`` are the statuses that it may answer with a problem document."""

    summary: str
    answer: type
    body: type | None = None
    query: Mapping[str, dict[str, Any]] = _NONE
    path: Mapping[str, dict[str, Any]] = _NONE
    refuses: tuple[int, ...] = ()
    ok: tuple[int, ...] = (200,)
    optional_body: bool = False
    open: bool = False


_PAYLOADS: dict[str, tuple[type, tuple[int, ...]]] = {
    "create_task": (shapes.CreateTask, (200, 201)),
    "update_task": (shapes.UpdateTask, (200,)),
    "complete_task": (shapes.CompleteTask, (200,)),
    "delete_task": (shapes.DeleteTask, (200,)),
    "capture_insight": (shapes.CaptureInsight, (200, 201)),
    "update_insight": (shapes.UpdateInsight, (200,)),
    "delete_insight": (shapes.DeleteInsight, (200,)),
    "store_briefing": (shapes.StoreBriefing, (200, 201)),
    "record_activity": (shapes.RecordActivity, (200, 201)),
}
_WRITE = (404, 409, 412)
_STATUS = {"type": "string", "enum": list(contract.STATUSES)}
_PRIORITY = {"type": "string", "enum": list(contract.PRIORITIES)}

ENDPOINTS: dict[tuple[str, str], Endpoint] = {
    ("get", "/api/meta"): Endpoint("What this Hub is and speaks", contract.Meta),
    ("post", "/api/queue"): Endpoint("An ordered batch of operations", shapes.Results, shapes.Batch),
    ("get", "/api/queue/ops/{op_id}"): Endpoint(
        "The recorded outcome of an operation", shapes.Written, path={"op_id": _OP_ID}, refuses=(404,)
    ),
    **{
        ("post", f"/api/queue/{name}"): Endpoint(f"{name}, alone", shapes.Written, body, ok=ok, refuses=_WRITE)
        for name, (body, ok) in _PAYLOADS.items()
    },
    ("get", "/api/tasks"): Endpoint(
        "Tasks, newest first",
        shapes.Tasks,
        query={"status": _STATUS, "priority": _PRIORITY, "project": _TEXT, "cursor": _CURSOR, "limit": _LIMIT},
    ),
    ("post", "/api/tasks"): Endpoint("create_task", shapes.Written, shapes.CreateTask, ok=(200, 201), refuses=_WRITE),
    ("get", "/api/tasks/{id}"): Endpoint("One task", shapes.TaskAnswer, path={"id": _ID}, refuses=(404,)),
    ("patch", "/api/tasks/{id}"): Endpoint(
        "update_task", shapes.Written, shapes.TaskChanges, path={"id": _ID}, refuses=_WRITE
    ),
    ("delete", "/api/tasks/{id}"): Endpoint("delete_task", shapes.Written, path={"id": _ID}, refuses=_WRITE),
    ("post", "/api/tasks/{id}/complete"): Endpoint(
        "complete_task", shapes.Written, shapes.CompleteTaskBody, path={"id": _ID}, refuses=_WRITE, optional_body=True
    ),
    ("get", "/api/insights"): Endpoint(
        "Insights, newest first",
        shapes.Insights,
        query={"since": _SINCE, "project": _TEXT, "q": _TEXT, "cursor": _CURSOR, "limit": _LIMIT},
    ),
    ("post", "/api/insights"): Endpoint(
        "capture_insight", shapes.Written, shapes.CaptureInsight, ok=(200, 201), refuses=_WRITE
    ),
    ("get", "/api/briefings"): Endpoint(
        "Briefings, newest first", shapes.Briefings, query={"before": _DATE, "limit": _LIMIT}
    ),
    ("get", "/api/briefings/{date}"): Endpoint(
        "One briefing, and what it was before", shapes.BriefingAnswer, path={"date": _DATE}, refuses=(404,)
    ),
    ("put", "/api/briefings/{date}"): Endpoint(
        "store_briefing", shapes.Written, shapes.StoreBriefingBody, path={"date": _DATE}, ok=(200, 201), refuses=_WRITE
    ),
    ("get", "/api/activity"): Endpoint(
        "Commits and notes by project and day", shapes.Activities, query={"since": _DATE, "project": _TEXT}
    ),
    ("get", "/api/summary"): Endpoint("Counts of tasks", shapes.Summary, query={"tz": _TEXT}),
    ("get", "/api/changes"): Endpoint(
        "What changed after a cursor", shapes.Changes, query={"since": _CURSOR}, refuses=(410,)
    ),
    ("get", "/healthz"): Endpoint("The process is up", shapes.Health, open=True),
    ("get", "/readyz"): Endpoint("The database answers", shapes.Health, open=True),
}
_TITLES = {
    400: "The body or a header can't be read", 401: "No valid token", 403: "Out of the token's scope",
    404: "Not there", 408: "The body did not come", 409: "Conflict, or in progress", 410: "The cursor is too old",
    412: "Another version is current, or the Hub was restored",
    413: "Too large", 422: "Can't be accepted", 429: "Slow down", 503: "Slow down",
}  # fmt: skip


def document() -> dict[str, Any]:
    """The whole document."""
    types = {endpoint.answer for endpoint in ENDPOINTS.values()} | {contract.Problem}
    types |= {endpoint.body for endpoint in ENDPOINTS.values() if endpoint.body}
    ordered = sorted(types, key=lambda shape: shape.__name__)
    _, schemas = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    for changes in (shapes.TaskChanges, shapes.InsightChanges):
        schemas[changes.__name__]["minProperties"] = 1
    paths: dict[str, Any] = {}
    for (method, path), endpoint in ENDPOINTS.items():
        paths.setdefault(path, {})[method] = _operation(method, path, endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "ARIA Hub", "version": str(contract.API_VERSION)},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(method: str, path: str, endpoint: Endpoint) -> dict[str, Any]:
    writes = method != "get"
    parameters = [_parameter("path", name, schema) for name, schema in endpoint.path.items()]
    parameters += [_parameter("query", name, schema) for name, schema in endpoint.query.items()]
    if writes and endpoint.answer is shapes.Written:
        parameters.append(_parameter("header", "Idempotency-Key", _OP_ID))
        parameters.append(_parameter("header", "If-Match", {"type": "string", "pattern": '^"[1-9][0-9]{0,8}"$'}))
    if writes:
        parameters.append(_parameter("header", "Aria-If-Reached", _REACHED))
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": _name(method, path),
        "parameters": parameters,
    }
    if endpoint.open:
        operation["security"] = []
    if endpoint.body is not None:
        content = {"application/json": {"schema": _ref(endpoint.body)}}
        operation["requestBody"] = {"required": not endpoint.optional_body, "content": content}
    refuses = {503, *endpoint.refuses} if endpoint.open else {400, 401, 403, 422, 429, 503, *endpoint.refuses}
    if writes:
        refuses |= {408, 412, 413}
    responses = {str(status): _answer(endpoint.answer) for status in endpoint.ok}
    responses |= {str(status): _problem(status) for status in sorted(refuses)}
    operation["responses"] = responses
    return operation


def _name(method: str, path: str) -> str:
    words = [word.strip("{}") for word in path.split("/") if word not in ("", "api")]
    return "_".join([method, *words])


def _parameter(where: str, name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"in": where, "name": name, "required": where == "path", "schema": schema}


def _answer(shape: type) -> dict[str, Any]:
    return {"description": "Done", "content": {"application/json": {"schema": _ref(shape)}}}


def _problem(status: int) -> dict[str, Any]:
    content = {contract.PROBLEM_JSON: {"schema": _ref(contract.Problem)}}
    return {"description": _TITLES[status], "content": content}


def _ref(shape: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{shape.__name__}"}


def text() -> str:
    """The document as it is committed under tests/."""
    return msgspec.json.format(msgspec.json.encode(document(), order="sorted"), indent=2).decode() + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
