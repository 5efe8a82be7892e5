"""Reports of nightly jobs, and where and when the user is."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from aria_tui.config import parse
from aria_tui.models import Alert, Section
from aria_tui.sources import Moment
from aria_tui.sources.context import zone_of
from aria_tui.sources.reports import ReportsSource

PLACE = ZoneInfo("America/Fortaleza")


async def reports(*files: Path) -> Section:
    config = parse(f"[briefing]\nreports = {[str(file) for file in files]}")
    moment = Moment(now=datetime(2026, 11, 30, 8, tzinfo=PLACE), zone=PLACE)
    return await ReportsSource(config, home=Path("/nonexistent")).gather(moment, 5)


async def test_a_failed_job_is_a_critical_alert_and_an_unreadable_report_a_warning(tmp_path: Path) -> None:
    good, bad, none = tmp_path / "backup.json", tmp_path / "sync.json", tmp_path / "none.json"
    good.write_text('{"timestamp": "2026-11-30T03:00:00Z", "ok": 4, "failed": 0, "more": 1}')
    bad.write_text('{"timestamp": "2026-11-30T03:00:00", "ok": 1, "failed": 2}')
    section = await reports(good, bad, none)
    assert (section.state, section.reason) == ("partial", f"{none}: can't be read: No such file or directory")
    assert section.data["reports"] == [
        {"file": str(good), "timestamp": "2026-11-30T03:00:00Z", "ok": 4, "failed": 0},
        {"file": str(bad), "timestamp": "2026-11-30T06:00:00Z", "ok": 1, "failed": 2},
    ]
    assert section.alerts == (
        Alert(level="critical", source="reports", text="sync: 2 failed"),
        Alert(level="warning", source="reports", text=f"{none}: can't be read: No such file or directory"),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"ok": 1, "failed": 0}', "has no usable 'timestamp'"),
        ('{"timestamp": "2026-11-30T03:00:00Z", "ok": 1}', "has no usable 'failed'"),
        ('{"timestamp": "2026-11-30T03:00:00Z", "ok": "yes", "failed": 0}', "has no usable 'ok'"),
        ('{"timestamp": "2026-11-30T03:00:00Z", "ok": 1, "failed": -1}', "has no usable 'failed'"),
        ('{"timestamp": "99999-01-01", "ok": 1, "failed": 0}', "has no usable 'timestamp'"),
    ],
)
async def test_a_report_that_is_none(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(text)
    section = await reports(file)
    assert (section.state, section.reason) == ("unavailable", f"{file}: {problem}")


async def test_what_failed_is_said_whatever_else_of_the_report_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "nightly.json"
    for text, state in (
        ('"timestamp": "03:00", "ok": 1', "unavailable"),
        ('"timestamp": "2026-11-30", "ok": false', "ok"),
    ):
        file.write_text(f'{{{text}, "failed": 2}}')
        section = await reports(file)
        assert section.state == state
        assert section.alerts[0] == Alert(level="critical", source="reports", text="nightly: 2 failed")


async def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a file" in (await reports(tmp_path / "pipe")).reason


def test_the_zone_by_configuration_then_by_the_system(tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    (tmp_path / "zoneinfo" / "Europe").mkdir(parents=True)
    (tmp_path / "zoneinfo" / "Europe" / "Lisbon").write_text("")
    etc.mkdir()
    localtime = etc / "localtime"

    def key(configured: str = "", **environ: str) -> tuple[str, str]:
        zone, problem = zone_of(configured, environ, localtime=localtime)
        return zone.key, problem

    assert key() == ("UTC", "")
    (etc / "timezone").write_text("Asia/Tokyo\n")
    assert key() == ("Asia/Tokyo", "")
    localtime.symlink_to(tmp_path / "zoneinfo" / "Europe" / "Lisbon")
    assert key() == ("Europe/Lisbon", "")
    assert key(TZ=":America/Sao_Paulo") == ("America/Sao_Paulo", "")
    assert [key(TZ=text)[0] for text in ("UTC+3", "<-03>3", "JST-9", "UTC0", "EST5EDT", "UTC+99", "X3")] == [
        "Etc/GMT+3", "Etc/GMT+3", "Etc/GMT-9", "Etc/GMT+0", "EST5EDT", "Europe/Lisbon", "Europe/Lisbon",
    ]  # fmt: skip
    assert key("America/Fortaleza", TZ="UTC") == ("America/Fortaleza", "")
    assert key("Mars/Olympus") == ("Europe/Lisbon", "[briefing] timezone: no such zone: Mars/Olympus")
    assert key("../../etc/passwd")[0] == "Europe/Lisbon"
