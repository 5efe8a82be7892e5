"""A day without the Hub, and its return, on a real screen."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, Request, is_write
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until
from tests.system.test_many_processes import fill

ANSWERED_WITHIN = 4.0
"""Seconds in which a write has to be answered while the Hub is away: a promise to the user, not a measurement."""
BACK_WITHIN = 10.0
ROWS, BATCH, EACH = 200, 20, 0.05


def test_what_was_written_without_the_hub_arrives_by_itself_when_it_is_back(
    aria: Aria, hub: HubProcess, terminal: Callable[..., Tmux]
) -> None:
    aria.use(hub.url, hub.token)
    aria("status").ok()
    hub.stop()
    for words in (("task", "add", "Pagar DAS"), ("insight", "add", "first idea"), ("insight", "add", "second idea")):
        start = time.monotonic()
        done = aria(*words)
        assert time.monotonic() - start < ANSWERED_WITHIN, words
        assert done.status == 0 and "queued" in done.out, done
    state = aria.queue()
    assert state["pending_total"] == 3
    assert [item["id"] for item in state["items"]] == [1, 2, 3]
    assert [item["operation"] for item in state["items"]] == ["create_task", "capture_insight", "capture_insight"]
    assert {item["reason_code"] for item in state["items"]} == {"offline"}

    screen = terminal().run(aria)
    screen.wait_for("Hub offline", "3 waiting", "Pagar DAS", "first idea", "second idea")
    hub.start()
    wait_until(lambda: hub.count("insights") == 2 and hub.count("tasks") == 1, BACK_WITHIN, "the screen notices")
    screen.wait_for("0 waiting")
    keys = hub.keys()
    assert len(keys) == len(set(keys)) == 3
    assert aria.queue()["pending_total"] == 0


def a_slow_hub(proxy: FaultProxy) -> None:
    """The Hub takes 50 ms for each operation, and takes 20 at once."""

    def small_batches(request: Request, given: bytes) -> bytes:
        head, _, body = given.partition(b"\r\n\r\n")
        meta = json.loads(body)
        meta["limits"]["batch_ops"] = BATCH
        body = json.dumps(meta).encode()
        return re.sub(rb"(?i)content-length: \d+", b"Content-Length: %d" % len(body), head) + b"\r\n\r\n" + body

    proxy.add("rewrite", when=lambda request: request.path == "/api/meta", rewrite=small_batches)
    proxy.add("latency", when=is_write, seconds=BATCH * EACH)


def test_a_sync_on_screen_shows_its_progress_can_be_stopped_and_goes_on_later(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Callable[..., Tmux]
) -> None:
    aria.use(proxy.url, hub.token)
    fill(aria, ROWS)
    (aria.home / "config.toml").write_text("[sync]\nautomatic = false\n")
    a_slow_hub(proxy)
    screen = terminal().run(aria)
    screen.wait_for(f"{ROWS} waiting")
    screen.keys("s")
    seen: list[tuple[int, int]] = []

    def another() -> bool:
        text = screen.screen()
        found = re.search(r"(\d+)/(\d+) +\d+/s +\d+ s left", text)
        if found is None or "Stop" not in text:
            return False
        done, total = int(found[1]), int(found[2])
        # What the screen's first reads delivered before the key came is not part of this sync.
        here = hub.count("insights") - (ROWS - total)
        if not seen or done > seen[-1][0]:
            seen.append((done, here))
        return len(seen) >= 3

    wait_until(another, 30, "three captures with done/total, a rate and a time left")
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert all(abs(here - done) <= BATCH for done, here in seen), seen
    screen.keys("S")
    screen.wait_for("Stopped")
    left = aria.waiting()
    assert 0 < left < ROWS
    proxy.clear()
    aria("sync").ok()
    assert hub.count("insights") == ROWS
    assert len(hub.keys()) == ROWS
    screen.wait_for("0 waiting")
    assert screen.alive()


def test_a_sync_of_another_program_is_followed_on_screen(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Callable[..., Tmux]
) -> None:
    aria.use(proxy.url, hub.token)
    fill(aria, ROWS)
    (aria.home / "config.toml").write_text("[sync]\nautomatic = false\n")
    a_slow_hub(proxy)
    screen = terminal().run(aria)
    screen.wait_for(f"{ROWS} waiting")
    other = aria.start("sync", "--json")
    wait_until(
        lambda: "another program" in (text := screen.screen()) and re.search(r"[1-9]\d*/\d+ +\d+/s", text),
        20,
        "the other's progress is shown",
    )
    assert other.wait().status == 0
    screen.wait_for("0 waiting")
