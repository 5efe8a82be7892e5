"""What networks do to a write: the answer that never comes, and answers that are not the Hub's."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from zoneinfo import ZoneInfo

import pytest

from tests.helpers.aria import ZONE, Aria
from tests.helpers.hub import HubProcess, free_port
from tests.helpers.proxy import FaultProxy, RawServer, Request, answer, is_write
from tests.helpers.waiting import wait_until

WRITES = {"create_task": ("task", "add", "Pagar DAS"), "capture_insight": ("insight", "add", "an idea"),
          "store_briefing": ("briefing",)}  # fmt: skip


@pytest.mark.case("Q02")
@pytest.mark.parametrize("times", [None, 1], ids=["every answer", "the first answer"])
def test_an_answer_that_is_cut_on_the_first_online_try_is_resent_with_the_same_key(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, times: int | None
) -> None:
    aria.use(proxy.url, hub.token)
    for operation, words in WRITES.items():
        sent = len(proxy.writes)
        proxy.add("cut_answer", when=is_write, times=times)
        done = aria(*words, "--json").ok()
        status = done.json["status"] if operation != "store_briefing" else "queued" * ("queued (#" in done.err)
        first, *quick = proxy.writes[sent:]
        assert first.toxic == "cut_answer" and first.status in (200, 201), "the Hub applied it"
        assert [op["operation"] for op in first.ops] == [operation] and len(first.keys) == 1
        waiting = aria.waiting()
        assert (status, waiting) == ("queued", 1) or (quick and (status or "synced", waiting) == ("synced", 0)), done
        proxy.clear()
        aria("sync", "--json").ok()
        again = proxy.writes[sent + 1 :]
        assert again and all(request.keys == first.keys for request in again), "the very key of the first try"
    assert (hub.count("tasks"), hub.count("insights"), hub.count("briefings")) == (1, 1, 1)
    by_operation: dict[str, set[str]] = {}
    for op in (op for request in proxy.writes for op in request.ops):
        by_operation.setdefault(op["operation"], set()).add(op["op_id"])
    assert {operation: len(keys) for operation, keys in by_operation.items()} == dict.fromkeys(WRITES, 1)
    assert sorted(hub.keys()) == sorted(key for keys in by_operation.values() for key in keys)
    state = aria.queue()
    assert (state["pending_total"], state["dead_letters"], state["conflicts"]) == (0, 0, 0)


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


WILD_CARD = """
import socket
right = socket.getaddrinfo
def getaddrinfo(host, *args, **kwargs):
    name = host.decode() if isinstance(host, bytes) else host
    return right("127.0.0.1" if name and name.endswith(".example") else host, *args, **kwargs)
socket.getaddrinfo = getaddrinfo
"""
"""A name server that knows every name: in the child process, where the program itself asks for names."""


def foreign_answers() -> dict[str, bytes]:
    """What somebody else's web server says to every path and method."""
    page = b"<!doctype html><title>Domain for sale</title>"
    told = {"op_id": "x", "status": "applied", "results": [], "tasks": [], "hub_id": "h", "ok": True}
    return {
        "html": answer(200, page),
        "html that asks to wait": answer(200, page, Retry_After="60"),
        "list": answer(200, b"[]", "application/json"),
        "object": answer(200, b"{}", "application/json"),
        "another service": answer(200, json.dumps({"status": "ok", "id": "142"}).encode(), "application/json"),
        "words of a Hub": answer(200, json.dumps(told).encode(), "application/json"),
    }


