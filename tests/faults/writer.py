"""A process that writes and drains until it is killed: its parent notes each acknowledgement outside of it.

``nursery`` imports the program once and forks a child for each life, so that thousands of kills are affordable. Output:
one JSON line for each life, ``{"life": n, "acks": [...], "begun": [...]}``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import signal
import sys
import time

from tests.faults import planted


def one_life(number: int, out: int, dice: random.Random) -> None:
    """Writes insights, some at once to the Hub, with a sync now and then; says each outcome. Every other life sends in
    small portions."""
    from aria_tui import config
    from aria_tui.assistant import Assistant
    from tests.faults.portions import small_portions

    def say(word: str, *parts: str) -> None:
        os.write(out, (json.dumps([word, *parts]) + "\n").encode())

    async def live() -> None:
        async with await Assistant.open(config.load(), origin="cli") as assistant:
            for n in range(10_000):
                marker = f"life {number} write {n}"
                offline = dice.random() < 0.7
                say("begun", marker)
                await assistant.capture_insight(marker, offline=offline)
                say("ack", marker)
                if dice.random() < 0.15:
                    async for _ in assistant.sync():
                        pass

    with small_portions(number % 2 == 1):
        asyncio.run(live())


def nursery(lives: int, seed: int, longest: float) -> None:
    """Forks ``lives`` children one after another; each gets SIGKILL at a random moment below ``longest`` seconds."""
    import aria_tui.assistant
    import aria_tui.hub.client  # noqa: F401 - loaded once, here, for all lives

    dice = random.Random(seed)
    for number in range(lives):
        ours, theirs = os.pipe()
        child_seed = dice.getrandbits(32)
        child = os.fork()
        if child == 0:
            os.close(ours)
            try:
                one_life(number, theirs, random.Random(child_seed))
            finally:
                os._exit(1)
        os.close(theirs)
        said = listen(ours, time.monotonic() + dice.uniform(0.02, longest))
        os.kill(child, signal.SIGKILL)
        said += listen(ours, None)
        os.waitpid(child, 0)
        os.close(ours)
        words = [json.loads(line) for line in said.splitlines()]
        print(json.dumps({
            "life": number,
            "acks": [w[1] for w in words if w[0] == "ack"],
            "begun": [w[1] for w in words if w[0] == "begun"],
        }), flush=True)  # fmt: skip


def listen(pipe: int, end: float | None) -> bytes:
    """What a child says until a moment, or to the end of its output."""
    heard = b""
    while True:
        wait = None if end is None else max(0.0, end - time.monotonic())
        if not select.select([pipe], [], [], wait)[0]:
            return heard
        if not (data := os.read(pipe, 65536)):
            return heard
        heard += data


if __name__ == "__main__":
    planted.from_environment()
    nursery(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
