"""One request and its answer, under a deadline, over one transport: an Answer or a NoAnswer, never an exception.

The transport is used without httpx's client: no redirects are followed, no cookies kept, no netrc read, and nothing
of the environment decides where a token goes, except for the proxy (``_proxy.py``).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from aria_tui.hub import _address, _background, _failures, _httpx, _proxy, _tls
from aria_tui.hub import _reasons as reasons
from aria_tui.hub._outcomes import Answer, NoAnswer
from aria_tui.hub._retry_after import parse_backoff, parse_http_date, parse_retry_after

if TYPE_CHECKING:
    import httpx

LARGEST_ANSWER = 32 * 1024 * 1024
"""Bytes of a body, unpacked, beyond which it isn't read on."""
IDLE_SECONDS = 4.0
"""A kept connection is not used again after this: servers close theirs after 5 s and more."""
CONNECTIONS = 8

_log = logging.getLogger("aria.hub")


class Line:
    """The way to one Hub. Built cheaply; the transport comes with the first request."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        transport: httpx.AsyncBaseTransport | None,
        now: Callable[[], datetime],
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._headers = dict(headers)
        self._given = transport
        self._transport: httpx.AsyncBaseTransport | None = transport
        self._unkept: httpx.AsyncBaseTransport | None = None
        """Makes a connection for each request and keeps none."""
        self._opening = asyncio.Lock()
        self._proxied = False
        self._now = now

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        timeout: float,
        repeatable: bool,
        params: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer | NoAnswer:
        """Sends once. Only when a kept connection turns out to be dead and ``repeatable`` (the request does no harm
        when it is done twice) it is sent once more, within the same ``timeout`` seconds; over a new connection, for
        the other kept ones may be as dead."""
        deadline = asyncio.get_running_loop().time() + timeout
        asked = {**self._headers, **(headers or {})}
        got = await self._once(method, path, params, content, asked, deadline, timeout)
        if isinstance(got, NoAnswer) and got.stale and repeatable:
            got = await self._once(method, path, params, content, asked, deadline, timeout, kept=False)
        return got

    async def aclose(self) -> None:
        """Closes the connections; the line can be used again (a transport that was given stays with its giver)."""
        if self._given is None:
            open_now = [transport for transport in (self._transport, self._unkept) if transport is not None]
            self._transport = self._unkept = None
            for transport in open_now:
                await transport.aclose()

    async def _once(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any] | None,
        content: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
        timeout: float,
        *,
        kept: bool = True,
    ) -> Answer | NoAnswer:
        watch = _Watch(known=self._given is None)
        reading = _Reading(self.base_url, watch, self._now)
        try:
            async with asyncio.timeout_at(deadline):
                try:
                    transport = await self._open(kept)
                    request = _request(method, self.base_url + path, params, content, headers, watch)
                    await reading.take(await transport.handle_async_request(request))
                finally:
                    await reading.close()
        except TimeoutError:
            return reading.cut(reasons.CUT_SHORT) or NoAnswer(
                state="offline", reason=reasons.SILENT.format(seconds=f"{timeout:g}"), sent=watch.sent
            )
        except _proxy.ProxyProblem as problem:
            return NoAnswer(state="offline", reason=str(problem), sent=False)
        except Exception as error:  # noqa: BLE001 - whatever a transport raises: an outcome, not an exception
            return reading.cut(_cut_reason(error)) or self._failed(error, watch)
        return reading.whole()

    async def _open(self, kept: bool) -> httpx.AsyncBaseTransport:
        """The transport whose connections are kept, or the one that makes new ones."""
        async with self._opening:
            if self._given is not None:
                return self._given
            if kept:
                if self._transport is None:
                    self._transport = await _background.call(lambda: self._build(CONNECTIONS))
                return self._transport
            if self._unkept is None:
                self._unkept = await _background.call(lambda: self._build(0))
            return self._unkept

    def _build(self, kept: int) -> httpx.AsyncBaseTransport:
        """On a thread: loading httpx and the certificates takes over 100 ms, which a screen would feel. ``kept``: how
        many idle connections stay open."""
        parts = _address.parse(self.base_url)
        proxy = _proxy.choose(parts)
        self._proxied = bool(proxy)
        _httpx.load()
        import httpx

        limits = httpx.Limits(
            max_connections=CONNECTIONS, max_keepalive_connections=kept, keepalive_expiry=IDLE_SECONDS
        )
        return httpx.AsyncHTTPTransport(
            verify=_tls.context(parts.scheme), trust_env=False, limits=limits, proxy=proxy or None
        )

    def _failed(self, error: Exception, watch: _Watch) -> NoAnswer:
        import httpx

        sent = watch.sent and not _failures.never_sent(error)
        stale = sent and watch.known and not watch.connected
        if isinstance(error, httpx.HTTPError | httpx.InvalidURL | UnicodeError):
            state, reason = _failures.explain(error, proxied=self._proxied)
            _log.debug("no answer: %s (%s)", reason, type(error).__name__)
        else:
            state, words = "offline", reasons.EMBEDDED_FAILED if self._given else reasons.NETWORK
            reason = words.format(detail=type(error).__name__)
            _log.warning("a request failed in an unforeseen way", exc_info=error)
        return NoAnswer(state=state, reason=reason, sent=sent, stale=stale)


def _request(
    method: str,
    url: str,
    params: Mapping[str, Any] | None,
    content: bytes | None,
    headers: Mapping[str, str],
    watch: _Watch,
) -> httpx.Request:
    import httpx

    extensions = {"timeout": {}, "trace": watch}  # one deadline around it all, no time-outs within
    return httpx.Request(method, url, params=params, content=content, headers=headers, extensions=extensions)


class _Watch:
    """What httpcore tells while it works (its ``trace`` extension): whether a connection was made for this request,
    and whether any byte of the request itself was on its way. A transport that tells nothing may have sent it."""

    def __init__(self, *, known: bool) -> None:
        self.known = known
        self.sent = not known
        self.connected = False
        self.started = time.monotonic()
        """When the request itself began to go out, so that latency is the Hub's and not the connection's."""

    async def __call__(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith("connect_tcp.started"):
            self.connected = True
            await _look_up(info["host"], info["port"])
        elif event.endswith("send_request_headers.started"):
            self.sent = self.sent or info["request"].method != b"CONNECT"
            self.started = time.monotonic()


async def _look_up(host: str, port: int) -> None:
    """Asks for the name on a thread that nobody waits for, before the event loop's own look-up does: that one would
    hold the program's exit for as long as a dead name server takes. Raises ConnectError."""
    try:
        await _background.call(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError) as error:
        import httpx

        raise httpx.ConnectError("name not found") from error


