"""Requests that bring no answer: what is said, and whether anything may have been sent."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from typing import Any

import httpx
import pytest

from aria_tui.config import HubConfig
from aria_tui.errors import HubUnavailable
from aria_tui.hub.client import HubClient
from tests.hub.client.conftest import Certificates, Connect
from tests.hub.client.servers import Got, Wire, answer, black_hole, free_port, hang, hub, serving


async def send(client: HubClient, timeout: float = 5) -> Any:
    return await client.send_batch([b'{"op_id":"op-1"}'], ["op-1"], client_id="me", timeout=timeout)


async def test_refused(connect: Connect) -> None:
    client = connect(f"http://127.0.0.1:{free_port()}")
    outcome = await send(client)
    assert (outcome.kind, outcome.state, outcome.reason) == ("unreachable", "offline", "connection refused")
    probe = await client.probe(5)
    assert (probe.state, probe.reason, probe.may_send) == ("offline", "connection refused", False)
    assert await client.ready(5) is False
    with pytest.raises(HubUnavailable) as raised:
        await client.get("/api/tasks", timeout=5)
    assert (raised.value.state, raised.value.reason) == ("offline", "connection refused")


@pytest.mark.case("H05")
@pytest.mark.parametrize("error", [socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_FAIL])
async def test_a_name_that_is_not_known(connect: Connect, monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(error, "whatever the system says")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    outcome = await send(connect("https://hub.example.com"))
    assert (outcome.kind, outcome.state) == ("unreachable", "offline")
    assert outcome.reason.startswith("name not found")


@pytest.mark.case("H05")
async def test_a_name_that_can_not_exist(connect: Connect) -> None:
    outcome = await send(connect("https://nobody.invalid"), timeout=20)
    assert (outcome.kind, outcome.state) == ("unreachable", "offline")
    assert outcome.reason.startswith("name not found")


@pytest.mark.parametrize(
    "url", ["https://" + "a" * 70 + ".com", "https://é" + "x" * 300, "https://a..b", "https://xn--/"]
)
async def test_a_host_that_can_be_no_name(connect: Connect, url: str) -> None:
    outcome = await send(connect(url))
    assert (outcome.kind, outcome.state) == ("unreachable", "offline")
    assert outcome.reason.startswith(("name not found", "the address can't be used"))


async def test_a_name_server_that_does_not_answer_costs_the_deadline_only(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = threading.Event()

    def stuck(*_: Any, **__: Any) -> Any:
        until.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "late")

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    try:
        outcome = await send(connect("https://hub.example.com"), timeout=0.3)
    finally:
        until.set()
    assert (outcome.kind, outcome.state, outcome.reason) == ("unreachable", "offline", "no answer in 0.3 s")


def test_a_name_server_that_does_not_answer_does_not_hold_the_exit() -> None:
    program = """
import asyncio, socket, time
from aria_tui.config import HubConfig
from aria_tui.hub.client import HubClient
socket.getaddrinfo = lambda *a, **k: time.sleep(3600)
async def main():
    client = HubClient(HubConfig(url="https://hub.example.com"))
    print((await client.probe(0.2)).reason)
    await client.aclose()
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr, done.returncode) == ("no answer in 0.2 s\n", "", 0)


async def test_a_black_hole_was_sent_nothing(connect: Connect) -> None:
    with black_hole() as port:
        outcome = await send(connect(f"http://127.0.0.1:{port}"), timeout=0.5)
    assert (outcome.kind, outcome.state, outcome.reason) == ("unreachable", "offline", "no answer in 0.5 s")


async def test_a_hub_that_hangs_was_sent_something(connect: Connect) -> None:
    async with serving(hang) as server:
        outcome = await send(connect(server.url), timeout=0.5)
    assert (outcome.kind, outcome.state, outcome.reason) == ("in_doubt", "offline", "no answer in 0.5 s")


