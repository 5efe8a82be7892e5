"""What is wrong with an argument is said by the command that it was given to, and by its name."""

from __future__ import annotations

import sqlite3

import pytest

from tests.helpers.aria import Aria

LARGE = "9" * 30


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("queue", "edit", "8", "--field", "title=x"), "see: aria queue edit --help"),
        (("task", "list", "--al"), "unrecognized arguments: --al"),
        (("task", "add", "Pagar", "DAS"), "see: aria task add --help"),
        (("--bogus",), "see: aria --help"),
        (("queue", "show", "x"), "argument N: 'x' is no whole number"),
        (("queue", "list", "--limit", "-1"), "argument --limit: '-1' is no whole number, 0 or more"),
        (("task", "done", ""), "aria: id: must not be empty"),
        (("insight", "rm", " "), "aria: id: must not be empty"),
        (("briefing", "--date", ""), "aria: date: not a date: "),
        (("briefing", "--evening", "--date", "2026-11-27"), "aria activity list --since 2026-11-27"),
        (("queue", "show", LARGE), f"argument N: '{LARGE}' is too large"),
        (("queue", "retry", LARGE), "is too large"),
        (("queue", "discard", "--yes", LARGE), "is too large"),
        (("queue", "edit", LARGE, "--set", "title=x"), "is too large"),
        (("queue", "resolve", LARGE, "--mine"), "is too large"),
        (("queue", "list", "--limit", LARGE), "is too large"),
        (("activity", "add", "lab", "--commits", LARGE), "is too large"),
        (("activity", "add", "lab", "--notes", "x", "--date", "someday"), "aria: date: not a date: someday"),
        (("activity", "list", "--since", "someday"), "aria: since: not a date: someday"),
        (("insight", "list", "--since", "someday"), "aria: since: not a date: someday"),
        (("briefing", "--date", "2026-02-30"), "aria: date: there is no such day: 2026-02-30"),
        (("task", "add", "x", "--due", "someday"), "aria: due: not a date: someday"),
        (("hub", "serve", "--rate", "nan"), "--rate must be above 0"),
        (("hub", "serve", "--rate", "inf"), "--rate must be above 0"),
    ],
)
def test_a_wrong_argument_is_a_usage_error(aria: Aria, arguments: tuple[str, ...], words: str) -> None:
    done = aria(*arguments, timeout=20)
    assert done.status == 2 and words in done.err and not done.out, done


def test_the_evening_of_today_by_its_date_and_yesterday_by_its_word(aria: Aria) -> None:
    told = aria("briefing", "--evening", "--date", "today", "--json", "--no-store").ok().json
    assert told["kind"] == "evening"
    assert "no briefing of 20" in aria("briefing", "--date", "yesterday").err


def test_a_weekday_to_look_back_to_is_the_last_one(aria: Aria) -> None:
    aria("activity", "add", "lab", "--notes", "x", "--date", "today").ok()
    aria("insight", "add", "x").ok()
    for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun", "yesterday"):
        assert aria("activity", "list", "--since", day, "--json").ok().json["activity"], day
    assert aria("insight", "list", "--since", "fri", "--json").ok().json["insights"]


def test_a_number_that_no_row_has(aria: Aria) -> None:
    done = aria("queue", "show", "9" * 18)
    assert done.status == 1 and f"there is no operation #{'9' * 18}" in done.err, done


def test_why_a_row_waits_is_not_cut_where_no_terminal_cuts_it(aria: Aria) -> None:
    aria("queue", "status").ok()
    with sqlite3.connect(aria.queue_file, timeout=10) as db:
        db.execute("INSERT INTO queue(operation, payload) VALUES ('fly', '{}')")
    db.close()
    assert aria("sync").status == 3
    assert "the Hub does not know this operation yet\n" in aria("queue", "list").ok().out
