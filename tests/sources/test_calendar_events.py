"""Which events are on which day: all-day and long ones, zones of every kind, moved and removed instances, the clock."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from aria_tui.sources._calendar_worker import run
from tests.helpers.fuzz import EXAMPLES

PLACE = "America/Fortaleza"


def ics(*events: str, head: str = "") -> str:
    body = "".join(f"BEGIN:VEVENT\r\n{event.strip()}\r\nEND:VEVENT\r\n" for event in events)
    text = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n{head}{body}END:VCALENDAR\r\n"
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def read(text: str | bytes, day: str, *, days: int = 1) -> dict[str, Any]:
    raw = text.encode() if isinstance(text, str) else text
    first = date.fromisoformat(day)
    wanted = [(first + timedelta(days=n)).isoformat() for n in range(days)]
    return run(body=base64.b64encode(raw).decode(), path=None, days=wanted, zone=PLACE)


def shown(text: str | bytes, day: str) -> list[str]:
    """``09:00 Title (note)`` for each event of a day, in order."""
    lines = []
    for event in read(text, day)["days"][0]:
        clock = "all-day" if event["all_day"] else event["start"][11:16]
        note = f" ({event['note']})" if "note" in event else ""
        lines.append(f"{clock} {event['summary']}{note}")
    return lines


@pytest.mark.case("C01")
def test_whole_days_end_before_their_end_date() -> None:
    text = ics("UID:a\nSUMMARY:Fair\nDTSTART;VALUE=DATE:20261103\nDTEND;VALUE=DATE:20261106")
    assert [shown(text, f"2026-11-0{day}") for day in (2, 3, 4, 5, 6)] == [
        [], ["all-day Fair"], ["all-day Fair (day 2 of 3)"], ["all-day Fair (day 3 of 3)"], [],
    ]  # fmt: skip


@pytest.mark.case("C01")
def test_late_evening_in_utc_is_the_day_before_here() -> None:
    text = ics("UID:a\nSUMMARY:Late\nDTSTART:20261106T023000Z\nDTEND:20261106T024500Z")
    assert shown(text, "2026-11-05") == ["23:30 Late"]
    assert shown(text, "2026-11-06") == []


@pytest.mark.case("C01")
def test_a_whole_day_that_ends_on_its_own_date_is_one_day() -> None:
    text = ics("UID:a\nSUMMARY:One\nDTSTART;VALUE=DATE:20261103\nDTEND;VALUE=DATE:20261103")
    assert [shown(text, f"2026-11-0{day}") for day in (2, 3, 4)] == [[], ["all-day One"], []]


@pytest.mark.case("C01")
def test_over_midnight_is_on_both_days() -> None:
    text = ics(f"UID:a\nSUMMARY:Night\nDTSTART;TZID={PLACE}:20261103T220000\nDTEND;TZID={PLACE}:20261104T020000")
    assert shown(text, "2026-11-03") == ["22:00 Night"]
    assert shown(text, "2026-11-04") == ["22:00 Night (until 02:00)"]
    assert shown(text, "2026-11-05") == []


def test_until_midnight_is_not_on_the_next_day() -> None:
    text = ics("UID:a\nSUMMARY:Gala\nDTSTART:20261103T220000\nDTEND:20261104T000000")
    assert shown(text, "2026-11-03") == ["22:00 Gala"]
    assert shown(text, "2026-11-04") == []


def test_a_long_one_says_which_day_it_is() -> None:
    text = ics("UID:a\nSUMMARY:Trip\nDTSTART:20261103T220000\nDTEND:20261105T120000")
    assert shown(text, "2026-11-04") == ["22:00 Trip (day 2 of 3)"]
    assert shown(text, "2026-11-05") == ["22:00 Trip (until 12:00)"]


@pytest.mark.case("C01")
def test_dates_zoned_and_floating_times_are_sorted_together() -> None:
    text = ics(
        "UID:a\nSUMMARY:Zoned\nDTSTART;TZID=Europe/Berlin:20261103T150000",
        "UID:b\nSUMMARY:Floating\nDTSTART:20261103T080000",
        "UID:c\nSUMMARY:Utc\nDTSTART:20261103T120000Z",
        "UID:d\nSUMMARY:Day\nDTSTART;VALUE=DATE:20261103",
    )
    assert shown(text, "2026-11-03") == ["all-day Day", "08:00 Floating", "09:00 Utc", "11:00 Zoned"]


@pytest.mark.case("C02")
def test_zones_of_every_kind() -> None:
    windows = ics("UID:a\nSUMMARY:W\nDTSTART;TZID=W. Europe Standard Time:20260917T130000")
    assert shown(windows, "2026-09-17") == ["08:00 W"]
    floating = ics("UID:a\nSUMMARY:F\nDTSTART:20250519T180000", head="X-WR-TIMEZONE:Europe/Zurich\r\n")
    assert shown(floating, "2025-05-19") == ["13:00 F"]
    bare = ics("UID:a\nSUMMARY:B\nDTSTART:20250519T180000")
    assert shown(bare, "2025-05-19") == ["18:00 B"]
    odd = ics(
        "UID:a\nSUMMARY:Mars\nDTSTART;TZID=Mars/Olympus:20260917T130000",
        "UID:b\nSUMMARY:Other\nDTSTART:20260917T140000Z",
    )
    assert shown(odd, "2026-09-17") == ["11:00 Other", "13:00 Mars (zone?)"]
    prefixed = ics("UID:a\nSUMMARY:P\nDTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20260917T130000")
    assert shown(prefixed, "2026-09-17") == ["08:00 P"]


OLD_ZONE = """BEGIN:VTIMEZONE
TZID:{name}
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:+0500
TZOFFSETTO:+0500
END:STANDARD
END:VTIMEZONE
"""


def test_todays_rules_beat_an_old_description_of_a_known_zone() -> None:
    for name in ("W. Europe Standard Time", "Europe/Berlin"):
        text = ics(f"UID:a\nSUMMARY:W\nDTSTART;TZID={name}:20260917T130000", head=OLD_ZONE.format(name=name))
        assert shown(text, "2026-09-17") == ["08:00 W"]


def test_a_zone_of_the_calendars_own_is_used_when_nobody_knows_its_name() -> None:
    text = ics(
        "UID:a\nSUMMARY:Own\nDTSTART;TZID=Customized 7:20260917T130000", head=OLD_ZONE.format(name="Customized 7")
    )
    assert shown(text, "2026-09-17") == ["05:00 Own"]


WEEKLY = "UID:w\nSUMMARY:Weekly\nDTSTART;TZID=America/Sao_Paulo:20261020T090000\nRRULE:FREQ=WEEKLY;BYDAY=TU"


@pytest.mark.case("C03")
def test_moved_removed_and_cancelled_instances() -> None:
    moved = (
        "UID:w\nSUMMARY:Weekly\nRECURRENCE-ID;TZID=America/Sao_Paulo:20261103T090000\n"
        "DTSTART;TZID=America/Sao_Paulo:2026110{day}T1{hour}0000\nSEQUENCE:{n}"
    )
    text = ics(
        WEEKLY + "\nEXDATE;TZID=America/Sao_Paulo:20261110T090000",
        moved.format(day=4, hour=0, n=1),
        moved.format(day=5, hour=1, n=2),
        "UID:x\nSUMMARY:Off\nSTATUS:CANCELLED\nDTSTART:20261117T120000Z",
        "UID:w\nSUMMARY:Weekly\nSTATUS:CANCELLED\nRECURRENCE-ID;TZID=America/Sao_Paulo:20261124T090000\n"
        "DTSTART;TZID=America/Sao_Paulo:20261124T090000",
    )
    days = ("2026-11-03", "2026-11-04", "2026-11-05", "2026-11-10", "2026-11-17", "2026-11-24")
    assert [shown(text, day) for day in days] == [[], [], ["11:00 Weekly"], [], ["09:00 Weekly"], []]


@pytest.mark.case("C04")
def test_clock_changes_elsewhere() -> None:
    weekly = ics("UID:a\nSUMMARY:N\nDTSTART;TZID=America/New_York:20261001T100000\nRRULE:FREQ=WEEKLY;BYDAY=TH")
    assert shown(weekly, "2026-10-29") == ["11:00 N"]
    assert shown(weekly, "2026-11-05") == ["12:00 N"]
    daily = "UID:a\nSUMMARY:N\nDTSTART;TZID=America/New_York:{start}\nRRULE:FREQ=DAILY"
    assert shown(ics(daily.format(start="20260301T023000")), "2026-03-08") == ["04:30 N"]
    assert shown(ics(daily.format(start="20261025T013000")), "2026-11-01") == ["02:30 N"]
    assert shown(ics(daily.format(start="20100101T023000")), "2026-03-08") == ["04:30 N"]


@pytest.mark.case("C04")
def test_until_as_a_date_ends_a_zoned_series() -> None:
    text = ics(f"UID:a\nSUMMARY:U\nDTSTART;TZID={PLACE}:20261104T090000\nRRULE:FREQ=WEEKLY;BYDAY=WE;UNTIL=20261130")
    assert shown(text, "2026-11-25") == ["09:00 U"]
    assert shown(text, "2026-12-02") == []


@pytest.mark.case("C04")
@pytest.mark.parametrize(
    ("until", "last"),
    [
        ("20270120", 20), ("20270119", 13), ("20270120T090000", 20), ("20270120T085959", 13), ("20270120T120000Z", 20),
        ("20270120T115959Z", 13),
    ],
)  # fmt: skip
@pytest.mark.parametrize("start", [f";TZID={PLACE}:20270106T090000", ":20270106T090000", ":20270106T120000Z"])
def test_every_form_of_until_bounds_inclusively_where_the_event_is(until: str, last: int, start: str) -> None:
    if start.endswith("Z") and "T" in until and not until.endswith("Z"):
        pytest.skip("such a time is one in UTC then")
    text = ics(f"UID:a\nSUMMARY:Class\nDTSTART{start}\nRRULE:FREQ=WEEKLY;UNTIL={until}")
    assert [day for day in (6, 13, 20, 27) if shown(text, f"2027-01-{day:02}")] == [d for d in (6, 13, 20) if d <= last]


@pytest.mark.case("C04")
def test_nothing_ends_before_it_begins_when_the_clock_is_put_on() -> None:
    nightly = "SUMMARY:Backup\nDTSTART;TZID=Europe/Lisbon:20270301T013000\nRRULE:FREQ=DAILY"
    for end in ("DTEND;TZID=Europe/Lisbon:20270301T020000", "DURATION:PT30M"):
        (event,) = read(ics(f"UID:a\n{nightly}\n{end}"), "2027-03-27")["days"][0]  # 28 March there
        began, ended = (datetime.fromisoformat(event[key]) for key in ("start", "end"))
        assert ended.astimezone(UTC) - began.astimezone(UTC) == timedelta(minutes=30)
    shift = "DTSTART;TZID=Europe/Lisbon:20270327T220000"
    for length, hour in (("DTEND;TZID=Europe/Lisbon:20270328T060000", 2), ("DURATION:PT8H", 3)):  # WEST is UTC+1
        (event,) = read(ics(f"UID:a\nSUMMARY:Shift\n{shift}\n{length}"), "2027-03-27")["days"][0]
        assert datetime.fromisoformat(event["end"]).hour == hour


@pytest.mark.case("C04")
def test_the_leap_day_comes_in_leap_years_only() -> None:
    text = ics("UID:a\nSUMMARY:L\nDTSTART;VALUE=DATE:20240229\nRRULE:FREQ=YEARLY")
    assert shown(text, "2026-02-28") == shown(text, "2026-03-01") == []
    assert shown(text, "2028-02-29") == ["all-day L"]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY",
        "FREQ=DAILY;INTERVAL=3",
        "FREQ=DAILY;COUNT=3",
        "FREQ=DAILY;UNTIL=20261202T235959Z",
        "FREQ=DAILY;BYDAY=MO,FR;BYMONTH=12",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE",
        "FREQ=WEEKLY;INTERVAL=3;BYDAY=SU,MO;WKST=SU",
        "FREQ=WEEKLY;BYDAY=TU,WE,TH;BYSETPOS=-1",
        "FREQ=MONTHLY;BYDAY=-1MO",
        "FREQ=YEARLY;BYMONTH=11;BYMONTHDAY=30",
    ],
)
def test_a_series_of_many_years_keeps_its_days(rule: str) -> None:
    """Against a walk from the very beginning."""
    text = ics(f"UID:a\nSUMMARY:S\nDTSTART;TZID={PLACE}:20110103T090000\nRRULE:{rule}")
    days = [date(2026, 11, 23) + timedelta(days=n) for n in range(21)]
    walked = rrulestr(rule.replace("235959Z", "235959"), dtstart=datetime(2011, 1, 3, 9))
    wanted = [
        bool(walked.between(datetime(d.year, d.month, d.day), datetime(d.year, d.month, d.day, 23))) for d in days
    ]
    assert [bool(events) for events in read(text, days[0].isoformat(), days=21)["days"]] == wanted


@pytest.mark.parametrize(
    "rule", ["FREQ=SECONDLY", "FREQ=DAILY;BYHOUR=%s;BYMINUTE=%s;BYSECOND=0,30", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"]
)
def test_a_rule_without_measure_is_left_out_and_counted(rule: str) -> None:
    if "%s" in rule:
        rule %= ",".join(map(str, range(24))), ",".join(map(str, range(60)))
    text = ics(
        f"UID:a\nSUMMARY:Mad\nDTSTART:20261101T000000Z\nRRULE:{rule}", "UID:b\nSUMMARY:Sane\nDTSTART:20261130T120000Z"
    )
    result = read(text, "2026-11-30")
    assert [event["summary"] for event in result["days"][0]] == ["Sane"]
    assert result["unreadable"] == 0
    assert result["too_large"] == (0 if "YEARLY" in rule else 1)


def test_a_small_rule_by_the_second_is_fine() -> None:
    text = ics("UID:a\nSUMMARY:Tick\nDTSTART:20261130T120000Z\nRRULE:FREQ=SECONDLY;COUNT=5")
    assert len(shown(text, "2026-11-30")) == 5


@pytest.mark.case("C05")
@pytest.mark.parametrize(
    "broken",
    [
        "UID:a\nSUMMARY:X\nDTSTART:2026113T090000",
        "UID:a\nSUMMARY:X",
        "UID:a\nSUMMARY:X\nDTSTART:20261130T090000Z\nDTEND:soon",
        "UID:a\nSUMMARY:X\nDTSTART:20261130T090000Z\nRRULE:FREQ=SOMETIMES",
        "UID:a\nSUMMARY:X\nDTSTART:20261131T090000Z",
        "UID:a\nSUMMARY:X\nDTSTART:20261130T090000Z\nDURATION:long",
        "UID:a\nBEGIN:VALARM\nSUMMARY:X\nDTSTART:20261130T090000Z",
    ],
)
def test_an_unreadable_event_costs_itself(broken: str) -> None:
    text = ics("UID:b\nSUMMARY:One\nDTSTART:20261130T120000Z", broken, "UID:c\nSUMMARY:Two\nDTSTART:20261130T130000Z")
    result = read(text, "2026-11-30")
    assert [event["summary"] for event in result["days"][0]] == ["One", "Two"]
    assert result["unreadable"] == 1


@pytest.mark.case("C05")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \r\n", "empty"),
        ("<!DOCTYPE html><html>login</html>", "not a calendar (a web page)"),
        ("hello", "not a calendar"),
        (ics("UID:a\nDTSTART:20261130T120000Z").partition("END:VCALENDAR")[0], "cut short"),
        (ics("UID:a\nDTSTART:20261130T120000Z")[:90], "cut short"),
    ],
)
def test_what_is_no_whole_calendar_is_no_quiet_day(text: str, problem: str) -> None:
    assert read(text, "2026-11-30") == {"problem": problem}


@pytest.mark.case("C05")
def test_byte_order_mark_bare_line_feeds_folding_and_two_calendars() -> None:
    one = ics("UID:a\nSUMMARY:One\nDTSTART:20261130T120000Z")
    two = ics("UID:b\nSUMMARY:T\r\n wo\nDTSTART:20261130T130000Z")
    both = ("\ufeff" + one + two).replace("\r\n", "\n")
    assert shown(both, "2026-11-30") == ["09:00 One", "10:00 Two"]


def test_a_title_may_hold_any_byte() -> None:
    text = ics("UID:a\nSUMMARY:N\x00ul \x1b[31m\\nline\nDTSTART:20261130T120000Z")
    assert shown(text, "2026-11-30") == ["09:00 N\ufffdul \x1b[31m\nline"]


@pytest.mark.case("C05")
def test_three_thousand_series_are_read_in_a_moment() -> None:
    """A plain query takes as many milliseconds as there are series times years; no measure here but an end."""
    events = [
        f"UID:{n}\nSUMMARY:e{n}\nDTSTART;TZID=America/Sao_Paulo:20200106T09{n % 60:02}00\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU"
        for n in range(3000)
    ]
    result = read(ics(*events), "2026-11-30")
    assert (len(result["days"][0]), result["unreadable"], result["too_large"]) == (3000, 0, 0)


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda t: t.encode("utf-8", "replace")))
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_bytes_are_a_calendar_or_a_problem(raw: bytes) -> None:
    inside = ics("UID:a\nDTSTART:20261130T120000Z\nSUMMARY:@@").encode().replace(b"@@", raw)
    for text in (raw, inside):
        assert {"problem"} == read(text, "2026-11-30").keys() or len(read(text, "2026-11-30")["days"]) == 1


@given(
    st.sampled_from(["DTSTART", "DTEND", "RRULE", "EXDATE", "RDATE", "DURATION", "RECURRENCE-ID", "SUMMARY", "STATUS"]),
    st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=40),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_value_costs_at_most_its_own_event(name: str, value: str) -> None:
    text = ics(
        f"UID:a\nSUMMARY:X\nDTSTART:20261130T120000Z\n{name}:{value}", "UID:b\nSUMMARY:Sane\nDTSTART:20261130T130000Z"
    )
    assert "Sane" in [event["summary"] for event in read(text, "2026-11-30")["days"][0]]


@pytest.mark.case("T02")
def test_a_carriage_return_alone_is_a_character_of_its_line_where_lines_end_by_line_feeds() -> None:
    text = ics("UID:a\nSUMMARY:\x1b[2JA\rB\tC\x85D\u2028E\nDTSTART;VALUE=DATE:20261103")
    for ends in "\r\n", "\n":
        assert shown(text.replace("\r\n", ends), "2026-11-03") == ["all-day \x1b[2JA\rB\tC\x85D\u2028E"]
    old = ics("UID:a\nSUMMARY:Old\nDTSTART;VALUE=DATE:20261103").replace("\r\n", "\r")
    assert shown(old, "2026-11-03") == ["all-day Old"]
