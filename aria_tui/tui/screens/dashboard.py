"""The dashboard: four panes, wide or as tabs, drawn from ``Live``'s snapshots. Its commands are in the mixins."""

from __future__ import annotations

import time
from datetime import datetime

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from aria_tui.complaints import sentence
from aria_tui.locale import _, formats
from aria_tui.tui.bindings import bindings
from aria_tui.tui.messages import PaneWanted
from aria_tui.tui.screens.base import AriaScreen
from aria_tui.tui.screens.briefing_commands import BriefingCommands
from aria_tui.tui.screens.queue_commands import QueueCommands
from aria_tui.tui.screens.task_commands import TaskCommands
from aria_tui.tui.wallclock import WallClock
from aria_tui.tui.widgets.bars import Banner, Header, HeaderState, PaneTabs
from aria_tui.tui.widgets.briefing_pane import BriefingPane
from aria_tui.tui.widgets.first_run import FirstRun
from aria_tui.tui.widgets.hub_pane import HubState, HubView, state_piece, state_word
from aria_tui.tui.widgets.lines import RowList
from aria_tui.tui.widgets.pane import Pane
from aria_tui.tui.widgets.queue_pane import QueuePane
from aria_tui.tui.widgets.sync_bar import SyncBar, SyncButton
from aria_tui.tui.widgets.tasks_pane import TasksPane

PANES = ("briefing", "tasks", "hub", "queue")


class BriefingBox(BriefingPane):
    BINDINGS = bindings("briefing")


class TasksBox(TasksPane):
    BINDINGS = bindings("tasks")


class HubBox(Pane):
    BINDINGS = bindings("hub")

    def compose(self) -> ComposeResult:
        yield HubView()


class QueueBox(QueuePane):
    BINDINGS = bindings("queue")


