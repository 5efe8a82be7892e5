"""Connections are kept, and one that died in the meantime is nobody's trouble."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from aria_tui.hub import _exchange
from aria_tui.hub.client import HubClient
from tests.hub.client.conftest import Connect
from tests.hub.client.servers import Got, Server, Wire, answer, drop, hub, one_after_the_other, reset, serving


async def send(client: HubClient, op_id: str = "op-1") -> Any:
    return await client.send_batch([b'{"op_id":"%s"}' % op_id.encode()], [op_id], client_id="me", timeout=5)


async def test_one_connection_serves_many_requests(connect: Connect) -> None:
    async with serving(hub) as server:
        client = connect(server.url)
        for _ in range(5):
            assert (await send(client)).kind == "answered"
    assert server.connections == 1


async def close_idle(server: Server) -> None:
    for wire in server.wires:
        wire.close()
        with contextlib.suppress(ConnectionError):
            await wire.writer.wait_closed()


@pytest.mark.case("H06")
async def test_a_server_that_closes_idle_connections_is_no_failure(connect: Connect) -> None:
    """The close is seen, or the race is lost: each write still arrives at once, and once."""
    async with serving(hub) as server:
        client = connect(server.url)
        for number in range(200):
            assert (await send(client, f"op-{number}")).kind == "answered"
            await close_idle(server)
    assert [op for got in server.requests for op in [got.body]] == list(
        dict.fromkeys(got.body for got in server.requests)
    )
    assert len(server.requests) == 200


@pytest.mark.case("H06")
async def test_a_kept_connection_that_dies_under_the_request_is_replaced_in_silence(connect: Connect) -> None:
    for fault in (drop, reset):
        async with serving(one_after_the_other(hub, fault, hub)) as server:
            client = connect(server.url)
            await send(client)
            outcome = await send(client)
        assert (outcome.kind, outcome.reason) == ("answered", "")
        assert server.connections == 2
        assert [got.body for got in server.requests[1:]] == [server.requests[1].body] * 2


async def test_a_new_connection_that_dies_is_a_doubt_at_once(connect: Connect) -> None:
    async with serving(drop) as server:
        outcome = await send(connect(server.url))
    assert (outcome.kind, outcome.reason) == ("in_doubt", "the connection was closed without an answer")
    assert len(server.requests) == 1


@pytest.mark.case("H06")
async def test_one_repeat_is_enough(connect: Connect) -> None:
    async with serving(one_after_the_other(hub, drop)) as server:
        client = connect(server.url)
        await send(client)
        assert (await send(client)).kind == "in_doubt"
    assert len(server.requests) == 3


async def test_a_plain_hub_may_know_no_keys_so_nothing_is_repeated_in_silence(connect: Connect) -> None:
    async with serving(one_after_the_other(hub, drop)) as server:
        client = connect(server.url, plain=True)
        await client.get("/api/tasks", timeout=5)
        outcome = await client.send_one("create_task", "op-1", b"{}", timeout=5)
    assert outcome.kind == "in_doubt"
    assert len(server.requests) == 2


async def test_an_answer_that_began_is_not_asked_for_again(connect: Connect) -> None:
    async def cut(_: Got, wire: Wire) -> None:
        await wire.write(answer(200, b"{", length=99))
        wire.close()

    async with serving(one_after_the_other(hub, cut)) as server:
        client = connect(server.url)
        await send(client)
        assert (await send(client)).kind == "in_doubt"
    assert len(server.requests) == 2


def test_connections_are_given_up_before_servers_do() -> None:
    assert _exchange.IDLE_SECONDS < 4.9


async def test_an_old_connection_is_not_used_again(connect: Connect, monkeypatch: Any) -> None:
    monkeypatch.setattr(_exchange, "IDLE_SECONDS", 0.0)
    async with serving(hub) as server:
        client = connect(server.url)
        for _ in range(3):
            await send(client)
            await asyncio.sleep(0.01)  # older than nothing
    assert server.connections == 3


async def test_closed_and_used_again(connect: Connect) -> None:
    async with serving(hub) as server:
        client = connect(server.url)
        await send(client)
        await client.aclose()
        await client.aclose()
        assert (await send(client)).kind == "answered"
    assert server.connections == 2


async def test_many_requests_at_once(connect: Connect) -> None:
    async with serving(hub) as server:
        client = connect(server.url)
        outcomes = await asyncio.gather(*(send(client, f"op-{n}") for n in range(50)))
    assert {o.kind for o in outcomes} == {"answered"}
    assert [o.results[0].op_id for o in outcomes] == [f"op-{n}" for n in range(50)]
    assert server.connections <= _exchange.CONNECTIONS


async def test_no_cookie_of_a_portal_comes_back(connect: Connect) -> None:
    async with serving(answer(200, {"results": []}, Set_Cookie="track=me; Path=/")) as server:
        client = connect(server.url)
        await send(client)
        await send(client)
    assert all("cookie" not in got.headers for got in server.requests)
