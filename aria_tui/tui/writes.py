"""The user's writes: the row is shown at once, the outcome follows as a toast, the last ten can be taken back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from aria_tui.errors import AriaError, NotFound
from aria_tui.hub._reasons import in_words
from aria_tui.locale import _
from aria_tui.models import TaskView, WriteResult
from aria_tui.tui.queue_rows import reason_words
from aria_tui.tui.wallclock import local_now

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant
    from aria_tui.tui.app import AriaApp

log = logging.getLogger(__name__)
UNDO_DEPTH = 10
Call = Callable[["Assistant"], Awaitable[WriteResult]]


@dataclass(frozen=True)
class Undo:
    """How to take one action back: its name, and the write that does it."""

    label: str
    about: str
    """The id of the task or insight."""
    call: Callable[[Assistant, str], Awaitable[WriteResult]]
    """Given the id that the task or insight has now."""
    overlay: TaskView | None = None
    queued: int | None = None
    """The queue number of a delete; while it was never sent, taking the row out again is enough."""
    anew: bool = False
    """Whether it makes a new task or insight in the old one's place: the actions before are about that from now on."""


Way = Callable[[WriteResult], Undo | None]
"""The way back of an action, once its outcome is known."""


class Writes:
    """Runs writes beside the screen. Each gives a task to await, or not to."""

    def __init__(self, app: AriaApp) -> None:
        self._app = app
        self._running: set[asyncio.Task[WriteResult]] = set()
        self._undo: deque[tuple[asyncio.Task[WriteResult], Way]] = deque(maxlen=UNDO_DEPTH)
        self._undoing = asyncio.Lock()
        self._became: dict[str, str] = {}
        self._opened = asyncio.Event()

    def opened(self) -> None:
        """Called once the assistant is open: writes begun before may go on."""
        self._opened.set()

    def start(
        self, call: Call, *, overlay: TaskView | None = None, undo: Way | None = None, said: str = ""
    ) -> asyncio.Task[WriteResult]:
        """Begins a write, which can be taken back from now on. Its outcome is told by a toast, after ``said`` (and by
        that alone where all is well); an error is told by whoever awaits, else by ``tell``."""
        task = asyncio.ensure_future(self._run(call, overlay, said))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        if undo is not None:
            self._undo.append((task, undo))
        return task

    def tell(self, task: asyncio.Task[WriteResult]) -> None:
        """Has an error of a write told by a toast, for a caller that doesn't await it."""
        task.add_done_callback(self._told)

    def go(self, call: Call, **kind: Any) -> None:
        """``start`` and ``tell``: fire and be told."""
        self.tell(self.start(call, **kind))

    def _told(self, task: asyncio.Task[WriteResult]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            with self._app.guard("write"):
                raise error

    async def _run(self, call: Call, overlay: TaskView | None, said: str) -> WriteResult:
        live = self._app.live
        if overlay is not None:
            live.overlay[overlay.id] = overlay
            live.tell("tasks")
        try:
            await self._opened.wait()
            assert live.assistant is not None
            result = await call(live.assistant)
        finally:
            if overlay is not None:
                # Let go with the next list that is read, so that the row doesn't blink.
                asyncio.get_running_loop().call_later(1.0, self._let_go, overlay)
            live.ask("tasks")
            live.ask("queue")
            live.ask("insights")
        words, severity = await self._outcome(live.assistant, result)
        if said:
            words = said if result.status == "synced" else f"{said} · {words}"
        self._app.toast(words, severity)
        return result

    def _let_go(self, overlay: TaskView) -> None:
        live = self._app.live
        if live.overlay.get(overlay.id) is overlay:
            del live.overlay[overlay.id]
            live.tell("tasks")

    async def _outcome(self, assistant: Assistant, result: WriteResult) -> tuple[str, str]:
        """A write's outcome in words, and how severe it is."""
        number = result.queue_id if isinstance(result.queue_id, int) else 0
        match result.status:
            case "synced":
                return _("saved to Hub"), "information"
            case "queued":
                why = ""
                with contextlib.suppress(AriaError):
                    item = await assistant.queue_show(number)
                    why = "" if item.reason_code in ("next", "sending") else reason_words(item, local_now())
                queued = _("queued (#{n})").format(n=number)
                return f"{queued}: {why}" if why else queued, "information"
            case "superseded":
                return _("superseded by a newer change at the Hub"), "information"
            case "conflict":
                return _("changed on both sides: conflict #{n} is in the queue").format(n=number), "warning"
        why = in_words(result.message.removeprefix(f"rejected (#{number}): "))
        return _("the Hub rejected it (#{n}): {why}").format(n=number, why=why), "error"

    async def undo(self) -> None:
        """Takes the last action back; one whose outcome isn't known yet as soon as it is. One after another."""
        async with self._undoing:
            while self._undo:
                write, way = self._undo.pop()
                await asyncio.wait({write})
                if write.cancelled() or write.exception() is not None:
                    continue  # it never happened, and that was told
                if (entry := way(write.result())) is None:
                    continue
                try:
                    await self._take_back(entry)
                except AriaError:
                    self._undo.append((write, way))  # can be tried again
                    raise
                return
            self._app.toast(_("nothing to take back"))

    async def _take_back(self, entry: Undo) -> None:
        said = _("taken back: {what}").format(what=entry.label)
        assistant = self._app.live.assistant
        if entry.queued is not None and assistant is not None and await _withdrawn(assistant, entry.queued):
            for topic in ("tasks", "queue", "insights"):
                self._app.live.ask(topic)
            self._app.toast(said)
            return
        about, overlay = entry.about, entry.overlay
        while about in self._became:
            about = self._became[about]
        if overlay is not None and overlay.id == entry.about:
            overlay = msgspec.structs.replace(overlay, id=about)
        result = await self.start(lambda assistant: entry.call(assistant, about), overlay=overlay, said=said)
        if entry.anew:
            self._became[about] = result.id

    async def settle(self) -> None:
        """On the way out: waits for writes that run; what is committed stays."""
        if self._running and self._opened.is_set():
            await asyncio.wait(self._running, timeout=0.5)
        for task in tuple(self._running):
            task.cancel()


async def _withdrawn(assistant: Assistant, number: int) -> bool:
    """Takes a row that was never sent out of the queue again; False when it is too late for that."""
    try:
        item = await assistant.queue_show(number)
        if item.synced_at or item.attempts or item.reason_code in ("sending", "in_doubt"):
            return False
        await assistant.queue_discard(number)
    except NotFound:
        return False
    except AriaError as error:
        log.info("row %s can't be withdrawn: %s", number, error)
        return False
    return True


def changed(task: TaskView, changes: dict[str, Any]) -> TaskView:
    """The task as it looks with changes of the wire's names laid over it."""
    known = {name: value for name, value in changes.items() if name in TaskView.__struct_fields__}
    if "tags" in known:
        known["tags"] = tuple(known["tags"])
    mark = task.mark if task.mark == "new" else "edited"
    return msgspec.structs.replace(task, **known, waiting=True, mark=mark)
