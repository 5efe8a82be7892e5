"""The torture Hub: the real one behind faults, for the tests of any client. ``faults.py`` says what it can do."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aria_tui.hub import contract
from aria_tui.hub.server import problems
from aria_tui.hub.server.app import HubApp
from aria_tui.hub.server.faults import Arrived, Dice, Fault, Plan, arrived
from aria_tui.hub.server.service import now_ms
from aria_tui.hub.server.web import json_response, problem_response

_LOG_LENGTH = 10_000
_PORTAL = {
    "html": (200, "text/html", b"<!doctype html><title>Welcome</title><form action=/login>Log in to the Wi-Fi</form>"),
    "list": (200, "application/json", b"[]"),
    "object": (200, "application/json", b"{}"),
    "other": (200, "application/json", b'{"service": "another", "ok": true}'),
    "nothing": (204, "text/plain", b""),
}
_REFUSED = {"retry": 503, "rejected": 422, "conflict": 409}


class Torture:
    """ASGI, served by uvicorn: cutting a connection needs its transport."""

    def __init__(self, app: HubApp, plan: Plan) -> None:
        self._app: ASGIApp = app
        self._hub = app.hub
        self._log: deque[dict[str, Any]] = deque(maxlen=_LOG_LENGTH)
        self._take(plan)

    def _take(self, plan: Plan) -> None:
        self._dice = Dice(plan)
        self._hub.clock = lambda: now_ms() + round(plan.clock_skew * 1000)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        body = await _body(receive)
        request = arrived(scope["method"], scope["path"], body, headers.get("idempotency-key"))
        if request.path.startswith("/faults"):
            await self._control(request)(scope, _again(body), send)
            return
        fault = self._dice.throw(request)
        entry: dict[str, Any] = {
            "method": request.method,
            "path": request.path,
            "keys": request.keys,
            "fault": fault.kind if fault else None,
            "status": None,
        }
        self._log.append(entry)

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry["status"] = message["status"]
            await send(message)

        if fault is None:
            await self._app(scope, _again(body), noting)
        else:
            await _KINDS[fault.kind](_Case(self._app, fault, request, scope, noting, send))

    def _control(self, request: Arrived) -> Response:
        if request.path == "/faults/log":
            return json_response({"requests": list(self._log)})
        if request.method == "PUT":
            try:
                self._take(msgspec.json.decode(request.body, type=Plan))
            except msgspec.DecodeError as error:
                return problem_response(problems.bad_request(str(error)))
            self._log.clear()
        return json_response({"faults": self._dice.counts()})


class _Case:
    """One request and the fault it met."""

    def __init__(self, app: ASGIApp, fault: Fault, request: Arrived, scope: Scope, send: Send, raw: Send) -> None:
        self.app, self.fault, self.request, self.scope, self.send, self._raw = app, fault, request, scope, send, raw

    async def apply(self, body: bytes | None = None) -> Response:
        """Lets the real Hub answer, and keeps the answer."""
        status, headers, chunks = 0, {}, []

        async def collect(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in message["headers"]}
            else:
                chunks.append(message.get("body", b""))

        await self.app(self.scope, _again(self.request.body if body is None else body), collect)
        headers.pop("content-length", None)
        return Response(b"".join(chunks), status, headers)

    async def answer(self, response: Response) -> None:
        await response(self.scope, _again(b""), self.send)

    async def close(self, data: bytes = b"") -> None:
        """Writes what is given, as it stands, and ends the connection: with nothing to write, by a reset."""
        transport: asyncio.Transport = self._raw.__self__.transport  # type: ignore[attr-defined]
        if data:
            transport.write(data)
            transport.close()
        else:
            transport.abort()
        while not self._raw.__self__.disconnected:  # type: ignore[attr-defined]  # noqa: ASYNC110 - uvicorn's own flag
            await asyncio.sleep(0.001)


async def _drop(case: _Case) -> None:
    await case.close()


async def _cut(case: _Case) -> None:
    response = await case.apply()
    whole = bytes(response.body)
    half = whole[: max(1, len(whole) // 2)]
    head = f"HTTP/1.1 {response.status_code} OK\r\ncontent-type: application/json\r\n".encode()
    head += b"".join(
        name + b": " + value + b"\r\n" for name, value in response.raw_headers if name.startswith(b"aria-")
    )
    match case.fault.how:
        case "reset":
            await case.close()
        case "short":
            await case.close(head + f"content-length: {len(whole)}\r\n\r\n".encode() + half)
        case "chunked":
            await case.close(head + f"transfer-encoding: chunked\r\n\r\n{len(whole):x}\r\n".encode() + half)
        case "unframed":
            await case.close(head + b"connection: close\r\n\r\n" + half)
        case "gzip":
            broken = b"\x1f\x8b\x08\x00" + half
            length = f"content-encoding: gzip\r\ncontent-length: {len(broken)}\r\n\r\n"
            await case.close(head + length.encode() + broken)
        case "empty":
            await case.close(head + b"content-length: 0\r\nconnection: close\r\n\r\n")


async def _delay(case: _Case) -> None:
    if case.fault.when == "before":
        await asyncio.sleep(case.fault.seconds)
        await case.answer(await case.apply())
        return
    response = await case.apply()
    await asyncio.sleep(case.fault.seconds)
    await case.answer(response)


async def _duplicate(case: _Case) -> None:
    *_, last = await asyncio.gather(*(case.apply() for _ in range(case.fault.copies)))
    await case.answer(last)


async def _portal(case: _Case) -> None:
    status, media, body = _PORTAL[case.fault.body]
    await case.answer(Response(body, status, media_type=media))


async def _redirect(case: _Case) -> None:
    await case.answer(Response(status_code=case.fault.status or 302, headers={"Location": case.fault.location}))


async def _status(case: _Case) -> None:
    status = case.fault.status or 503
    headers = {} if case.fault.retry_after is None else {"Retry-After": str(case.fault.retry_after)}
    if case.fault.foreign:
        page = f"<html><h1>{status}</h1><hr>proxy</html>".encode()
        await case.answer(Response(page, status, headers, "text/html"))
        return
    signed = await _signature(case)
    problem = _problem(status)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = msgspec.json.encode(problems.members(problem))
    await case.answer(Response(body, status, {**headers, **signed}, contract.PROBLEM_JSON))


async def _signature(case: _Case) -> Mapping[str, str]:
    """The headers that every answer of the real Hub bears."""
    scope = {**case.scope, "method": "GET", "path": "/healthz", "raw_path": b"/healthz"}
    response = await _Case(case.app, case.fault, case.request, scope, case.send, case.send).apply(b"")
    return {name: value for name, value in response.headers.items() if name.startswith("aria-")}


def _problem(status: int) -> contract.Problem:
    known: dict[int, problems.Refusal] = {
        401: problems.unauthenticated("the token is not known here"),
        403: problems.forbidden("this token may read, not write"),
        413: problems.too_large("the body is too large"),
        409: problems.in_progress(),
        412: problems.version("another version is current"),
    }
    if status in known:
        return known[status].problem
    if status in (408, 429, 503):
        return problems.slow_down("the torture Hub says so", 1, status=status).problem
    if status < 500:
        return msgspec.structs.replace(problems.bad_request("the torture Hub says so").problem, status=status)
    return msgspec.structs.replace(problems.failed().problem, status=status)


async def _partial(case: _Case) -> None:
    if case.request.batch is None:
        await case.answer(await case.apply())
        return
    ops = case.request.ops
    keep = len(ops) // 2 if case.fault.keep is None else case.fault.keep
    sent = ops if case.fault.applied == "all" else ops[:keep]
    response = await case.apply(msgspec.json.encode({**case.request.batch, "ops": sent}))
    await case.answer(_with_results(response, lambda results: results[:keep]))


async def _refuse(case: _Case) -> None:
    if case.request.batch is None:
        case.fault.status = _REFUSED[case.fault.result]
        await _status(case)
        return
    instead: dict[int, dict[str, Any]] = {}
    blocked: dict[str, str] = {}
    for place, op in enumerate(case.request.ops):
        entity = _entity(op)
        op_id = str(op.get("op_id"))
        if entity in blocked:
            problem = problems.blocked(blocked[entity]).problem
            instead[place] = _result(op_id, entity, "skipped", problem)
        elif case.fault.fits_operation(op):
            blocked[entity] = op_id
            problem = _problem(_REFUSED[case.fault.result])
            instead[place] = _result(op_id, entity, case.fault.result, problem)
    sent = [op for place, op in enumerate(case.request.ops) if place not in instead]
    response = await case.apply(msgspec.json.encode({**case.request.batch, "ops": sent}))

    def whole(results: list[Any]) -> list[Any]:
        rest = iter(results)
        return [instead[place] if place in instead else next(rest) for place in range(len(case.request.ops))]

    await case.answer(_with_results(response, whole))


def _entity(op: dict[str, Any]) -> str:
    payload = op.get("payload")
    known = payload if isinstance(payload, dict) else {}
    return op.get("entity") or contract.entity_of(str(op.get("operation")), known, str(op.get("op_id")))


def _result(op_id: str, entity: str, status: str, problem: contract.Problem) -> dict[str, Any]:
    return {"op_id": op_id, "status": status, "entity": entity, "problem": problems.members(problem)}


def _with_results(response: Response, change: Callable[[list[Any]], list[Any]]) -> Response:
    if response.status_code != 200:
        return response
    body = msgspec.json.decode(bytes(response.body))
    body["results"] = change(body["results"])
    return Response(
        msgspec.json.encode(body), 200, {k: v for k, v in response.headers.items() if k != "content-length"}
    )


_KINDS: dict[str, Callable[[_Case], Awaitable[None]]] = {
    "drop": _drop,
    "cut": _cut,
    "delay": _delay,
    "duplicate": _duplicate,
    "portal": _portal,
    "redirect": _redirect,
    "status": _status,
    "partial": _partial,
    "refuse": _refuse,
}


async def _body(receive: Receive) -> bytes:
    chunks = []
    while True:
        message = await receive()
        chunks.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(chunks)


def _again(body: bytes) -> Receive:
    """A body that was read already, to be read by the application."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    return receive
