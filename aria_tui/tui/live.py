"""The state of things as the screens show it, kept up to date from the assistant.

One ``Live`` a program. It opens the assistant after the first paint, follows its changes, reads again what changed
(bursts are collapsed, never more often than a person can read) and tells its listeners which topic is new.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from aria_tui.complaints import in_words
from aria_tui.errors import AriaError, HubUnavailable
from aria_tui.models import HubStatus, InsightList, QueueStatus, SyncFinished, SyncProgress, TaskList, TaskView

if TYPE_CHECKING:
    from pathlib import Path

    from aria_tui.assistant import Assistant
    from aria_tui.config import Config
    from aria_tui.models import SyncEvent

log = logging.getLogger(__name__)

SILENT = 10.0
"""Seconds without a word after which another program's sync counts as over."""

Guard = Callable[[str], contextlib.AbstractContextManager[None]]
"""Turns an error in what is named into words for the user and a trace in the log."""

Listener = Callable[[str], None]
"""Called with a topic: hub, queue, tasks, insights, sync, finished, notice."""


class _Topic:
    """Reads one thing again when asked to; several askings while it reads are one. An error ends one reading only."""

    def __init__(self, name: str, read: Callable[[], Awaitable[None]], gap: Callable[[], float], guard: Guard) -> None:
        self._name, self._read, self._gap, self._guard = name, read, gap, guard
        self._asked = asyncio.Event()

    def ask(self) -> None:
        self._asked.set()

    async def run(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            with self._guard(f"reading {self._name}"):
                await self._read()
            await asyncio.sleep(self._gap())


class Live:
    """What the screens show: newest snapshots, each frozen."""

    def __init__(self, config: Config, home: Path, guard: Guard) -> None:
        self.config, self.home, self._guard = config, home, guard
        self.assistant: Assistant | None = None
        self.hub = HubStatus(url=config.hub.url)
        self.hub_at = time.monotonic()
        self.queue: QueueStatus | None = None
        self.queue_problem = ""
        self.notice = ""
        self.tasks: TaskList | None = None
        self.tasks_problem: HubUnavailable | None = None
        self.tasks_error = ""
        self.insights: InsightList | None = None
        self.insights_problem = ""
        self.sync: SyncProgress | None = None
        self.finished: SyncFinished | None = None
        self.finished_at = 0.0
        self.last_seen_wanted = config.ui.offline_tasks == "last-seen"
        self.overlay: dict[str, TaskView] = {}
        """Tasks as the user just made them, until the write they belong to is known to the lists."""
        self._sync_at = 0.0
        self.listeners: list[Listener] = []
        self._topics = {
            "tasks": _Topic("tasks", self._read_tasks, lambda: 1.0 if self.sync else 0.2, guard),
            "queue": _Topic("queue", self._read_queue, lambda: 0.5 if self.sync else 0.1, guard),
            "insights": _Topic("insights", self._read_insights, lambda: 1.0 if self.sync else 0.2, guard),
        }
        self._wanted = {"tasks", "queue"}

    async def open(self) -> None:
        """Opens the assistant. What can't be opened is in ``queue_problem``; nothing is raised for it."""
        from aria_tui.assistant import Assistant

        self.assistant = await Assistant.open(self.config, origin="tui", home=self.home)
        self.queue_problem = self.assistant.queue_problem or ""
        self._take_hub(self.assistant.hub_now())
        self.tell("notice")
        for topic in self._topics:
            self.ask(topic)

    async def close(self) -> None:
        """Lets the assistant finish what it must."""
        if self.assistant is not None:
            await self.assistant.close()

    @property
    def banner(self) -> str:
        """What must be known before all else: what is wrong with the queue, for as long as it is; then the last other
        thing that was told."""
        queue = self.queue_problem or (self.assistant.queue_notice if self.assistant else "") or ""
        other = "" if self.notice in queue else self.notice
        return " · ".join(text for text in (queue, other) if text)

    def tell(self, topic: str) -> None:
        """Says that a topic has news."""
        for listener in tuple(self.listeners):
            with self._guard(f"drawing {topic}"):  # what can't be drawn must not end the reading
                listener(topic)

    def ask(self, topic: str) -> None:
        """Has a topic read again soon."""
        if topic in self._wanted:
            self._topics[topic].ask()

    def want(self, topic: str, wanted: bool = True) -> None:
        """Whether a topic is shown anywhere, so that it is worth reading."""
        if wanted:
            self._wanted.add(topic)
            self._topics[topic].ask()
        else:
            self._wanted.discard(topic)

    async def follow(self, topic: str) -> None:
        """Runs for ever: reads a topic whenever it was asked for."""
        await self._topics[topic].run()

    async def watch(self) -> None:
        """Runs for ever: the assistant's background work and what it tells."""
        assert self.assistant is not None
        async for change in self.assistant.watch():
            match change.what:
                case "hub" if change.hub is not None:
                    self._hub_is(change.hub)
                case "sync" if change.sync is not None:
                    self.take_sync(change.sync)
                case "notice":
                    self.notice = change.text
                    self.tell("notice")
                case _:
                    # Rows come and go with the marks of what they are about, and the other way round.
                    for topic in self._topics:
                        self.ask(topic)

    def _take_hub(self, status: HubStatus) -> None:
        self.hub, self.hub_at = status, time.monotonic()
        self.tell("hub")

    def take_sync(self, event: SyncEvent) -> None:
        """A step of a drain, from whichever iterator it came."""
        if isinstance(event, SyncFinished):
            self.finished, self.sync, self.finished_at = event, None, time.time()
            self.tell("finished")
            for topic in self._topics:
                self.ask(topic)
            return
        fresh, self._sync_at = self.sync is None, time.monotonic()
        self.sync = event
        self.tell("sync")
        if fresh or event.done != event.total:
            self.ask("queue")

    def look_at_hub(self) -> None:
        """Takes over what is known of the Hub, from whoever found it out; costs nothing."""
        if self.assistant is None:
            return
        now, probe = self.assistant.hub_now(), self.hub.next_probe_in
        same = now.state == self.hub.state  # one that has just left is looked at sooner
        if now.next_probe_in is None and probe is not None and same:  # only who probes tells when
            left = max(0.0, probe - (time.monotonic() - self.hub_at))
            now = replace(now, next_probe_in=probe if now == replace(self.hub, next_probe_in=None) else left)
        if now != self.hub:
            self._hub_is(now)

    def _hub_is(self, status: HubStatus) -> None:
        changed = self.hub.state != status.state
        self._take_hub(status)
        if changed:
            for topic in self._topics:
                self.ask(topic)

    def forget_silent_sync(self) -> None:
        """Another program's sync of which nothing was heard for a while is over, however it ended."""
        if self.sync is not None and not self.sync.own and time.monotonic() - self._sync_at > SILENT:
            self.sync = None
            self.tell("finished")

    async def _read_tasks(self) -> None:
        assistant = self.assistant
        if assistant is None:
            return
        self.tasks_error = ""
        try:
            self.tasks = await assistant.list_tasks(last_seen=self.last_seen_wanted, drain=False)
            self.tasks_problem = None
        except HubUnavailable as error:
            self.tasks_problem = error
            try:
                self.tasks = await assistant.waiting_tasks()
            except AriaError as inner:
                self.tasks, self.tasks_error = TaskList(), in_words(inner)
        except AriaError as error:
            self.tasks, self.tasks_error = TaskList(), in_words(error)
        self.tell("tasks")

    async def _read_queue(self) -> None:
        if self.assistant is None:
            return
        before = self.queue_problem
        try:
            self.queue = await self.assistant.queue_status()
            self.queue_problem = self.assistant.queue_problem or ""
            if before and self.notice == before:
                self.notice = ""  # told by what watches the queue, and over
        except AriaError as error:
            self.queue_problem = str(error)
        self.tell("queue")

    async def _read_insights(self) -> None:
        if self.assistant is None:
            return
        try:
            self.insights = await self.assistant.list_insights(last_seen=True, drain=False)
            self.insights_problem = ""
        except AriaError as error:
            self.insights_problem = in_words(error)
        self.tell("insights")

    def shown_tasks(self) -> tuple[TaskView, ...]:
        """The tasks with the user's newest changes laid over them."""
        tasks = self.tasks.tasks if self.tasks is not None else ()
        if not self.overlay:
            return tasks
        left = dict(self.overlay)
        merged = [left.pop(task.id, task) for task in tasks]
        return (*left.values(), *merged)
