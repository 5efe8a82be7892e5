"""From a key to the screen, measured by the bytes on a real terminal: with enormous texts, and while a calendar of
3,000 repeating events is read (cases.md, T04 and C05)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.aria import Aria, today
from tests.helpers.waiting import wait_until
from tests.tui.test_terminal import Pty, on_a_terminal

__all__ = ["on_a_terminal"]

P95 = 0.2
"""Seconds from a key to the screen: the promise (cases.md, T04)."""
LETTERS = [chr(0x250 + number) for number in range(60)]
"""Letters that are nowhere else on the screen, so that what is drawn for one is told from all else that is drawn."""


def escape(terminal: Pty) -> None:
    """Closes what is open: the key, and the moment for which it may be the beginning of another one."""
    terminal.send("\x1b")
    quiet(terminal, 0.3)


def quiet(terminal: Pty, moment: float = 0.03) -> None:
    """Until nothing is drawn for a moment."""
    while True:
        before = len(terminal.seen)
        terminal.read(moment)
        if len(terminal.seen) == before:
            return


def answer(terminal: Pty, key: str, mark: str = "", deadline: float = 10) -> float:
    """Seconds from a key to the bytes that hold ``mark``; without one to any bytes, after a moment of quiet."""
    if not mark:
        quiet(terminal)
    start = len(terminal.seen)
    began = time.perf_counter()
    terminal.send(key)
    while not (mark.encode() in terminal.seen[start:] if mark else len(terminal.seen) > start):
        terminal.read(0.01)
        assert time.perf_counter() - began < deadline, f"no answer to {key!r}: {terminal.text[-1500:]}"
    return time.perf_counter() - began


def p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95) - 1]


def best_of(round_: Callable[[], list[float]], rounds: int = 5) -> None:
    """The 95th percentile of a round is within the promise. Up to five rounds: a busy machine's is not counted."""
    found: list[float] = []
    while len(found) < rounds:
        found.append(p95(round_()))
        if found[-1] < P95:
            return
    pytest.fail(f"from a key to the screen, p95: {', '.join(f'{1000 * seconds:.0f} ms' for seconds in found)}")


@pytest.mark.case("T04")
def test_keys_are_answered_over_enormous_texts(aria: Aria, on_a_terminal: Any) -> None:
    """A list with a line of a megabyte and a note of ten thousand lines in it; each shown whole, and edited."""
    aria.home.mkdir(mode=0o700)
    (aria.home / "config.toml").write_text("[docker]\nenabled = false\n")
    (aria.home / "session.json").write_text('{"pane": "queue"}')
    aria.use("http://127.0.0.1:9", "a-test-token")
    aria("task", "add", "first", "--offline").ok()
    with contextlib.closing(sqlite3.connect(aria.queue_file, timeout=20)) as file, file:
        for content in "wide 日 " * 130_000, "line\n" * 10_000:  # more than our own commands take: another program's
            row = ("capture_insight", json.dumps({"content": content}))
            file.execute("INSERT INTO queue (operation, payload) VALUES (?, ?)", row)
    terminal = on_a_terminal()
    terminal.wait_for("3 waiting")
    terminal.wait_for("line␊line")

    def once() -> list[float]:
        times: list[float] = []
        terminal.send("\x1b[H")
        quiet(terminal)
        for lines in 1, 10_000:
            times.append(answer(terminal, "\x1b[B", "▸"))
            times.append(answer(terminal, "r"))
            times.append(answer(terminal, "\r", "Queue row"))
            times += [answer(terminal, key) for key in ("\x1b[B", "\x1b[6~", "\x1b[F", "\x1b[A", "\x1b[5~", "\x1b[H")]
            if lines == 1:
                times.append(answer(terminal, "e", "queue edit"))  # of that length, it is for the user's own editor
            else:
                times.append(answer(terminal, "e", "Edit #3"))
                times += [answer(terminal, letter, letter) for letter in LETTERS[:9]]
                escape(terminal)
            escape(terminal)
        times.append(answer(terminal, "t", "New task"))
        times += [answer(terminal, letter, letter) for letter in LETTERS[20:31]]
        escape(terminal)
        return times

    best_of(once)
    assert aria.waiting() == 3


def being_read(terminal: Pty) -> bool:
    """Whether the program has a process that reads calendars."""
    children = Path(f"/proc/{terminal.pid}/task").glob("*/children")
    for pid in " ".join(path.read_text() for path in children).split():
        with contextlib.suppress(OSError):
            if b"aria_tui.sources._child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
    return False


def repeating(count: int, marker: str) -> str:
    """A calendar of so many events that are repeated for years; the last one bears the marker."""
    start = today().replace(year=today().year - 4, month=1, day=1)
    events = "".join(
        f"BEGIN:VEVENT\r\nUID:{number}\r\nSUMMARY:event {number} {marker}\r\n"
        f"DTSTART;TZID=America/Fortaleza:{start:%Y%m%d}T{number % 24:02}{number % 60:02}00\r\n"
        f"DURATION:PT30M\r\nRRULE:FREQ={('DAILY', 'WEEKLY', 'MONTHLY')[number % 3]};INTERVAL={1 + number % 2}\r\n"
        f"EXDATE;TZID=America/Fortaleza:{start:%Y}0301T{number % 24:02}{number % 60:02}00\r\nEND:VEVENT\r\n"
        for number in range(count)
    )
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{events}END:VCALENDAR\r\n"


@pytest.mark.case("C05")
def test_keys_are_answered_while_three_thousand_repeating_events_are_read(aria: Aria, on_a_terminal: Any) -> None:
    calendar = aria.root / "many.ics"
    aria.home.mkdir(mode=0o700)
    (aria.home / "session.json").write_text('{"pane": "briefing"}')
    (aria.home / "config.toml").write_text(
        f'[docker]\nenabled = false\n[calendar]\nsources = [{{ path = "{calendar}" }}]\n[briefing]\ntimeout = 60\n'
    )
    calendar.write_text(repeating(1, "at first"))
    terminal = on_a_terminal()
    terminal.wait_for("at first")
    rounds = 0

    def once() -> list[float]:
        nonlocal rounds
        rounds += 1
        calendar.write_text(repeating(3_000, f"of round {rounds}"))
        terminal.send("r")
        wait_until(lambda: being_read(terminal), 10, "the reading to begin", every=0.01)
        times = [answer(terminal, "t", "New task")]
        for letter in LETTERS:
            times.append(answer(terminal, letter, letter))
            if not being_read(terminal):
                break
        assert len(times) > 10, "it was read before a key could be pressed"
        escape(terminal)
        terminal.wait_for(f"of round {rounds}", 60)
        return times

    best_of(once)
