"""Fixtures that many tests share: the program, a Hub, a proxy and a terminal, all real and all ended afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers import needs
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, RawServer, Request
from tests.helpers.tmux import Tmux


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--case Q01``: only the tests that show this case (it may be given several times)."""
    parser.addoption("--case", action="append", default=[], metavar="NAME", help="only the tests of this case, as Q01")


def pytest_configure() -> None:
    """What runs the tests may ignore signals (``nohup``, a shell's ``&``), and what they start would inherit that."""
    for number, usual in (signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler), (
        signal.SIGQUIT, signal.SIG_DFL,
    ):  # fmt: skip
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many tests wait for other processes most of their time."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that ``--case`` asks for; without it all of them."""
    wanted = {str(name) for name in config.getoption("--case")}
    if not wanted:
        return
    kept = [item for item in items if any(wanted & set(mark.args) for mark in item.iter_markers("case"))]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture
def aria(tmp_path: Path) -> Iterator[Aria]:
    """The program over an empty home."""
    program = Aria(tmp_path)
    yield program
    program.close()


@pytest.fixture
def make_aria(tmp_path: Path) -> Iterator[Callable[[str], Aria]]:
    """More homes: ``make_aria("laptop")``."""
    made: list[Aria] = []

    def make(name: str) -> Aria:
        made.append(Aria(tmp_path / name))
        return made[-1]

    yield make
    for program in made:
        program.close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    """A running Hub with a token."""
    process = HubProcess(tmp_path)
    try:
        yield process.start()
    finally:
        process.close()


@pytest.fixture
def proxy(hub: HubProcess) -> Iterator[FaultProxy]:
    """A proxy before the Hub."""
    between = FaultProxy(hub.port)
    yield between
    between.close()


@pytest.fixture
def raw_server() -> Iterator[Callable[[Callable[[Request], bytes]], RawServer]]:
    """Servers that answer with the bytes a test gives."""
    made: list[RawServer] = []

    def make(reply: Callable[[Request], bytes]) -> RawServer:
        made.append(RawServer(reply))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def terminal() -> Iterator[Callable[..., Tmux]]:
    """Real terminals: ``terminal(width, height).run(aria)``."""
    needs.program("tmux")
    made: list[Tmux] = []

    def make(width: int = 120, height: int = 40) -> Tmux:
        made.append(Tmux(width, height))
        return made[-1]

    yield make
    for session in made:
        session.close()
