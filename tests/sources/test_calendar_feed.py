"""A feed that fails, and its last good copy; the address seen nowhere; files and folders; several calendars at once."""

from __future__ import annotations

import logging
import os
import stat
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from aria_tui.config import parse
from aria_tui.models import Section
from aria_tui.sources import Moment, calendar
from aria_tui.sources.calendar import CalendarSource
from tests.sources.service import Request, Service
from tests.sources.test_calendar_events import ics

PLACE = ZoneInfo("America/Fortaleza")
NOW = datetime(2026, 11, 30, 9, 10, tzinfo=PLACE)
SECRET = "/calendar/ical/ana%40example.org/private-0123456789abcdef/basic.ics"
GOOD = ics(
    "UID:a\nSUMMARY:Stand-up\nDTSTART:20261130T120000Z\nDTEND:20261130T123000Z",
    "UID:b\nSUMMARY:Deploy\nDTSTART:20261201T133000Z",
).encode()


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    calendar._kept.answers.clear()


async def events(settings: str, home: Path, deadline: float = 20.0) -> Section:
    source = CalendarSource(parse(f"[calendar]\nsources = [{settings}]"), home=home)
    return await source.gather(Moment(now=NOW, zone=PLACE), deadline)


async def test_a_feed_as_data(service: Service, tmp_path: Path) -> None:
    service.answers[SECRET] = GOOD
    section = await events(f'{{ url = "{service.url}{SECRET}" }}', tmp_path)
    assert (section.state, section.reason) == ("ok", "")
    assert section.data == {
        "today": [
            {"start": "2026-11-30T12:00:00Z", "end": "2026-11-30T12:30:00Z", "all_day": False, "summary": "Stand-up",
             "now": True}
        ],
        "tomorrow": [
            {"start": "2026-12-01T13:30:00Z", "end": "2026-12-01T13:30:00Z", "all_day": False, "summary": "Deploy",
             "now": False}
        ],
        "unreadable": 0,
        "too_large": 0,
    }  # fmt: skip


async def test_a_feed_is_asked_whether_it_changed(service: Service, tmp_path: Path) -> None:
    service.headers["ETag"] = '"one"'

    def answer(request: Request) -> bytes:
        if request.headers.get("if-none-match") == '"one"':
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        return b'HTTP/1.1 200 OK\r\nETag: "one"\r\nContent-Length: %d\r\n\r\n%s' % (len(GOOD), GOOD)

    service.answers[SECRET] = answer
    settings = f'{{ url = "{service.url}{SECRET}" }}'
    for _ in range(2):
        section = await events(settings, tmp_path)
        assert (section.state, len(section.data["today"])) == ("ok", 1)
        calendar._kept.answers.clear()
    assert [request.headers.get("if-none-match") for request in service.requests] == [None, '"one"']
    service.answers[SECRET] = lambda _: b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n"
    about = next((tmp_path / "cache").glob("*.json"))
    about.write_text(about.read_text().replace("20", "19", 1))
    assert str((await events(settings, tmp_path)).as_of).startswith("19")


@pytest.mark.case("C05")
@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (404, b"", "HTTP 404"),
        (500, b"x", "HTTP 500"),
        (200, b"<!DOCTYPE html><html>Sign in</html>", "not a calendar (a web page)"),
        (200, b"", "empty"),
        (200, GOOD[:-20], "cut short"),
        (302, b"", "HTTP 302"),
    ],
)
async def test_a_feed_that_fails_shows_its_last_good_copy_with_its_age(
    service: Service, tmp_path: Path, status: int, body: bytes, problem: str
) -> None:
    service.answers[SECRET], service.statuses[SECRET] = body, status
    settings = f'{{ url = "{service.url}{SECRET}" }}'
    section = await events(settings, tmp_path)
    assert (section.state, section.reason, section.data) == ("unavailable", problem, {})
    service.answers[SECRET], service.statuses[SECRET] = GOOD, 200
    assert (await events(settings, tmp_path)).state == "ok"
    service.answers[SECRET], service.statuses[SECRET] = body, status
    section = await events(settings, tmp_path)
    assert (section.state, section.reason) == ("stale", problem)
    assert section.as_of is not None
    assert [event["summary"] for event in section.data["today"]] == ["Stand-up"]


@pytest.mark.case("C05")
async def test_a_feed_that_is_too_large_or_never_ends(service: Service, tmp_path: Path) -> None:
    service.answers[SECRET] = b"x" * (20 * 1024 * 1024 + 1)
    settings = f'{{ url = "{service.url}{SECRET}" }}'
    section = await events(settings, tmp_path)
    assert (section.state, section.reason) == ("unavailable", "the answer is over 20 MiB")
    service.hang = True
    section = await events(settings, tmp_path, deadline=0.5)
    assert (section.state, section.reason) == ("unavailable", "no answer")


async def test_a_redirect_is_followed_for_a_calendar(service: Service, tmp_path: Path) -> None:
    service.answers[SECRET] = lambda _: b"HTTP/1.1 302 Found\r\nLocation: /there.ics\r\nContent-Length: 0\r\n\r\n"
    service.answers["/there.ics"] = GOOD
    assert (await events(f'{{ url = "{service.url}{SECRET}" }}', tmp_path)).state == "ok"


