"""The briefing on the dashboard: gathered as it comes in, stored once, by day, morning and evening."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from aria_tui.errors import AriaError
from aria_tui.locale import _, formats
from aria_tui.models import BriefingDoc, Section
from aria_tui.tui.screens.base import AriaScreen
from aria_tui.tui.screens.task_commands import unavailable_words
from aria_tui.tui.widgets.briefing_pane import BriefingPane, BriefingState

log = logging.getLogger(__name__)
REACHABLE = ("embedded", "online", "slow")
AWAY = ("offline", "refused", "not_the_hub")
STORE_AFTER = 20.0
"""Seconds after a briefing was gathered; leaving by the quit command stores it before that."""
QUEUE_AFTER = 60.0
"""Seconds more that a Hub which is away has to come back, before the briefing is queued without its tasks."""


class BriefingCommands(AriaScreen):
    """Mixin of the dashboard."""

    if TYPE_CHECKING:  # what the dashboard and the other mixins give

        @property
        def now(self) -> Any: ...

        def go_to(self, pane: str) -> None: ...

        def show_tab(self, tab: str) -> None: ...

    _kind: Literal["morning", "evening"] = "morning"
    _day: str | None = None
    """The stored day that is shown; None: now."""
    _doc: BriefingDoc | None = None
    _sections: dict[str, Section] = {}  # noqa: RUF012 - replaced, never changed
    _gathering = False
    _folded: frozenset[str] = frozenset()
    _extra: tuple[str, ...] = ()
    _stored: frozenset[tuple[str, str, bool]] = frozenset()
    """Kind and day, and whether the Hub was there."""
    _was_reachable = True

    @property
    def briefing_pane(self) -> BriefingPane:
        return self.query_one(BriefingPane)

    def load_folded(self) -> None:
        """Folded sections as they were left."""
        kept = self.aria.session.get("folded")
        if isinstance(kept, list):
            self._folded = frozenset(str(name) for name in kept)

    def briefing_labels(self) -> dict[str, str]:
        return {"briefing.evening": _("morning")} if self._kind == "evening" else {}

    def draw_briefing(self) -> None:
        doc = self._doc
        alerts = doc.alerts if doc is not None else tuple(a for s in self._sections.values() for a in s.alerts)
        sections = doc.sections if doc is not None and not self._gathering else tuple(self._sections.values())
        sections = tuple(self._current(section) for section in sections)
        self.briefing_pane.update_state(
            BriefingState(
                self._kind,
                self._headline(),
                self.now.replace(second=0, microsecond=0),
                self._shown_day(),
                sections,
                alerts,
                self._gathering,
                self._folded,
                self._extra,
            )
        )

    def _current(self, section: Section) -> Section:
        """Today's tasks and queue follow the live lists: a number that isn't current is never shown as current."""
        live = self.aria.live
        if self._day is not None or section.state != "ok":
            return section
        from aria_tui._briefing_hub import queue_section, tasks_data  # loaded with the first section

        if section.name == "queue" and live.queue is not None:
            hub = {"state": live.hub.state, "since": live.hub.since}
            return replace(queue_section(live.queue), data={**queue_section(live.queue).data, "hub": hub})
        if section.name == "tasks" and live.tasks is not None:
            data = tasks_data(live.shown_tasks(), self.now.date())
            if live.tasks_problem is None:
                return replace(section, data=data)
            reason = unavailable_words(live.tasks_problem)
            return replace(section, state="unavailable", reason=reason, data={"waiting": data.get("waiting") or []})
        return section

    def _shown_day(self) -> date:
        with contextlib.suppress(ValueError):
            return date.fromisoformat(self._day or "")
        return self.now.date()  # type: ignore[no-any-return]

    def _headline(self) -> str:
        return _("today") if self._day is None else formats.short_day(self._shown_day(), self.now.date())

    # -- gathering

    def start_briefing(self) -> None:
        """Gathers anew what is shown; one at a time."""
        if self.aria.live.assistant is not None:
            self.aria.spawn(self._gather(), "briefing", exclusive=True)

    async def _gather(self) -> None:
        assistant = self.aria.live.assistant
        assert assistant is not None
        if self._day is not None:
            await self._show_stored(self._day)
            return
        kind = self._kind
        self._gathering, self._extra = True, ()
        fresh: dict[str, Section] = {}
        self.draw_briefing()
        try:
            async for part in assistant.briefing(kind=kind):
                if isinstance(part, BriefingDoc):
                    self._doc = part
                else:
                    fresh[part.name] = part
                    self._sections = {**self._sections, **fresh}
                    self._doc = None
                    self.draw_briefing()
            self._sections = fresh
        finally:
            self._gathering = False
            if self.is_attached:
                self.draw_briefing()
        if self._doc is not None:
            self.aria.spawn(self._store_soon(self._doc), "store briefing", exclusive=True)

    async def _store_soon(self, doc: BriefingDoc) -> None:
        """Stores when the rush of the start is over: what waits already goes first."""
        await asyncio.sleep(STORE_AFTER)
        await self.store(doc)
        await asyncio.sleep(QUEUE_AFTER)
        await self.store(doc, queue=True)

    async def store(self, doc: BriefingDoc | None = None, *, queue: bool = False) -> None:
        """Stores a morning once a run and day, an evening when it is asked for.

        ``queue``: also while the Hub is away, like every write; but only a morning, and only until one with the Hub's
        tasks was stored that day, which one without them must not replace. What is gathered when the Hub is back
        takes its place.
        """
        assistant, doc = self.aria.live.assistant, doc or self._doc
        if assistant is None or doc is None or self._day is not None:
            return
        reachable = self.aria.live.hub.state in REACHABLE
        first = doc.kind == "morning" and self.aria.session.get("stored") != doc.date
        if not reachable and not (queue and first and self.aria.live.hub.state in AWAY):
            return
        key = (doc.kind, doc.date, reachable)
        if key in self._stored:
            return
        self._stored |= {key}
        try:
            await assistant.save_briefing(doc)
        except AriaError as error:
            self._stored -= {key}
            log.warning("the briefing was not stored: %s", error)
            return
        if reachable and doc.kind == "morning":
            self.aria.session.put("stored", doc.date)

    def hub_changed(self) -> None:
        """Gathers again when the Hub came or went: tasks and yesterday are another then."""
        reachable = self.aria.live.hub.state in REACHABLE
        if reachable != self._was_reachable and self.aria.live.hub.state != "unknown":
            self._was_reachable = reachable
            if self._day is None:
                self.start_briefing()

    # -- days

    async def do_briefing_earlier(self) -> None:
        assistant = self.aria.live.assistant
        if assistant is None:
            return
        found = await assistant.list_briefings(before=self._day or self.now.date().isoformat(), limit=1)
        if not found:
            self.aria.toast(_("there is no earlier briefing"))
            return
        await self._show_stored(found[0].date)

    async def do_briefing_later(self) -> None:
        assistant = self.aria.live.assistant
        if assistant is None or self._day is None:
            self.aria.toast(_("this is today's briefing"))
            return
        today = self.now.date().isoformat()
        found = await assistant.list_briefings(before=today, limit=365)
        later = sorted(b.date for b in found if b.date > self._day)
        if later:
            await self._show_stored(later[0])
        else:
            self._day, self._extra, self._doc = None, (), None
            self.start_briefing()

    async def _show_stored(self, day: str) -> None:
        assistant = self.aria.live.assistant
        assert assistant is not None
        doc = await assistant.stored_briefing(day)
        self._day = day
        if doc is None:
            plain = await assistant.get_briefing(day)
            self._doc, self._sections = None, {}
            self._extra = (
                tuple(plain.content.splitlines()[:500]) if plain is not None else (_("no briefing of this day"),)
            )
        else:
            self._doc, self._sections, self._extra = doc, {s.name: s for s in doc.sections}, ()
        self.draw_briefing()

    def do_briefing_evening(self) -> None:
        self._kind = "morning" if self._kind == "evening" else "evening"
        self._day, self._doc, self._sections = None, None, {}
        self.start_briefing()
        self.show_footer()

    async def do_briefing_compare(self) -> None:
        """Two days side by side in a few lines: the one shown and the one stored before it."""
        from aria_tui.briefing import compare, render_compare

        assistant = self.aria.live.assistant
        if assistant is None or self._doc is None:
            return
        if self._extra:
            self._extra = ()
        else:
            found = await assistant.list_briefings(before=self._day or self.now.date().isoformat(), limit=1)
            earlier = await assistant.stored_briefing(found[0].date) if found else None
            if earlier is None:
                self.aria.toast(_("there is no earlier briefing to compare with"))
                return
            self._extra = tuple(render_compare(compare(earlier, self._doc)).splitlines())
        self.draw_briefing()

    # -- lines

    def do_briefing_fold(self) -> None:
        if (name := self.briefing_pane.section) is not None:
            self._folded ^= {name}
            self.aria.session.put("folded", sorted(self._folded))
            self.draw_briefing()
            self.briefing_pane.rows.select(name)

    def do_briefing_open(self) -> None:
        """Leads to what the line is about: a pane, one of the queue's lists, or the section itself."""
        target = self.briefing_pane.target
        live = self.aria.live
        match target:
            case None:
                return
            case "queue" | "outbox":
                status = live.queue
                self.go_to("queue")
                if status is not None and (status.dead_letters or status.conflicts) and not status.pending_total:
                    self.show_tab("dead" if status.dead_letters else "conflicts")
            case "hub":
                self.go_to("hub")
            case "tasks" | "yesterday" | "done" | "tomorrow":
                self.go_to("tasks")
            case "insights":
                self.aria.do_insights()
            case _ if target in self._folded:
                self.do_briefing_fold()
            case _ if (self.briefing_pane.rows.cursor_key or "").startswith("alerts:"):
                self.briefing_pane.rows.select(target)
            case _:
                self.do_briefing_fold()

    async def do_briefing_copy(self) -> None:
        from aria_tui.briefing import render_markdown

        doc = self._doc
        if doc is None:
            self.aria.toast(_("the briefing is still being gathered"))
            return
        self.app.copy_to_clipboard(render_markdown(doc))
        self.aria.toast(_("sent to clipboard"))
