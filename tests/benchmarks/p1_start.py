"""P1: from the start of the process to the first frame of the dashboard on a terminal, against a bare hello world."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aria_tui.assistant import Assistant
from aria_tui.config import Config
from tests.benchmarks.measure import Figure, interleaved, main
from tests.benchmarks.terminal import OnTerminal
from tests.helpers.aria import clean_environment

ROUNDS = 15
HELLO = """
from textual.app import App
from textual.widgets import Static
class Hello(App):
    def compose(self):
        yield Static("hello world")
Hello().run()
"""


def until_shown(command: Sequence[str], env: dict[str, str], text: bytes) -> float:
    with OnTerminal(command, env) as program:
        return program.until(text)


async def fill(home: Path, tasks: int, waiting: int) -> None:
    """A home with an embedded Hub that has tasks, and rows that wait."""
    async with await Assistant.open(Config(), home=home) as assistant:
        await asyncio.gather(*(assistant.create_task(f"task {n}", offline=True) for n in range(tasks)))
        async for _ in assistant.sync():
            pass
        await asyncio.gather(*(assistant.capture_insight(f"waiting {n}", offline=True) for n in range(waiting)))


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="aria-bench-") as name:
        folder = Path(name)
        (folder / "user").mkdir()
        env = clean_environment(folder, COLORTERM="truecolor")
        env.pop("PYTHONPATH")
        asyncio.run(fill(folder / "aria", 100, 20))
        aria = str(Path(sys.executable).with_name("aria"))
        times = interleaved(
            {
                "aria": lambda: until_shown([aria], env, b"Queue"),
                "hello": lambda: until_shown([sys.executable, "-c", HELLO], env, b"hello world"),
            },
            ROUNDS,
            warm=2,
        )
    return [
        Figure("P1", "start to first frame, 120×40, 100 tasks, 20 waiting / bare Textual hello world",
               times["aria"] / times["hello"], 1.5, details={f"{who} s": value for who, value in times.items()})
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
