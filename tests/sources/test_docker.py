"""Which engine is asked, what is said when it doesn't answer, and what is a problem with a container. The engines are
made by the tests, on real Unix sockets."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from aria_tui.config import parse
from aria_tui.hub.contract import data_problem
from aria_tui.models import Section
from aria_tui.sources import Moment
from aria_tui.sources._docker_endpoint import NoEndpoint, find
from aria_tui.sources.docker import DockerSource, _container
from tests.helpers.fuzz import EXAMPLES
from tests.sources.service import Service

PLACE = ZoneInfo("America/Fortaleza")
LIST = "/v1.51/containers/json?all=1"


def container(name: str | None, status: str, state: str, **more: Any) -> dict[str, Any]:
    return {"Id": f"{name or 'x'}0123456789abcdef", "Names": [f"/{name}"] if name else None,
            "Image": "i", "Status": status, "State": state, **more}  # fmt: skip


NINE = [
    container("web", "Up 2 hours (healthy)", "running"),
    container("redis", "Up 2 hours (unhealthy)", "running"),
    container("slow", "Up 2 seconds (health: starting)", "running"),
    container("loop", "Restarting (1) 5 seconds ago", "restarting"),
    container("job", "Exited (0) 2 days ago", "exited"),
    container("oom", "Exited (137) 2 days ago", "exited"),
    container("calm", "Up 3 days (Paused)", "paused"),
    container("gone", "Dead", "dead"),
    container("new", "Created", "created"),
]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Service]:
    made = Service(answers={"/_ping": b"OK", LIST: NINE}, headers={"Api-Version": "1.51"})
    await made.start(socket_path=str(tmp_path / "e.sock"))
    yield made
    await made.close()


async def docker(environ: dict[str, str], settings: str = "", deadline: float = 5.0) -> Section:
    source = DockerSource(parse(f"[docker]\n{settings}"), home=Path("/nonexistent"), environ=environ)
    return await source.gather(Moment(now=datetime(2026, 11, 30, 8, tzinfo=PLACE), zone=PLACE), deadline)


@pytest.mark.case("D02")
async def test_running_is_not_healthy(engine: Service, tmp_path: Path) -> None:
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/e.sock", "HTTP_PROXY": "http://127.0.0.1:1"})
    assert (section.state, section.reason) == ("ok", "")
    assert (section.data["running"], section.data["total"]) == (3, 9)
    assert [(p["name"], p["problem"]) for p in section.data["problems"]] == [
        ("redis", "unhealthy"), ("loop", "restarting"), ("oom", "exited 137"), ("gone", "dead"),
    ]  # fmt: skip
    assert section.alerts[0].text == "redis: unhealthy"
    assert section.data["engine"] == f"unix://{tmp_path}/e.sock (DOCKER_HOST)"
    assert [request.path for request in engine.requests] == ["/_ping", LIST]


@pytest.mark.case("D02")
@pytest.mark.parametrize("names", [None, [], [""], [None], "web", 7])
async def test_a_container_without_a_name_shows_its_short_id(engine: Service, tmp_path: Path, names: Any) -> None:
    engine.answers[LIST] = [container("a", "Exited (1) now", "exited") | {"Names": names}]
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/e.sock"})
    assert section.data["problems"] == [{"name": "a0123456789a", "problem": "exited 1"}]


async def test_health_by_the_newer_field(engine: Service, tmp_path: Path) -> None:
    engine.answers[LIST] = [container("a", "Up 2 hours", "running", Health={"Status": "unhealthy"})]
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/e.sock"})
    assert section.data["problems"] == [{"name": "a", "problem": "unhealthy"}]


async def test_podman_is_asked_for_the_unhealthy(engine: Service, tmp_path: Path) -> None:
    engine.headers |= {"Libpod-API-Version": "5.0.0", "Api-Version": "1.41"}
    sick, well = container("sick", "Up 2 hours", "running"), container("well", "Up 2 hours", "running")
    engine.answers["/v1.41/containers/json?all=1"] = [sick, well]
    engine.answers["/v1.41/containers/json?all=1&filters=%7B%22health%22%3A%5B%22unhealthy%22%5D%7D"] = [sick]
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/e.sock"})
    assert (section.data["running"], section.data["problems"]) == (2, [{"name": "sick", "problem": "unhealthy"}])


async def test_an_engine_behind_something_that_knows_no_versions(engine: Service, tmp_path: Path) -> None:
    engine.answers["/containers/json?all=1"] = engine.answers.pop(LIST)
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/e.sock"})
    assert section.data["running"] == 3


async def test_over_tcp(service: Service) -> None:
    service.answers |= {"/_ping": b"OK", "/containers/json?all=1": NINE}
    section = await docker({"DOCKER_HOST": service.url.replace("http", "tcp")})
    assert section.data["running"] == 3


def context(home: Path, name: str, host: str) -> dict[str, str]:
    folder = home / ".docker" / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))
    (home / ".docker" / "config.json").write_text(json.dumps({"currentContext": name}))
    return {"HOME": str(home)}


@pytest.mark.case("D01")
def test_the_first_endpoint_that_is_set_is_used_and_named(tmp_path: Path) -> None:
    home, runtime, system = tmp_path / "home", tmp_path / "run", tmp_path / "docker.sock"
    environ = context(home, "colima", "unix:///colima.sock") | {"DOCKER_HOST": "unix:///env.sock"}
    environ["XDG_RUNTIME_DIR"] = str(runtime)
    (runtime / "podman").mkdir(parents=True)

    def shown(configured: str = "") -> str:
        return find(configured, environ, socket=str(system)).shown

    assert shown("unix:///mine.sock") == "unix:///mine.sock ([docker] host)"
    assert shown() == "unix:///env.sock (DOCKER_HOST)"
    del environ["DOCKER_HOST"]
    assert shown() == "unix:///colima.sock (context colima)"
    (home / ".docker" / "config.json").write_text("{}")
    for path in (runtime / "podman" / "podman.sock", runtime / "docker.sock", system):
        path.write_text("")
        assert shown() == f"unix://{path}"


def test_a_context_that_can_not_be_read_is_said_and_nothing_else_is_tried(tmp_path: Path) -> None:
    environ = context(tmp_path, "colima", "unix:///x")
    (tmp_path / "docker.sock").write_text("")
    for name, words in (("lost", "context lost can't be read"), ("colima", "/x (context colima)")):
        (tmp_path / ".docker" / "config.json").write_text(json.dumps({"currentContext": name}))
        try:
            said = find("", environ, socket=str(tmp_path / "docker.sock")).shown
        except NoEndpoint as error:
            said = str(error)
        assert words in said


@pytest.mark.case("D01")
async def test_a_dead_one_is_not_passed_over(engine: Service, tmp_path: Path) -> None:
    environ = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock", "XDG_RUNTIME_DIR": str(tmp_path)}
    (tmp_path / "docker.sock").symlink_to(tmp_path / "e.sock")
    section = await docker(environ)
    assert (section.state, section.reason) == ("unavailable", f"not running: {tmp_path}/none.sock")


@pytest.mark.case("D01")
async def test_a_socket_nobody_listens_at(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "left.sock"))
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/left.sock"})
    assert section.reason == f"not running: {tmp_path}/left.sock"
    (tmp_path / "file").write_text("")
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/file"})
    assert section.reason.startswith(f"not running: {tmp_path}/file")


AS_NOBODY = """
import asyncio, os, sys
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo
from aria_tui.config import parse
from aria_tui.sources import Moment
import aria_tui.sources.docker as docker
import httpx
os.setgid(65534); os.setuid(65534)
zone = ZoneInfo("UTC")
source = docker.DockerSource(parse(""), home=Path("/"), environ={"DOCKER_HOST": "unix://" + sys.argv[1]})
print(asyncio.run(source.gather(Moment(now=datetime.now(zone), zone=zone), 5)).reason)
"""


@pytest.mark.case("D01")
async def test_no_permission(engine: Service, tmp_path: Path) -> None:
    path = tmp_path / "e.sock"
    if os.geteuid():
        path.chmod(0)
        section = await docker({"DOCKER_HOST": f"unix://{path}"})
        assert section.reason == f"permission denied: {path}"
        return
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    path.chmod(0o600)
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, str(path)], capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == f"permission denied: {path}", done.stderr


@pytest.mark.case("D01")
async def test_an_engine_that_accepts_and_never_answers(engine: Service, tmp_path: Path) -> None:
    engine.hang = True
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/e.sock"}, deadline=0.3)
    assert (section.state, section.reason) == ("unavailable", f"no answer: unix://{tmp_path}/e.sock (DOCKER_HOST)")


@pytest.mark.case("D01")
@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("ssh://me@host", "ssh:// is not supported (DOCKER_HOST)"),
        ("npipe:////./pipe/docker_engine", "npipe:// is not supported (DOCKER_HOST)"),
        ("tcp://127.0.0.1:1", "not running: tcp://127.0.0.1:1 (DOCKER_HOST): connection refused"),
    ],
)
async def test_hosts_that_can_not_be_asked(host: str, reason: str) -> None:
    section = await docker({"DOCKER_HOST": host})
    assert (section.state, section.reason) == ("unavailable", reason)


def cut(_: object) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n["


def junk(_: object) -> bytes:
    return b"junk\r\n\r\n"


@pytest.mark.case("D01")
@pytest.mark.parametrize("answer", [b"{", b"{}", b"[1]", b"null", b"<html>", b"", b"\xff", cut, junk])
async def test_an_answer_that_is_none(engine: Service, tmp_path: Path, answer: Any) -> None:
    engine.answers[LIST] = answer
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/e.sock"})
    assert section.state == "unavailable"
    assert section.reason.startswith(f"unexpected answer: unix://{tmp_path}/e.sock")


async def test_an_engine_with_an_error(engine: Service, tmp_path: Path) -> None:
    engine.statuses[LIST] = 500
    section = await docker({"DOCKER_HOST": f"unix://{tmp_path}/e.sock"})
    assert section.reason == f"unexpected answer: unix://{tmp_path}/e.sock (DOCKER_HOST): HTTP 500"


async def test_switched_off_and_not_there(tmp_path: Path) -> None:
    assert (await docker({}, "enabled = false")).state == "not_configured"
    with pytest.raises(NoEndpoint, match="not running"):
        find("", {"HOME": str(tmp_path)}, socket=str(tmp_path / "none"))


WORDS = ("Up 2 hours (unhealthy)", "Exited (", "Exited (-1) x", "Exited (\u0661) x", "running", "exited", "/", "", "\0")
PLAIN = (None, True, 0, -(10**30), 1.5, float("nan"), *WORDS)
KEYS = ("Id", "Names", "Image", "Status", "State", "Health")


def odd(random: Random, depth: int = 2) -> Any:
    """Some value that JSON can hold."""
    kind = random.randrange(5 if depth else 3)
    if kind == 3:
        return [odd(random, depth - 1) for _ in range(random.randrange(3))]
    if kind == 4:
        return {random.choice(("Status", "x")): odd(random, depth - 1) for _ in range(random.randrange(3))}
    return random.choice(PLAIN)


def test_any_container_is_shown_somehow() -> None:
    for seed in range(EXAMPLES):
        random = Random(seed)
        given = {key: odd(random) for key in KEYS if random.random() < 0.8}
        made = _container(given, frozenset())
        assert isinstance(made["name"], str) and made["name"], given
        assert made["problem"] is None or made["problem"], given
        assert data_problem(made) is None, given