class _Reading:
    """An answer while it comes in."""

    def __init__(self, base_url: str, watch: _Watch, now: Callable[[], datetime]) -> None:
        self._base_url, self._watch, self._now = base_url, watch, now
        self._response: httpx.Response | None = None
        self._body = bytearray()
        self._fault = ""

    async def take(self, response: httpx.Response) -> None:
        self._response = response
        async for part in response.aiter_bytes():
            self._body += part
            if len(self._body) > LARGEST_ANSWER:
                self._body.clear()
                self._fault = reasons.TOO_LONG
                return

    async def close(self) -> None:
        if self._response is not None:
            await self._response.aclose()

    def cut(self, fault: str) -> Answer | None:
        """The answer without the rest of its body; None if not even its head came."""
        return None if self._response is None else self._answer(fault)

    def whole(self) -> Answer:
        return self._answer(self._fault)

    def _answer(self, fault: str) -> Answer:
        assert self._response is not None
        headers = self._response.headers
        location = headers.get("location", "")
        sent_at = parse_http_date(headers.get("date"), self._now()) or self._now()
        return Answer(
            status=self._response.status_code,
            content_type=headers.get("content-type", "").partition(";")[0].strip().lower(),
            hub_id=headers.get("aria-hub-id", "").strip(),
            epoch=headers.get("aria-hub-epoch", "").strip(),
            location=_address.shown_target(location, self._base_url) if location else "",
            retry_after_s=parse_retry_after(headers.get("retry-after"), sent_at),
            slow_down_s=parse_backoff(headers.get("aria-backoff")),
            replayed=headers.get("idempotent-replayed", "").strip().lower() == "true",
            body=bytes(self._body),
            fault=fault,
            latency_ms=(time.monotonic() - self._watch.started) * 1000,
        )


def _cut_reason(error: Exception) -> str:
    import httpx

    return reasons.UNREADABLE if isinstance(error, httpx.DecodingError) else reasons.CUT_SHORT
