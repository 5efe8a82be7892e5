"""What an exception of the transport means: in words, and whether the request may have reached the server."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

from aria_tui.hub import _reasons as reasons
from aria_tui.hub import _tls
from aria_tui.models import HubState

_ERRNO = {  # of several addresses' failures the first of these is told
    errno.ECONNREFUSED: reasons.REFUSED,
    errno.ENETUNREACH: reasons.NO_ROUTE,
    errno.EHOSTUNREACH: reasons.NO_ROUTE,
    errno.ENETDOWN: reasons.NO_ROUTE,
    errno.EADDRNOTAVAIL: reasons.NO_ROUTE,
    errno.ECONNRESET: reasons.RESET,
    errno.ECONNABORTED: reasons.RESET,
    errno.EPIPE: reasons.RESET,
}


def explain(error: BaseException, *, proxied: bool = False) -> tuple[HubState, str]:
    """The Hub's state and the reason, from what lies under an httpx error. Never quotes the request."""
    import httpx

    if isinstance(error, httpx.ProxyError):
        return "offline", reasons.PROXY_FAILED.format(detail=_short(str(error)))
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError | UnicodeError):
        return "offline", reasons.BAD_ADDRESS
    chain = list(_causes(error))
    for cause in chain:
        if isinstance(cause, ssl.SSLError):
            return "not_the_hub", _tls.in_words(cause)
    for cause in chain:
        if isinstance(cause, socket.gaierror):
            words = reasons.NO_RESOLVER if cause.errno == socket.EAI_AGAIN else reasons.NO_NAME
            return "offline", reasons.PROXY_FAILED.format(detail=words) if proxied else words
    if any(isinstance(cause, UnicodeError) for cause in chain):  # a label that is empty or too long for a host's name
        return "offline", reasons.BAD_ADDRESS
    numbers = {cause.errno for cause in chain if isinstance(cause, OSError)}
    for number, words in _ERRNO.items():
        if number in numbers:
            return "offline", reasons.PROXY_FAILED.format(detail=words) if proxied else words
    if isinstance(error, httpx.RemoteProtocolError):
        if any(type(cause).__module__.startswith("h11") for cause in chain):
            return "not_the_hub", reasons.NOT_HTTP
        return "offline", reasons.CLOSED
    if isinstance(error, httpx.TimeoutException):  # the system's own, before our deadline
        return "offline", reasons.GAVE_UP
    if isinstance(error, httpx.NetworkError):
        return "offline", reasons.RESET
    return "offline", reasons.NETWORK.format(detail=type(error).__name__)


def never_sent(error: BaseException) -> bool:
    """Whether the kind of error alone says that no byte of the request left this machine."""
    import httpx

    return isinstance(
        error,
        httpx.ConnectError
        | httpx.ConnectTimeout
        | httpx.PoolTimeout
        | httpx.ProxyError
        | httpx.UnsupportedProtocol
        | httpx.LocalProtocolError
        | httpx.InvalidURL,
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it came from, and the members of groups (all addresses of a host were tried), outermost first."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        waiting += [e for e in (one.__cause__, one.__context__) if e is not None]


def _short(text: str) -> str:
    return " ".join(text.split())[:120]
