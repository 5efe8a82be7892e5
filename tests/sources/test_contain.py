"""Whatever a source does costs its own section: one that blocks, raises, exits, lies or never ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from aria_tui.config import Config, parse
from aria_tui.models import Alert, Section
from aria_tui.sources import BUILT_IN, Moment, check_sources, load_sources
from aria_tui.sources._contain import contained
from aria_tui.sources._secrets import redact, secrets_of

PLACE = ZoneInfo("America/Fortaleza")
WHEN = Moment(now=datetime(2026, 11, 30, 8, tzinfo=PLACE), zone=PLACE)


class Made:
    """A source whose behaviour is a function."""

    def __init__(self, work: Any, name: str = "made") -> None:
        self.name, self._work = name, work

    def gather(self, when: Moment, deadline: float) -> Any:
        return self._work()


async def last(work: Any, deadline: float = 5.0, secrets: list[str] | None = None) -> Section:
    given = [section async for section in contained(Made(work), WHEN, deadline, secrets or [])]  # type: ignore[arg-type]
    assert given
    assert all(section.name == "made" for section in given)
    return given[-1]


async def fine() -> Section:
    return Section(name="made", state="ok", data={"n": 1})


async def test_a_fine_source() -> None:
    assert await last(fine) == Section(name="made", state="ok", data={"n": 1})


async def test_one_that_blocks_its_loop_blocks_nobody_else() -> None:
    release = threading.Event()

    async def blocks() -> Section:
        release.wait(30)
        return await fine()

    ticks = 0

    async def ticking() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticker = asyncio.create_task(ticking())
    section = await last(blocks, deadline=0.3)
    ticker.cancel()
    release.set()
    assert (section.state, section.reason) == ("unavailable", "timed out after 0.3 s")
    assert ticks > 5


async def test_one_that_never_ends_is_cancelled() -> None:
    cancelled = threading.Event()

    async def never() -> Section:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return await fine()

    section = await last(never, deadline=0.1)
    assert section.reason == "timed out after 0.1 s"
    assert await asyncio.to_thread(cancelled.wait, 10)


async def test_what_was_known_before_the_deadline_is_kept() -> None:
    async def stages() -> AsyncIterator[Section]:
        yield Section(name="made", state="ok", data={"n": 1})
        await asyncio.sleep(3600)

    section = await last(stages, deadline=0.1)
    assert (section.state, section.reason, section.data) == ("partial", "timed out after 0.1 s", {"n": 1})


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("a\nb"), "failed: ValueError: a"),
        (SystemExit(3), "failed: SystemExit: 3"),
        (KeyboardInterrupt(), "failed: KeyboardInterrupt"),
        (Odd(), "failed: Odd"),
        (
            RuntimeError("GET http://ana:pw@host/private-1?token=2 failed"),
            "failed: RuntimeError: GET http://host/… failed",
        ),
        (RuntimeError("the secret word"), "failed: RuntimeError: the *** word"),
        (RuntimeError("\ud83d"), "failed: RuntimeError: ?"),
    ],
)
async def test_one_that_raises(error: BaseException, reason: str) -> None:
    async def raises() -> Section:
        raise error

    def raises_at_once() -> Any:
        raise error

    for work in (raises, raises_at_once):
        section = await last(work, secrets=["secret"])
        assert (section.state, section.reason) == ("unavailable", reason)


class Hostile:
    """A value that does something whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("boo")


RECURSIVE: dict[str, Any] = {}
RECURSIVE["self"] = RECURSIVE


def garbage() -> list[Any]:
    bad_alert = Alert(level="warning", source="x", text="\ud83d")
    made: list[Any] = [None, 7, "ok", {}, Hostile()]
    made += [Section(name="made", state="fine")]  # type: ignore[arg-type]
    wrong: list[Any] = [[], {"n": float("nan")}, {"n": "\ud83d"}, {"n": object()}, {1: 2}, RECURSIVE]
    made += [Section(name="made", state="ok", data=data) for data in wrong]
    made += [Section(name="made", state="ok", reason=7)]  # type: ignore[arg-type]
    made += [Section(name="made", state="ok", as_of="yesterday")]
    made += [Section(name="made", state="ok", alerts=(1,))]  # type: ignore[arg-type]
    return [*made, Section(name="made", state="ok", alerts=(bad_alert,))]


@pytest.mark.parametrize("number", range(len(garbage())))
async def test_one_that_gives_garbage(number: int) -> None:
    async def gives() -> Any:
        return garbage()[number]

    section = await last(gives)
    assert (section.state, section.data) == ("unavailable", {})
    assert section.reason


