"""A user, a client, a network and a Hub, all driven by one dice; the client's files and the Hub are real.

Each step is something that happens: the user writes, a drain runs, the program dies, the Hub restarts. ``settle`` ends
the faults and says what is wrong with the outcome: lost, twice, reordered, silent.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import httpx

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig, QueueConfig
from aria_tui.errors import NotSaved
from aria_tui.models import SyncFinished, SyncReport, WriteResult
from tests.faults import reference
from tests.faults.clock import SimulatedClock
from tests.faults.ledger import Ledger, Story, check_keys, check_log, check_state
from tests.faults.portions import small_portions
from tests.faults.transport import FAULTS, Applied, Network

T = TypeVar("T")
URL = "http://127.0.0.1:1"
PASSES = 3


class Broken(AssertionError):
    """An invariant does not hold."""


def scratch() -> Path:
    """A folder for real files; in memory where that is possible, because these tests don't ask about power loss."""
    shm = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="aria-faults-", dir=shm if shm.is_dir() else None))


class World:
    """Use ``async with``. ``weather`` is the chance that a request meets a fault out of ``kinds``; ``small``: rows go
    in small portions."""

    def __init__(self, seed: int = 0, kinds: tuple[str, ...] = FAULTS, *, small: bool = False) -> None:
        self.portions = small_portions(small)
        self.dice = random.Random(seed)
        self.clock = SimulatedClock(seed)
        self.ledger = Ledger()
        self.weather = 0.0
        self.kinds = kinds
        self.forced: list[str] = []
        """Faults of the next requests, one each; "" for none."""
        self.every_write = ""
        """A fault of every write until further notice."""
        self.hub_is_up = True
        self.account = "anna"
        self.log: list[Applied] = []
        self.sent: list[tuple[str, str, dict[str, Any]]] = []
        self.blamed: set[str] = set()
        self.unanswered: Counter[str] = Counter()
        self.marker = 0
        self.rolled_back = False
        self.saved_hub: tuple[Path, int] | None = None
        self.history: list[str] = []

    async def __aenter__(self) -> World:
        self.portions.__enter__()
        self.folder = scratch()
        self.hub = await reference.ReferenceHub.start(self.folder / "hub.db")
        self.tokens = {name: await self.hub.token(name) for name in ("anna", "bert")}
        self.incarnation = 0
        self.home = self.folder / "home-0"
        self.networks: list[Network] = []
        self.open: list[Assistant] = []
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            for assistant in self.open:
                await self.run(assistant.close())
            await self.hub.close()
        finally:
            shutil.rmtree(self.folder)
            self.portions.__exit__(None, None, None)

    # -- the client's life

    @property
    def assistant(self) -> Assistant:
        return self.open[0]

    async def start(self) -> Assistant:
        """Opens the program (once more: a second process of the user's)."""
        config = Config(hub=HubConfig(url=URL, token=self.tokens[self.account]))
        network = Network(
            reference.Way(self.hub), self.clock, self._fault, self.log, self.sent, self.blamed,
            unanswered=self.unanswered, accounts={token: name for name, token in self.tokens.items()},
        )  # fmt: skip
        self.networks.append(network)
        assistant = await Assistant.open(config, home=self.home, clock=self.clock, transport=network)
        self.open.append(assistant)
        return assistant

    def _fault(self, method: str) -> str:
        if not self.hub_is_up:
            return "refused"
        if self.every_write and method not in ("GET", "HEAD"):
            return self.every_write
        if self.forced:
            return self.forced.pop(0)
        return self.dice.choice(self.kinds) if self.dice.random() < self.weather else ""

    async def run(self, work: Coroutine[Any, Any, T] | Awaitable[T]) -> T:
        """Runs something to its end; when everybody waits for the clock, the clock goes on."""
        task = asyncio.ensure_future(work)
        for _ in range(300):
            done, _ = await asyncio.wait({task}, timeout=0.03)
            if done:
                return task.result()
            self.clock.advance_to_next()
        task.cancel()
        raise Broken(f"something never ends: {work}")

    # -- what the user does

    def mark(self) -> str:
        self.marker += 1
        return f"m{self.marker:05}"

    async def _write(self, entity: str, kind: str, value: str, work: Coroutine[Any, Any, WriteResult]) -> str:
        """Does a write and notes what the user was told; a cancelled one may be there or not."""
        try:
            result = await self.run(work)
        except NotSaved:
            return "not saved"
        self.ledger.note(self.account, entity, kind, value, sure=True)
        if result.status not in ("synced", "queued", "superseded", "conflict", "rejected"):
            raise Broken(f"a write was answered {result.status}")
        return result.status

    async def add_task(self, offline: bool = False) -> str:
        new, title = self._new_id(), self.mark()
        await self._write(f"task:{new}", "create", title, self.assistant.create_task(title, id=new, offline=offline))
        return new

    def _new_id(self) -> str:
        digits = f"{self.dice.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"

    async def edit(self, story: Story, offline: bool = False) -> None:
        title = self.mark()
        work = self.assistant.update_task(story.entity[5:], {"title": title}, offline=offline)
        await self._write(story.entity, "edit", title, work)

    async def complete(self, story: Story, offline: bool = False) -> None:
        work = self.assistant.complete_task(story.entity[5:], offline=offline)
        await self._write(story.entity, "complete", "", work)

    async def delete(self, story: Story, offline: bool = False) -> None:
        work = self.assistant.delete_task(story.entity[5:], offline=offline)
        await self._write(story.entity, "delete", "", work)

    async def insight(self, offline: bool = False) -> None:
        text = self.mark()
        result = await self.run(self.assistant.capture_insight(text, offline=offline))
        self.ledger.note(self.account, f"insight:{result.id}", "create", text, sure=True)

    async def briefing(self, date: str, offline: bool = False) -> None:
        text = self.mark()
        work = self.assistant.store_briefing(date, text, offline=offline)
        await self._write(f"briefing:{date}", "create", text, work)

    async def cancelled_edit(self, story: Story, turns: int) -> None:
        """The user leaves while an edit is being saved: after ``turns`` turns of the event loop."""
        title = self.mark()
        task = asyncio.ensure_future(self.assistant.update_task(story.entity[5:], {"title": title}))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        sure = True
        try:
            await self.run(task)
        except (asyncio.CancelledError, NotSaved):
            sure = False
        self.ledger.note(self.account, story.entity, "edit", title, sure=sure)

    # -- what drains

    async def drain(self, manual: bool = True, assistant: Assistant | None = None) -> SyncReport:
        """One pass."""
        return await self.run(self._sync(assistant or self.assistant, manual))

    @staticmethod
    async def _sync(assistant: Assistant, manual: bool) -> SyncReport:
        report = None
        async for event in assistant.sync(manual=manual):
            if isinstance(event, SyncFinished):
                report = event.report
        if report is None:
            raise Broken("a sync ended without its last event")
        return report

    async def drain_twice_at_once(self) -> None:
        """A second process over the same file drains at the same moment."""
        second = await self.start()
        try:
            await self.run(asyncio.gather(self._sync(self.assistant, manual=True), self._sync(second, manual=True)))
        finally:
            self.open.remove(second)
            await self.run(second.close())

    async def drain_beside_one_in_flight(self) -> None:
        """A second process begins to drain while the first one's request is under way, and has time enough."""
        network, second, under_way = self.networks[0], await self.start(), asyncio.Event()
        answer = network.handle_async_request

        async def held(request: httpx.Request) -> httpx.Response:
            if request.method == "POST" and not under_way.is_set():
                under_way.set()
                await self.clock.sleep(5)
            return await answer(request)

        network.handle_async_request = held  # type: ignore[method-assign]
        first = asyncio.ensure_future(self._sync(self.assistant, manual=True))
        try:
            await under_way.wait()
            await self.run(asyncio.gather(first, self._sync(second, manual=True)))
        finally:
            self.open.remove(second)
            await self.run(second.close())

    async def drain_elsewhere(self) -> None:
        """A second process drains while this one looks away."""
        second = await self.start()
        try:
            await self.run(self._sync(second, manual=True))
        finally:
            self.open.remove(second)
            await self.run(second.close())

    async def stopped_drain(self, turns: int) -> None:
        """A sync that the user stops in the middle."""
        task = asyncio.ensure_future(self._sync(self.assistant, manual=True))
        for _ in range(turns):
            await asyncio.sleep(0)
        self.assistant.stop_sync()
        await self.run(task)

    # -- what happens to processes, clocks and the Hub

    async def crash(self) -> None:
        """The process dies: its files stay as they are this very moment, and nothing it began goes on."""
        self.incarnation += 1
        image = self.folder / f"home-{self.incarnation}"
        image.mkdir(mode=0o700)
        names = [path for path in self.home.iterdir() if path.is_file() and not path.name.endswith(".lock")]
        # The rollback journal first: if a transaction ends meanwhile, the image is the moment before its end.
        for path in sorted(names, key=lambda path: not path.name.endswith("-journal")):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(path, image / path.name)
        for network in self.networks:
            network.choose = lambda method: "refused"
        for assistant in self.open:
            await self.run(assistant.close())
        self.open.clear()
        self.networks.clear()
        shutil.rmtree(self.home)
        self.home = image
        await self.start()

    async def crash_during_drain(self, turns: int) -> None:
        task = asyncio.ensure_future(self._sync(self.assistant, manual=True))
        for _ in range(turns):
            await asyncio.sleep(0)
        crashed = asyncio.ensure_future(self.crash())
        await self.run(crashed)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self.run(task)

    async def reopen(self) -> None:
        await self.run(self.assistant.close())
        self.open.clear()
        self.networks.clear()
        await self.start()

    async def restart_hub(self) -> None:
        await self.hub.restart()

    async def remember_hub(self) -> None:
        """A backup of the Hub is made."""
        self.saved_hub = (await self.hub.backup(), len(self.log))

    async def roll_hub_back(self) -> None:
        """The Hub is restored from its backup: what it did since is gone."""
        if self.saved_hub is None:
            return
        backup, length = self.saved_hub
        await self.hub.restore(backup)
        del self.log[length:]
        self.rolled_back = True

    async def other_account(self) -> None:
        """The user's configuration gets the other account's token."""
        self.account = "bert" if self.account == "anna" else "anna"
        await self.reopen()

    # -- the end

    async def settle(self) -> None:
        """Stops the faults and checks everything. Raises Broken with the whole list."""
        self.weather, self.hub_is_up, self.every_write = 0.0, True, ""
        self.forced.clear()
        for network in self.networks:
            await network.deliver_late()
        wrong: list[str] = []
        for account in ("bert", "anna"):
            if self.account != account:
                await self.other_account()
            wrong += await self._settle_account()
        wrong += check_log(self.log, self.rolled_back) + check_keys(self.sent)
        wrong += self._check_file()
        if wrong:
            raise Broken("\n".join(wrong))

    async def _settle_account(self) -> list[str]:
        for _ in range(PASSES):
            self.clock.advance(3700)  # past any Retry-After
            if self.rolled_back:
                await self.run(self.assistant.queue_verify(resend=True))
            report = await self.drain()
            if not report.remaining:
                break
        waiting = [
            item for item in await self.run(self.assistant.queue_list("waiting", limit=1000))
            if item.reason_code != "held_target"
        ]  # fmt: skip
        parked = {
            item.entity: item for kind in ("dead", "conflicts")
            for item in await self.run(self.assistant.queue_list(kind, limit=1000))  # type: ignore[arg-type]
        }  # fmt: skip
        wrong = [
            f"{item.operation} #{item.id} of {item.entity} still waits: {item.reason_code} {item.reason}"
            for item in waiting if item.entity not in parked
        ]  # fmt: skip
        for item in parked.values():
            in_vain = self.unanswered[item.op_id] >= QueueConfig().max_attempts
            if item.op_id not in self.blamed and not in_vain and not self.rolled_back:
                wrong.append(f"{item.operation} #{item.id} was parked and the Hub never found fault: {item.error}")
            if not item.reason and not item.error:
                wrong.append(f"{item.operation} #{item.id} was parked without a reason")
        for (account, entity), story in self.ledger.stories.items():
            if account == self.account and entity not in parked:
                found = await self.hub.get(entity, account)
                if problem := check_state(story, found):
                    wrong.append(f"{problem} ({[(e.kind, e.value, e.sure) for e in story.events]})")
        return wrong

    def _check_file(self) -> list[str]:
        """The counters are what a count gives, and SQLite finds nothing wrong."""
        db = sqlite3.connect(self.home / "queue.db")
        try:
            wrong = [] if db.execute("PRAGMA integrity_check").fetchone() == ("ok",) else ["the file is damaged"]
            counted = db.execute("SELECT count(*) FROM queue WHERE synced_at IS NULL").fetchone()[0]
            kept = db.execute("SELECT total(waiting) FROM counters").fetchone()[0]
            if counted != kept:
                wrong.append(f"{counted} rows wait and the counters say {kept}")
            return wrong
        finally:
            db.close()
