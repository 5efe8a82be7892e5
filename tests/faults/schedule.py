"""One random fault schedule, told by its seed."""

from __future__ import annotations

import asyncio
import random

from tests.faults.transport import FAULTS
from tests.faults.world import Broken, World

STEPS = 32


async def run_schedule(seed: int, *, small: bool, steps: int = STEPS) -> int:
    """Runs a schedule and settles it; gives how many writes were acknowledged. ``small``: rows go in small portions.
    Raises Broken with the whole story."""
    dice = random.Random(seed)
    kinds = tuple(dice.sample(FAULTS, dice.randint(1, len(FAULTS))))
    async with World(seed, kinds, small=small) as world:
        weather = dice.choice((0.0, 0.2, 0.5, 0.9))
        rollback = dice.random() < 0.15
        if "unauthenticated" in kinds:
            # What a token wrote that nobody knew (401) goes to the next token: so have both known first.
            for _ in range(2):
                await world.drain()
                await world.other_account()
        world.weather = weather
        try:
            for _ in range(steps):
                await step(world, dice, rollback)
            await world.settle()
        except Exception as error:
            raise Broken(f"seed {seed}, {small=}: {error}\nfaults {kinds}\n" + "\n".join(world.history)) from error
        return world.ledger.acknowledged


def outcome(seed: int) -> tuple[int, int, str]:
    """(seed, acknowledged writes, the story of what was broken or nothing): for worker processes. Odd seeds are run in
    small portions."""
    try:
        return seed, asyncio.run(run_schedule(seed, small=seed % 2 == 1)), ""
    except Exception as error:
        return seed, 0, str(error)


async def step(world: World, dice: random.Random, rollback: bool) -> None:
    """One thing that happens."""
    tasks = world.ledger.tasks(world.account)
    story = dice.choice(tasks) if tasks else None
    offline = dice.random() < 0.4
    names = ["add", "insight", "briefing", "drain", "drain", "weather", "clock", "hub"]
    names += ["edit", "edit", "edit", "complete", "delete", "cancel"] if story else []
    names += dice.choices(
        ["crash", "crash_drain", "reopen", "two", "elsewhere", "stop", "late", "account", "automatic"], k=3
    )
    if rollback:
        names += ["backup", "rollback"]
    name = dice.choice(names)
    world.history.append(f"{name} offline={offline} {story.entity if story else ''} hub={world.hub_is_up}")
    match name:
        case "add":
            await world.add_task(offline)
        case "insight":
            await world.insight(offline)
        case "briefing":
            await world.briefing(dice.choice(("2026-11-29", "2026-11-30")), offline)
        case "edit" if story:
            await world.edit(story, offline)
        case "complete" if story:
            await world.complete(story, offline)
        case "delete" if story:
            await world.delete(story, offline)
        case "cancel" if story:
            await world.cancelled_edit(story, dice.randrange(40))
        case "drain":
            await world.drain()
        case "automatic":
            await world.drain(manual=False)
        case "two":
            await world.drain_twice_at_once()
        case "elsewhere":
            await world.drain_elsewhere()
        case "stop":
            await world.stopped_drain(dice.randrange(60))
        case "weather":
            world.weather = dice.choice((0.0, 0.3, 0.9))
        case "clock":
            move = dice.choice((world.clock.advance, world.clock.jump, world.clock.jump))
            move(dice.choice((1, 60, 4000)) if move == world.clock.advance else dice.choice((-86400, -60, 60, 172800)))
        case "hub":
            world.hub_is_up = not world.hub_is_up
            await world.restart_hub()
        case "crash":
            await world.crash()
        case "crash_drain":
            await world.crash_during_drain(dice.randrange(60))
        case "reopen":
            await world.reopen()
        case "late":
            for network in world.networks:
                await network.deliver_late()
        case "account":
            await world.other_account()
        case "backup":
            await world.remember_hub()
        case "rollback":
            await world.roll_hub_back()