async def test_a_generator_that_gives_nothing() -> None:
    async def nothing() -> AsyncIterator[Section]:
        return
        yield

    assert (await last(nothing)).reason == "gave nothing"


async def test_another_name_than_its_own_is_not_taken() -> None:
    async def lies() -> Section:
        return Section(name="tasks", state="ok")

    assert (await last(lies)).name == "made"


def test_what_is_secret() -> None:
    config = parse(
        '[hub]\ntoken = "hub-token"\nheaders = { X = "header-value" }\n[finance]\ntoken = "fin-token"\n'
        '[calendar]\nsources = [{ url = "https://h/private-xyz/basic.ics?k=1" }, { url = "http://[bad/private-abc" }]\n'
        '[sources.mine]\napi_key = "my-key"\nplace = "Berlin"\n'
    )
    secrets = secrets_of(config)
    for word in ("hub-token", "header-value", "fin-token", "my-key", "/private-xyz/basic.ics", "private-abc"):
        assert word not in redact(f"it said {word}.", secrets)
    assert redact("in Berlin", secrets) == "in Berlin"


# -- a package of the user's own


PACKAGE = """
import asyncio, os, sys, time
from aria_tui.models import Section

class Weather:
    name = "weather"
    def __init__(self, config, *, home, environ=None):
        self.place = config.sources["weather"]["place"]
    async def gather(self, when, deadline):
        print("noise on standard output")
        return Section(name="weather", state="ok", data={"lines": [f"{self.place}: 21", when.kind, str(when.zone)]})

class Base:
    def __init__(self, config, *, home, environ=None): pass

class Blocks(Base):
    async def gather(self, when, deadline):
        while True: pass

class Dies(Base):
    async def gather(self, when, deadline): os._exit(7)

class Raises(Base):
    async def gather(self, when, deadline): raise LookupError("no such town")

class Lies(Base):
    async def gather(self, when, deadline): return {"state": "ok"}

class Forks(Base):
    async def gather(self, when, deadline):
        import subprocess
        subprocess.Popen(["sleep", "60"], cwd=os.environ["LEFT"])
        time.sleep(60)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """An installed distribution: a module and its metadata, as pip lays them out."""
    site = tmp_path / "site"
    about = site / "aria_weather-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "aria_weather.py").write_text(PACKAGE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: aria-weather\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[aria_tui.sources]\nweather = aria_weather:Weather\nblocks = aria_weather:Blocks\ndies = aria_weather:Dies\n"
        "raises = aria_weather:Raises\nlies = aria_weather:Lies\nmissing = aria_nothing:Here\n"
        "gone = aria_weather:Gone\ngit = aria_weather:Weather\ntasks = aria_weather:Weather\n"
    )
    return site


CONFIG = parse('[sources.weather]\nplace = "Natal"\n[docker]\nenabled = false\n')


async def gathered(config: Config, home: Path, deadline: float = 20.0) -> dict[str, Section]:
    async def one(source: Any) -> Section:
        return [section async for section in contained(source, WHEN, deadline)][-1]

    sources = load_sources(config, home=home)
    return {section.name: section for section in await asyncio.gather(*map(one, sources))}


async def test_a_users_own_sources_appear_and_each_costs_itself(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(package))
    found = await gathered(CONFIG, tmp_path, deadline=4.0)
    assert found["weather"] == Section(
        name="weather", state="ok", data={"lines": ["Natal: 21", "morning", "America/Fortaleza"]}
    )
    assert "aria_weather" not in sys.modules
    reasons = {name: found[name].reason for name in ("blocks", "dies", "raises", "lies", "missing", "gone")}
    assert reasons == {
        "blocks": "timed out after 4 s",
        "dies": "failed: ended without an answer (exit status 7)",
        "raises": "failed: LookupError: no such town",
        "lies": "failed: TypeError: gave dict where a section was wanted",
        "missing": "failed: ModuleNotFoundError: No module named 'aria_nothing'",
        "gone": "failed: AttributeError: module 'aria_weather' has no attribute 'Gone'",
    }
    assert found["projects"].state == "not_configured", "its own git source is not replaced"
    assert found["git"].state == "ok" and found["tasks-2"].state == "ok"


async def test_what_a_users_source_leaves_running_is_ended(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "left"
    left.mkdir()
    monkeypatch.setenv("LEFT", str(left))
    monkeypatch.syspath_prepend(str(package))
    (package / "aria_weather-1.0.dist-info" / "entry_points.txt").write_text(
        "[aria_tui.sources]\nforks = aria_weather:Forks\n"
    )
    found = await gathered(CONFIG, tmp_path, deadline=1.0)
    assert found["forks"].reason == "timed out after 1 s"
    end = time.monotonic() + 5
    while _running_in(left) and time.monotonic() < end:
        await asyncio.sleep(0.02)
    assert not _running_in(left)


ORPHAN = """
import asyncio, os, signal, sys
from aria_tui.sources import _child

