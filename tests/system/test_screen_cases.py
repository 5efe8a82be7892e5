"""The open dashboard on a real terminal: sizes from 1×1 to 300×80 with enormous texts, and a clock that leaps."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.helpers.aria import Aria, today
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, RawServer, answer
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until

NO_SOURCES = "[docker]\nenabled = false\n"


def configured(aria: Aria) -> None:
    aria.home.mkdir(mode=0o700, exist_ok=True)
    (aria.home / "config.toml").write_text(NO_SOURCES)
    (aria.home / "session.json").write_text('{"pane": "tasks"}')  # it was used before: no first-run panel


def still(screen: Tmux) -> str:
    """The screen without what moves by itself: the clock and the Hub's latency in the first line."""
    return "\n".join(screen.lines()[1:])


@pytest.mark.case("T04")
def test_tiny_huge_and_very_long(aria: Aria, terminal: Callable[..., Tmux]) -> None:
    """Cases T04: resizes while everything is read again, a line of a megabyte, a note of ten thousand lines."""
    configured(aria)
    aria.use("http://127.0.0.1:9", "a-test-token")  # nobody listens there: everything waits, and is seen
    aria("task", "add", "a task that is seen", "--offline").ok()
    with contextlib.closing(sqlite3.connect(aria.queue_file, timeout=20)) as file, file:
        for content in "wide 日 " * 130_000, "line\n" * 10_000:  # more than our own commands take: another program's
            row = ("capture_insight", json.dumps({"content": content}))
            file.execute("INSERT INTO queue (operation, payload) VALUES (?, ?)", row)
    screen = terminal(80, 24).run(aria)
    screen.wait_for("⇡ a task that is seen", "Queue ⇡3", "Hub offline since")
    screen.keys("2", "Home")
    screen.wait_for("▸ ⇡ a task that is seen")
    first = still(screen)
    for width, height in ((1, 1), (20, 5), (300, 80), (80, 24)) * 2:
        screen.keys("r")
        screen.resize(width, height)
        screen.keys("r")
        if (width, height) == (20, 5):
            screen.wait_for("too small")
        elif width == 300:
            screen.wait_for("a task that is seen", "wide 日", "Journal")
    wait_until(lambda: still(screen) == first, 20, f"the first screen again:\n{first}\n\nnow:\n{still(screen)}")
    screen.keys("4")
    screen.wait_for("wide 日", "line␊line")
    for width, height in (80, 24), (60, 20), (200, 60):
        for key, text in (("End", "▸3"), ("Up", "▸2")):
            screen.keys(key)
            screen.wait_for(text)
            screen.keys("Enter")
            screen.wait_for("Queue row #", "capture_insight")
            screen.keys("End", "Home", "Escape")
            screen.wait_for("[Waiting 3]")
        screen.resize(width, height)
    assert screen.alive()
    screen.keys("q")
    screen.wait_for("exit-status=0")
    assert aria.waiting() == 3


QUITS_WITHIN = 2.0
"""Seconds from the key to the end of the process (cases.md, T06)."""
SCREENS = (
    *(("v", "0 insights"), (",", "Settings"), ("?", "Everywhere")),
    *(("c", "Connect to a Hub"), ("C-p", "Find a command")),
)


