"""What can be done in the queue pane, and the sync."""

from __future__ import annotations

import os
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual import on

from aria_tui.complaints import in_words, sentence
from aria_tui.errors import AriaError
from aria_tui.locale import _, formats, ngettext
from aria_tui.models import QueueItem, SyncFinished
from aria_tui.tui.messages import QueueTabChosen, RowsWanted
from aria_tui.tui.pages import PAGE, Pages
from aria_tui.tui.rows import can_do, why_not
from aria_tui.tui.screens.base import AriaScreen
from aria_tui.tui.widgets.queue_pane import TABS, QueuePane, QueueState
from aria_tui.tui.widgets.sync_bar import SyncState, report_sentence


class QueueCommands(AriaScreen):
    """Mixin of the dashboard."""

    if TYPE_CHECKING:  # what the dashboard and the other mixins give

        @property
        def now(self) -> Any: ...

        def go_to(self, pane: str) -> None: ...

    _tab = "waiting"
    _pages = Pages()
    _revision = 0
    _seen = (0, 0)
    _own_sync = False

    @property
    def queue_pane(self) -> QueuePane:
        return self.query_one(QueuePane)

    def queue_changed(self) -> None:
        """The queue is another: the rows in sight are read again."""
        self.draw_queue()
        self._read_rows(again=True)

    def draw_queue(self) -> None:
        live = self.aria.live
        state = QueueState(
            live.queue,
            self._tab,
            self._pages,
            self._revision,
            self.now.replace(second=0, microsecond=0),
            sentence(live.queue_problem),
        )
        self.queue_pane.update_state(state)

    @on(RowsWanted)
    def _rows_wanted(self, event: RowsWanted) -> None:
        self._seen = (event.first, event.last)
        self._read_rows()

    @on(QueueTabChosen)
    def _tab_chosen(self, event: QueueTabChosen) -> None:
        self.show_tab(event.tab)

    def show_tab(self, tab: str) -> None:
        """Shows another of the queue's lists."""
        self._tab, self._seen = tab, (0, 0)
        self._pages = Pages(newest_first=tab == "journal")
        self._revision += 1
        self.draw_queue()
        self._read_rows()
        self.show_footer()

    def offers(self, name: str) -> bool:
        return not name.startswith("queue.") or can_do(self._tab, name.removeprefix("queue."))

    def _item_to(self, what: str) -> QueueItem | None:
        """The row under the cursor, if what is wanted can be done in its list; else that is told."""
        if (item := self.queue_pane.item()) is not None and not can_do(self._tab, what):
            self.aria.toast(why_not(self._tab, what))
            return None
        return item

    def do_queue_next_tab(self) -> None:
        self.show_tab(TABS[(TABS.index(self._tab) + 1) % len(TABS)])

    def do_queue_previous_tab(self) -> None:
        self.show_tab(TABS[(TABS.index(self._tab) - 1) % len(TABS)])

    def _read_rows(self, again: bool = False) -> None:
        if self.aria.live.assistant is None or self.aria.live.queue_problem:
            return
        if wanted := self._pages.wanted(*self._seen, again=again):
            self.aria.spawn(self._fetch(self._pages, self._tab, wanted), "queue rows")

    async def _fetch(self, pages: Pages, tab: str, wanted: list[tuple[int, int]]) -> None:
        assistant = self.aria.live.assistant
        assert assistant is not None
        for number, after in wanted:
            rows = await assistant.queue_list(tab, after=after, limit=PAGE)  # type: ignore[arg-type]
            if pages is not self._pages:
                return
            pages.put(number, after, rows)
        self._revision += 1
        if self.is_attached:
            self.draw_queue()

    # -- rows

    def do_queue_open(self) -> None:
        if (item := self.queue_pane.item()) is not None:
            self.open_item(item)

    def open_item(self, item: QueueItem) -> None:
        """The whole row; a conflict in its own screen."""
        if self._tab == "conflicts":
            from aria_tui.tui.screens.conflict import ConflictScreen

            self.app.push_screen(ConflictScreen(item.id))
        else:
            from aria_tui.tui.screens.detail import DetailScreen

            self.app.push_screen(DetailScreen(item, self._tab))

    async def do_queue_retry(self) -> None:
        if (item := self._item_to("retry")) is not None:
            await self.aria.rows.retry(item)

    async def do_queue_retry_all(self) -> None:
        await self.aria.rows.retry(None)

    async def do_queue_edit(self) -> None:
        if (item := self._item_to("edit")) is not None:
            await self.aria.rows.edit(item)

    async def do_queue_discard(self) -> None:
        if (item := self._item_to("discard")) is not None:
            await self.aria.rows.discard(item)

    async def do_queue_export(self) -> None:
        """Writes the queue beside the home's other files, named by the moment; nothing is overwritten."""
        import asyncio

        assistant = self.aria.live.assistant
        if assistant is None:
            return
        file = self.aria.home / f"queue-{self.now:%Y%m%d-%H%M%S}.jsonl"
        lines = [line async for line in await _iterate(assistant.queue_export())]

        def write() -> None:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.writelines(line if line.endswith("\n") else f"{line}\n" for line in lines)

        try:
            await asyncio.to_thread(write)
        except OSError as error:
            self.aria.toast(_("not exported: {file}: {why}").format(file=file, why=error.strerror), "error")
            return
        count = ngettext("{n} row exported to {file}", "{n} rows exported to {file}", len(lines))
        self.aria.toast(count.format(n=len(lines), file=file))

    async def do_queue_verify(self) -> None:
        """After the Hub was restored (queue.md, "Hub restored from a backup"): what is missing there goes again."""
        if self.aria.live.assistant is not None:
            await self.aria.rows.verify()

    def do_queue_plan(self) -> None:
        from aria_tui.tui.screens.plan import PlanScreen

        self.app.push_screen(PlanScreen())

    # -- sync

    def sync_state(self) -> SyncState:
        """What the sync bar draws now."""
        live = self.aria.live
        if live.finished is None or (live.finished.report.remaining and live.queue and not live.queue.pending_total):
            return SyncState(live.sync)  # what still waited went by itself since
        ended = formats.clock(datetime.fromtimestamp(live.finished_at, self.now.tzinfo))
        return SyncState(live.sync, f"{ended}  {report_sentence(live.finished.report)}")

    async def do_sync(self) -> None:
        """Sends what waits. Where a sync runs already it is followed, and this one sends what it leaves."""
        live = self.aria.live
        if live.assistant is None:
            return
        if self._own_sync:
            self.aria.toast(_("a sync is running; S stops it"))
            return
        self._own_sync = True
        began, finished = time.monotonic(), None
        try:
            async for event in live.assistant.sync():
                live.take_sync(event)
                if isinstance(event, SyncFinished):
                    finished = event
        except AriaError as error:
            self.aria.toast(in_words(error), "error")
        finally:
            self._own_sync = False
            if live.sync is not None and live.sync.own:
                live.sync = None
                live.tell("finished")
        if finished is not None and time.monotonic() - began < 3600:
            bad = finished.report.failed or finished.report.dead_letters or finished.report.conflicts
            self.aria.toast(report_sentence(finished.report), "warning" if bad else "information")

    def do_sync_stop(self) -> None:
        if self.aria.live.assistant is not None and (self._own_sync or self.aria.live.sync is not None):
            self.aria.live.assistant.stop_sync()
            self.aria.toast(_("stopping; what is under way is awaited"))


async def _iterate(lines: Any) -> Any:
    """An asynchronous generator, whether it was given as one or as a coroutine of one."""
    return await lines if hasattr(lines, "__await__") else lines