class DashboardScreen(BriefingCommands, TaskCommands, QueueCommands, AriaScreen):
    """The first screen, and the one that is always there."""

    BINDINGS = bindings("dashboard")

    def __init__(self) -> None:
        super().__init__()
        self.wall = WallClock()
        self._active = "briefing"

    def body(self) -> ComposeResult:
        yield Header(id="header")
        yield Banner()
        if self.aria.fresh:
            yield FirstRun()
        yield PaneTabs()
        with Vertical(id="panes"):
            yield BriefingBox()
            with Vertical(id="right"):
                yield TasksBox()
                yield HubBox(_("Hub"), id="hub")
                yield QueueBox()

    def on_mount(self) -> None:
        wanted = self.aria.session.get("pane")
        self._active = wanted if wanted in PANES else "briefing"
        self.load_task_choice()
        self.load_folded()
        self._clock(self.wall.now)
        self.go_to(self._active)
        self.aria.live.listeners.append(self.news)

    def on_unmount(self) -> None:
        if self.news in self.aria.live.listeners:
            self.aria.live.listeners.remove(self.news)

    # -- what is new

    def news(self, topic: str) -> None:
        """Draws what a topic changed."""
        if not self.is_attached:
            return
        match topic:
            case "opened":
                self._opened()
            case "hub":
                self.draw_hub()
                self.draw_header()
                self.hub_changed()
            case "tasks":
                self.draw_tasks()
                self.draw_briefing()
            case "queue":
                self.queue_changed()
                self.draw_sync()
                self.draw_banner()
                self.draw_header()
                self.draw_briefing()
            case "sync":
                self.draw_sync()
            case "finished":
                self.draw_sync()
                self.draw_header()
            case "notice":
                self.draw_banner()

    def draw_banner(self) -> None:
        """What must be known before all else, or nothing."""
        self.query_one(Banner).say(" · ".join(sentence(text) for text in self.aria.live.banner.split(" · ")))

    def _opened(self) -> None:
        """The assistant is there: what needed it begins."""
        self.set_interval(1.0, self._tick)
        self.start_briefing()
        self.queue_changed()

    def _tick(self) -> None:
        now, jumped = self.wall.tick()
        self._clock(now)
        self.aria.live.look_at_hub()
        self.draw_hub()
        self.aria.live.forget_silent_sync()
        if jumped:
            self.live_again()

    def live_again(self) -> None:
        """A new day, another zone, or the machine slept: one refresh of everything."""
        for topic in ("tasks", "queue", "insights"):
            self.aria.live.ask(topic)
        self.draw_tasks()
        self.draw_queue()
        self.start_briefing()

    def _clock(self, now: datetime) -> None:
        self.draw_header()

    @property
    def now(self) -> datetime:
        """The local time that the screen shows."""
        return self.wall.now

    # -- drawing

    def draw_header(self) -> None:
        live, now = self.aria.live, self.wall.now
        period = {"morning": _("morning"), "afternoon": _("afternoon"), "evening": _("evening")}[self.wall.period]
        status = live.queue
        # The names of days come with Babel, which the first paint doesn't wait for.
        day = f"{formats.long_day(now.date())} · " if live.assistant is not None else ""
        self.query_one(Header).update_state(
            HeaderState(
                f"{day}{formats.clock(now)} · {period}",
                state_piece(live.hub, now if live.assistant is not None else None),
                f"{formats.short_day(now.date())} · {formats.clock(now)}" if live.assistant is not None else "",
                status.pending_total if status else 0,
                status.dead_letters + status.conflicts if status else 0,
            )
        )
        self._draw_tabs()

    def draw_hub(self) -> None:
        live = self.aria.live
        state = HubState(live.hub, int(time.monotonic() - live.hub_at), self.wall.now)
        self.query_one(HubView).update_state(state)
        self.query_one(HubBox).name_it(_("Hub"), state_word(live.hub))

    def _draw_tabs(self) -> None:
        status = self.aria.live.queue
        waiting = f" ⇡{status.pending_total}" if status and status.pending_total else ""
        names = (("briefing", _("Briefing")), ("tasks", _("Tasks")), ("hub", _("Hub")), ("queue", _("Queue") + waiting))
        tabs = tuple((name, f"{number} {title}") for number, (name, title) in enumerate(names, 1))
        self.query_one(PaneTabs).update_tabs(tabs, self._active)

    # -- panes and focus

    def place_of(self, focused: Widget | None) -> str:
        pane = self._pane_of(focused)
        return pane or "dashboard"

    def labels(self) -> dict[str, str]:
        return self.briefing_labels()

    def _pane_of(self, widget: Widget | None) -> str | None:
        if widget is None:
            return None
        return next((node.id for node in widget.ancestors_with_self if isinstance(node, Pane)), None)

    def on_descendant_focus(self) -> None:
        pane = self._pane_of(self.focused)
        if pane is not None and pane != self._active:
            self._activate(pane)
        super().on_descendant_focus()

    def _activate(self, pane: str) -> None:
        self._active = pane
        for name in PANES:
            self.query_one(f"#{name}").set_class(name == pane, "-active")
        self.query_one("#right").set_class(pane != "briefing", "-active")
        self.aria.session.put("pane", pane)
        self._draw_tabs()

    def go_to(self, pane: str) -> None:
        """Puts the focus into a pane, showing it where only one is shown."""
        self._activate(pane)
        targets = self.query(f"#{pane} RowList, #{pane} HubView")
        if targets:
            self.set_focus(targets.first())  # at once: the very next key is the pane's

    @on(PaneWanted)
    def _pane_wanted(self, event: PaneWanted) -> None:
        self.go_to(event.pane)

    def do_pane_briefing(self) -> None:
        self.go_to("briefing")

    def do_pane_tasks(self) -> None:
        self.go_to("tasks")

    def do_pane_hub(self) -> None:
        self.go_to("hub")

    def do_pane_queue(self) -> None:
        self.go_to("queue")

    def _stops(self) -> list[Widget]:
        """Where tab stops: each pane's list, and the sync button after the queue's."""
        stops: list[Widget] = [self.query_one(f"#{name} RowList, #{name} HubView", Widget) for name in PANES]
        return [*stops, self.query_one(SyncButton)]

    def _step(self, by: int) -> None:
        stops = self._stops()
        at = next((n for n, stop in enumerate(stops) if stop is self.focused), 0)
        target = stops[(at + by) % len(stops)]
        pane = self._pane_of(target)
        if pane is not None:
            self._activate(pane)
        self.set_focus(target)

    def do_pane_next(self) -> None:
        self._step(1)

    def do_pane_previous(self) -> None:
        self._step(-1)

    def do_first_use(self) -> None:
        self.query(FirstRun).remove()

    def do_first_demo(self) -> None:
        self.aria.after_exit = "demo"
        self.app.exit(0)

    def do_zoom(self) -> None:
        self.toggle_class("-zoom")

    def do_refresh(self) -> None:
        for topic in ("tasks", "queue", "insights"):
            self.aria.live.ask(topic)
        self.start_briefing()
        if (assistant := self.aria.live.assistant) is not None:
            self.aria.spawn(self._probe(assistant.hub_status()), "probe", exclusive=True)

    async def _probe(self, work: object) -> None:
        await work  # type: ignore[misc]

    # -- sync

    def draw_sync(self) -> None:
        self.query_one(SyncBar).set_state(self.sync_state())

    @on(RowList.Opened, "#briefing-rows, #task-rows, #queue-rows")
    def _row_opened(self, event: RowList.Opened) -> None:
        from aria_tui.tui.commands import BY_ID

        name = {"briefing-rows": "briefing.open", "task-rows": "task.edit", "queue-rows": "queue.open"}[
            str(event.rows.id)
        ]
        self.aria.run_command(BY_ID[name])
