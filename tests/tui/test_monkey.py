"""Random keys, clicks, pastes and sizes with the Hub coming and going: no exception, nothing accepted is lost.

The seed is fixed; ``ARIA_MONKEY_STEPS=5000`` makes it as long as one likes, ``ARIA_MONKEY_SEED`` makes it another one.
"""

from __future__ import annotations

import os
import random
from typing import Any

import msgspec
import pytest
from textual import events

from tests.helpers.hub import HubProcess
from tests.tui.conftest import Running, configured

STEPS = int(os.environ.get("ARIA_MONKEY_STEPS", "250"))
SEED = int(os.environ.get("ARIA_MONKEY_SEED", "20261130"))
KEYS = [
    *"abcdefghijklmnoprstuvwxyzACEGHMOPRSTXZ1234", "enter", "escape", "escape",
    "tab", "shift+tab", "up", "down", "left",
    "right", "home", "end", "pageup", "pagedown", "space", "slash", "question_mark", "comma", "left_square_bracket",
    "right_square_bracket", "ctrl+s", "ctrl+p", "ctrl+r", "backspace", "delete", "f5",
]  # fmt: skip
PASTES = ["two\nlines", "[/x]", "\x1b[2J", "日本語 👩‍👩‍👧", "x" * 2000, "", "+3d", "\n"]
SIZES = [(80, 24), (120, 40), (1, 1), (20, 5), (60, 20), (200, 60), (59, 19)]


class Trail:
    """What was done, and which rows the user was told of."""

    def __init__(self, running: Running) -> None:
        self.running, self.steps = running, list[str]()
        self.told: set[int] = set()
        self.discarded: set[int] = set()
        run, assistant = running.app.writes._run, running.assistant
        discard = assistant.queue_discard

        async def noted(*given: Any) -> Any:
            result = await run(*given)
            if isinstance(result.queue_id, int):
                self.told.add(result.queue_id)
            return result

        async def thrown_away(number: int) -> Any:
            self.discarded |= {number, *(row.id for row in await assistant.queue_dependents(number))}
            return await discard(number)

        running.app.writes._run = noted
        assistant.queue_discard = thrown_away
        # Leaving is in the footer and in the palette; this monkey stays. What else ends the program is a fault.
        running.app.do_quit = lambda: self.steps.append("(leave)")
        running.app.screen.do_first_demo = lambda: self.steps.append("(demo)")

    async def do(self, chance: random.Random) -> None:
        """One thing that a monkey may do."""
        app, pilot = self.running.app, self.running.pilot
        match chance.randrange(20):
            case 0:
                size = chance.choice(SIZES)
                self.steps.append(f"resize {size}")
                await pilot.resize_terminal(*size)
            case 1 | 2:
                text = chance.choice(PASTES)
                self.steps.append(f"paste {text[:20]!r}")
                app.post_message(events.Paste(text))
            case 3 | 4:
                width, height = app.size
                offset = (chance.randrange(max(1, width)), chance.randrange(max(1, height)))
                self.steps.append(f"click {offset}")
                await pilot.click(offset=offset)
            case _:
                self.steps.append(chance.choice(KEYS))
                await pilot.press(self.steps[-1])

    def __repr__(self) -> str:
        return f"{self.running.app.failure!r}, seed {SEED}, step {len(self.steps)}, the last: {self.steps[-40:]}"


@pytest.mark.timeout(300 + STEPS // 5)
async def test_a_monkey_at_the_keyboard(dashboard: Any, hub: HubProcess, caplog: Any) -> None:
    chance = random.Random(SEED)
    config = configured(hub=msgspec.structs.replace(configured().hub, url=hub.url, token=hub.token))
    async with dashboard(config=config) as running:
        trail = Trail(running)
        for number in range(5):
            await running.assistant.create_task(f"task {number}", due="2026-12-01")
        on = True
        for step in range(STEPS):
            await trail.do(chance)
            if step % 80 == 79:
                (hub.stop if on else hub.start)()
                on = not on
                trail.steps.append("Hub on" if on else "Hub off")
            assert running.app.is_running, trail
            assert not [record for record in caplog.records if record.levelname == "ERROR"], (trail, caplog.text)
        if not on:
            hub.start()
        journal = await running.assistant.queue_list("journal", limit=1000)
        assert len({row.op_id for row in journal}) == len(journal)
        known = set(hub.keys())
        lost = [row for row in journal if row.outcome == "applied" and row.op_id not in known]
        assert not lost, f"counted as delivered, and not at the Hub: {trail}"
        assert trail.told, "it wrote something"
        for row in trail.told - trail.discarded:
            await running.assistant.queue_show(row)  # waiting, parked or delivered: but there
    assert not [record for record in caplog.records if record.levelname == "ERROR"], (trail, caplog.text)
