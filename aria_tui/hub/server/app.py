"""The Hub as an ASGI application: routes, who may, and what every answer bears."""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from aria_tui.hub.server import metrics, problems, reads, writes
from aria_tui.hub.server.problems import Refusal
from aria_tui.hub.server.service import Hub
from aria_tui.hub.server.storage.base import StorageRefused, StorageUnavailable
from aria_tui.hub.server.web import Call, Handler, Methods, json_response, problem_response

log = logging.getLogger("aria_tui.hub")
log.addHandler(logging.NullHandler())  # embedded in a command, the Hub's log is nowhere unless that is configured

PATHS: dict[str, dict[str, Handler]] = {
    "/api/meta": {"GET": reads.meta},
    "/api/queue": {"POST": writes.batch},
    "/api/queue/ops/{op_id:path}": {"GET": writes.recorded},
    "/api/queue/{operation}": {"POST": writes.single},
    "/api/tasks": {"GET": reads.tasks, "POST": writes.create_task},
    "/api/tasks/{id}": {"GET": reads.task, "PATCH": writes.update_task, "DELETE": writes.delete_task},
    "/api/tasks/{id}/complete": {"POST": writes.complete_task},
    "/api/insights": {"GET": reads.insights, "POST": writes.capture_insight},
    "/api/briefings": {"GET": reads.briefings},
    "/api/briefings/{date}": {"GET": reads.briefing, "PUT": writes.store_briefing},
    "/api/activity": {"GET": reads.activity},
    "/api/summary": {"GET": reads.summary},
    "/api/changes": {"GET": reads.changes},
}
_READS = ("GET", "HEAD")
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class HubApp:
    """ASGI. Every answer, an error too, names the Hub and its epoch; no exception leaves it."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        routes = [Route(path, Methods(path, self._answer, **handlers)) for path, handlers in PATHS.items()]
        routes += [
            Route("/healthz", Methods("/healthz", self._open, GET=_healthy)),
            Route("/readyz", Methods("/readyz", self._open, GET=_ready)),
        ]
        if hub.options.metrics:
            routes.append(Route("/metrics", Methods("/metrics", self._open, GET=_metrics)))
        self._router = Router(routes, redirect_slashes=False, default=_nowhere)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._sign(MutableHeaders(scope=message))
            await send(message)

        try:
            await self._router(scope, receive, answer)
        except Exception as error:
            if status:
                raise
            await _refused(error)(scope, receive, answer)
        finally:
            self._note(scope, status, time.perf_counter() - started)

    def _sign(self, headers: MutableHeaders) -> None:
        headers["Aria-Hub-Id"] = self.hub.hub_id
        headers["Aria-Hub-Epoch"] = self.hub.epoch
        headers["Cache-Control"] = "no-store"

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        """One log line a request: no token, no payload, and the route instead of the path, which may hold an id."""
        route = getattr(scope.get("endpoint"), "route", "-")
        method = scope["method"] if scope["method"] in _METHODS else "-"
        self.hub.metrics.request(method, route, status, seconds)
        if not log.isEnabledFor(logging.INFO):
            return
        fields = {
            "method": method,
            "route": route,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "account": scope.get("aria.account"),
        }
        log.info("request", extra={"fields": fields})

    async def _answer(self, request: Request, handler: Handler) -> Response:
        await self.hub.identify()
        account, scope = await self._who(request)
        request.scope["aria.account"] = account
        reading = request.method in _READS
        if not reading and scope != "write":
            raise problems.forbidden("this token may read, not write")
        if reading:
            self.hub.charge(account)
        return await self._in_time(handler(Call(self.hub, request, account, scope)))

    async def _who(self, request: Request) -> tuple[str, str]:
        if self.hub.options.open_account is not None:
            return self.hub.options.open_account, "write"
        address = request.client.host if request.client else "-"
        header = request.headers.get("authorization")
        token = await self.hub.doorkeeper.authenticate(header, address, self.hub.clock())
        return token.account, token.scope

    async def _in_time(self, work: asyncio.Future[Response] | object) -> Response:
        try:
            async with asyncio.timeout(self.hub.options.request_seconds):
                return await work  # type: ignore[misc, no-any-return]
        except TimeoutError:
            raise problems.slow_down("the request took too long", 1, status=503) from None

    async def _open(self, request: Request, handler: Handler) -> Response:
        return await handler(Call(self.hub, request, "", ""))


def _refused(error: Exception) -> Response:
    match error:
        case Refusal():
            return problem_response(error)
        case StorageUnavailable():
            log.warning("storage", extra={"fields": {"error": str(error)}})
            return problem_response(problems.slow_down("the database does not answer", 1, status=503))
        case StorageRefused():
            log.error("storage", extra={"fields": {"error": str(error)}})
            return problem_response(problems.failed())
        case _:
            log.error("failed", exc_info=error)
            return problem_response(problems.failed())


async def _healthy(call: Call) -> Response:
    """GET /healthz: the process is up."""
    return json_response({"status": "ok"})


async def _ready(call: Call) -> Response:
    """GET /readyz: the database answers."""
    try:
        await call.hub.storage.ping()
    except StorageUnavailable:
        raise problems.slow_down("the database does not answer", 1, status=503) from None
    return json_response({"status": "ready"})


async def _metrics(call: Call) -> Response:
    """GET /metrics"""
    return Response(call.hub.metrics.text(), media_type=metrics.CONTENT_TYPE)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        raise problems.not_found("this path")


async def create_app(hub: Hub) -> HubApp:
    """The application, with the Hub's identity read once. Raises StorageUnavailable."""
    await hub.identify(afresh=True)
    return HubApp(hub)
