"""What networks do to a write: the answer that never comes, and answers that are not the Hub's."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, RawServer, Request, answer, is_write


@pytest.mark.case("Q02")
def test_an_answer_that_is_cut_on_the_first_online_try_is_resent_with_the_same_key(
    aria: Aria, hub: HubProcess, proxy: FaultProxy
) -> None:
    aria.use(proxy.url, hub.token)
    for words in (("task", "add", "Pagar DAS"), ("insight", "add", "an idea"), ("briefing",)):
        sent = len(proxy.writes)
        proxy.add("cut_answer", when=is_write)
        done = aria(*words, "--json").ok()
        if words != ("briefing",):
            assert done.json["status"] == "queued"
        proxy.clear()
        first = proxy.writes[sent]
        assert first.toxic == "cut_answer" and first.status in (200, 201), "the Hub applied it"
        aria("sync", "--json").ok()
        again = proxy.writes[-1]
        assert len(first.keys) == 1 and set(again.keys) == set(first.keys)
    assert (hub.count("tasks"), hub.count("insights"), hub.count("briefings")) == (1, 1, 1)
    assert len(set(proxy.sent_keys())) == 3
    assert aria.queue()["pending_total"] == 0


def html(request: Request) -> bytes:
    return answer(200, b"<html><body>Please log in to HotelNet</body></html>")


def emptied(request: Request) -> bytes:
    return answer(200, b"{}", "application/json")


def another_service(request: Request) -> bytes:
    return answer(200, json.dumps({"status": "ok", "id": "142", "service": "billing"}).encode(), "application/json")


def a_list(request: Request) -> bytes:
    return answer(200, b"[]", "application/json")


def redirect(request: Request) -> bytes:
    return answer(302, b"", "", Location="https://login.example.net/")


def no_content(request: Request) -> bytes:
    return b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


def half_json(request: Request) -> bytes:
    body = b'{"results": [{"op_id": "'
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + body


def a_proxy_s_413(request: Request) -> bytes:
    return answer(413, b"<html><h1>413 Request Entity Too Large</h1><hr>nginx</html>")


def a_portal_s_401(request: Request) -> bytes:
    return answer(401, b"<html>sign in</html>", WWW_Authenticate='Basic realm="hotel"')


def a_proxy_s_502(request: Request) -> bytes:
    return answer(502, b"<html>Bad Gateway</html>")


FAKES = [
    html, emptied, another_service, a_list, redirect, no_content, half_json, a_proxy_s_413, a_portal_s_401,
    a_proxy_s_502,
]  # fmt: skip


@pytest.mark.case("H01")
@pytest.mark.parametrize("only_writes", [False, True], ids=["every request", "writes only"])
def test_what_the_hub_did_not_say_delivers_nothing_and_kills_nothing(
    aria: Aria,
    hub: HubProcess,
    proxy: FaultProxy,
    only_writes: bool,
) -> None:
    """``writes only`` is a portal that wakes up after the probe: the Hub's own meta was seen a moment ago."""
    aria.use(proxy.url, hub.token)
    aria("task", "add", "one", "--offline").ok()
    for n, fake in enumerate(FAKES):
        aria("insight", "add", f"idea {n}", "--offline").ok()
        request = Request("POST", "/", {}, b"")
        with proxy.toxic("answer", raw=fake(request), when=is_write if only_writes else lambda _: True):
            report = aria("sync", "--json")
        assert report.status == 3, (fake, report)
        assert report.json["synced"] == 0, fake
        assert report.json["hub"]["state"] not in ("online", "slow"), (fake, report.json)
        state = aria.queue()
        assert (state["pending_total"], state["dead_letters"], state["conflicts"]) == (n + 2, 0, 0), fake
    report = aria("sync", "--json").ok()
    assert (report.json["synced"], report.json["remaining"]) == (len(FAKES) + 1, 0)
    assert (hub.count("tasks"), hub.count("insights")) == (1, len(FAKES))


@pytest.mark.case("H02")
def test_a_redirect_of_a_write_is_not_followed_and_names_its_target(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, raw_server: Callable[[Callable[[Request], bytes]], RawServer]
) -> None:
    elsewhere = raw_server(emptied)
    aria.use(proxy.url, hub.token)
    aria("task", "add", "one", "--offline").ok()
    for status in (301, 302, 303, 307, 308):
        with proxy.toxic("answer", raw=answer(status, b"", "", Location=f"{elsewhere.url}/api/queue")):
            assert aria("sync", "--json").status == 3
            shown = aria("sync")
            assert str(elsewhere.port) in shown.out + shown.err, f"{status}: the target is not named: {shown}"
    assert elsewhere.requests == []
    assert aria.waiting() == 1
    aria("sync").ok()
    assert hub.count("tasks") == 1


@pytest.mark.case("H03")
@pytest.mark.parametrize("framing", ["short", "chunked", "half", "gzip", "empty"])
def test_a_reply_that_is_cut_short_leaves_the_row_in_doubt(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, framing: str
) -> None:
    def cut(request: Request, given: bytes) -> bytes:
        _, _, body = given.partition(b"\r\n\r\n")
        start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
        for line in given.split(b"\r\n"):
            if line.lower().startswith(b"aria-hub"):
                start += line + b"\r\n"
        match framing:
            case "short":
                return start + b"Content-Length: %d\r\n\r\n" % (len(body) + 20) + body
            case "chunked":
                return start + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s" % (len(body) + 9, body)
            case "half":
                return start + b"\r\n" + body[: len(body) // 2]
            case "gzip":
                return start + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            case _:
                return start + b"Content-Length: 0\r\n\r\n"

    aria.use(proxy.url, hub.token)
    proxy.add("rewrite", when=is_write, times=1, rewrite=cut)
    done = aria("task", "add", "once", "--json").ok()
    assert done.json["status"] in ("queued", "synced")
    if done.json["status"] == "queued":
        assert aria.queue()["items"][0]["reason_code"] == "in_doubt"
    proxy.clear()
    aria("sync").ok()
    assert hub.count("tasks") == 1
    assert len(proxy.sent_keys()) >= 2 and len(set(proxy.sent_keys())) == 1
