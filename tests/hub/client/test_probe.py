"""Who answers: ours, another, a plain Hub, or no Hub at all."""

from __future__ import annotations

from typing import Any

import pytest

from aria_tui.hub.client import HubClient
from tests.hub.client.conftest import Connect
from tests.hub.client.servers import (
    HUB_ID,
    META,
    PORTAL,
    Got,
    Script,
    Wire,
    answer,
    drip,
    hang,
    hub,
    problem,
    serving,
)


def meta(**changes: Any) -> bytes:
    return answer(200, {**META, **changes})


async def test_ours(connect: Connect) -> None:
    async with serving(hub) as server:
        client = connect(server.url, expected=None)
        probe = await client.probe(5)
    assert (probe.state, probe.reason, probe.may_send, probe.plain) == ("online", "", True, False)
    assert probe.meta is not None
    assert (probe.meta.hub_id, probe.meta.seq, probe.meta.account, probe.meta.api) == (HUB_ID, 7, "me", 1)
    assert probe.latency_ms > 0
    assert client.expected_hub_id == HUB_ID
    assert [(got.method, got.target) for got in server.requests] == [("GET", "/api/meta")]


async def test_another_hub_is_named_but_not_used(connect: Connect) -> None:
    async with serving(hub) as server:
        client = connect(server.url, expected="hub-z")
        probe = await client.probe(5)
    assert (probe.state, probe.reason, probe.may_send) == ("not_the_hub", "another Hub answers at this address", False)
    assert probe.meta is not None
    assert probe.meta.hub_id == HUB_ID
    assert client.expected_hub_id == "hub-z"


