"""The sync: a bar, done/total, rate, time left, what is being sent, counts; and the button that starts or stops it.

Progress only changes counters here; one tick, ten times a second while a sync runs, draws what changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.timer import Timer

from aria_tui.locale import _, formats, ngettext
from aria_tui.models import SyncProgress, SyncReport
from aria_tui.tui.content import Line, Piece, between, cell_width, cropped, say
from aria_tui.tui.messages import CommandWanted
from aria_tui.tui.widgets.lines import Lines

TICK = 0.1


@dataclass(frozen=True)
class SyncState:
    """A running sync, or the end of the last one (``sentence``), or neither."""

    progress: SyncProgress | None = None
    sentence: str = ""


def report_sentence(report: SyncReport) -> str:
    """How a sync ended, in one sentence."""
    if not (report.synced or report.superseded or report.failed or report.remaining):
        return _("Nothing was waiting.")
    parts = []
    if report.synced or not (report.superseded or report.dead_letters or report.conflicts or report.remaining):
        parts.append(ngettext("{n} delivered", "{n} delivered", report.synced).format(n=report.synced))
    if report.superseded:
        parts.append(ngettext("{n} superseded", "{n} superseded", report.superseded).format(n=report.superseded))
    if report.dead_letters:
        parts.append(ngettext("{n} dead letter", "{n} dead letters", report.dead_letters).format(n=report.dead_letters))
    if report.conflicts:
        parts.append(ngettext("{n} conflict", "{n} conflicts", report.conflicts).format(n=report.conflicts))
    if report.remaining:
        parts.append(ngettext("{n} still waits", "{n} still wait", report.remaining).format(n=report.remaining))
    done = ", ".join(parts)
    if report.stopped:
        return _("Stopped: {what}.").format(what=done)
    if report.remaining and report.hub.state == "offline":
        return _("Hub offline: {what}.").format(what=done)
    return _("Sync done: {what}.").format(what=done)


class Progress(Lines):
    """The two lines of a running sync; nothing when none runs."""

    def __init__(self) -> None:
        super().__init__(id="progress")
        self._state = SyncState()
        self._drawn = SyncState()
        self._ticker: Timer | None = None

    def set_state(self, state: SyncState) -> None:
        """Takes new counters; they are drawn with the next tick."""
        self._state = state
        if self._ticker is None and self.is_mounted:
            self._ticker = self.set_interval(TICK, self._tick)
            self._tick()

    def _tick(self) -> None:
        if self._state != self._drawn:
            self._drawn = self._state
            self.refresh()
        if self._state.progress is None and self._ticker is not None:
            self._ticker.stop()
            self._ticker = None

    def lines_for(self, width: int) -> tuple[Line, ...]:
        progress = self._drawn.progress
        if progress is None:
            return ((say(self._drawn.sentence, "dim"),), ())
        figures = [f"{progress.done}/{progress.total}"]
        if progress.rate is not None:
            figures.append(_("{n}/s").format(n=formats.number(progress.rate, 0 if progress.rate >= 10 else 1)))
        if progress.seconds_left is not None:
            figures.append(_("{time} left").format(time=formats.duration(progress.seconds_left)))
        text = "  ".join(figures)
        counts: list[Piece] = []
        if progress.current:
            counts.append(say(progress.current))
        delivered = progress.synced + progress.superseded
        right = [say(ngettext("{n} delivered", "{n} delivered", delivered).format(n=delivered), "good")]
        if progress.failed:
            right.append(say(" · " + _("{n} failed").format(n=progress.failed), "bad"))
        if progress.conflicts:
            right.append(
                say(
                    " · " + ngettext("{n} conflict", "{n} conflicts", progress.conflicts).format(n=progress.conflicts),
                    "warn",
                )
            )
        if not progress.own:
            right.append(say(" · " + _("another program's"), "dim"))
        bar = _bar(progress.done, progress.total, max(4, width - cell_width(text) - 2))
        return ((*bar, say(f"  {text}")), between(tuple(counts), tuple(right), width))


def _bar(done: int, total: int, width: int) -> Line:
    halves = round(2 * width * done / total) if total else 0
    full, half = divmod(min(halves, 2 * width), 2)
    filled = "━" * full + ("╸" if half else "")
    return (Piece(filled, "good"), Piece("─" * (width - len(filled)), "dim"))


class SyncButton(Lines, can_focus=True):
    """One button: Sync, or Stop while a sync of our own runs. It never changes its place or loses the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "press", show=False)]

    def __init__(self) -> None:
        super().__init__(id="sync")
        self._syncing = False

    def set_running(self, running: bool) -> None:
        if running != self._syncing:
            self._syncing = running
            self.set_class(running, "-running")
            self.refresh(layout=True)

    @property
    def label(self) -> str:
        """The word on the button."""
        return _("Stop") if self._syncing else _("Sync")

    def lines_for(self, width: int) -> tuple[Line, ...]:
        mark = "▸" if self.has_focus else " "
        return (cropped((say(f"[{mark}{self.label} ]", "chosen" if self.has_focus else "key"),), width),)

    def get_content_width(self, container: object, viewport: object) -> int:
        return cell_width(self.label) + 4

    def action_press(self) -> None:
        self.post_message(CommandWanted("sync.stop" if self._syncing else "sync"))

    def on_click(self, event: events.Click) -> None:
        self.action_press()

    def on_focus(self, event: events.Focus) -> None:
        self.refresh()

    def on_blur(self, event: events.Blur) -> None:
        self.refresh()


class SyncBar(Vertical):
    """Progress and button together, at the foot of the queue pane."""

    def compose(self) -> ComposeResult:
        yield Progress()
        yield SyncButton()

    def set_state(self, state: SyncState) -> None:
        """Draws a sync's state; the words on the button follow."""
        if state.progress is not None and not state.progress.total:
            state = SyncState(None, state.sentence)
        self.query_one(Progress).set_state(state)
        self.query_one(SyncButton).set_running(state.progress is not None)
