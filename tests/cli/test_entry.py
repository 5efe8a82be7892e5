"""However the command line is called, it ends with a status and a sentence, never with a traceback."""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aria_tui import __version__, paths
from aria_tui.errors import ConfigError
from tests.cli.pty_run import on_a_terminal
from tests.helpers import needs
from tests.helpers.aria import Aria
from tests.helpers.waiting import wait_until

PROBE = """
import sys
from aria_tui.cli import main
status = main(sys.argv[1:])
print("\\n".join(sys.modules), file=sys.stderr)
sys.exit(status)
"""


def modules_after(aria: Aria, *args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *args], env=aria.environment(), cwd=aria.root / "user",
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done
    return set(done.stderr.split())


def test_version(aria: Aria) -> None:
    assert aria("--version").ok().out == f"aria {__version__}\n"
    assert aria("-V").ok().out == f"aria {__version__}\n"
    assert not aria.home.exists()


def test_each_command_imports_no_more_than_it_needs(aria: Aria) -> None:
    heavy = {"httpx", "textual", "rich", "starlette", "babel", "mcp", "icalendar"}
    version = modules_after(aria, "--version")
    assert not version & (heavy | {"argparse", "asyncio", "msgspec", "sqlite3"})
    add = modules_after(aria, "insight", "add", "--offline", "x")
    assert not add & (heavy | {"filelock", "difflib", "tomllib", "aria_tui.cli.task"})
    short = modules_after(aria, "status", "--short")
    assert not short & (heavy | {"argparse", "asyncio", "msgspec", "sqlite3", "functools"})
    listing = modules_after(aria, "queue", "list", "--json")
    assert not listing & {"textual", "rich", "babel", "icalendar"}


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("tusk",), "did you mean 'task'"),
        (("task",), "required"),
        (("task", "add"), "TITLE"),
        (("task", "add", "x", "--priority", "extreme"), "urgent, high, medium, low"),
        (("task", "add", "x", "--due", "someday"), "someday"),
        (("task", "add", "x", "--pri", "high"), "--pri"),
        (("queue", "resolve", "1"), "--mine"),
        (("queue", "show", "abc"), "abc"),
        (("queue", "list", "--limit", "-3"), "whole number"),
        (("schedule", "install", "--every", "7m"), "15m"),
        ((), "terminal"),
    ],
)
def test_a_wrong_call_is_told_with_the_way_out(aria: Aria, args: tuple[str, ...], word: str) -> None:
    done = aria(*args)
    assert (done.status, done.out) == (2, ""), done
    assert word in done.err, done
    assert not aria.queue_file.exists() or aria.waiting() == 0


@pytest.mark.case("S08")
def test_bytes_that_are_no_text_are_refused_before_anything_is_stored(aria: Aria) -> None:
    for args in ((b"task", b"add", b"caf\xe9"), (b"insight", b"add", b"-p", b"\xff", b"x"), (b"caf\xe9",)):
        done = aria(*args)
        assert done.status == 2 and "not valid UTF-8" in done.err, done
    done = aria("insight", "add", "-", stdin=b"caf\xe9\n")
    assert done.status == 2 and "not valid UTF-8" in done.err, done
    assert aria.waiting() == 0


def test_a_reader_that_goes_away_is_quiet(aria: Aria) -> None:
    needs.program("bash")
    for number in range(3):
        aria("insight", "add", "--offline", f"text {number}").ok()
    shell = f'"{sys.executable}" -m aria_tui queue list | true; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", shell], env=aria.environment(), capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("0\n", ""), done


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_standard_streams_are_quiet_and_harm_nothing(aria: Aria, closed: str) -> None:
    needs.program("bash")
    shell = f'"{sys.executable}" -m aria_tui insight add --offline "kept" {closed}'
    done = subprocess.run(["bash", "-c", shell], env=aria.environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done
    assert aria.waiting() == 1


def test_a_full_disk_under_the_output_is_a_failure_with_words(aria: Aria) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*aria.command, "queue", "--json"], env=aria.environment(), stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 1 and b"can't write the output" in done.stderr, done
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr, done


