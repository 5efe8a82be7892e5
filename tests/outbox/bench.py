"""A workbench: the real Hub in this process, homes with real files, a faulty network, a clock that the test owns."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig
from aria_tui.models import QueueItem, SyncFinished, SyncProgress, SyncReport
from tests.faults import reference
from tests.faults.clock import SimulatedClock
from tests.faults.transport import Applied, Network

T = TypeVar("T")
URL = "http://127.0.0.1:1"


@dataclass
class Weather:
    """The faults of one home's network: of the next writes and reads, of every write, or all of it."""

    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    every_write: str = ""
    every_read: str = ""
    down: bool = False

    def choose(self, method: str) -> str:
        if self.down:
            return "refused"
        if method in ("GET", "HEAD"):
            return self.reads.pop(0) if self.reads else self.every_read
        return self.writes.pop(0) if self.writes else self.every_write

    def clear(self) -> None:
        self.writes, self.reads, self.every_write, self.every_read, self.down = [], [], "", "", False


class Home:
    """One program over one home."""

    def __init__(self, bench: Bench, folder: Path, assistant: Assistant, network: Network, weather: Weather) -> None:
        self.bench, self.folder, self.assistant = bench, folder, assistant
        self.network, self.weather = network, weather

    @property
    def file(self) -> Path:
        return self.folder / "queue.db"

    async def sync(self, *, manual: bool = True) -> SyncReport:
        """One drain, to its end."""
        return (await self.events(manual=manual))[1]

    async def events(self, *, manual: bool = True) -> tuple[list[SyncProgress], SyncReport]:
        """One drain with all that it told."""
        seen: list[SyncProgress] = []

        async def work() -> SyncReport:
            async for event in self.assistant.sync(manual=manual):
                if isinstance(event, SyncFinished):
                    return event.report
                seen.append(event)
            raise AssertionError("a sync without an end")

        return seen, await self.bench.run(work())

    async def waiting(self) -> list[QueueItem]:
        return await self.bench.run(self.assistant.queue_list("waiting", limit=1000))

    async def dead(self) -> list[QueueItem]:
        return await self.bench.run(self.assistant.queue_list("dead", limit=1000))

    def rows(self, sql: str, *args: Any) -> list[tuple[Any, ...]]:
        """Rows of the queue's file, past the program."""
        return rows(self.file, sql, *args)

    def stranger(self, operation: str, payload: Any, *, text: str | None = None) -> int:
        """A row as another program writes it."""
        db = sqlite3.connect(self.file, timeout=10)
        try:
            body = json.dumps(payload) if text is None else text
            made = db.execute("INSERT INTO queue (operation, payload) VALUES (?, ?)", (operation, body))
            db.commit()
            return int(made.lastrowid or 0)
        finally:
            db.close()

    async def close(self) -> None:
        await self.bench.run(self.assistant.close())


class Bench:
    """Use ``async with``."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(1)
        self.log: list[Applied] = []
        self.sent: list[tuple[str, str, dict[str, Any]]] = []
        self.homes: list[Home] = []

    async def __aenter__(self) -> Bench:
        shm = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="aria-outbox-", dir=shm if shm.is_dir() else None))
        self.hub = await reference.ReferenceHub.start(self.folder / "hub.db")
        self.tokens = {name: await self.hub.token(name) for name in ("anna", "bert")}
        return self

    async def __aexit__(self, *_: object) -> None:
        for home in self.homes:
            await home.close()
        await self.hub.close()
        shutil.rmtree(self.folder)

    async def home(
        self, name: str = "home", *, account: str = "anna", url: str = URL, config: Config | None = None
    ) -> Home:
        """Opens a program; the same name twice is a second process over the same files."""
        weather = Weather()
        network = Network(reference.Way(self.hub), self.clock, weather.choose, self.log, self.sent)
        base = config or Config()
        base = msgspec.structs.replace(base, hub=HubConfig(url=url, token=self.tokens[account]))
        folder = self.folder / name
        assistant = await Assistant.open(base, home=folder, clock=self.clock, transport=network)
        home = Home(self, folder, assistant, network, weather)
        self.homes.append(home)
        return home

    async def run(self, work: Coroutine[Any, Any, T] | Awaitable[T]) -> T:
        """Runs something to its end; when everybody waits for the clock, the clock goes on."""
        task = asyncio.ensure_future(work)
        for _ in range(2000):
            done, _ = await asyncio.wait({task}, timeout=0.03)
            if done:
                return task.result()
            self.clock.advance_to_next()
        task.cancel()
        raise AssertionError(f"something never ends: {work}")

    def keys_of(self, thing: str) -> list[str]:
        """The keys under which operations on a thing left the clients, in order."""
        return [key for key, _, payload in self.sent if payload.get("id") == thing]

    def applied(self, thing: str) -> list[str]:
        """The operations that had an effect on a thing, in the Hub's order."""
        return [one.operation for one in self.log if one.entity.endswith(thing)]

    async def task(self, thing: str, account: str = "anna") -> dict[str, Any] | None:
        return await self.hub.get(f"task:{thing}", account)


def rows(file: Path, sql: str, *args: Any) -> list[tuple[Any, ...]]:
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)
    try:
        return db.execute(sql, args).fetchall()
    finally:
        db.close()
