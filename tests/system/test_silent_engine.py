"""A Docker engine that accepts and never answers, met by the program as its user runs it, with its own deadlines."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.aria import Aria

pytestmark = pytest.mark.case("D01")

PROMISED = 3.0
"""Seconds within which the user is told "no answer"."""
PING = b"HTTP/1.1 200 OK\r\nApi-Version: 1.51\r\nContent-Length: 2\r\n\r\nOK"
SAYS: dict[str, list[bytes]] = {
    "nothing": [],
    "half a head": [b"HTTP/1.1 200 OK\r\nApi-"],
    "a ping and no list": [PING],
    "a list without its end": [PING, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n"],
}


class Engine:
    """Accepts; answers each request of a connection with the next of ``says``, and then nothing any more.

    ``waited``: for how long, in seconds, each client's last connection was open before the client gave it up.
    """

    def __init__(self, path: Path, says: list[bytes]) -> None:
        self.says = says
        self.first: float | None = None
        self.last: float | None = None
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(8)
        self.host = f"unix://{path}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self._listening.accept()[0]
                self.first = self.first or time.monotonic()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        left = list(self.says)
        with connection, contextlib.suppress(OSError):
            while connection.recv(65536):
                if left:
                    connection.sendall(left.pop(0))
        self.last = time.monotonic()

    @property
    def waited(self) -> float:
        assert self.first is not None and self.last is not None
        return self.last - self.first

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Callable[[str], Engine]]:
    made: list[Engine] = []

    def make(name: str) -> Engine:
        made.append(Engine(tmp_path / f"{len(made)}.sock", SAYS[name]))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_the_briefing_says_no_answer_in_time_and_everything_else_is_there(
    make_aria: Callable[[str], Aria], engine: Callable[[str], Engine]
) -> None:
    """All at once, so that it is three seconds and not twelve."""
    engines = {name: engine(name) for name in SAYS}
    runs = {
        name: make_aria(name).start("briefing", "--format", "json", "--no-store", env={"DOCKER_HOST": one.host})
        for name, one in engines.items()
    }
    for name, running in runs.items():
        sections = running.wait().ok().json["sections"]
        docker = sections.pop("docker")
        assert (docker["state"], docker["reason"]) == ("unavailable", f"no answer: {engines[name].host} (DOCKER_HOST)")
        assert {section["state"] for section in sections.values()} <= {"ok", "not_configured"}, (name, sections)
        assert {"context", "calendar", "tasks", "projects", "finance", "queue"} <= sections.keys()
        assert engines[name].waited <= PROMISED, name


def test_doctor_says_it_in_time(aria: Aria, engine: Callable[[str], Engine]) -> None:
    silent = engine("nothing")
    done = aria("doctor", env={"DOCKER_HOST": silent.host})
    assert f"no answer: {silent.host} (DOCKER_HOST)" in done.out and done.status == 1
    assert silent.waited <= PROMISED


def test_a_longer_deadline_of_the_briefing_is_none_of_the_engines(aria: Aria, engine: Callable[[str], Engine]) -> None:
    aria.home.mkdir()
    (aria.home / "config.toml").write_text("[briefing]\ntimeout = 60\n")
    silent = engine("nothing")
    sections = (
        aria("briefing", "--format", "json", "--no-store", env={"DOCKER_HOST": silent.host}).ok().json["sections"]
    )
    assert sections["docker"]["reason"].startswith("no answer: ") and silent.waited <= PROMISED