def test_odd_environments(aria: Aria) -> None:
    aria("insight", "add", "--offline", "Reunião 日本").ok()
    for env in ({"LANG": "xx_YY.broken"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}):
        done = aria("queue", "list", env=env).ok()
        assert "capture_insight" in done.out, done
        assert aria("queue", "list", "--json", env=env).ok().json[0]["payload"].count("日本") == 1
        assert aria("status", "--short", env=env).ok().out == "⇡1\n"
    nowhere = {name: value for name, value in aria.environment().items() if name not in ("HOME", "ARIA_HOME")}
    done = subprocess.run([*aria.command, "config", "path"], env=nowhere, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip().endswith("/.aria/config.toml"), done
    done = aria("config", "path", env={"ARIA_HOME": "", "HOME": "/nonexistent"})
    assert done.ok().out == "/nonexistent/.aria/config.toml\n"
    refused = aria("task", "add", "x", "--offline", env={"ARIA_HOME": "/proc/nonexistent/aria"})
    assert refused.status == 1 and "not saved" in refused.err and "x" in refused.err.splitlines()[-1], refused


@pytest.mark.parametrize("given", ["", "/", "relative"])
def test_a_home_that_is_none_of_the_users_is_asked_of_the_password_database(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    def nobody(_number: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.delenv("ARIA_HOME", raising=False)
    monkeypatch.setenv("HOME", given)
    known = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwuid", lambda _number: pwd.struct_passwd([*known[:5], "/home/of-mine", known[6]]))
    assert paths.home() == Path("/home/of-mine/.aria")
    monkeypatch.setenv("ARIA_HOME", "~/else")
    assert paths.home() == Path("/home/of-mine/else")
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(ConfigError, match="no home folder is known"):
        paths.home()


def as_somebody(aria: Aria) -> Aria:
    """The same program without root's right to write everywhere, over a home that isn't its own."""
    aria.home.mkdir(exist_ok=True)
    aria.home.chmod(0o555)
    if os.getuid() == 0:
        os.chown(aria.home, 12345, -1)
        aria.command = (needs.program("setpriv", "util-linux"), "--bounding-set=-all", "--inh-caps=-all", *aria.command)
    return aria


def test_a_home_that_can_not_be_written_is_told_the_same_way_by_each_command(aria: Aria) -> None:
    as_somebody(aria)
    try:
        for args in (("sync",), ("sync", "--json"), ("queue",), ("status",)):
            done = aria(*args)
            assert done.status == 1 and f"queue unavailable: {aria.queue_file}: permission denied" in done.err, done
        done = aria("task", "add", "x")
        assert done.status == 1 and "not saved: permission denied" in done.err, done
        assert aria("status", "--short").out == "⚠\n"
    finally:
        aria.home.chmod(0o755)


def test_ctrl_c_is_quiet(aria: Aria, raw_server) -> None:  # type: ignore[no-untyped-def]
    import threading

    asked = threading.Event()
    gone = threading.Event()

    def never(_request: object) -> bytes:
        asked.set()
        gone.wait(20)
        return b""

    server = raw_server(never)
    aria.use(server.url, "t")
    aria.home.mkdir(exist_ok=True)
    (aria.home / "config.toml").write_text("[hub]\nbudget = 20\ntimeout = 20\n")
    running = aria.start("task", "list")
    try:
        wait_until(asked.is_set, 20, "the Hub is asked")
        running.process.send_signal(signal.SIGINT)
        done = running.wait(15)
    finally:
        gone.set()
    assert (done.status, done.err) == (130, ""), done


def test_an_unexpected_error_is_one_sentence_and_a_log(aria: Aria, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import aria_tui.cli.config as c\ndef fail(*_): raise ZeroDivisionError('odd')\nc._path = fail\n"
    )
    env = {"PYTHONPATH": os.pathsep.join([str(broken), aria.environment()["PYTHONPATH"]])}
    done = aria("config", "path", env=env)
    assert done.status == 1 and done.out == "", done
    assert "unexpected error: ZeroDivisionError: odd" in done.err and len(done.err.splitlines()) == 1, done
    logs = list((aria.home / "log").glob("*.log"))
    assert len(logs) == 1 and "ZeroDivisionError" in logs[0].read_text()
    assert logs[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.case("T02")
def test_text_from_outside_can_not_steer_a_terminal(aria: Aria) -> None:
    title = "a\x1b]52;c;aGk=\x07 \x1b[2J \x9b31m \x0e \r \x08 \t[bold] \u202eabc"
    aria("task", "add", title, "-p", "[/x]\x1b[1m", "--offline").ok()
    kept = aria("queue", "list", "--json").ok()
    assert json.loads(kept.json[0]["payload"])["title"] == title
    for args in (
        ("queue",),
        ("queue", "list"),
        ("queue", "show", "1"),
        ("sync", "--plan"),
        ("queue", "list", "--json"),
    ):
        status, stream = on_a_terminal(aria, *args)
        assert status == 0, stream
        for sequence in (b"\x1b]", b"\x1b[2J", b"\xc2\x9b", b"\x0e", b"\x08", b"\x07", "\u202e".encode()):
            assert sequence not in stream, (args, sequence, stream)
        assert "␛".encode() in stream or b"\\u001b" in stream, stream


def test_portuguese_where_the_locale_or_the_configuration_says_so(aria: Aria) -> None:
    english = aria("queue", "list").ok().out
    assert english == "nothing waits\n"
    assert aria("queue", "list", "--json", env={"LANG": "pt_BR.UTF-8"}).ok().out == "[]\n"
    assert "FILA: 0" in aria("queue", env={"LANG": "pt_BR.UTF-8"}).ok().out
    aria.home.mkdir(exist_ok=True)
    (aria.home / "config.toml").write_text('[ui]\nlanguage = "en"\n')
    assert aria("queue", "list", env={"LANG": "pt_BR.UTF-8"}).ok().out == english