@pytest.mark.case("T06")
def test_late_answers_while_screens_come_and_go(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Callable[..., Tmux]
) -> None:
    """Cases T06: every answer takes 3 s, everything is read again each second; 50 times a pane and a screen."""
    configured(aria)
    aria.use(proxy.url, hub.token)
    for number in range(3):
        aria("task", "add", f"task {number}", "--due", "2030-01-01").ok()
    screen = terminal(120, 40).run(aria)
    screen.wait_for("task 2", "3 open", "online")
    screen.keys("2", "End", "Up")

    def chosen() -> str:
        """The task that the cursor is on."""
        found = re.search(r"▸ +((task|above) \d+)", screen.screen())
        return found[1] if found else ""

    def another_refresh() -> None:
        before = len(proxy.requests)
        wait_until(lambda: len(proxy.requests) > before, 30, "another refresh to begin")

    kept = "task 1"
    wait_until(lambda: chosen() == kept, 10, "the cursor")
    proxy.add("latency", seconds=3.0)
    direct = {**aria.environment(), "ARIA_HUB_URL": hub.url, "ARIA_HOME": str(aria.root / "elsewhere")}
    for number in range(50):
        screen.keys("12340"[number % 4], "r")
        key, text = SCREENS[number % len(SCREENS)]
        screen.keys(key)
        screen.wait_for(text)
        if number in (10, 30):
            aria("task", "add", f"above {number}", "--due", "2026-01-01", env=direct).ok()
        screen.keys("Escape")
        screen.wait_gone(text)
    screen.keys("2", "r")
    screen.wait_for("above 30", "5 open")
    assert chosen() == kept
    screen.keys("t")
    screen.wait_for("New task")
    screen.type("typed while ")
    another_refresh()
    screen.type("late answers come")
    another_refresh()
    screen.wait_for("typed while late answers come")
    screen.keys("Escape")
    screen.wait_gone("New task")
    assert chosen() == kept
    screen.keys("r", "v")
    (pid,) = screen.pids()
    began = time.monotonic()
    screen.keys("q")
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), 20, "the end", every=0.01)
    assert time.monotonic() - began < QUITS_WITHIN
    screen.wait_for("exit-status=0")
    log = (aria.home / "log" / "aria.log").read_text()
    assert "Traceback" not in log and "ERROR" not in log, log
    assert json.loads((aria.home / "drafts.json").read_text())["task"]["title"] == "typed while late answers come"


DAY = f"{today():%Y%m%d}"
EVENTS = [f"UID:{name}\r\nSUMMARY:{name}\r\nDTSTART:{DAY}T15{minute}00Z" for name, minute in (("One", 10), ("Two", 20))]


def calendar(*events: str, head: str = "") -> bytes:
    body = "".join(f"BEGIN:VEVENT\r\n{event}\r\nEND:VEVENT\r\n" for event in events)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{head}{body}END:VCALENDAR\r\n".encode()


@pytest.mark.case("C05")
def test_a_feed_that_goes_bad_under_an_open_screen(
    aria: Aria, raw_server: Callable[..., RawServer], terminal: Callable[..., Tmux]
) -> None:
    """Cases C05: what is good of a feed, else its last good copy with its age, and never an empty day."""
    good = calendar(*EVENTS)
    broken = calendar("UID:x\r\nSUMMARY:Broken\r\nDTSTART:never", *EVENTS)
    now = answer(200, good, "text/calendar")
    server = raw_server(lambda _: now)
    aria.home.mkdir(mode=0o700)
    (aria.home / "config.toml").write_text(
        f'{NO_SOURCES}[calendar]\nsources = [{{ url = "{server.url}/secret-address.ics" }}]\n'
    )
    (aria.home / "session.json").write_text('{"pane": "briefing"}')
    screen = terminal(120, 40).run(aria)
    screen.wait_for("12:10  One", "12:20  Two")
    for status, body, said in (
        (200, b"<!DOCTYPE html><html>Sign in</html>", "not a calendar (a web page)"),
        (200, good[:-20], "cut short"),
        (404, b"", "HTTP 404"),
        (200, b"", "empty"),
        (200, b"x" * (20 * 1024 * 1024 + 1), "over 20 MiB"),
    ):
        now = answer(status, body, "text/calendar")
        screen.keys("r")
        shown = screen.wait_for(said, "12:10  One", "12:20  Two")
        assert re.search(r"Calendar +as of \d\d:\d\d", shown), "its age"
        assert "secret-address" not in shown
    for body, name in (
        (b"\xef\xbb\xbf" + calendar(EVENTS[0].replace("One", "With a BOM")), "With a BOM"),
        (calendar(EVENTS[0].replace("One", "Bare LF")).replace(b"\r\n", b"\n"), "Bare LF"),
        (calendar(EVENTS[0]) + calendar(EVENTS[1].replace("Two", "In the second")), "In the second"),
        (broken, "1 unreadable"),
    ):
        now = answer(200, body, "text/calendar")
        screen.keys("r")
        shown = screen.wait_for(name)
    assert "12:10  One" in shown and "12:20  Two" in shown
    screen.keys("q")
    screen.wait_for("exit-status=0")


