"""The way through a proxy, and round it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aria_tui.hub import _proxy
from aria_tui.hub.client import HubClient
from tests.hub.client.conftest import TOKEN, Certificates, Connect
from tests.hub.client.servers import Got, Wire, answer, drop, free_port, hub, serving


async def send(client: HubClient) -> Any:
    return await client.send_batch([b'{"op_id":"op-1"}'], ["op-1"], client_id="me", timeout=5)


async def test_plain_http_goes_through_the_proxy(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async def proxy(got: Got, wire: Wire) -> None:
        await hub(got._replace(target=urlsplit(got.target).path), wire)

    async with serving(proxy) as server:
        monkeypatch.setenv("http_proxy", server.url)
        outcome = await send(connect("http://hub.example.com", allow_http=True))
    assert outcome.kind == "answered"
    assert server.requests[0].target == "http://hub.example.com/api/queue"


async def test_this_machine_is_reached_directly(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(hub) as proxy, serving(hub) as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert (await send(connect(server.url))).kind == "answered"
        assert (await send(connect(server.url.replace("127.0.0.1", "localhost")))).kind == "answered"
    assert proxy.connections == 0


def tunnel(target: tuple[str, int]) -> Any:
    """A proxy that connects to ``target``, whatever it is asked for."""

    async def script(got: Got, wire: Wire) -> None:
        reader, writer = await asyncio.open_connection(*target)
        await wire.write(b"HTTP/1.1 200 Connected\r\n\r\n")

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()

        try:
            async with asyncio.TaskGroup() as group:
                back = group.create_task(pump(reader, wire.writer))
                await pump(wire.reader, writer)
                back.cancel()
        finally:
            writer.close()
            wire.open = False

    return script


async def test_https_goes_through_a_tunnel(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, certificates: Certificates
) -> None:
    async with (
        serving(hub, tls=certificates.good("hub.example.com")) as server,
        serving(tunnel(("127.0.0.1", server.port))) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("http://", "http://me:pass-word@"))
        client = connect("https://hub.example.com")
        assert (await send(client)).kind == "answered"
        await client.aclose()
    (opened,) = proxy.requests
    assert (opened.method, opened.target) == ("CONNECT", "hub.example.com:443")
    assert TOKEN not in str(opened)


@pytest.mark.parametrize("status", [403, 407, 502, 503])
async def test_a_tunnel_that_is_refused_was_sent_nothing(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    async with serving(answer(status, b"<html>", hub_id=None)) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        outcome = await send(connect("https://hub.example.com"))
    assert (outcome.kind, outcome.state) == ("unreachable", "offline")
    assert outcome.reason.startswith(f"proxy: {status}")


async def test_a_proxy_that_closes_was_sent_nothing(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(drop) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        outcome = await send(connect("https://hub.example.com"))
    assert outcome.kind == "unreachable"


async def test_a_proxy_that_is_away(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", f"http://me:pass-word@127.0.0.1:{free_port()}")
    outcome = await send(connect("https://hub.example.com"))
    assert (outcome.kind, outcome.state, outcome.reason) == ("unreachable", "offline", "proxy: connection refused")


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        ("socks4://127.0.0.1:1080", "proxy: the kind socks4 isn't supported"),
        ("ftp://pass-word@127.0.0.1", "proxy: the kind ftp isn't supported"),
        ("http://", "proxy: its address can't be read"),
        ("http://[::1", "proxy: its address can't be read"),
        ("http://127.0.0.1:port", "proxy: its address can't be read"),
        ("://", "proxy: its address can't be read"),
        ("http://pass-word@127.0.0.1:99999", "proxy: its address can't be read"),
    ],
)
@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
async def test_a_proxy_that_makes_no_sense(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, reason: str
) -> None:
    monkeypatch.setenv(variable, proxy)
    client = connect("https://hub.example.com")
    outcome = await send(client)
    assert (outcome.kind, outcome.state, outcome.reason) == ("unreachable", "offline", reason)
    assert (await client.probe(5)).reason == reason


async def test_socks_without_its_package(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        import socksio  # noqa: F401
    except ImportError:
        monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1080")
        outcome = await send(connect("https://hub.example.com"))
        assert (outcome.kind, outcome.reason) == ("unreachable", "proxy: SOCKS needs the package socksio")


async def test_a_proxy_without_a_scheme_is_http(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", f"127.0.0.1:{free_port()}")
    outcome = await send(connect("https://hub.example.com"))
    assert outcome.reason == "proxy: connection refused"


async def test_a_host_in_no_proxy_is_reached_directly(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
        return real("127.0.0.1" if host in ("hub.test", b"hub.test") else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("no_proxy", "[::bad, ,:80,.test")
    async with serving(hub) as server:
        outcome = await send(connect(f"http://hub.test:{server.port}", allow_http=True))
    assert outcome.kind == "answered"


@pytest.mark.parametrize(
    ("host", "port", "no_proxy", "excepted"),
    [
        ("hub.example.com", 443, "", False),
        ("hub.example.com", 443, "*", True),
        ("hub.example.com", 443, "hub.example.com", True),
        ("HUB.example.com.", 443, "Hub.Example.Com", True),
        ("hub.example.com", 443, "example.com", True),
        ("hub.example.com", 443, ".example.com", True),
        ("hub.example.com", 443, "*.example.com", True),
        ("example.com", 443, ".example.com", True),
        ("badexample.com", 443, "example.com", False),
        ("hub.example.com", 443, "example.com:443", True),
        ("hub.example.com", 443, "example.com:80", False),
        ("hub.example.com", 443, "other.com, example.com", True),
        ("hub.example.com", 443, ",,  ,", False),
        ("hub.example.com", 443, "com:port", False),
        ("10.1.2.3", 443, "10.0.0.0/8", True),
        ("10.1.2.3", 443, "10.1.2.3", True),
        ("10.1.2.3", 443, "10.1.2.3:443", True),
        ("10.1.2.3", 443, "11.0.0.0/8", False),
        ("10.1.2.3", 443, "10.0.0.0/99", False),
        ("2001:db8::1", 443, "2001:db8::/32", True),
        ("2001:db8::1", 443, "[2001:db8::1]", True),
        ("2001:db8::1", 443, "[2001:db8::1]:443", True),
        ("2001:db8::1", 443, "[2001:db8::1]:80", False),
        ("hub.example.com", 443, ".", False),
        ("hub.example.com", 443, "*.", False),
    ],
)
def test_no_proxy(host: str, port: int, no_proxy: str, excepted: bool) -> None:
    assert _proxy.excepted(host, port, no_proxy) is excepted


@given(st.text(max_size=40), st.integers(1, 65535), st.text(max_size=80))
def test_no_proxy_never_raises(host: str, port: int, no_proxy: str) -> None:
    _proxy.excepted(host, port, no_proxy)
