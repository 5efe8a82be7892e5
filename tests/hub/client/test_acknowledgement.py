"""What acknowledges, what refuses, what is an outage and what leaves a doubt: exact bytes over real sockets."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from aria_tui.hub.client import HubClient, Outcome
from tests.hub.client.conftest import TOKEN, Connect
from tests.hub.client.servers import (
    HUB_ID,
    PORTAL,
    Got,
    Script,
    Wire,
    acknowledgement,
    always,
    answer,
    drip,
    drop,
    hang,
    hub,
    problem,
    reset,
    serving,
)

OP = b'{"op_id":"op-1","operation":"create_task","payload":{"title":"x"}}'
TWO = [OP, b'{"op_id":"op-2","operation":"create_task","payload":{"title":"y"}}']


async def batch(client: HubClient, timeout: float = 5) -> Outcome:
    return await client.send_batch([OP], ["op-1"], client_id="me", timeout=timeout)


async def single(client: HubClient, timeout: float = 5) -> Outcome:
    return await client.send_one("create_task", "op-1", b'{"title":"x"}', timeout=timeout)


both_ways = pytest.mark.parametrize("send", [batch, single], ids=["batch", "single"])


@both_ways
async def test_a_hub_acknowledges(connect: Connect, send: Any) -> None:
    async with serving(hub) as server:
        outcome = await send(connect(server.url))
    assert (outcome.kind, outcome.state, outcome.reason) == ("answered", "online", "")
    assert [(r.op_id, r.status) for r in outcome.results] == [("op-1", "applied")]
    assert outcome.latency_ms > 0


async def test_what_goes_over_the_wire(connect: Connect) -> None:
    async with serving(hub) as server:
        client = connect(server.url)
        await client.send_batch(TWO, ["op-1", "op-2"], client_id='m"e', timeout=5)
        await single(client)
    first, second = server.requests
    assert (first.method, first.target) == ("POST", "/api/queue")
    assert json.loads(first.body) == {"client_id": 'm"e', "ops": [json.loads(op) for op in TWO]}
    assert len(first.body) == client.batch_overhead('m"e', 2) + sum(map(len, TWO))
    assert "idempotency-key" not in first.headers
    assert (second.target, second.headers["idempotency-key"]) == ("/api/queue/create_task", '"op-1"')
    assert second.body == b'{"title":"x"}'
    for got in server.requests:
        assert got.headers["authorization"] == f"Bearer {TOKEN}"
        assert got.headers["content-type"] == "application/json"
        assert got.headers["user-agent"].startswith("aria-tui/")
        assert "cookie" not in got.headers


async def test_a_path_before_the_api_is_kept(connect: Connect) -> None:
    async with serving(hub) as server:
        await single(connect(f"{server.url}/aria/"))
    assert server.requests[0].target == "/aria/api/queue/create_task"


def results(*entries: Any) -> bytes:
    return answer(200, {"results": list(entries), "cursor": "1"})


FINE = {"op_id": "op-1", "status": "applied", "entity": "task:1", "version": 3}


@pytest.mark.parametrize(
    ("entries", "acknowledged"),
    [
        ([FINE], ["op-1"]),
        ([], []),
        ([{**FINE, "op_id": "op-9"}], []),
        ([{**FINE, "status": "done"}], []),
        ([{**FINE, "status": None}], []),
        ([{**FINE, "status": ["applied"]}], []),
        ([{**FINE, "version": "three"}], []),
        ([{"status": "applied"}], []),
        (["op-1", None, 3, [FINE]], []),
        ([FINE, FINE], ["op-1"]),
        ([FINE, {**FINE, "status": "rejected"}], []),
        ([{**FINE, "new_field": {"any": 1}}], ["op-1"]),
        ([{**FINE, "op_id": "op-2"}, FINE], ["op-2", "op-1"]),
    ],
)
async def test_only_what_is_named_once_and_understood_is_acknowledged(
    connect: Connect, entries: list[Any], acknowledged: list[str]
) -> None:
    async with serving(results(*entries)) as server:
        outcome = await connect(server.url).send_batch(TWO, ["op-1", "op-2"], client_id="me", timeout=5)
    assert outcome.kind == "answered"
    assert [r.op_id for r in outcome.results] == acknowledged


@pytest.mark.parametrize("status", ["applied", "duplicate", "superseded", "conflict", "rejected", "retry", "skipped"])
async def test_each_status_comes_through(connect: Connect, status: str) -> None:
    entry = {
        **FINE,
        "status": status,
        "current": {"title": "theirs"},
        "problem": {"type": "urn:x:validation", "detail": "no", "errors": [{"field": "title", "message": "bad"}]},
    }
    async with serving(results(entry)) as server:
        (result,) = (await batch(connect(server.url))).results
    assert (result.status, result.current) == (status, {"title": "theirs"})
    assert result.problem is not None
    assert (result.problem.word, result.problem.errors) == ("validation", [{"field": "title", "message": "bad"}])


@pytest.mark.parametrize("odd", [7, "text", [], {"type": 7, "status": "x", "errors": "none", "detail": {}}])
async def test_an_odd_problem_does_not_hide_the_status(connect: Connect, odd: Any) -> None:
    async with serving(results({**FINE, "status": "rejected", "problem": odd})) as server:
        (result,) = (await batch(connect(server.url))).results
    assert result.status == "rejected"


PORTALS = {
    "html": answer(200, PORTAL, hub_id=None, media="text/html"),
    "html that claims to be json": answer(200, PORTAL, hub_id=None),
    "list": answer(200, [], hub_id=None),
    "object": answer(200, {}, hub_id=None),
    "other json": answer(200, {"service": "printer", "status": "ok"}, hub_id=None),
    "204": answer(204, b"", hub_id=None, media=None),
    "empty": answer(200, b"", hub_id=None, media=None),
    "no content type": answer(200, PORTAL, hub_id=None, media=None),
    "a right body without the id": answer(200, {"results": [FINE], **FINE}, hub_id=None),
    "404 page": answer(404, PORTAL, hub_id=None, media="text/html"),
    "401 page": answer(401, PORTAL, hub_id=None, media="text/html"),
    "403 page": answer(403, PORTAL, hub_id=None, media="text/html"),
    "413 page": answer(413, PORTAL, hub_id=None, media="text/html"),
    "422 without id": problem(422, hub_id=None),
    "401 without id": problem(401, "unauthenticated", hub_id=None),
    "511": answer(501, PORTAL, hub_id=None, media="text/html"),
    "401 page with the id": answer(401, PORTAL, media="text/html"),
    "400 json with the id, no problem": answer(400, {"error": "x"}),
    "304": answer(304, b"", hub_id=None, media=None),
}


@pytest.mark.case("H01")
@both_ways
@pytest.mark.parametrize("data", PORTALS.values(), ids=PORTALS.keys())
@pytest.mark.parametrize("expected", [HUB_ID, None], ids=["known", "first met"])
async def test_a_portal_is_an_outage(connect: Connect, send: Any, data: bytes, expected: str | None) -> None:
    async with serving(always(data, close=True)) as server:
        outcome = await send(connect(server.url, expected=expected))
    assert (outcome.kind, outcome.state, outcome.results) == ("unreachable", "not_the_hub", ())
    assert outcome.reason.startswith("unexpected answer (login page?)")


@both_ways
@pytest.mark.parametrize(
    "data",
    [
        answer(200, {"results": [FINE], **FINE}, hub_id="hub-b"),
        answer(200, {"results": [FINE], **FINE}, hub_id="hub-a, hub-b"),
        problem(401, "unauthenticated", hub_id="hub-b"),
        problem(422, hub_id="hub-b"),
        problem(503, "slow-down", hub_id="hub-b"),
        answer(500, b"", hub_id="hub-b"),
    ],
    ids=["ack", "two ids", "401", "422", "503", "500"],
)
async def test_another_hub_neither_acknowledges_nor_refuses(connect: Connect, send: Any, data: bytes) -> None:
    async with serving(data) as server:
        outcome = await send(connect(server.url))
    assert (outcome.kind, outcome.state) == ("unreachable", "not_the_hub")
    assert outcome.reason == "another Hub answers at this address"


REDIRECTS = [301, 302, 303, 307, 308]


@pytest.mark.case("H02")
@both_ways
@pytest.mark.parametrize("status", REDIRECTS)
async def test_redirects_are_never_followed(connect: Connect, send: Any, status: int) -> None:
    async with serving(hub) as other:
        target = f"{other.url.replace('http://', 'http://user:pass@')}/login?token={TOKEN}#x"
        async with serving(answer(status, b"", media=None, Location=target)) as server:
            outcome = await send(connect(server.url))
    assert (outcome.kind, outcome.state) == ("unreachable", "not_the_hub")
    assert outcome.reason == f"redirected to {other.url}/login"
    assert other.connections == 0


@pytest.mark.case("H02")
@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("https://127.0.0.1/api/queue", "redirected to https://127.0.0.1/api/queue"),
        ("/login", "redirected to {url}/login"),
        ("//evil.example/x", "redirected to http://evil.example/x"),
        ("http://[::1", "unexpected answer (login page?), HTTP 302"),
        ("http://a:99999/", "unexpected answer (login page?), HTTP 302"),
        ("http://h/\x1b[2J", "redirected to http://h/?[2J"),
        ("http://h/" + "a" * 5000, "redirected to http://h/" + "a" * 191),
    ],
)
async def test_a_redirect_names_its_target(connect: Connect, location: str, reason: str) -> None:
    async with serving(answer(302, b"", Location=location)) as server:
        outcome = await batch(connect(server.url))
    if "\x1b" in location:  # h11 refuses the header itself
        assert outcome.kind in ("unreachable", "in_doubt")
    else:
        assert outcome.reason == reason.format(url=server.url)


BODY = json.dumps({"results": [FINE], **FINE}).encode()
CUT = {
    "short content-length": always(answer(201, BODY, length=len(BODY) + 50), close=True),
    "chunked and cut": always(
        answer(201, b"%x\r\n%s\r\n" % (len(BODY), BODY), Transfer_Encoding="chunked"), close=True
    ),
    "chunked, cut within": always(answer(201, b"ffff\r\n" + BODY, Transfer_Encoding="chunked"), close=True),
    "unframed half json": always(
        f"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nAria-Hub-Id: {HUB_ID}\r\n\r\n".encode()
        + BODY[: len(BODY) // 2],
        close=True,
    ),
    "bad gzip": always(answer(201, b"\x1f\x8bnot gzip at all", Content_Encoding="gzip")),
    "cut gzip": always(answer(201, gzip.compress(BODY)[:-12], Content_Encoding="gzip")),
    "empty": always(answer(201, b"")),
    "204": always(answer(204, b"", media=None)),
    "list": always(answer(200, [])),
    "object": always(answer(200, {})),
    "html with the id": always(answer(200, PORTAL, media="text/html")),
    "json in a text type": always(answer(200, BODY, media="text/plain")),
    "latin-1": always(answer(200, BODY.replace(b"task:1", b"caf\xe9"))),
    "deep": always(answer(200, b"[" * 100_000)),
    "results not a list": always(answer(200, {"results": {"op-1": "applied"}, "op_id": "op-1"})),
    "reset within the body": None,
    "dropped": drop,
    "reset": reset,
}


async def _reset_within(_: Got, wire: Wire) -> None:
    await wire.write(answer(200, BODY, length=9999))
    wire.reset()


CUT["reset within the body"] = _reset_within


@pytest.mark.case("H03")
@both_ways
@pytest.mark.parametrize("script", CUT.values(), ids=CUT.keys())
async def test_an_answer_cut_short_or_garbled_leaves_a_doubt(connect: Connect, send: Any, script: Script) -> None:
    async with serving(script) as server:
        outcome = await send(connect(server.url))
    assert (outcome.kind, outcome.results) == ("in_doubt", ())
    assert outcome.state in ("offline", "not_the_hub")
    assert outcome.reason
    assert len(server.requests) == 1


async def test_gzip_that_is_whole_is_read(connect: Connect) -> None:
    async with serving(answer(200, gzip.compress(BODY), Content_Encoding="gzip")) as server:
        outcome = await batch(connect(server.url))
    assert outcome.kind == "answered"


async def test_an_endless_answer_is_not_kept(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    from aria_tui.hub import _exchange

    monkeypatch.setattr(_exchange, "LARGEST_ANSWER", 100_000)

    async def endless(_: Got, wire: Wire) -> None:
        await wire.write(answer(200, b"[", length=10**12))
        while True:
            await wire.write(b" " * 65536)

    async with serving(endless) as server:
        outcome = await batch(connect(server.url), timeout=20)
    assert (outcome.kind, outcome.reason) == ("in_doubt", "the answer is too long")


async def test_a_gzip_bomb_is_not_kept(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    from aria_tui.hub import _exchange

    monkeypatch.setattr(_exchange, "LARGEST_ANSWER", 1_000_000)
    bomb = gzip.compress(b" " * 20_000_000)
    async with serving(answer(200, bomb, Content_Encoding="gzip")) as server:
        outcome = await batch(connect(server.url), timeout=20)
    assert (outcome.kind, outcome.reason) == ("in_doubt", "the answer is too long")


@both_ways
@pytest.mark.parametrize(
    "script",
    [hang, drip(answer(200, BODY), 0.05), drip(b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.01)],
    ids=["silent", "dripping", "dripping interim answers"],
)
async def test_no_server_can_hold_us_longer_than_the_deadline(connect: Connect, send: Any, script: Script) -> None:
    async with serving(script) as server:
        outcome = await send(connect(server.url), 0.4)
    assert outcome.kind == "in_doubt"
    assert outcome.reason == "no answer in 0.4 s" or outcome.reason == "the answer was cut short"


@pytest.mark.parametrize(
    "banner",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"\x00\x01\x02",
        b"HTTP/9.9 9 x\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
async def test_something_that_does_not_speak_http(connect: Connect, banner: bytes) -> None:
    async with serving(always(banner, close=True)) as server:
        outcome = await batch(connect(server.url))
    assert (outcome.kind, outcome.state, outcome.reason) == ("in_doubt", "not_the_hub", "unexpected answer (not HTTP)")


@pytest.mark.case("Q05")
@both_ways
@pytest.mark.parametrize("from_hub", [True, False], ids=["hub", "proxy"])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (408, "wait"), (429, "wait"), (503, "wait"), (502, "unreachable"), (504, "unreachable"), (407, "unreachable"),
        (500, "server_error"), (505, "server_error"), (599, "server_error"),
    ],
)  # fmt: skip
async def test_statuses_that_mean_the_same_from_hub_and_proxy(
    connect: Connect, send: Any, status: int, kind: str, from_hub: bool
) -> None:
    data = problem(status, "slow-down") if from_hub else answer(status, PORTAL, hub_id=None, media="text/html")
    async with serving(data) as server:
        outcome = await send(connect(server.url))
    assert (outcome.kind, outcome.status) == (kind, status)
    assert str(status) in outcome.reason
    assert outcome.results == ()


@both_ways
@pytest.mark.parametrize(
    ("status", "word", "kind", "state"),
    [
        (401, "unauthenticated", "paused", "refused"),
        (403, "forbidden", "paused", "refused"),
        (413, "too-large", "too_large", "online"),
        (400, "validation", "refused", "online"),
        (404, "unknown-operation", "refused", "online"),
        (409, "in-progress", "refused", "online"),
        (409, "conflict", "refused", "online"),
        (412, "version", "refused", "online"),
        (422, "key-reused", "refused", "online"),
        (501, "unsupported-schema", "refused", "online"),
    ],
)
async def test_the_hubs_own_refusals(
    connect: Connect, send: Any, status: int, word: str, kind: str, state: str
) -> None:
    refusal = problem(status, word, current={"title": "theirs"}, errors=[{"field": "title", "message": "empty"}])
    async with serving(refusal) as server:
        outcome = await send(connect(server.url))
    assert (outcome.kind, outcome.state) == (kind, state)
    assert outcome.problem is not None
    assert (outcome.problem.word, outcome.problem.status) == (word, status)
    assert outcome.problem.current == {"title": "theirs"}
    if kind == "refused":
        assert outcome.reason == "so it is (title: empty)"


@both_ways
async def test_a_refusal_that_was_cut_short_is_none(connect: Connect, send: Any) -> None:
    whole = problem(422)
    cut = whole.replace(b"Content-Length: ", b"Content-Length: 9")
    async with serving(always(cut, close=True)) as server:
        outcome = await send(connect(server.url))
    assert (outcome.kind, outcome.problem) == ("unreachable", None)


@pytest.mark.parametrize("body", [{**FINE, "op_id": "op-9"}, {**FINE, "op_id": None}, {**FINE, "status": "done"}])
async def test_a_single_write_has_to_be_named(connect: Connect, body: Any) -> None:
    async with serving(answer(200, body)) as server:
        outcome = await single(connect(server.url))
    assert (outcome.kind, outcome.results) == ("in_doubt", ())


async def test_a_token_that_the_server_sends_back_is_not_repeated(connect: Connect) -> None:
    echo = problem(422, detail=f"Bearer {TOKEN}?", errors=[{"field": "x", "message": TOKEN}])
    async with serving(echo) as server:
        outcome = await batch(connect(server.url))
    assert TOKEN not in repr(outcome)
    assert outcome.problem is not None
    assert outcome.problem.detail == "Bearer [token]?"


async def test_the_client_does_not_show_its_token(connect: Connect) -> None:
    assert TOKEN not in repr(connect("http://127.0.0.1:1"))


async def test_a_slow_down_wish_of_a_healthy_hub(connect: Connect) -> None:
    async with serving(answer(200, BODY, Aria_Backoff="2.5", Idempotent_Replayed="true")) as server:
        outcome = await single(connect(server.url))
    assert (outcome.slow_down_s, outcome.replayed) == (2.5, True)


async def test_slow_is_over_a_second_but_not_for_a_long_batch(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aria_tui.hub import _acknowledge

    monkeypatch.setattr(_acknowledge, "SLOW_MS", 0.0)
    async with serving(hub) as server:
        client = connect(server.url)
        assert (await batch(client)).state == "slow"
        assert (await client.send_batch(TWO, ["op-1", "op-2"], client_id="me", timeout=5)).state == "online"


@pytest.mark.parametrize("operation", ["../tasks", "a/b", "", "x" * 101, "create task", "é", ".."])
async def test_an_operation_that_can_be_no_path_is_not_sent(connect: Connect, operation: str) -> None:
    async with serving(hub) as server:
        outcome = await connect(server.url).send_one(operation, "op-1", b"{}", timeout=5)
    assert (outcome.kind, server.requests) == ("no_endpoint", [])


@pytest.mark.parametrize("op_id", ["", "two\nlines", "é", "x" * 256, "a b"])
async def test_a_key_that_can_be_no_header_is_not_sent(connect: Connect, op_id: str) -> None:
    async with serving(hub) as server:
        outcome = await connect(server.url).send_one("create_task", op_id, b"{}", timeout=5)
    assert (outcome.kind, server.requests) == ("refused", [])


async def test_a_key_with_a_quote_goes_bare(connect: Connect) -> None:
    async def script(got: Got, wire: Wire) -> None:
        await wire.write(answer(200, {**acknowledgement(got), "op_id": 'a"b'}))

    async with serving(script) as server:
        outcome = await connect(server.url).send_one("create_task", 'a"b', b"{}", timeout=5)
    assert server.requests[0].headers["idempotency-key"] == 'a"b'
    assert outcome.kind == "answered"
