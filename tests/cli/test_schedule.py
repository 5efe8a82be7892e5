"""``aria schedule``: the files the system's timer gets, and what is told once."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aria_tui.cli import timers
from aria_tui.cli.schedule import _minutes
from tests.helpers import needs
from tests.helpers.aria import Aria

COMMAND = (sys.executable, "-m", "aria_tui", "sync", "--quiet")


def program(aria: Aria, name: str, script: str) -> Path:
    """A program of the system's, on a PATH of the test's own, that notes how it was called."""
    folder = aria.root / "bin"
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {folder}/{name}.calls\n{script}\n')
    file.chmod(0o755)
    aria.env["PATH"] = f"{folder}:/usr/bin:/bin"
    return folder / f"{name}.calls"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="systemd is Linux's")
def test_install_status_remove(aria: Aria) -> None:
    calls = program(aria, "systemctl", "")
    aria.env["ARIA_HUB_TOKEN"] = "only here"
    done = aria("schedule", "install", "--every", "15m").ok()
    assert "ARIA_HUB_TOKEN" in done.err and "only here" not in done.out + done.err
    folder = aria.root / "user" / ".config" / "systemd" / "user"
    service, timer = (folder / f"aria-sync.{kind}" for kind in ("service", "timer"))
    assert f'Environment="ARIA_HOME={aria.home}"' in service.read_text() and "only here" not in service.read_text()
    assert "Persistent=true" in timer.read_text()
    assert calls.read_text().splitlines()[-1] == "--user restart aria-sync.timer"
    status = aria("schedule", "status", "--json").ok().json
    assert status == {
        "installed": True, "kind": "systemd", "files": [str(service), str(timer)], "every_minutes": 15, "active": True,
    }  # fmt: skip
    assert "every 15 min" in aria("schedule", "status").ok().out
    assert aria("schedule", "remove", "--json").ok().json["removed"] == [str(service), str(timer)]
    assert not service.exists() and not timer.exists()
    assert aria("schedule", "status").status == 1
    assert "nothing is scheduled" in aria("schedule", "remove").ok().out


def test_a_system_that_will_not_take_it_is_told(aria: Aria) -> None:
    program(aria, "systemctl", 'echo "Failed to connect to bus" >&2; exit 1')
    done = aria("schedule", "install")
    assert done.status == 1 and "Failed to connect to bus" in done.err, done
    aria.env["PATH"] = "/nonexistent"
    done = aria("schedule", "install")
    assert done.status == 1 and "cron" in done.err and "*/15" in done.err, done


def test_print_writes_nothing_and_a_wrong_configuration_is_told_first(aria: Aria) -> None:
    program(aria, "systemctl", "")
    assert "OnCalendar=*-*-* 00/2:00:00" in aria("schedule", "install", "--every", "2h", "--print").ok().out
    assert not (aria.root / "user" / ".config").exists()
    aria.home.mkdir()
    (aria.home / "config.toml").write_text("[hub]\nurll = 1\n")
    assert aria("schedule", "install").status == 2
    assert not (aria.root / "user" / ".config").exists()


@pytest.mark.parametrize("home", ["/home/me/.aria", '/tmp/odd "100%" $HOME \\ folder'])
def test_systemd_takes_the_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    analyze = needs.program("systemd-analyze", "systemd")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    units = timers.Systemd(COMMAND, home).files(15)
    for file, text in units.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    done = subprocess.run(
        [analyze, "verify", "--user", *map(str, units)], capture_output=True, text=True, timeout=60,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    assert "100%%" in units[timers.Systemd(COMMAND, home).paths()[0]].decode() or "%" not in home
    ours = [line for line in done.stderr.splitlines() if "aria-sync" in line]
    assert done.returncode == 0 and not ours, done


@pytest.mark.parametrize("text", ["1m", "5m", "15 min", "30m", "60m", "1h", "2h", "12h", "1d", "24h"])
def test_every_interval_can_be_read_back_and_systemd_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    minutes = _minutes(text)
    timer = timers.Systemd(COMMAND, "/h")
    for file, content in timer.files(minutes).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    assert timer.every() == minutes
    if shutil.which("systemd-analyze"):
        calendar = timers._calendar(minutes)
        assert (
            subprocess.run(["systemd-analyze", "calendar", calendar], capture_output=True, timeout=60).returncode == 0
        )


def test_launchd_gets_a_property_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    timer = timers.Launchd(COMMAND, "/Users/me/.aria & <more>")
    [(file, text)] = timer.files(15).items()
    job = plistlib.loads(text)
    assert job["ProgramArguments"] == list(COMMAND) and job["StartInterval"] == 900
    assert job["EnvironmentVariables"] == {"ARIA_HOME": "/Users/me/.aria & <more>"} and job["RunAtLoad"] is True
    file.parent.mkdir(parents=True)
    file.write_bytes(text)
    assert timer.every() == 15 and file.name == f"{job['Label']}.plist"


def test_a_quiet_sync_notifies_once_and_only_if_the_user_is_needed(aria: Aria, hub) -> None:  # type: ignore[no-untyped-def]
    calls = program(aria, "notify-send", "")
    aria.env["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"
    aria.use(hub.url, hub.token)
    aria("task", "add", "fine", "--offline").ok()
    done = aria("sync", "--quiet").ok()
    assert (done.out, done.err) == ("", "") and not calls.exists()
    aria.use("http://127.0.0.1:9", "t")
    aria("task", "add", "waits", "--offline").ok()
    done = aria("sync", "--quiet")
    assert (done.status, done.out, done.err) == (3, "", "") and not calls.exists(), done
    aria.use(hub.url, "revoked")
    aria("task", "add", "refused", "--offline").ok()
    for _ in range(2):
        done = aria("sync", "--quiet")
        assert done.status == 3 and "sign-in needed" in done.err, done
    assert len(calls.read_text().splitlines()) == 1