async def test_the_address_is_seen_nowhere(service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    settings = f'{{ url = {{ command = "echo {service.url}{SECRET}" }} }}'
    service.answers[SECRET] = GOOD
    shown = [repr(await events(settings, tmp_path))]
    service.answers[SECRET] = lambda _: b"HTTP/1.1 302 Found\r\nLocation: ftp://x" + SECRET.encode() + b"\r\n\r\n"
    shown.append(repr(await events(settings, tmp_path)))
    await service.close()
    shown.append(repr(await events(settings, tmp_path)))
    shown.append(repr(await events(f'{{ url = "http://[bad{SECRET}" }}', tmp_path)))
    shown.append(
        repr(await events("{ url = { command = \"sh -c 'echo private-0123456789abcdef >&2; exit 3'\" } }", tmp_path))
    )
    shown += [record.getMessage() for record in caplog.records]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    shown += [str(path) for path in files]
    shown += [path.read_text() for path in files]
    assert [text for text in shown if "private-0123456789abcdef" in text or "ana%40" in text] == []
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("false", "the secret's command failed with exit status 1"),
        ("true", "the secret's command gave nothing"),
        ("/no/such/program", "the secret's command can't be run: No such file or directory"),
        ("'", "the secret's command can't be run: No closing quotation"),
    ],
)
async def test_a_secret_that_can_not_be_had(tmp_path: Path, command: str, problem: str) -> None:
    section = await events(f'{{ url = {{ command = "{command}" }} }}', tmp_path)
    assert (section.state, section.reason) == ("unavailable", problem)


async def test_a_file_and_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "one.ics"
    file.write_bytes(GOOD)
    folder = tmp_path / "vdir" / "work"
    folder.mkdir(parents=True)
    (folder / "a.ics").write_bytes(ics("UID:c\nSUMMARY:Call\nDTSTART:20261130T170000Z").encode())
    (folder / "b.ics").write_bytes(b"broken")
    (folder / "notes.txt").write_bytes(b"no calendar")
    os.mkfifo(folder / "pipe.ics")
    section = await events(f'{{ path = "{file}" }}, {{ path = "{folder.parent}", name = "Work" }}', tmp_path)
    assert (section.state, section.reason) == ("partial", "2 unreadable")
    assert [event["summary"] for event in section.data["today"]] == ["Stand-up", "Call"]
    file.write_bytes(ics("UID:a\nSUMMARY:Changed\nDTSTART:20261130T120000Z").encode())
    section = await events(f'{{ path = "{file}" }}', tmp_path)
    assert [event["summary"] for event in section.data["today"]] == ["Changed"]


async def test_a_file_that_is_cut_or_gone_shows_its_last_good_copy(tmp_path: Path) -> None:
    file = tmp_path / "one.ics"
    file.write_bytes(GOOD)
    settings = f'{{ path = "{file}" }}'
    assert (await events(settings, tmp_path)).state == "ok"
    for problem, body in (("cut short", GOOD[:-20]), ("empty", b""), ("No such file or directory", None)):
        if body is None:
            file.unlink()
        else:
            file.write_bytes(body)
        section = await events(settings, tmp_path)
        assert (section.state, section.reason) == ("stale", f"{file}: {problem}")
        assert section.as_of is not None
        assert [event["summary"] for event in section.data["today"]] == ["Stand-up"]


async def test_a_path_that_can_not_be_read(tmp_path: Path) -> None:
    section = await events(f'{{ path = "{tmp_path}/none.ics" }}', tmp_path)
    assert (section.state, section.reason) == ("unavailable", f"{tmp_path}/none.ics: No such file or directory")
    os.mkfifo(tmp_path / "pipe.ics")
    section = await events(f'{{ path = "{tmp_path}/pipe.ics" }}', tmp_path)
    assert (section.state, section.reason) == ("unavailable", f"{tmp_path}/pipe.ics: not a file")


async def test_one_of_two_feeds_fails(service: Service, tmp_path: Path) -> None:
    service.answers[SECRET] = GOOD
    settings = f'{{ url = "{service.url}{SECRET}", name = "Home" }}, {{ url = "{service.url}/none", name = "Work" }}'
    section = await events(settings, tmp_path)
    assert (section.state, section.reason) == ("partial", "Work: HTTP 404")
    assert len(section.data["today"]) == 1


@pytest.mark.case("C05")
async def test_broken_events_and_mad_rules_are_counted(service: Service, tmp_path: Path) -> None:
    text = ics(
        "UID:a\nSUMMARY:X\nDTSTART:never", "UID:b\nSUMMARY:Mad\nDTSTART:20261101T000000Z\nRRULE:FREQ=SECONDLY",
        "UID:c\nSUMMARY:One\nDTSTART:20261130T120000Z", "UID:d\nSUMMARY:Two\nDTSTART:20261130T130000Z",
    )  # fmt: skip
    service.answers[SECRET] = text.encode()
    section = await events(f'{{ url = "{service.url}{SECRET}" }}', tmp_path)
    assert (section.state, section.reason) == ("partial", "1 unreadable; 1 rule too large")
    assert [event["summary"] for event in section.data["today"]] == ["One", "Two"]


async def test_a_home_that_can_not_be_written_costs_only_the_copy(service: Service, tmp_path: Path) -> None:
    service.answers[SECRET] = GOOD
    (tmp_path / "cache").write_text("in the way")
    section = await events(f'{{ url = "{service.url}{SECRET}" }}', tmp_path)
    assert section.state == "ok"
    assert section.reason.startswith("the copy can't be kept:")


async def test_nothing_configured(tmp_path: Path) -> None:
    section = await CalendarSource(parse(""), home=tmp_path).gather(Moment(now=NOW, zone=PLACE), 5)
    assert section.state == "not_configured"
