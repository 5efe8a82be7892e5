"""The queue: waiting, dead letters, conflicts and journal as tabs over one list, the sync at its foot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from textual import events, on
from textual.app import ComposeResult

from aria_tui.locale import _, ngettext
from aria_tui.models import QueueItem, QueueStatus
from aria_tui.tui.content import Line, Piece, cell_width, cropped, say, wrapped
from aria_tui.tui.messages import QueueTabChosen, RowsWanted
from aria_tui.tui.pages import Pages
from aria_tui.tui.queue_rows import QueueRows
from aria_tui.tui.widgets.lines import Lines, NoRows, RowList
from aria_tui.tui.widgets.pane import Pane
from aria_tui.tui.widgets.sync_bar import SyncBar

TABS = ("waiting", "dead", "conflicts", "journal")


@dataclass(frozen=True)
class QueueState:
    """What the pane draws. ``revision`` counts what was put into ``pages``, so that a change is seen."""

    status: QueueStatus | None
    tab: str
    pages: Pages
    revision: int
    now: datetime
    problem: str = ""


class QueueTabs(Lines):
    """The four lists with their counts."""

    def __init__(self) -> None:
        super().__init__(id="queue-tabs")
        self._tab, self._counts = "waiting", (0, 0, 0)

    def update_tabs(self, tab: str, counts: tuple[int, int, int]) -> None:
        if (tab, counts) != (self._tab, self._counts):
            self._tab, self._counts = tab, counts
            self.refresh()

    def _titles(self) -> list[tuple[str, str]]:
        waiting, dead, conflicts = self._counts
        return [
            ("waiting", _("Waiting {n}").format(n=waiting)),
            ("dead", _("Dead {n}").format(n=dead)),
            ("conflicts", _("Conflicts {n}").format(n=conflicts)),
            ("journal", _("Journal")),
        ]

    def lines_for(self, width: int) -> tuple[Line, ...]:
        line: Line = ()
        for name, title in self._titles():
            attention = name in ("dead", "conflicts") and not title.endswith(" 0")
            chosen = name == self._tab
            style = "chosen" if chosen else "warn" if attention else "dim"
            line += (say(f"[{title}]" if chosen else f" {title} ", style), Piece(" "))
        return (cropped(line, width),)

    def on_click(self, event: events.Click) -> None:
        at = 0
        for name, title in self._titles():
            at += cell_width(title) + 3
            if event.x < at:
                self.post_message(QueueTabChosen(name))
                return


class QueuePane(Pane):
    """Draws a QueueState; keeps nothing but the cursor."""

    def __init__(self) -> None:
        super().__init__(_("Queue"), id="queue")
        self._rows: QueueRows | None = None
        self._state: QueueState | None = None

    def compose(self) -> ComposeResult:
        yield QueueTabs()
        yield RowList(id="queue-rows")
        yield SyncBar(id="sync-bar")

    @property
    def rows(self) -> RowList:
        """The list that has the focus when the pane has."""
        return self.query_one(RowList)

    @property
    def sync_bar(self) -> SyncBar:
        """Progress and button."""
        return self.query_one(SyncBar)

    def update_state(self, state: QueueState) -> None:
        """Draws another state; the cursor stays on its row."""
        if state == self._state:
            return
        self._state = state
        status = state.status
        counts = (status.pending_total, status.dead_letters, status.conflicts) if status else (0, 0, 0)
        self.query_one(QueueTabs).update_tabs(state.tab, counts)
        self.name_it(_("Queue"), self._headline_for(state, counts))
        if state.problem:
            self._rows = None
            self.rows.show(NoRows(*wrapped(state.problem, max(10, self.rows.size.width - 2), "bad")))
        elif not len(state.pages):
            self._rows = None
            self.rows.show(NoRows((say(_nothing(state), "dim"),)))
        else:
            self._rows = QueueRows(state.pages, state.tab, state.now)
            self.rows.show(self._rows)

    def _headline_for(self, state: QueueState, counts: tuple[int, int, int]) -> str:
        if state.problem:
            return _("unavailable")
        parts = [_("{n} waiting").format(n=counts[0])]
        if counts[1]:
            parts.append(ngettext("{n} dead", "{n} dead", counts[1]).format(n=counts[1]))
        if counts[2]:
            parts.append(ngettext("{n} conflict", "{n} conflicts", counts[2]).format(n=counts[2]))
        if state.status is not None and state.status.held:
            parts.append(ngettext("{n} held", "{n} held", state.status.held).format(n=state.status.held))
        if state.status is not None and state.status.paused:
            parts.append(_("paused"))
        return " · ".join(parts)

    def item(self) -> QueueItem | None:
        """The row under the cursor."""
        key = self.rows.cursor_key
        return self._rows.item(key) if key is not None and self._rows is not None else None

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        self.post_message(RowsWanted(event.first, event.last))


def _nothing(state: QueueState) -> str:
    if state.status is None or (state.tab == "waiting" and state.status.pending_total):
        return _("reading …")
    return {
        "waiting": _("nothing waits"),
        "dead": _("no dead letters"),
        "conflicts": _("no conflicts"),
        "journal": _("nothing was delivered yet"),
    }[state.tab]
