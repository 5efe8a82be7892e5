"""Each key of each command, in its pane or on its screen: what it is for has happened.

The list of commands is the list of tests: a command without one fails. What a key does is looked for in the queue's
file, at the Hub, in the view or in the toast, and never only in the absence of an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aria_tui.assistant import Assistant
from aria_tui.tui.commands import BY_ID, PLACES, Command, at
from tests.tui.conftest import configured, until
from tests.tui.keys import briefing, everywhere, insights, queue, screens, tasks
from tests.tui.keys.queue import waiting_row
from tests.tui.keys.stage import CHECKS, PANES, Stage, Switch

LEAVING = ("quit", "first.demo")
"""They end the program, so each has a program of its own."""


# To import one is to note its checks.
CHECKED = (everywhere, briefing, tasks, queue, insights, screens)


def test_every_command_has_a_check() -> None:
    assert set(CHECKS) == set(BY_ID) - set(LEAVING)


def by_hand(**tables: Any) -> Any:
    config = configured(**tables)
    return replace(config, sync=replace(config.sync, automatic=False))


@pytest.fixture
def stage(dashboard: Any, request: Any, tmp_path: Path) -> Callable[..., Any]:
    """``async with stage(place) as on:``, for a place of the list of commands."""

    @contextlib.asynccontextmanager
    async def start(place: str) -> AsyncIterator[Stage]:
        hub = None
        if place in ("tasks", "queue", "detail", "conflict", "plan"):
            hub = request.getfixturevalue("hub")
            config = by_hand(hub=replace(configured().hub, url=hub.url, token=hub.token))
        else:
            config = by_hand()
        switch = Switch() if place == "everywhere" else None
        async with dashboard(config=config, **({"demo": switch} if switch else {})) as running:
            on = Stage(place, running, hub, switch)
            await until(lambda: on.board._doc is not None, "the first briefing")
            if place == "tasks":
                assert hub is not None
                await on.assistant.create_task("open at the Hub")
                closed = await on.assistant.create_task("done at the Hub")
                await on.assistant.complete_task(closed.id)
                await on.assistant.list_tasks()
                hub.stop()
                await on.assistant.hub_status()
                on.live.ask("tasks")
            if place in PANES:
                await on.press(str(PANES.index(place) + 1))
            elif place == "everywhere":
                await on.press("1")
            yield on

    return start


@pytest.mark.parametrize("place", [place for place in PLACES if at(place)])
async def test_each_key_does_what_it_says(stage: Any, place: str, caplog: Any) -> None:
    async with stage(place) as on:
        for command in at(place):
            if command.id in LEAVING:
                continue
            for key in command.keys.split(","):
                try:
                    await CHECKS[command.id](on, key)
                except (AssertionError, LookupError) as error:
                    pytest.fail(f"{command.id} by {key}: {error!r}\n{on.running.screen_text}")
                assert on.app.is_running and not [r for r in caplog.records if r.levelname == "ERROR"], caplog.text


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name in LEAVING for key in BY_ID[name].keys.split(",")], ids=str
)
async def test_leaving(dashboard: Any, name: str, key: str) -> None:
    async with dashboard(config=by_hand()) as running:
        await running.assistant.capture_insight("still waits", offline=True)
        await running.keys(key)
        await until(lambda: running.app._exit, "the end")
        assert running.app.return_code == 0
        assert running.app.after_exit == ("demo" if name == "first.demo" else "")
    async with await Assistant.open(by_hand(), home=running.app.home) as again:
        assert (await again.queue_status()).by_operation["capture_insight"] == 1


async def test_in_every_place_every_key_leads_to_the_nearest_command(stage: Any) -> None:
    """A pane's or a screen's own keys first, then the dashboard's, then those that work everywhere."""
    async with stage("queue") as on:
        opened = {
            "help": "question_mark", "settings": "comma", "insights": "v", "plan": "P", "detail": "enter", "form": "t",
        }  # fmt: skip
        for place in (*PANES, *opened):
            if place in ("queue", "plan", "detail"):
                await waiting_row(on, f"for the {place}")
            await on.press(str(PANES.index(place) + 1) if place in PANES else opened[place])
            if place not in PANES:
                await until(lambda: on.kind != "DashboardScreen", place)
            expected: dict[str, Command] = {}
            for group in ("everywhere", *(("dashboard",) if place in PANES else ()), place):
                if place == "form" and group == "everywhere":
                    continue  # in a form letters are text
                expected.update({key: command for command in at(group) for key in command.keys.split(",")})
            active = on.app.screen.active_bindings
            for key, command in expected.items():
                assert key in active, (place, key)
                assert active[key].binding.action == f"app.run('{command.id}')", (place, key, command.id)
                if command.id != "demo.toggle":
                    assert on.app.can_run(command), (place, key)
            await on.back()
            await on.press("4")
