"""Random keys, clicks, pastes and sizes with the Hub coming and going: no exception, nothing accepted is lost.

The seed is fixed; ``ARIA_MONKEY_STEPS=5000`` makes it as long as one likes.
"""

from __future__ import annotations

import os
import random
from typing import Any

import msgspec
from textual import events

from tests.helpers.hub import HubProcess
from tests.tui.conftest import configured

STEPS = int(os.environ.get("ARIA_MONKEY_STEPS", "250"))
KEYS = [
    *"abcdefghijklmnoprstuvwxyzACEGHMOPRSTXZ1234", "enter", "escape", "escape",
    "tab", "shift+tab", "up", "down", "left",
    "right", "home", "end", "pageup", "pagedown", "space", "slash", "question_mark", "comma", "left_square_bracket",
    "right_square_bracket", "ctrl+s", "ctrl+p", "ctrl+r", "backspace", "delete", "f5",
]  # fmt: skip
PASTES = ["two\nlines", "[/x]", "\x1b[2J", "日本語 👩‍👩‍👧", "x" * 2000, "", "+3d", "\n"]
SIZES = [(80, 24), (120, 40), (1, 1), (20, 5), (60, 20), (200, 60), (59, 19)]


async def test_a_monkey_at_the_keyboard(dashboard: Any, hub: HubProcess, caplog: Any) -> None:
    chance = random.Random(20261130)
    config = configured(hub=msgspec.structs.replace(configured().hub, url=hub.url, token=hub.token))
    async with dashboard(config=config) as running:
        for number in range(5):
            await running.assistant.create_task(f"task {number}", due="2026-12-01")
        on = True
        for step in range(STEPS):
            match chance.randrange(20):
                case 0:
                    await running.pilot.resize_terminal(*chance.choice(SIZES))
                case 1 | 2:
                    running.app.post_message(events.Paste(chance.choice(PASTES)))
                case 3 | 4:
                    width, height = running.app.size
                    await running.pilot.click(
                        offset=(chance.randrange(max(1, width)), chance.randrange(max(1, height)))
                    )
                case _:
                    await running.pilot.press(chance.choice(KEYS))
            if step % 80 == 79:
                (hub.stop if on else hub.start)()
                on = not on
            assert running.app.is_running, step
        if not on:
            hub.start()
        journal = await running.assistant.queue_list("journal", limit=1000)
        assert len({row.op_id for row in journal}) == len(journal)
        known = set(hub.keys())
        lost = [row for row in journal if row.outcome == "applied" and row.op_id not in known]
        assert not lost, "counted as delivered, and not at the Hub"
    assert not [record for record in caplog.records if record.levelname == "ERROR"], caplog.text
