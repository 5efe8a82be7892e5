"""A bounded GET for the sources: limited bytes and time, no redirects to other places than asked for, and no address
in any log or error."""

from __future__ import annotations

import contextlib
import contextvars
import errno
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    import httpx

JSON_BYTES = 16 * 1024 * 1024
_REDIRECTS = 5
_quiet: contextvars.ContextVar[bool] = contextvars.ContextVar("quiet", default=False)


class Unreachable(Exception):
    """No usable answer came; ``str()`` says why and holds no address."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


@contextlib.contextmanager
def unlogged() -> Iterator[None]:
    """While this is open, httpx and httpcore log nothing of this task: their lines hold whole addresses."""
    for name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy"):
        logger = logging.getLogger(name)
        if _drop not in logger.filters:
            logger.addFilter(_drop)
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def _drop(_: logging.LogRecord) -> bool:
    return not _quiet.get()


def client(
    timeout: float, *, url: str, transport: httpx.AsyncBaseTransport | None = None, trust_env: bool = True
) -> httpx.AsyncClient:
    """A client that asks no proxy for a local address, follows nothing by itself, and loads certificates only for
    https (that costs 60 ms). Raises Unreachable for an address that is none."""
    import httpx

    try:
        parts = urlsplit(url)
    except ValueError:
        raise Unreachable("the address can't be read") from None
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    return httpx.AsyncClient(
        timeout=timeout,
        transport=transport,
        trust_env=trust_env and not local,
        verify=parts.scheme == "https",
        follow_redirects=False,
        headers={"User-Agent": "aria-tui"},
    )


async def get(
    client: httpx.AsyncClient,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    limit: int = JSON_BYTES,
    redirects: int = 0,
) -> Answer:
    """The answer to a GET, its body at most ``limit`` bytes after decoding. Raises Unreachable, TimeoutError."""
    import httpx

    with unlogged():
        try:
            while True:
                async with client.stream("GET", url, headers=dict(headers or {})) as response:
                    if response.has_redirect_location and redirects > 0:
                        redirects -= 1
                        url, headers = _next_place(response, url, headers)
                        continue
                    return Answer(response.status_code, response.headers, await _body(response, limit))
        except httpx.TimeoutException:
            raise TimeoutError from None
        except httpx.HTTPError as error:
            raise Unreachable(why(error)) from None
        except (httpx.InvalidURL, ValueError, UnicodeError):
            raise Unreachable("the address can't be read") from None


async def get_json(
    client: httpx.AsyncClient, url: str, *, headers: Mapping[str, str] | None = None, limit: int = JSON_BYTES
) -> Any:
    """The JSON of a 200 answer. Raises Unreachable (``HTTP 500``, ``unexpected answer``), TimeoutError."""
    answer = await get(client, url, headers=headers, limit=limit)
    if answer.status != 200:
        raise Unreachable(f"HTTP {answer.status}")
    try:
        return msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unreachable("unexpected answer (not JSON)") from None


def os_error(error: BaseException) -> OSError | None:
    """The operating system's error below a library's."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, OSError) and current.errno is not None:
            return current
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
    return None


def why(error: BaseException) -> str:
    """A connection's failure in words, without the address."""
    import socket
    import ssl

    cause = os_error(error)
    if isinstance(cause, ssl.SSLError):
        return f"TLS: {getattr(cause, 'verify_message', '') or cause.reason or 'failed'}"
    if isinstance(cause, socket.gaierror):
        return "name not found"
    if cause is not None and cause.errno == errno.ECONNREFUSED:
        return "connection refused"
    if cause is not None and cause.strerror:
        return cause.strerror[:1].lower() + cause.strerror[1:]
    words = {"RemoteProtocolError": "the answer was cut short", "ReadError": "the connection was cut",
             "DecodingError": "the answer can't be decoded", "ConnectError": "can't connect",
             "UnsupportedProtocol": "the address must begin with http:// or https://"}  # fmt: skip
    return words.get(type(error).__name__, f"no answer ({type(error).__name__})")


def _next_place(
    response: httpx.Response, url: str, headers: Mapping[str, str] | None
) -> tuple[str, Mapping[str, str] | None]:
    import httpx

    target = httpx.URL(url).join(response.headers.get("Location", ""))
    if target.scheme not in ("http", "https") or (url.startswith("https:") and target.scheme == "http"):
        raise Unreachable("it redirects to another kind of address")
    if (target.host, target.port) != (httpx.URL(url).host, httpx.URL(url).port):
        headers = {k: v for k, v in (headers or {}).items() if k.lower() != "authorization"}
    return str(target), headers


async def _body(response: httpx.Response, limit: int) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > limit:
            raise Unreachable(f"the answer is over {limit // (1024 * 1024)} MiB")
        parts.append(part)
    return b"".join(parts)
