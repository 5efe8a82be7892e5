"""The same world, driven by Hypothesis: it looks for the shortest story that breaks a promise."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.faults.transport import FAULTS
from tests.faults.world import World

T = TypeVar("T")
EXAMPLES, STEPS = 40, 30


class Machine(RuleBasedStateMachine):
    """What may happen to a queue. Each run ends in ``settle``, where every promise is checked."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.runner.get_loop()
        self.world: World

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        async def end() -> None:
            try:
                await self.world.settle()
            finally:
                await self.world.__aexit__()

        try:
            self.do(end())
        finally:
            self.runner.close()

    @property
    def some(self) -> bool:
        return bool(self.world.ledger.tasks(self.world.account))

    @initialize(small=st.booleans())
    def first_task(self, small: bool) -> None:
        self.world = World(small=small)
        self.do(self.world.__aenter__())
        self.do(self.world.add_task())

    @rule(offline=st.booleans())
    def add(self, offline: bool) -> None:
        self.do(self.world.add_task(offline))

    @rule(offline=st.booleans())
    def capture(self, offline: bool) -> None:
        self.do(self.world.insight(offline))

    @precondition(lambda self: self.some)
    @rule(which=st.integers(0, 5), offline=st.booleans())
    def edit(self, which: int, offline: bool) -> None:
        self.do(self.world.edit(self.pick(which), offline))

    @precondition(lambda self: self.some)
    @rule(which=st.integers(0, 5), offline=st.booleans())
    def complete(self, which: int, offline: bool) -> None:
        self.do(self.world.complete(self.pick(which), offline))

    @precondition(lambda self: self.some)
    @rule(which=st.integers(0, 5), offline=st.booleans())
    def delete(self, which: int, offline: bool) -> None:
        self.do(self.world.delete(self.pick(which), offline))

    @precondition(lambda self: self.some)
    @rule(which=st.integers(0, 5), turns=st.integers(0, 40))
    def cancel(self, which: int, turns: int) -> None:
        self.do(self.world.cancelled_edit(self.pick(which), turns))

    def pick(self, which: int) -> Any:
        tasks = self.world.ledger.tasks(self.world.account)
        return tasks[which % len(tasks)]

    @rule(manual=st.booleans())
    def drain(self, manual: bool) -> None:
        self.do(self.world.drain(manual))

    @rule(faults=st.lists(st.sampled_from(("", *FAULTS)), min_size=1, max_size=4))
    def drain_through(self, faults: list[str]) -> None:
        self.world.forced = list(faults)
        self.do(self.world.drain())
        self.world.forced.clear()

    @rule()
    def second_drainer(self) -> None:
        self.do(self.world.drain_twice_at_once())

    @rule()
    def drain_elsewhere(self) -> None:
        self.do(self.world.drain_elsewhere())

    @rule(turns=st.integers(0, 60))
    def stop(self, turns: int) -> None:
        self.do(self.world.stopped_drain(turns))

    @rule(turns=st.integers(0, 60))
    def crash(self, turns: int) -> None:
        self.do(self.world.crash_during_drain(turns))

    @rule(seconds=st.sampled_from((-172_800, -60, 60, 172_800)))
    def clock_jumps(self, seconds: int) -> None:
        self.world.clock.jump(seconds)

    @rule(seconds=st.sampled_from((1, 60, 4000)))
    def time_passes(self, seconds: int) -> None:
        self.world.clock.advance(seconds)

    @rule()
    def hub_goes_or_comes(self) -> None:
        self.world.hub_is_up = not self.world.hub_is_up
        self.do(self.world.restart_hub())

    @rule()
    def late_requests_arrive(self) -> None:
        async def arrive() -> None:
            for network in self.world.networks:
                await network.deliver_late()

        self.do(arrive())

    @rule()
    def backup(self) -> None:
        self.do(self.world.remember_hub())

    @precondition(lambda self: self.world.saved_hub is not None)
    @rule()
    def rollback(self) -> None:
        self.do(self.world.roll_hub_back())

    @rule()
    def other_account(self) -> None:
        self.do(self.world.other_account())


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
