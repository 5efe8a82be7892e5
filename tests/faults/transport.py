"""The network between the client and the real Hub, with its faults chosen by a test; and what really passed through it.

A fault is a word. What the client is told and what the Hub did are two things; ``log`` holds what the Hub did.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.faults.clock import SimulatedClock

BEFORE = ("refused", "dropped", "timeout_before")
"""The Hub never saw it."""
AFTER = ("cut", "timeout_after", "half", "garbled", "no_content")
"""The Hub did it and the client can't read that."""
FOREIGN = ("portal", "other_json", "empty_json", "redirect", "bad_gateway", "proxy_413", "proxy_401", "bad_list")
"""Somebody else answered."""
OWN = ("unauthenticated", "forbidden", "slow_down", "unavailable", "error_500", "error_500_done", "too_large")
"""The Hub answered, and did nothing (but for ``error_500_done``)."""
HALF_WAY = ("late", "duplicated", "missing_results", "retry_one", "please_slow_down")
UNANSWERED = ("dropped", "timeout_before", "late", *AFTER)
"""A write was sent and the client knows nothing of its end: an attempt is spent where the Hub says that it is ready."""
FAULTS = BEFORE + AFTER + FOREIGN + OWN + HALF_WAY


@dataclass
class Applied:
    """An effect at the Hub, as its own answer told it."""

    op_id: str
    operation: str
    entity: str
    payload: dict[str, Any]
    account: str
    seq: int = 0


