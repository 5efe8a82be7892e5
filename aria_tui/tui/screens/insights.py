"""The insights: searched as typed, by project and tag; edited and deleted like everything, through the queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from aria_tui.locale import _, formats, ngettext
from aria_tui.models import InsightView, WriteResult
from aria_tui.tui.bindings import bindings
from aria_tui.tui.content import Line, Piece, fit, say
from aria_tui.tui.screens.base import AriaScreen
from aria_tui.tui.wallclock import local_now
from aria_tui.tui.widgets.inputs import LineInput
from aria_tui.tui.widgets.lines import NoRows, RowList
from aria_tui.tui.widgets.pane import Pane
from aria_tui.tui.writes import Undo


@dataclass(frozen=True)
class _Choice:
    words: str = ""
    project: str = ""
    tag: str = ""


class _Rows:
    def __init__(self, insights: list[InsightView]) -> None:
        self.insights = insights
        self._now = local_now()
        self._index = {insight.id: number for number, insight in enumerate(insights)}

    def __len__(self) -> int:
        return len(self.insights)

    def key(self, index: int) -> str | None:
        return self.insights[index].id

    def find(self, key: str) -> int | None:
        return self._index.get(key)

    def line(self, index: int, width: int) -> Line:
        insight = self.insights[index]
        marks = {"new": "⇡ ", "edited": "✎ ", "deleted": "✗ "}
        mark = marks.get(insight.mark, "⇡ " if insight.waiting else "  ")
        style = "strike" if insight.mark == "deleted" else ""
        side = min(30, width // 3)
        about = " ".join(filter(None, [insight.project, *(f"#{tag}" for tag in insight.tags)]))
        return (
            Piece(mark, "accent"),
            fit(insight.content, width - side - 13, style),
            Piece(" "),
            fit(about, side, "dim"),
            Piece(" "),
            fit(formats.age(insight.captured_at, self._now), 9, "dim", right=True),
        )


class _Search(LineInput):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,down", "leave(True)", show=False),
        Binding("escape", "leave(False)", show=False),
    ]

    def action_leave(self, kept: bool) -> None:
        self.screen.set_focus(self.screen.query_one(RowList))
        if not kept:
            self.value = ""


class _Page(Pane):
    def compose(self) -> ComposeResult:
        yield _Search(id="search", placeholder=_("search"), compact=True)
        yield RowList()


class InsightsScreen(AriaScreen):
    """All insights, newest first."""

    PLACE = "insights"
    BINDINGS = bindings("insights")

    def __init__(self) -> None:
        super().__init__()
        self._choice = _Choice()
        self._rows: _Rows | None = None

    def body(self) -> ComposeResult:
        yield _Page(_("Insights"), id="page")

    def on_mount(self) -> None:
        self.query_one(RowList).focus()
        self.aria.live.listeners.append(self._news)
        self.aria.live.want("insights")
        self.draw()

    def on_unmount(self) -> None:
        self.aria.live.want("insights", False)
        if self._news in self.aria.live.listeners:
            self.aria.live.listeners.remove(self._news)

    def _news(self, topic: str) -> None:
        if topic == "insights" and self.is_attached:
            self.draw()

    def _all(self) -> tuple[InsightView, ...]:
        found = self.aria.live.insights
        return found.insights if found is not None else ()

    def draw(self) -> None:
        """Draws the insights that fit the choice."""
        choice = self._choice
        words = choice.words.casefold().split()
        found = [
            insight
            for insight in self._all()
            if (not choice.project or insight.project == choice.project)
            and (not choice.tag or choice.tag in insight.tags)
            and all(
                word in f"{insight.content} {insight.project or ''} {' '.join(insight.tags)}".casefold()
                for word in words
            )
        ]
        live, rows = self.aria.live, self.query_one(RowList)
        parts = [choice.project, f"#{choice.tag}" if choice.tag else "", f"/{choice.words}" if choice.words else ""]
        if live.insights is not None and live.insights.source == "last-seen":
            parts.append(_("as of {time}").format(time=formats.when(live.insights.as_of, local_now())))
        total = ngettext("{n} insight", "{n} insights", len(self._all())).format(n=len(self._all()))
        parts.append(_("{found} of {all}").format(found=len(found), all=total) if choice != _Choice() else total)
        self.query_one(_Page).name_it(_("Insights"), " · ".join(part for part in parts if part))
        if found:
            self._rows = _Rows(found)
            rows.show(self._rows)
        else:
            self._rows = None
            empty = live.insights_problem or _("no insights; i adds one")
            if live.insights is None and not live.insights_problem:
                empty = _("reading …")
            elif self._all():
                empty = _("no insight has all of this; / searches for other words, p and g go on to others")
            rows.show(NoRows((say(empty, "warn" if live.insights_problem else "dim"),)))

    @on(LineInput.Changed, "#search")
    def _searched(self, event: LineInput.Changed) -> None:
        self._choice = _Choice(event.value, self._choice.project, self._choice.tag)
        self.draw()

    def _insight(self) -> InsightView | None:
        key = self.query_one(RowList).cursor_key
        return next((insight for insight in self._all() if insight.id == key), None) if key else None

    @on(RowList.Opened)
    def do_insights_edit(self) -> None:
        if (insight := self._insight()) is not None and insight.mark != "deleted":
            self.aria.edit_insight(insight)

    def do_insights_delete(self) -> None:
        insight = self._insight()
        if insight is None or insight.mark == "deleted":
            return

        def way_back(result: WriteResult) -> Undo:
            queued = result.queue_id if result.status == "queued" and isinstance(result.queue_id, int) else None
            return Undo(
                _("deleted insight"),
                insight.id,
                lambda a, _now: a.capture_insight(insight.content, project=insight.project, tags=insight.tags),
                queued=queued,
                anew=True,
            )

        self.aria.writes.go(lambda a: a.delete_insight(insight.id), undo=way_back)

    def do_insights_search(self) -> None:
        self.set_focus(self.query_one("#search"))  # at once: the very next key is its

    def do_insights_project(self) -> None:
        names = sorted({insight.project for insight in self._all() if insight.project})
        self._choice = _Choice(self._choice.words, _after(names, self._choice.project), self._choice.tag)
        self.draw()

    def do_insights_tag(self) -> None:
        names = sorted({tag for insight in self._all() for tag in insight.tags})
        self._choice = _Choice(self._choice.words, self._choice.project, _after(names, self._choice.tag))
        self.draw()

    def do_insights_close(self) -> None:
        self.dismiss()


def _after(names: list[str], name: str) -> str:
    """The name after this one, with "all of them" (an empty name) at the end of the row."""
    ring = ["", *names]
    return ring[(ring.index(name) + 1) % len(ring)] if name in ring else ""