@pytest.mark.case("H01")
@pytest.mark.parametrize("known", [False, True], ids=["never met", "known"])
def test_a_name_that_does_not_exist_leads_to_somebody_elses_web_server(
    aria: Aria, hub: HubProcess, known: bool
) -> None:
    (aria.root / "site").mkdir()
    (aria.root / "site" / "sitecustomize.py").write_text(WILD_CARD)
    aria.env["PYTHONPATH"] = f"{aria.root / 'site'}:{aria.environment()['PYTHONPATH']}"
    aria.home.mkdir()
    (aria.home / "config.toml").write_text("[hub]\nallow_http = true\n")
    port = free_port()
    aria.use(f"http://hub.nowhere.example:{port}", hub.token)
    wanted = []
    if known:
        there = FaultProxy(hub.port, port)
        wanted.append("before")
        assert aria("insight", "add", "before", "--json").ok().json["status"] == "synced"
        there.close()
    for name, said in list(foreign_answers().items())[:: 3 if known else 1]:
        web = RawServer(lambda _, said=said: said, port)  # type: ignore[misc]
        made = aria("insight", "add", name, "--json", *(["--offline"] if len(wanted) % 2 else [])).ok()
        wanted.append(name)
        assert made.json["status"] == "queued", name
        synced = aria("sync", "--json")
        shown = aria("status").ok().out
        queue = aria.queue()
        web.close()
        assert web.requests, "it was asked"
        assert (synced.status, synced.json["synced"], synced.json["hub"]["state"]) == (3, 0, "not_the_hub"), name
        assert "unexpected answer (login page?)" in shown and "online" not in shown.lower(), (name, shown)
        assert (queue["pending_total"], queue["dead_letters"], queue["conflicts"]) == (len(wanted) - known, 0, 0), name
        assert "login page?" in queue["items"][0]["reason"], (name, queue["items"][0])
    there = FaultProxy(hub.port, port)
    report = aria("sync", "--json").ok().json
    there.close()
    assert (report["synced"], report["remaining"]) == (len(wanted) - known, 0)
    assert sorted(insight["content"] for insight in hub.all("insights")) == sorted(wanted)
    assert len(there.sent_keys()) == len(set(there.sent_keys())), "once each, and nothing was sent to the Hub before"


@pytest.mark.case("H04")
@pytest.mark.parametrize(("status", "date"), [(429, False), (503, True)], ids=["429 seconds", "503 date"])
def test_a_hub_that_asks_to_wait_gets_one_write_and_the_status_says_until_when(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, status: int, date: bool
) -> None:
    aria.use(proxy.url, hub.token)
    asked = datetime.now(UTC) + timedelta(seconds=90 if date else 120)
    value = format_datetime(asked, usegmt=True) if date else "120"
    problem = {"type": "/problems/slow-down", "title": "Slow down", "status": status}
    proxy.add("answer", raw=hub.says(problem, status, Retry_After=value), when=is_write)
    made = aria("task", "add", "Pagar DAS", "--json").ok().json
    assert made["status"] == "queued" and "asked to wait, next at" in made["message"]
    proxy.clear()
    assert aria("task", "edit", made["id"], "--priority", "high", "--json").ok().json["status"] == "queued"
    for _ in range(2):
        assert aria("sync", "--json").json["synced"] == 0
    shown, listed = aria("status").ok().out, aria("queue").ok().out
    rows = aria("queue", "list", "--json").ok().json
    until = datetime.fromisoformat(rows[0]["next_attempt_at"])
    assert timedelta(seconds=-2) <= until - asked < timedelta(seconds=20), "the ordinary backoff is no longer than 2 s"
    assert rows[0]["reason"] == f"the Hub asked to wait, next at {rows[0]['next_attempt_at']}"
    local = until.astimezone(ZoneInfo(ZONE)).strftime("%H:%M")
    assert "again at" in shown and "asked to wait, next at" in listed
    assert local in shown and local in listed, (shown, listed)
    assert len(proxy.writes) == 1 and hub.count("tasks") == 0


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_pressed_twice_at_a_hub_that_hangs_ends_as_well_as_once(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, presses: int
) -> None:
    """The second must not break off what closes the files, which would then be waited for without end."""
    aria.use(proxy.url, hub.token)
    aria.home.mkdir()
    (aria.home / "config.toml").write_text("[hub]\ntimeout = 600\n")
    aria("insight", "add", "on its way", "--offline").ok()
    proxy.add("blackhole", when=is_write)
    running = aria.start("sync")
    wait_until(lambda: proxy.writes, 20, "it is on its way")
    for _ in range(presses):
        running.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(0.05)
    assert running.wait(10).status == 130
    proxy.clear()
    aria("sync").ok()
    assert hub.count("insights") == 1
