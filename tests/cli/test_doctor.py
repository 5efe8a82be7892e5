"""``aria doctor``: each thing the program stands on, healthy and sick."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import Request


def checks(aria: Aria, *, status: int) -> dict[str, dict[str, str]]:
    done = aria("doctor", "--json")
    assert done.status == status and done.json["ok"] is (status == 0), done
    found: dict[str, dict[str, str]] = {}
    for check in done.json["checks"]:
        if check["name"] not in found or check["level"] != "ok":
            found[check["name"]] = check
    return found


def quiet(aria: Aria) -> None:
    aria.home.mkdir(exist_ok=True, mode=0o700)
    (aria.home / "config.toml").write_text("[docker]\nenabled = false\n")


def test_a_healthy_machine(aria: Aria, hub: HubProcess) -> None:
    quiet(aria)
    aria.use(hub.url, hub.token)
    aria("task", "add", "x").ok()
    found = checks(aria, status=0)
    assert found.keys() >= {"program", "home", "config", "token", "queue", "waiting", "drain lock", "hub", "contract",
                            "clock", "name", "source projects", "source calendar", "terminal"}  # fmt: skip
    assert [check for check in found.values() if check["level"] != "ok"] == []
    text = aria("doctor").ok().out
    assert text.count("✓") == len(text.splitlines()) - 1 and text.endswith("0 problems, 0 warnings\n")


def test_the_hub_that_refuses_is_away_or_is_none(aria: Aria, hub: HubProcess, raw_server) -> None:  # type: ignore[no-untyped-def]
    quiet(aria)
    aria.use(hub.url, "wrong")
    assert "refused" in checks(aria, status=1)["hub"]["text"]

    def portal(_request: Request) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nlogin"

    aria.use(raw_server(portal).url, "a-token")
    found = checks(aria, status=1)["hub"]
    assert "login page" in found["text"] and found["way_out"]
    aria.use("http://127.0.0.1:9", "a-token")
    assert "connection refused" in checks(aria, status=1)["hub"]["text"]
    aria.use("http://nobody.invalid:9")
    assert checks(aria, status=1)["name"]["level"] == "problem"
    aria.use("http://hub.example.com", "t")
    assert "plain http" in checks(aria, status=1)["hub"]["text"]


def test_a_clock_that_is_wrong(aria: Aria, raw_server) -> None:  # type: ignore[no-untyped-def]
    quiet(aria)

    def late(_request: Request) -> bytes:
        meta = {"hub_id": "h", "epoch": "e", "seq": 0, "account": "me", "api": 1, "operations": {"create_task": 1},
                "limits": {}, "retention": {}, "server_time": "2020-01-01T00:00:00Z"}  # fmt: skip
        body = json.dumps(meta).encode()
        return (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAria-Hub-Id: h\r\nAria-Hub-Epoch: e\r\n"
            + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
        )  # fmt: skip

    aria.use(raw_server(late).url, "t")
    found = checks(aria, status=0)
    assert found["clock"]["level"] == "warning" and "ahead of" in found["clock"]["text"]
    assert found["contract"]["level"] == "warning" and "capture_insight" in found["contract"]["text"]


def test_the_queue_that_is_sick(aria: Aria) -> None:
    quiet(aria)
    aria("task", "add", "x", "--offline").ok()
    aria.queue_file.chmod(0o644)
    assert "600" in checks(aria, status=0)["permissions"]["way_out"]
    connection = sqlite3.connect(aria.queue_file)
    connection.execute("UPDATE queue SET created_at = '2020-01-01 00:00:00'")
    connection.execute(
        "INSERT INTO parked(id, kind, operation, payload, created_at, parked_at) VALUES (9, 'dead', 'x', '{}', '', '')"
    )
    connection.commit()
    connection.close()
    found = checks(aria, status=0)
    assert found["waiting"]["level"] == found["dead letters"]["level"] == "warning"
    with aria.queue_file.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 2000)
    assert checks(aria, status=1)["queue"]["level"] == "problem"
    aria.queue_file.write_bytes(b"nothing of a database" * 300)
    assert "way_out" in checks(aria, status=1)["queue"]


def test_a_newer_queue_and_wal(aria: Aria) -> None:
    quiet(aria)
    connection = sqlite3.connect(aria.queue_file)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("CREATE TABLE queue(x)")
    connection.commit()
    try:
        found = checks(aria, status=0)
        if sqlite3.sqlite_version_info < (3, 51, 3):
            assert found["journal"]["level"] == "warning", found
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
        assert "newer version" in checks(aria, status=1)["queue"]["text"]
    finally:
        connection.close()


def test_home_and_configuration(aria: Aria) -> None:
    quiet(aria)
    aria.home.chmod(0o755)
    assert "chmod 700" in checks(aria, status=0)["permissions"]["way_out"]
    (aria.home / "config.toml").write_text("[hub]\nurll = 'x'\n")
    assert "config.toml:2" in checks(aria, status=1)["config"]["text"]
    done = aria("--home", str(aria.home / "config.toml"), "doctor")
    assert done.status == 1 and "is a file" in done.out, done
    assert "1 problem, " in done.out and not [word for word in ("queue", "lock", "hub") if f" {word} " in done.out]


def test_who_holds_the_lock(aria: Aria) -> None:
    from filelock import FileLock

    quiet(aria)
    aria("task", "add", "x").ok()
    with FileLock(aria.home / "queue.db.lock"):
        assert "held by" in checks(aria, status=0)["drain lock"]["text"]
    assert checks(aria, status=0)["drain lock"]["text"] == "free"


def test_a_source_that_fails_is_a_problem_of_its_own(aria: Aria) -> None:
    quiet(aria)
    with (aria.home / "config.toml").open("a") as file:
        file.write('[finance]\nkind = "file"\npath = "/nonexistent.toml"\n[briefing]\ntimeout = 5\n')
        file.write(f'[projects]\nroots = ["{aria.root / "user"}"]\n')
    found = checks(aria, status=1)
    assert "0 repositories" in found["source projects"]["text"]
    assert found["source finance"]["level"] == "problem" and found["source projects"]["level"] == "ok"


@pytest.mark.parametrize("where", ["bundle.json", "missing/bundle.json"])
def test_the_bundle(aria: Aria, tmp_path: Path, where: str) -> None:
    quiet(aria)
    aria("task", "add", "a private title", "--offline").ok()
    (aria.home / "log").mkdir()
    (aria.home / "log" / "1.log").write_text('Traceback\n  File "x.py", line 1, in f\nValueError: a private title\n')
    file = tmp_path / where
    done = aria("doctor", "--bundle", str(file))
    if "/" in where:
        assert done.status == 1 and "can't be written" in done.err, done
        return
    document = json.loads(file.read_text())
    assert file.stat().st_mode & 0o777 == 0o600
    assert document["queue"]["waiting"] == {"create_task": 1} and document["settings"] == ["docker.enabled"]
    assert document["errors"] == [['File "x.py", line 1, in f']]
    assert "private" not in file.read_text() and str(aria.root / "user") not in file.read_text()


def test_the_bundle_hides_what_a_check_might_have_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from aria_tui.cli.doctor import _hidden

    monkeypatch.setenv("ARIA_HOME", str(tmp_path))
    monkeypatch.setenv("ARIA_HUB_TOKEN", "SECRET-1")
    (tmp_path / "config.toml").write_text('[finance]\ntoken = "SECRET-2"\n')
    hidden = _hidden({"text": ["a SECRET-1 b", {"x": "SECRET-2"}, f"{Path.home()}/x", 3]})
    assert hidden == {"text": ["a *** b", {"x": "***"}, "~/x", 3]}
