"""What every route needs of HTTP: the call, its body, its query, and answers in JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aria_tui.errors import FieldError
from aria_tui.hub import contract
from aria_tui.hub.server import problems
from aria_tui.hub.server.service import Hub

_READ_AND_DROP = 16 * contract.BODY_BYTES
"""A body over the limit is read up to here before the answer: a client that still writes would see a reset instead."""


class Call:
    """One authenticated request."""

    def __init__(self, hub: Hub, request: Request, account: str, scope: str) -> None:
        self.hub, self.request, self.account, self.scope = hub, request, account, scope

    def path(self, name: str) -> str:
        value: str = self.request.path_params[name]
        return value

    async def body(self) -> bytes:
        """The whole body. Raises Refusal: 413 over the limit, 408 when it doesn't come."""
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.hub.options.body_seconds):
                async for chunk in self.request.stream():
                    size += len(chunk)
                    if size > _READ_AND_DROP:
                        break
                    if size <= contract.BODY_BYTES:
                        chunks.append(chunk)
        except TimeoutError:
            raise problems.slow_down("the body did not come in time", 1, status=408) from None
        except ClientDisconnect:
            raise problems.bad_request("the connection ended within the body") from None
        if size > contract.BODY_BYTES:
            raise problems.too_large(f"the body is over {contract.BODY_BYTES} bytes")
        return b"".join(chunks)

    async def payload(self, *, empty: bool = False) -> Any:
        """The body as JSON; with ``empty`` no body is an empty object. Raises Refusal (400)."""
        body = await self.body()
        if empty and not body.strip():
            return {}
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise problems.not_json(error) from None

    def query(self, allowed: Collection[str]) -> dict[str, str]:
        """The query's fields. Raises Refusal (422) for one that isn't known here or comes twice."""
        given = self.request.query_params.multi_items()
        errors = [FieldError(name[:60], "is not a parameter here") for name, _ in given if name not in allowed]
        found = dict(given)
        if not errors and len(found) < len(given):
            errors.append(FieldError("", "a parameter is given twice"))
        errors += [FieldError(name, why) for name, value in given if (why := contract.text_problem(value))]
        if errors:
            raise problems.invalid(errors)
        return found


Handler = Callable[[Call], Awaitable[Response]]


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")


def problem_response(refusal: problems.Refusal, op_id: str | None = None) -> Response:
    problem = refusal.problem
    if op_id is not None:
        problem = msgspec.structs.replace(problem, op_id=op_id)
    return Response(
        msgspec.json.encode(problems.members(problem)), problem.status, refusal.headers, contract.PROBLEM_JSON
    )


class Methods:
    """One path's handlers by method, as an ASGI application that the router finds."""

    def __init__(
        self, route: str, answer: Callable[[Request, Handler], Awaitable[Response]], **handlers: Handler
    ) -> None:
        self.route, self._answer, self._handlers = route, answer, handlers
        if "GET" in handlers:
            handlers["HEAD"] = handlers["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (handler := self._handlers.get(scope["method"])) is None:
            raise problems.method_not_allowed(list(self._handlers))
        response = await self._answer(Request(scope, receive), handler)
        await response(scope, receive, send)