CLOCK = '''
import json, os, sys, threading

class Finder:
    """Once the dashboard is loaded, its clock and zone are those that a file says."""

    def find_spec(self, name, path=None, target=None):
        if name == "aria_tui.tui.wallclock":
            sys.meta_path.remove(self)
            import time_machine
            first = json.load(open(os.environ["TEST_CLOCK"]))
            traveller = time_machine.travel(first["now"], tick=True)
            threading.Thread(target=follow, args=(traveller.start(), first), daemon=True).start()

def follow(coordinates, known):
    import time_machine
    while True:
        threading.Event().wait(0.05)
        said = json.load(open(os.environ["TEST_CLOCK"]))
        if said != known:
            known = said
            if said["zone"] != os.environ["TZ"]:
                os.environ["TZ"] = said["zone"]
            coordinates.move_to(said["now"])

sys.meta_path.insert(0, Finder())
'''


class Clock:
    """The time and the zone of a program that runs, from outside."""

    def __init__(self, aria: Aria, now: datetime) -> None:
        self.file, self.now, self.zone = aria.root / "clock.json", now, "America/Fortaleza"
        folder = aria.root / "patch"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(CLOCK)
        aria.env["PYTHONPATH"] = os.pathsep.join([str(folder), aria.environment()["PYTHONPATH"]])
        aria.env["TEST_CLOCK"] = str(self.file)
        self.move(timedelta())

    def move(self, by: timedelta, zone: str = "") -> None:
        self.now, self.zone = self.now + by, zone or self.zone
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps({"now": self.now.timestamp(), "zone": self.zone}))
        part.replace(self.file)


def reads(proxy: FaultProxy) -> int:
    """How often tasks were read from the Hub so far."""
    return sum(request.path.startswith(("/api/tasks", "/api/changes")) for request in proxy.requests)


@pytest.mark.case("Z03")
def test_midnight_a_new_zone_and_a_long_sleep_with_the_screen_open(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, tmp_path: Path, terminal: Callable[..., Tmux]
) -> None:
    """Cases Z03: date, "today", due marks and ages follow; one refresh and not a burst; due dates do not move."""
    configured(aria)
    aria.use(proxy.url, hub.token)
    aria("task", "add", "due on the first", "--due", "2026-12-01").ok()
    aria("task", "add", "due on the thirtieth", "--due", "2026-11-30").ok()
    clock = Clock(aria, datetime(2026, 12, 1, 2, 58, 30, tzinfo=UTC))
    screen = terminal(120, 40).run(aria)
    screen.wait_for("Monday 30 November · 23:58", "due on the first", "due on the thirtieth", "online")

    def due(title: str) -> str:
        """The words behind a task in the tasks' pane, at the right."""
        line = next(line for line in screen.lines() if title in line.partition("││")[2])
        return line.partition("││")[2].partition(title)[2].replace("MEDIUM", "").strip(" │")

    assert (due("due on the thirtieth"), due("due on the first")) == ("today", "tomorrow")
    before = reads(proxy)
    clock.move(timedelta(minutes=2))  # midnight
    screen.wait_for("Tuesday 1 December · 00:00")
    wait_until(lambda: (due("due on the thirtieth"), due("due on the first")) == ("1 day late", "today"))
    wait_until(lambda: reads(proxy) > before, 20, "the refresh of the new day")

    clock.move(timedelta(minutes=10), "Europe/Lisbon")  # three hours east
    screen.wait_for("Tuesday 1 December · 03:10")
    wait_until(lambda: (due("due on the thirtieth"), due("due on the first")) == ("1 day late", "today"))

    settled = reads(proxy)
    clock.move(timedelta(hours=8))  # asleep: the wall clock went on, the machine's own did not
    screen.wait_for("Tuesday 1 December · 11:10")
    wait_until(lambda: reads(proxy) > settled, 20, "the refresh after the sleep")
    for minute in (11, 12, 13):  # some ordinary seconds later there was still no other one
        clock.move(timedelta(seconds=58))
        screen.wait_for(f"Tuesday 1 December · 11:{minute:02}")
    assert reads(proxy) - settled <= 6, "one refresh of each list, not a burst"
    assert {task["title"]: task["due_date"] for task in hub.all("tasks")} == {
        "due on the first": "2026-12-01", "due on the thirtieth": "2026-11-30",
    }  # fmt: skip
    assert screen.alive()
    screen.keys("q")
    screen.wait_for("exit-status=0")