@dataclass
class Network(httpx.AsyncBaseTransport):
    """One client's way to the Hub. ``inner`` may be replaced when the Hub restarts; ``severed`` is for ever."""

    inner: httpx.AsyncBaseTransport
    clock: SimulatedClock
    choose: Callable[[str], str] = lambda method: ""
    log: list[Applied] = field(default_factory=list)
    sent: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    """(key, operation, payload) of every operation of every write that left the client, repeats too."""
    blamed: set[str] = field(default_factory=set)
    """Keys that the Hub itself found fault with (retry, refusal, 500): only these may become dead letters, and those
    that were sent in vain as often as an operation has attempts."""
    unanswered: Counter[str] = field(default_factory=Counter)
    """How often each key was sent in vain."""
    late: list[httpx.Request] = field(default_factory=list)
    requests: int = 0
    writes: int = 0
    accounts: dict[str, str] = field(default_factory=dict)
    """Bearer token → account."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests += 1
        write = request.method not in ("GET", "HEAD")
        ops = operations(request)
        self.writes += write
        fault = self.choose(request.method)
        if fault != "refused":  # where nobody listens nothing was sent
            self.sent += [(op["op_id"], op["operation"], op["payload"]) for op in ops]
        if fault in UNANSWERED:
            self.unanswered.update(op["op_id"] for op in ops)
        return await self._respond(request, fault, ops, write)

    async def _respond(
        self, request: httpx.Request, fault: str, ops: list[dict[str, Any]], write: bool
    ) -> httpx.Response:
        match fault:
            case "":
                return await self.pass_on(request)
            case "refused":
                raise httpx.ConnectError("connection refused", request=request)
            case "dropped":
                raise httpx.ReadError("connection reset", request=request)
            case "timeout_before":
                self.clock.advance(3)
                raise httpx.ReadTimeout("no answer", request=request)
            case "late" if write:
                self.late.append(request)
                raise httpx.ReadTimeout("no answer", request=request)
            case "duplicated":
                await self.pass_on(request)
                return await self.pass_on(request)
            case "missing_results" if len(ops) > 1:
                return changed(await self.pass_on(request), forget_last)
            case "retry_one" if ops:
                return await self._retry_one(request, ops)
            case "please_slow_down":
                answer = await self.pass_on(request)
                answer.headers["Aria-Backoff"] = "7"
                return answer
        if fault in AFTER or fault == "error_500_done":
            if fault == "error_500_done":
                self.blamed |= {op["op_id"] for op in ops}
            return self._unreadable(fault, await self.pass_on(request), request)
        if fault in OWN:
            return await self._own(fault, request, ops)
        if fault in FOREIGN:
            return foreign(fault, request)
        return await self.pass_on(request)

    async def pass_on(self, request: httpx.Request) -> httpx.Response:
        """The real Hub's answer; effects are noted before anything can happen to the answer."""
        copy = httpx.Request(request.method, request.url, headers=request.headers, content=request.content)
        answer = await self.inner.handle_async_request(copy)
        await answer.aread()
        self._note(request, answer)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content, request=request)

    async def deliver_late(self) -> None:
        """What was on its way all the time reaches the Hub now; nobody hears its answer."""
        while self.late:
            await self.pass_on(self.late.pop(0))

    def _note(self, request: httpx.Request, answer: httpx.Response) -> None:
        if request.method in ("GET", "HEAD") or not answer.is_success:
            return
        asked = {op["op_id"]: op for op in operations(request)}
        document = answer.json()
        account = self.accounts.get(request.headers.get("authorization", "").removeprefix("Bearer "), "")
        for result in document.get("results", [document]):
            op = asked.get(result.get("op_id", ""))
            if op and result["status"] == "applied":
                entity = result.get("entity") or op.get("entity") or ""
                self.log.append(Applied(op["op_id"], op["operation"], entity, op["payload"], account))
            elif op and result["status"] in ("rejected", "retry"):
                self.blamed.add(op["op_id"])

    async def _retry_one(self, request: httpx.Request, ops: list[dict[str, Any]]) -> httpx.Response:
        """The Hub can't do the first operation now: its entity's others are skipped, the rest is done."""
        first = ops[0]
        if "ops" not in json.loads(request.content):
            return await self.pass_on(request)
        entity = first.get("entity")
        rest = [op for op in ops if op.get("entity") != entity]
        self.blamed.add(first["op_id"])
        body = json.dumps({**json.loads(request.content), "ops": rest}).encode()
        headers = {k: v for k, v in request.headers.items() if k.lower() != "content-length"}
        answer = await self.pass_on(httpx.Request(request.method, request.url, headers=headers, content=body))
        if not answer.is_success:
            return answer
        done = {result["op_id"]: result for result in answer.json()["results"]}

        def put_in(document: dict[str, Any]) -> dict[str, Any]:
            document["results"] = [
                done.get(op["op_id"]) or refusal(op, first["op_id"]) for op in ops
            ]  # fmt: skip
            return document

        return changed(answer, put_in)

    def _unreadable(self, fault: str, answer: httpx.Response, request: httpx.Request) -> httpx.Response:
        match fault:
            case "cut":
                raise httpx.RemoteProtocolError("server disconnected without sending a response", request=request)
            case "timeout_after":
                self.clock.advance(3)
                raise httpx.ReadTimeout("no answer", request=request)
            case "half":
                kept = own_headers(answer)
                half = answer.content[: len(answer.content) // 2]
                return httpx.Response(answer.status_code, headers=kept, content=half, request=request)
            case "garbled":
                kept = {**own_headers(answer), "content-type": "application/json"}
                return httpx.Response(200, headers=kept, content=b"\xff\xfe\x00", request=request)
            case "no_content":
                return httpx.Response(204, headers=own_headers(answer), request=request)
        return problem(answer, request, 500, "internal")

    async def _own(self, fault: str, request: httpx.Request, ops: list[dict[str, Any]]) -> httpx.Response:
        probe = httpx.Request("GET", request.url.copy_with(path="/healthz", query=None))
        answer = await self.inner.handle_async_request(probe)
        await answer.aread()
        match fault:
            case "unauthenticated":
                return problem(answer, request, 401, "unauthenticated", {"WWW-Authenticate": "Bearer"})
            case "forbidden":
                return problem(answer, request, 403, "forbidden")
            case "slow_down":
                return problem(answer, request, 429, "slow-down", {"Retry-After": "11"})
            case "unavailable":
                return problem(answer, request, 503, "slow-down", {"Retry-After": "5"})
            case "too_large" if len(ops) > 1:
                return problem(answer, request, 413, "too-large")
            case "error_500":
                self.blamed |= {op["op_id"] for op in ops}
                return problem(answer, request, 500, "internal")
        return await self.pass_on(request)

    async def aclose(self) -> None:
        return None


def operations(request: httpx.Request) -> list[dict[str, Any]]:
    """The operations that a write bears, in the form of a batch."""
    if request.method in ("GET", "HEAD") or not request.content:
        return []
    body = json.loads(request.content)
    if isinstance(body, dict) and "ops" in body:
        return list(body["ops"])
    name = request.url.path.rpartition("/")[2]
    return [{"op_id": request.headers.get("idempotency-key", "").strip('"'), "operation": name, "payload": body}]


def own_headers(answer: httpx.Response) -> dict[str, str]:
    return {k: v for k, v in answer.headers.items() if k.startswith("aria-hub")}


def problem(
    answer: httpx.Response, request: httpx.Request, status: int, word: str, headers: dict[str, str] | None = None
) -> httpx.Response:
    """A problem document of this very Hub."""
    body = {"type": f"/problems/{word}", "title": word, "status": status, "detail": word, "retryable": True}
    kept = {**own_headers(answer), "content-type": "application/problem+json", **(headers or {})}
    return httpx.Response(status, headers=kept, content=json.dumps(body).encode(), request=request)


def foreign(fault: str, request: httpx.Request) -> httpx.Response:
    """An answer of somebody who is not the Hub."""
    html, js = {"content-type": "text/html"}, {"content-type": "application/json"}
    status, headers, body = {
        "portal": (200, html, b"<html>please log in</html>"),
        "other_json": (200, js, b'{"status": "applied", "ok": true}'),
        "empty_json": (200, js, b"{}"),
        "bad_list": (200, js, b"[]"),
        "redirect": (307, {"location": "https://login.example.net/"}, b""),
        "bad_gateway": (502, html, b"<html>Bad Gateway</html>"),
        "proxy_413": (413, html, b"<html>Too Large</html>"),
        "proxy_401": (401, html, b"<html>Sign in</html>"),
    }[fault]
    return httpx.Response(status, headers=headers, content=body, request=request)


def changed(answer: httpx.Response, change: Callable[[dict[str, Any]], dict[str, Any]]) -> httpx.Response:
    """The Hub's answer with its document changed."""
    if not answer.is_success or "results" not in answer.text:
        return answer
    headers = {k: v for k, v in answer.headers.items() if k.lower() != "content-length"}
    content = json.dumps(change(answer.json())).encode()
    return httpx.Response(answer.status_code, headers=headers, content=content, request=answer.request)


def forget_last(document: dict[str, Any]) -> dict[str, Any]:
    document["results"] = document["results"][:-1]
    return document


def refusal(op: dict[str, Any], head: str) -> dict[str, Any]:
    """``retry`` for the head, ``skipped`` for what stands behind it."""
    is_head = op["op_id"] == head
    body = {"type": f"/problems/{'slow-down' if is_head else 'blocked'}", "title": "not now", "status": 503}
    if not is_head:
        body["blocked_by"] = head
    return {
        "op_id": op["op_id"], "status": "retry" if is_head else "skipped", "entity": op.get("entity"), "problem": body,
    }  # fmt: skip
