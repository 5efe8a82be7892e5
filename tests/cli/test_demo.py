"""``aria demo``: a Hub of its own that goes off and on, sample data in every pane, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aria_tui import config
from aria_tui.cli.demo import Demo
from tests.helpers.aria import Aria, clean_environment
from tests.helpers.hub import ask
from tests.helpers.waiting import wait_until


def test_the_demos_hub_keeps_its_data_while_it_is_off(tmp_path: Path) -> None:
    demo = Demo(tmp_path)
    try:
        demo.start()
        made = demo.prepare()
        assert made.hub == config.HubConfig(url=demo.url, token=demo.token)
        status, _headers, before = ask(f"{demo.url}/api/tasks", demo.token)
        assert status == 200 and len(before["tasks"]) > 5
        assert ask(f"{demo.url}/api/tasks")[0] == 401
        assert asyncio.run(demo.toggle()) is False
        try:
            ask(f"{demo.url}/api/tasks", demo.token)
            raise AssertionError("it still answers")
        except OSError:
            pass
        assert asyncio.run(demo.toggle()) is True
        assert ask(f"{demo.url}/api/tasks", demo.token)[2] == before
    finally:
        demo.stop()


def test_every_local_source_of_the_demo_has_something_to_say(aria: Aria, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", aria.environment()["TZ"])  # the samples' days are those of whoever runs the demo
    time.tzset()
    demo = Demo(aria.root)
    try:
        demo.start()
        made = demo.prepare()
        aria.use(demo.url, demo.token)
        aria.home.mkdir()
        (aria.home / "config.toml").write_text(
            f"[projects]\nroots = {json.dumps(made.projects.roots)}\n[docker]\nenabled = false\n"
            f'[calendar]\nsources = [{{ path = "{made.calendar.sources[0].path}" }}]\n'
            f'[finance]\nkind = "file"\npath = "{made.finance.path}"\n'
        )
        sections = aria("briefing", "--format", "json").ok().json["sections"]
    finally:
        demo.stop()
        monkeypatch.undo()
        time.tzset()
    for name in ("calendar", "tasks", "projects", "finance"):
        assert sections[name]["state"] == "ok", (name, sections[name])
    assert len(sections["calendar"]["data"]["today"]) == 3 and len(sections["finance"]["data"]["due"]) == 2
    assert sections["projects"]["data"]["stale"] == 1 and sections["yesterday"]["data"]["done"]
    assert [section["state"] for section in sections.values() if section["state"] == "unavailable"] == []


def test_the_demo_on_a_real_terminal(aria: Aria, terminal, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    aria.env["TMPDIR"] = str(tmp_path)
    screen = terminal(120, 40).run(aria, "demo")
    screen.wait_for("Pagar DAS", "Stand-up", "online", deadline=40)
    screen.keys("o")
    screen.wait_for("offline")
    screen.keys("o")
    screen.wait_for("online")
    assert len(list(tmp_path.glob("aria-demo-*"))) == 1
    screen.keys("q")
    screen.wait_for("exit-status=0")
    assert not list(tmp_path.glob("aria-demo-*")) and not aria.home.exists()


def test_the_demos_hub_ends_with_the_demo_even_if_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom aria_tui.cli.demo import Demo\n"
        "demo = Demo(Path(sys.argv[1]))\ndemo.start()\nprint(demo.port, flush=True)\ntime.sleep(60)\n"
    )
    demo = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        env=clean_environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert demo.stdout
    with demo.stdout:
        port = int(demo.stdout.readline())
    demo.kill()
    demo.wait()

    def gone() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    wait_until(gone, 15, "the Hub is gone")