async def main():
    async with _child.Child("aria_weather:spin") as child:
        asyncio.get_running_loop().call_later(0.3, os.kill, os.getpid(), signal.SIGKILL)
        await child.call({"left": sys.argv[1]}, 0.5)

asyncio.run(main())
"""
SPIN = """
def spin(left):
    import os
    os.chdir(left)
    open("started", "w").close()
    while True:
        pass
"""


@pytest.mark.parametrize("ready", ["", "import time; time.sleep(60)"])
async def test_a_child_whose_parent_was_killed_ends_by_itself(package: Path, tmp_path: Path, ready: str) -> None:
    left = tmp_path / "left"
    left.mkdir()
    (package / "aria_weather.py").write_text(SPIN.replace("while True", ready + "\n    while True"))
    environ = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run([sys.executable, "-c", ORPHAN, str(left)], env=environ, timeout=30, check=False)
    assert done.returncode == -9
    end = time.monotonic() + 15
    while (_running_in(left) or not (left / "started").exists()) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    assert (left / "started").exists()
    assert not _running_in(left)


def _running_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and (entry / "cwd").readlink() == folder:
                found.append(entry.name)
        except OSError:
            continue
    return found


async def test_broken_metadata_hides_its_own_package_alone(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(package))
    broken = package / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_bytes(b"[aria_tui.sources]\n\xff\xfe = \n===\nno equals sign\n")
    names = [source.name for source in load_sources(CONFIG, home=tmp_path)]
    assert names[:5] == ["projects", "docker", "calendar", "finance", "reports"]
    assert "weather" in names


LIST = """
import sys
from pathlib import Path
from aria_tui.config import parse
from aria_tui.sources import load_sources
print([source.name for source in load_sources(parse(""), home=Path("/nonexistent"))])
"""


def test_a_checkout_without_metadata_has_the_programs_own(tmp_path: Path) -> None:
    """No distribution can be seen at all: the modules alone are on the path."""
    here = Path(__file__).parents[2]
    hide = "import importlib.metadata as m\nm.distributions = lambda **_: []\nm.entry_points = lambda **_: []\n"
    environ = {**os.environ, "PYTHONPATH": str(here)}
    done = subprocess.run(
        [sys.executable, "-c", hide + LIST], capture_output=True, text=True, timeout=60, env=environ, cwd=tmp_path
    )
    assert done.stdout.strip() == "['projects', 'docker', 'calendar', 'finance', 'reports']", done.stderr
    assert len(BUILT_IN) == 5


HEAVY = """
import sys
from pathlib import Path
import aria_tui.briefing
from aria_tui.config import parse
from aria_tui.sources import load_sources
load_sources(parse(""), home=Path("/nonexistent"))
print(sorted({"httpx", "icalendar", "recurring_ical_events", "babel", "textual", "rich"} & set(sys.modules)))
"""


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


async def test_a_check_tries_each_and_says_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "night.json"
    report.write_text('{"timestamp": "2026-11-30T03:00:00Z", "ok": 4, "failed": 1}')
    environ: Mapping[str, str] = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DOCKER_HOST": "ssh://x"}
    config = parse(
        f'[briefing]\ntimezone = "America/Fortaleza"\nreports = ["{report}"]\n[projects]\nroots = ["{tmp_path}"]\n'
        f'[finance]\nkind = "file"\npath = "{tmp_path}/none.toml"\n'
    )
    how = 'set [calendar] sources = [{ url = "https://…" }] or [{ path = "~/calendars" }]'
    assert await check_sources(config, tmp_path, environ=environ) == [
        ("context", "ok", "time zone America/Fortaleza"),
        ("projects", "ok", "0 repositories, 0 stale"),
        ("docker", "unavailable", "ssh:// is not supported (DOCKER_HOST)"),
        ("calendar", "not_configured", how),
        ("finance", "unavailable", f"{tmp_path}/none.toml: No such file or directory"),
        ("reports", "ok", "1 report"),
    ]
