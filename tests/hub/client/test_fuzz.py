"""Whatever comes back: an outcome, and nothing acknowledged that the Hub did not name."""

from __future__ import annotations

import asyncio
import json
import warnings
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aria_tui.config import HubConfig
from aria_tui.errors import AriaError
from aria_tui.hub.client import HubClient, Outcome, in_words
from tests.helpers.fuzz import EXAMPLES
from tests.hub.client.servers import HUB_ID, serving

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
result_like = st.fixed_dictionaries(
    {},
    optional={
        "op_id": st.sampled_from(["op-1", "op-2", "op-9"]) | json_values,
        "status": st.sampled_from(["applied", "rejected", "conflict", "done"]) | json_values,
        "version": st.integers() | json_values,
        "problem": json_values | st.fixed_dictionaries({"type": json_values, "errors": json_values}),
    },
)
bodies = st.one_of(
    st.binary(max_size=300),
    json_values.map(lambda v: json.dumps(v).encode()),
    result_like.map(lambda v: json.dumps(v).encode()),
    st.lists(result_like | json_values, max_size=5).map(lambda v: json.dumps({"results": v}).encode()),
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("type", "title", "detail", "errors", "tasks", "hub_id"), json_values)
    ).map(lambda v: json.dumps(v).encode()),
)
header_values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
known_headers = st.fixed_dictionaries(
    {},
    optional={
        "content-type": st.sampled_from(
            ["application/json", "application/problem+json", "text/html", "APPLICATION/JSON;"]
        )
        | header_values,
        "aria-hub-id": st.sampled_from([HUB_ID, "hub-b"]) | header_values,
        "location": header_values | st.just("http://[x"),
        "retry-after": header_values,
        "date": header_values,
        "aria-backoff": header_values,
        "content-encoding": st.sampled_from(["gzip", "deflate", "br", "x"]),
        "set-cookie": header_values,
    },
)
more_headers = st.dictionaries(
    st.text(st.characters(min_codepoint=0x61, max_codepoint=0x7A), min_size=1, max_size=10).map("x-{}".format),
    header_values,
    max_size=3,
)


async def everything(status: int, headers: dict[str, str], body: bytes, plain: bool) -> list[Outcome]:
    def respond(_: httpx.Request) -> httpx.Response:
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        return httpx.Response(status, headers=raw, stream=httpx.ByteStream(body))

    client = HubClient(HubConfig(url="http://127.0.0.1:1", kind="plain"), transport=httpx.MockTransport(respond))
    client.plain = plain
    client.expected_hub_id = None if plain else HUB_ID
    outcomes = [
        await client.send_batch([b'{"op_id":"op-1"}'], ["op-1", "op-2"], client_id="me", timeout=5),
        await client.send_one("create_task", "op-1", b"{}", timeout=5),
    ]
    await client.ready(5)
    for ask in (client.get("/api/tasks", timeout=5), client.find_tasks("x", timeout=5), client.op_outcome("op-1", 5)):
        try:
            await ask
        except AriaError as error:
            assert str(error)
    probe = await client.probe(5)
    assert probe.may_send or probe.reason
    return outcomes


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(100, 999), known_headers, more_headers, bodies, st.booleans())
def test_any_answer_is_an_outcome(
    status: int, known: dict[str, str], more: dict[str, str], body: bytes, plain: bool
) -> None:
    outcomes = asyncio.run(everything(status, {**more, **known}, body, plain))
    for outcome in outcomes:
        assert (outcome.reason == "") is (outcome.kind == "answered")
        in_words(outcome.reason)
        if outcome.kind == "answered":
            assert 200 <= status < 300
            assert "json" in known["content-type"].lower()
            assert b"op-" in body or not outcome.results or plain
            assert plain or known["aria-hub-id"].strip() == HUB_ID
        else:
            assert outcome.results == ()
        assert outcome.wait_s is None or 0 <= outcome.wait_s <= 3600


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.binary(max_size=200)
    | st.binary(max_size=200).map(lambda b: b"HTTP/1.1 200 OK\r\n" + b)
    | st.binary(max_size=200).map(lambda b: b"HTTP/1.1 200 OK\r\nAria-Hub-Id: hub-a\r\n\r\n" + b)
)
def test_any_bytes_on_the_socket_are_an_outcome(data: bytes) -> None:
    async def run() -> Any:
        async def script(_: Any, wire: Any) -> None:
            await wire.write(data)
            wire.close()

        async with serving(script) as server:
            client = HubClient(HubConfig(url=server.url))
            client.expected_hub_id = HUB_ID
            outcome = await client.send_batch([b'{"op_id":"op-1"}'], ["op-1"], client_id="me", timeout=5)
            await client.aclose()
            return outcome

    with warnings.catch_warnings():
        outcome = asyncio.run(run())
    assert outcome.kind in ("in_doubt", "unreachable", "wait", "server_error")