async def test_slow(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    from aria_tui.hub import _probe

    monkeypatch.setattr(_probe, "SLOW_MS", 0.0)
    async with serving(hub) as server:
        probe = await connect(server.url).probe(5)
    assert (probe.state, probe.may_send) == ("slow", True)


@pytest.mark.parametrize(
    ("limits", "ops", "size"),
    [({}, 1000, 1048576), ({"batch_ops": 0, "body_bytes": -1}, 1, 1024), ({"batch_ops": 5, "new": 1}, 5, 1048576)],
)
async def test_limits_are_sane(connect: Connect, limits: dict[str, int], ops: int, size: int) -> None:
    async with serving(meta(limits=limits)) as server:
        probe = await connect(server.url).probe(5)
    assert probe.meta is not None
    assert (probe.meta.limits.batch_ops, probe.meta.limits.body_bytes) == (ops, size)


async def test_a_later_interface_is_not_spoken(connect: Connect) -> None:
    async with serving(meta(api=2)) as server:
        probe = await connect(server.url).probe(5)
    assert (probe.state, probe.may_send) == ("not_the_hub", False)
    assert "version 2" in probe.reason


NO_HUB = {
    "html": answer(200, PORTAL, hub_id=None, media="text/html"),
    "list": answer(200, [], hub_id=None),
    "object": answer(200, {}, hub_id=None),
    "empty": answer(200, b"", hub_id=None),
    "204": answer(204, b"", media=None),
    "other json": answer(200, {"status": "ok"}, hub_id=None),
    "meta without the header": answer(200, META, hub_id=None),
    "meta of another id than the header": answer(200, {**META, "hub_id": "hub-b"}),
    "meta without an id": answer(200, {**META, "hub_id": ""}, hub_id=""),
    "seq is text": answer(200, {**META, "seq": "7"}),
    "half": answer(200, b'{"hub_id": "hub-a", "epo'),
    "401 page": answer(401, PORTAL, hub_id=None, media="text/html"),
    "401 json without id": problem(401, "unauthenticated", hub_id=None),
    "403 page": answer(403, PORTAL, hub_id=None, media="text/html"),
    "400": answer(400, b"", hub_id=None),
    "404 of a Hub that was ours": answer(404, PORTAL, hub_id=None, media="text/html"),
}


@pytest.mark.case("H01")
@pytest.mark.parametrize("data", NO_HUB.values(), ids=NO_HUB.keys())
async def test_no_hub(connect: Connect, data: bytes) -> None:
    async with serving(data) as server:
        probe = await connect(server.url).probe(5)
    assert (probe.state, probe.may_send, probe.meta) == ("not_the_hub", False, None)
    assert probe.reason
    assert len(server.requests) == 1


async def test_a_redirect_is_named_and_not_followed(connect: Connect) -> None:
    async with serving(hub) as other, serving(answer(302, b"", Location=f"{other.url}/x")) as server:
        client = connect(server.url)
        probe = await client.probe(5)
        assert (probe.state, probe.reason) == ("not_the_hub", f"redirected to {other.url}/x")
        assert await client.ready(5) is False
    assert other.connections == 0


@pytest.mark.parametrize("expected", [HUB_ID, None])
@pytest.mark.parametrize(("status", "word"), [(401, "unauthenticated"), (403, "forbidden")])
async def test_the_token_is_refused(connect: Connect, status: int, word: str, expected: str | None) -> None:
    async with serving(problem(status, word)) as server:
        client = connect(server.url, expected=expected)
        probe = await client.probe(5)
    assert (probe.state, probe.may_send) == ("refused", False)
    assert "token" in probe.reason
    assert client.expected_hub_id == expected


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("hub_id", [HUB_ID, None])
async def test_a_hub_that_can_not_now(connect: Connect, status: int, hub_id: str | None) -> None:
    async with serving(answer(status, b"", hub_id=hub_id, Retry_After="7")) as server:
        probe = await connect(server.url).probe(5)
    assert (probe.state, probe.may_send) == ("offline", False)
    assert str(status) in probe.reason
    assert probe.wait_s == (7.0 if status in (408, 429, 503) else None)


@pytest.mark.case("H01")
@pytest.mark.parametrize("status", [200, 204, 302, 401, 403, 404, 418])
async def test_no_hub_s_retry_after_is_no_word_of_the_hub(connect: Connect, status: int) -> None:
    data = answer(status, PORTAL, hub_id=None, media="text/html", Retry_After="7")
    async with serving(data) as server:
        probe = await connect(server.url).probe(5)
    assert (probe.state, probe.wait_s) == ("not_the_hub", None)


async def test_a_404_of_ours_is_no_plain_hub(connect: Connect) -> None:
    async with serving(problem(404, "not-found")) as server:
        probe = await connect(server.url, expected=None, kind="plain").probe(5)
    assert (probe.state, probe.may_send, probe.plain) == ("offline", False, False)


@pytest.mark.parametrize("script", [hang, drip(answer(200, META), 0.05)], ids=["silent", "dripping"])
async def test_the_deadline(connect: Connect, script: Script) -> None:
    async with serving(script) as server:
        probe = await connect(server.url).probe(0.3)
    assert (probe.state, probe.may_send) == ("offline", False)
    assert probe.reason in ("no answer in 0.3 s", "the answer was cut short")


# A plain Hub: 404 at /api/meta, a list of tasks, and the user's word: all three


def plain_hub(meta_answer: bytes, tasks: bytes) -> Script:
    async def script(got: Got, wire: Wire) -> None:
        await wire.write(meta_answer if got.target == "/api/meta" else tasks)

    return script


NOT_FOUND = answer(404, {"detail": "Not Found"}, hub_id=None)
TASKS = answer(200, {"tasks": [{"id": 1, "title": "x"}]}, hub_id=None)


async def test_plain(connect: Connect) -> None:
    async with serving(plain_hub(NOT_FOUND, TASKS)) as server:
        client = connect(server.url, expected=None, kind="plain")
        probe = await client.probe(5)
    assert (probe.state, probe.may_send, probe.plain, probe.meta) == ("online", True, True, None)
    assert client.plain is True
    assert client.expected_hub_id is None
    assert [got.target for got in server.requests] == ["/api/meta", "/api/tasks?limit=1"]


async def test_plain_without_the_users_word(connect: Connect) -> None:
    async with serving(plain_hub(NOT_FOUND, TASKS)) as server:
        client = connect(server.url, expected=None)
        probe = await client.probe(5)
        assert (probe.state, probe.may_send, probe.plain, client.plain) == ("not_the_hub", False, True, False)
        assert 'kind = "plain"' in probe.reason
        client.agree_to_plain()
        assert (await client.probe(5)).may_send is True
    assert client.plain is True


async def test_what_was_ours_never_becomes_plain(connect: Connect) -> None:
    async with serving(plain_hub(NOT_FOUND, TASKS)) as server:
        client = connect(server.url, expected=HUB_ID, kind="plain")
        probe = await client.probe(5)
    assert (probe.state, probe.may_send, probe.plain, client.plain) == ("not_the_hub", False, False, False)
    assert [got.target for got in server.requests] == ["/api/meta"]


async def test_ours_is_used_as_ours_although_plain_is_configured(connect: Connect) -> None:
    async with serving(hub) as server:
        client = connect(server.url, expected=None, kind="plain")
        probe = await client.probe(5)
    assert (probe.may_send, probe.plain, client.plain, client.expected_hub_id) == (True, False, False, HUB_ID)


@pytest.mark.parametrize(
    ("meta_answer", "tasks"),
    [
        (answer(200, PORTAL, hub_id=None, media="text/html"), TASKS),
        (answer(405, {"detail": "x"}, hub_id=None), TASKS),
        (NOT_FOUND, answer(200, PORTAL, hub_id=None, media="text/html")),
        (NOT_FOUND, answer(200, [], hub_id=None)),
        (NOT_FOUND, answer(200, {}, hub_id=None)),
        (NOT_FOUND, answer(200, {"tasks": "many"}, hub_id=None)),
        (NOT_FOUND, answer(200, {"tasks": [1]}, hub_id=None)),
        (NOT_FOUND, answer(404, {"detail": "Not Found"}, hub_id=None)),
        (NOT_FOUND, answer(200, b'{"tasks": [', hub_id=None)),
    ],
)
async def test_not_plain(connect: Connect, meta_answer: bytes, tasks: bytes) -> None:
    async with serving(plain_hub(meta_answer, tasks)) as server:
        client = connect(server.url, expected=None, kind="plain")
        probe = await client.probe(5)
    assert (probe.state, probe.may_send, probe.plain, client.plain) == ("not_the_hub", False, False, False)


@pytest.mark.parametrize("where", ["meta", "tasks"])
async def test_a_plain_hub_refuses_the_token(connect: Connect, where: str) -> None:
    refused = answer(401, {"detail": "who are you"}, hub_id=None)
    async with serving(plain_hub(refused if where == "meta" else NOT_FOUND, refused)) as server:
        probe = await connect(server.url, expected=None, kind="plain").probe(5)
    assert (probe.state, probe.reason, probe.may_send) == ("refused", "token refused", False)


async def test_a_plain_hub_that_is_away_for_its_tasks(connect: Connect) -> None:
    async with serving(plain_hub(NOT_FOUND, answer(503, b"", hub_id=None))) as server:
        probe = await connect(server.url, expected=None, kind="plain").probe(5)
    assert (probe.state, probe.may_send, probe.plain) == ("offline", False, False)


# Ready


@pytest.mark.parametrize(
    ("data", "ready"),
    [
        (answer(200, {"status": "ready"}), True),
        (answer(200, b"", media=None), True),
        (answer(200, {"status": "ready"}, hub_id=None), False),
        (answer(200, {"status": "ready"}, hub_id="hub-b"), False),
        (problem(503, "slow-down"), False),
        (answer(204, b"", media=None), False),
    ],
)
async def test_ready(connect: Connect, data: bytes, ready: bool) -> None:
    async with serving(data) as server:
        assert await connect(server.url).ready(5) is ready
    assert server.requests[0].target == "/readyz"


async def test_embedded_says_embedded() -> None:
    import httpx

    from aria_tui.config import HubConfig

    def respond(request: httpx.Request) -> httpx.Response:
        assert "authorization" not in request.headers
        return httpx.Response(200, json=META, headers={"Aria-Hub-Id": HUB_ID})

    config = HubConfig(headers={"X-A": "1"}, token="ignored")
    client = HubClient(config, transport=httpx.MockTransport(respond), embedded=True)
    probe = await client.probe(5)
    assert (probe.state, probe.may_send, client.url) == ("embedded", True, "http://embedded")
