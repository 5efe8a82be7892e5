"""``aria hub serve``, ``token``, ``migrate`` and ``unit`` as commands."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from aria_tui.hub.server.storage import open_storage, postgres
from aria_tui.hub.server.storage.base import MigrationNeeded, NewerSchema, StorageUnavailable
from tests.helpers import needs
from tests.hub.server.processes import Served, aria

TOKEN_SECRET = "a-title-that-no-log-may-hold"


def test_tokens_by_command(tmp_path: Path, serve: Callable[..., Served]) -> None:
    database = f"sqlite:///{tmp_path / 'hub.db'}"
    made = aria(tmp_path, "hub", "token", "create", "--account", "a", "--name", "laptop", "--database", database)
    token = made.stdout.strip()
    assert made.returncode == 0 and made.stdout == f"{token}\n" and made.stderr == ""
    reader = json.loads(
        aria(tmp_path, "hub", "token", "create", "--account", "a", "--name", "phone", "--scope", "read",
             "--expires", "1", "--database", database, "--json").stdout
    )  # fmt: skip
    assert (reader["scope"], reader["state"], reader["name"]) == ("read", "active", "phone")
    hub = serve(database, token=token)
    assert httpx.get(f"{hub.url}/api/meta", headers=hub.headers).json()["account"] == "a"
    listed = aria(tmp_path, "hub", "token", "list", "--database", database, "--json").stdout
    assert token not in listed and reader["token"] not in listed
    rows = {row["name"]: row for row in json.loads(listed)["tokens"]}
    assert rows["laptop"]["last_used_at"] and rows["phone"]["last_used_at"] is None
    assert rows["phone"]["expires_at"]
    done = aria(tmp_path, "hub", "token", "revoke", rows["laptop"]["id"], "--database", database)
    assert done.returncode == 0
    assert httpx.get(f"{hub.url}/api/meta", headers=hub.headers).status_code == 401
    again = aria(tmp_path, "hub", "token", "revoke", "laptop", "--database", database)
    assert (again.returncode, "Traceback" in again.stderr) == (1, False)


def test_logs_hold_no_secret_and_no_payload(tmp_path: Path, serve: Callable[..., Served]) -> None:
    hub = serve(f"sqlite:///{tmp_path / 'hub.db'}")
    for body in (b'{"title": "%s"}' % TOKEN_SECRET.encode(), b'{"title": 1, "x": "%s"' % TOKEN_SECRET.encode()):
        httpx.post(f"{hub.url}/api/tasks", content=body, headers=hub.headers)
    httpx.get(f"{hub.url}/api/insights", params={"q": TOKEN_SECRET}, headers=hub.headers)
    httpx.get(f"{hub.url}/api/tasks/{TOKEN_SECRET}", headers={"Authorization": "Bearer " + TOKEN_SECRET})
    lines = [json.loads(line) for line in hub.log().splitlines()]
    assert [line["status"] for line in lines] == [201, 400, 200, 401]
    assert lines[0]["route"] == "/api/tasks" and lines[0]["account"] == "me"
    assert TOKEN_SECRET not in hub.log() and hub.token not in hub.log()


def test_health_and_metrics(tmp_path: Path, serve: Callable[..., Served]) -> None:
    database = f"sqlite:///{tmp_path / 'hub.db'}"
    quiet, counting = serve(database), serve(database, "--metrics")
    assert httpx.get(f"{quiet.url}/metrics").status_code == 404
    assert httpx.get(f"{counting.url}/healthz").json() == {"status": "ok"}
    assert httpx.get(f"{counting.url}/readyz").json() == {"status": "ready"}
    httpx.post(f"{counting.url}/api/tasks", json={"title": "x"}, headers=counting.headers)
    found = httpx.get(f"{counting.url}/metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'aria_hub_requests_total{method="POST",route="/api/tasks",status="201"} 1' in found.text
    assert 'aria_hub_operations_total{operation="create_task",status="applied"} 1' in found.text


def test_a_database_that_goes_away(tmp_path: Path, serve: Callable[..., Served]) -> None:
    hub = serve(f"sqlite:///{tmp_path / 'gone' / 'hub.db'}")
    (tmp_path / "gone").rename(tmp_path / "moved")
    ready, write = httpx.get(f"{hub.url}/readyz"), httpx.post(f"{hub.url}/api/tasks", json={}, headers=hub.headers)
    assert (ready.status_code, write.status_code) == (503, 503)
    assert write.headers["retry-after"] and write.json()["type"] == "/problems/slow-down"
    assert httpx.get(f"{hub.url}/healthz").status_code == 200
    (tmp_path / "moved").rename(tmp_path / "gone")
    assert httpx.get(f"{hub.url}/readyz").status_code == 200


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["--database", "mysql://x"], "postgresql://"),
        (["--database", "sqlite:/x"], "sqlite:///PATH"),
        (["--host", "0.0.0.0", "--no-token"], "--no-token"),
        (["--host", "0.0.0.0", "--faults", "x.toml"], "--faults"),
        (["--host", "no.such.host.invalid"], "can't listen"),
        (["--port", "99999"], "can't listen"),
        (["--faults", "missing.toml"], "missing.toml"),
    ],
)
def test_clear_errors(tmp_path: Path, args: list[str], word: str) -> None:
    done = aria(tmp_path, "hub", "serve", *args)
    assert done.returncode in (1, 2)
    assert word in done.stderr and "Traceback" not in done.stderr


async def test_a_database_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "WAIT_SECONDS", 0.2)
    with pytest.raises(StorageUnavailable, match=r"127\.0\.0\.1:1") as raised:
        await open_storage("postgresql://hub:a-password@127.0.0.1:1/x")
    assert "a-password" not in str(raised.value)


def test_a_port_that_is_taken(tmp_path: Path, serve: Callable[..., Served]) -> None:
    hub = serve(f"sqlite:///{tmp_path / 'hub.db'}")
    done = aria(tmp_path, "hub", "serve", "--port", str(hub.port), "--database", f"sqlite:///{tmp_path / 'other.db'}")
    assert done.returncode == 1
    assert f"can't listen on 127.0.0.1:{hub.port}" in done.stderr


def test_sigterm_is_a_good_end(tmp_path: Path, serve: Callable[..., Served]) -> None:
    assert serve(f"sqlite:///{tmp_path / 'hub.db'}").terminate() == 0


def test_what_is_in_flight_at_sigterm_is_finished(tmp_path: Path, serve: Callable[..., Served]) -> None:
    hub = serve(f"sqlite:///{tmp_path / 'hub.db'}")
    body = b'{"title": "in flight"}'
    with socket.create_connection(("127.0.0.1", hub.port), timeout=10) as request:
        head = f"POST /api/tasks HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {hub.token}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        request.sendall(head.encode())
        assert request.recv(1000).startswith(b"HTTP/1.1 100"), "the Hub is reading this request"
        hub.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", hub.port), timeout=1).close()
            except ConnectionError:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("still takes connections")
        request.sendall(body)
        assert request.recv(1000).startswith(b"HTTP/1.1 201"), hub.log()
    assert hub.process.wait(30) == 0
    with closing(sqlite3.connect(tmp_path / "hub.db")) as database:
        assert database.execute("SELECT count(*) FROM operations").fetchone() == (1,)


def test_migrate_and_an_older_or_newer_database(database: str, tmp_path: Path) -> None:
    first = aria(tmp_path, "hub", "migrate", "--database", database)
    second = aria(tmp_path, "hub", "migrate", "--database", database)
    assert ("0001_initial" in first.stdout, second.stdout) == (True, "up to date\n")

    async def tamper(statement: str) -> None:
        storage = await open_storage(database)
        await storage._change(statement)  # type: ignore[attr-defined]
        await storage.close()

    async def check() -> None:
        storage = await open_storage(database)
        try:
            await storage.check_schema()
        finally:
            await storage.close()

    asyncio.run(tamper("INSERT INTO schema_migrations VALUES (99, 'future', 'x', 0)"))
    with pytest.raises(NewerSchema, match="newer version"):
        asyncio.run(check())
    served = aria(tmp_path, "hub", "serve", "--port", "0", "--database", database)
    assert (served.returncode, "newer version" in served.stderr) == (1, True)
    asyncio.run(tamper("DELETE FROM schema_migrations WHERE version = 99"))
    asyncio.run(tamper("UPDATE schema_migrations SET checksum = 'x'"))
    with pytest.raises(NewerSchema, match="another version"):
        asyncio.run(check())
    asyncio.run(tamper("DELETE FROM schema_migrations"))
    with pytest.raises(MigrationNeeded, match="aria hub migrate"):
        asyncio.run(check())


async def test_two_that_migrate_at_once(database: str) -> None:
    async def migrate() -> list[str]:
        storage = await open_storage(database)
        try:
            return await storage.migrate()
        finally:
            await storage.close()

    applied = await asyncio.gather(*(migrate() for _ in range(4)))
    assert sorted(len(names) for names in applied)[:3] == [0, 0, 0]
    assert sum(len(names) for names in applied) >= 1


def test_unit(tmp_path: Path) -> None:
    printed = aria(tmp_path, "hub", "unit", "--port", "8080").stdout
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "DynamicUser=yes", "Restart=on-failure"):
        assert line in printed.splitlines()
    assert "hub serve --host 127.0.0.1 --port 8080" in printed


def test_systemd_takes_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    analyze = needs.program("systemd-analyze", "systemd")
    unit = tmp_path / "aria-hub.service"
    unit.write_text(aria(tmp_path, "hub", "unit").stdout)
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, timeout=60)
    ours = [line for line in done.stderr.splitlines() if "aria-hub" in line]
    assert done.returncode == 0 and not ours, done
    if "--offline" in subprocess.run([analyze, "--help"], capture_output=True, text=True, timeout=60).stdout:
        # The exposure in tenths: at most 2.0 of 10.
        judge = [analyze, "security", "--offline=true", "--threshold=20", str(unit)]
        judged = subprocess.run(judge, capture_output=True, text=True, timeout=60)
        assert judged.returncode == 0, judged


def test_what_a_served_database_looks_like(tmp_path: Path, serve: Callable[..., Served]) -> None:
    path = tmp_path / "hub.db"
    hub = serve(f"sqlite:///{path}")
    httpx.post(f"{hub.url}/api/tasks", json={"title": "x"}, headers=hub.headers)
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path)) as database:
        assert hub.token.split(".")[2] not in "\n".join(database.iterdump())