@pytest.mark.case("H05")
@pytest.mark.parametrize("first", ["::1", "127.0.0.1"], ids=["AAAA", "A"])
async def test_a_dead_address_before_a_good_one(connect: Connect, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """Happy Eyeballs (RFC 8305): the good address is tried while the dead one keeps silent."""
    good = "127.0.0.1" if first == "::1" else "127.0.0.2"
    async with serving(hub, host=good) as server:
        with black_hole(first, server.port):
            family = socket.AF_INET6 if ":" in first else socket.AF_INET
            real = socket.getaddrinfo

            def resolve(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
                if host not in ("hub.test", b"hub.test"):
                    return real(host, port, *args, **kwargs)
                rest = (0, 0) if ":" in first else ()
                return [
                    (family, socket.SOCK_STREAM, 6, "", (first, server.port, *rest)),
                    (socket.AF_INET, socket.SOCK_STREAM, 6, "", (good, server.port)),
                ]

            monkeypatch.setattr(socket, "getaddrinfo", resolve)
            outcome = await send(connect(f"http://hub.test:{server.port}", allow_http=True), timeout=2)
    assert outcome.kind == "answered"


# TLS


async def test_a_good_certificate(connect: Connect, certificates: Certificates) -> None:
    async with serving(hub, tls=certificates.good()) as server:
        client = connect(server.url)
        assert (await send(client)).kind == "answered"
        assert (await client.probe(5)).may_send


@pytest.mark.case("H05")
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("self_signed", "TLS: self-signed certificate"),
        ("expired", "TLS: certificate expired"),
        ("not_yet", "TLS: certificate is not valid yet"),
        ("unknown_issuer", "TLS: certificate by an unknown authority"),
    ],
)
async def test_a_bad_certificate(connect: Connect, certificates: Certificates, kind: str, reason: str) -> None:
    async with serving(hub, tls=getattr(certificates, kind)()) as server:
        client = connect(server.url)
        outcome = await send(client)
        probe = await client.probe(5)
    assert (outcome.kind, outcome.state, outcome.reason) == ("unreachable", "not_the_hub", reason)
    assert (probe.state, probe.reason, probe.may_send) == ("not_the_hub", reason, False)
    assert server.bytes_in == 0


@pytest.mark.case("H05")
async def test_a_certificate_for_another_name(connect: Connect, certificates: Certificates) -> None:
    async with serving(hub, tls=certificates.good("hub.example.com")) as server:
        for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
            outcome = await send(connect(url))
            assert (outcome.kind, outcome.reason) == ("unreachable", "TLS: certificate is for another name")
    assert server.bytes_in == 0


async def test_https_to_a_server_without_tls(connect: Connect) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(200))
        writer.close()

    listening = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with listening:
        outcome = await send(connect(f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"))
    assert (outcome.kind, outcome.reason) == ("unreachable", "TLS: the server doesn't speak it")


async def test_http_to_a_server_with_tls_never_sends_in_the_clear_twice(
    connect: Connect, certificates: Certificates
) -> None:
    async with serving(hub, tls=certificates.good()) as server:
        outcome = await send(connect(server.url.replace("https", "http")))
    assert outcome.kind == "in_doubt"
    assert server.requests == []


# Transports that are not ours


class Broken(httpx.AsyncBaseTransport):
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise self.error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError("x"), "unreachable"),
        (httpx.ConnectTimeout("x"), "unreachable"),
        (httpx.PoolTimeout("x"), "unreachable"),
        (httpx.UnsupportedProtocol("x"), "unreachable"),
        (httpx.ReadError("x"), "in_doubt"),
        (httpx.ReadTimeout("x"), "in_doubt"),
        (httpx.WriteError("x"), "in_doubt"),
        (httpx.RemoteProtocolError("x"), "in_doubt"),
        (RuntimeError("token=secret"), "in_doubt"),
        (KeyError("x"), "in_doubt"),
        (ExceptionGroup("many", [OSError(111, "x")]), "in_doubt"),
        (RecursionError(), "in_doubt"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
@pytest.mark.parametrize("embedded", [True, False])
async def test_whatever_a_transport_raises_is_an_outcome(error: Exception, kind: str, embedded: bool) -> None:
    url = "" if embedded else "http://127.0.0.1:1"
    client = HubClient(HubConfig(url=url), transport=Broken(error), embedded=embedded)
    outcome = await send(client)
    assert outcome.kind == kind
    assert "secret" not in outcome.reason
    assert (await client.probe(1)).may_send is False


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (httpx.ConnectTimeout("x"), "no answer"),
        (httpx.ReadError("x"), "connection lost"),
        (httpx.ProxyError("407  Sign\nin"), "proxy: 407 Sign in"),
        (httpx.RemoteProtocolError("x"), "the connection was closed without an answer"),
        (httpx.LocalProtocolError("Illegal header value b'secret'"), "the address can't be used"),
        (httpx.TooManyRedirects("x"), "network error: TooManyRedirects"),
        (RuntimeError("secret"), "the embedded Hub failed (RuntimeError)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_what_is_said_of_it(error: Exception, reason: str) -> None:
    client = HubClient(HubConfig(), transport=Broken(error), embedded=True)
    assert (await client.probe(1)).reason == reason


async def test_an_address_in_ipv6(connect: Connect) -> None:
    async with serving(hub, host="::1") as server:
        assert (await send(connect(server.url))).kind == "answered"
    assert server.requests[0].headers["host"] == f"[::1]:{server.port}"


async def test_being_cancelled_is_no_outcome(connect: Connect) -> None:
    began = asyncio.Event()

    async def script(_: Got, wire: Wire) -> None:
        began.set()
        await wire.reader.read()
        wire.open = False

    async with serving(script) as server:
        client = connect(server.url)
        task = asyncio.create_task(send(client, 60))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        server.script = hub
        assert (await send(client)).kind == "answered"
