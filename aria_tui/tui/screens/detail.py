"""One row of the queue, whole: what it is, why it is there, its payload as stored."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from functools import partial

from aria_tui.errors import NotFound
from aria_tui.locale import _, formats
from aria_tui.models import QueueItem
from aria_tui.tui.bindings import bindings
from aria_tui.tui.content import Line, cell_width, fit, say, wrapped
from aria_tui.tui.queue_rows import operation_word, outcome_words, parked_words, reason_words
from aria_tui.tui.rows import can_do, why_not
from aria_tui.tui.screens.listing import Later, ListingScreen
from aria_tui.tui.wallclock import local_now

_LONG = 2000
_JOINER = "\u200d"


class DetailScreen(ListingScreen):
    """A row that waits, is parked, or was delivered. It follows the row while it is open."""

    PLACE = "detail"
    BINDINGS = bindings("detail")

    def __init__(self, item: QueueItem, tab: str) -> None:
        super().__init__()
        self._item, self._tab = item, tab
        self._payload: tuple[str, int, list[Line | Later]] = ("", 0, [])
        """The payload as it was laid out last: text, width, lines."""

    def on_mount(self) -> None:
        super().on_mount()
        self.aria.live.listeners.append(self._news)

    def on_unmount(self) -> None:
        if self._news in self.aria.live.listeners:
            self.aria.live.listeners.remove(self._news)

    def _news(self, topic: str) -> None:
        if topic == "queue" and self.is_attached:
            self.aria.spawn(self._read(), "detail", exclusive=True)

    async def _read(self) -> None:
        if (assistant := self.aria.live.assistant) is None:
            return
        try:
            self._item = await assistant.queue_show(self._item.id)
        except NotFound:
            return
        self.draw()

    def heading(self) -> tuple[str, str]:
        return _("Queue row #{n}").format(n=self._item.id), operation_word(self._item.operation)

    def rows_for(self, width: int) -> list[tuple[str | None, Line | Later]]:
        item, now = self._item, local_now()
        words = {"waiting": lambda: reason_words(item, now), "journal": lambda: outcome_words(item)}
        reason = words.get(self._tab, lambda: parked_words(item.reason))()
        facts = [
            (_("operation"), item.operation),
            (_("why"), reason),
            (_("error"), "" if item.error and item.error in item.reason else item.error or ""),
            (_("about"), self._about(item.entity)),
            (_("key"), item.op_id),
            (_("written"), f"{formats.when(item.created_at, now)} ({formats.age(item.created_at, now)})"),
            (_("attempts"), str(item.attempts)),
            (_("next attempt"), formats.when(item.next_attempt_at, now)),
            (_("delivered"), formats.when(item.synced_at, now)),
            (_("written by"), item.origin),
            (_("for"), self._target(item)),
        ]
        rows: list[tuple[str | None, Line | Later]] = []
        for name, text in facts:
            if text:
                first, *rest = wrapped(text, width - 15)
                rows.append((None, (fit(name, 14, "dim"), *first)))
                rows += [(None, (fit("", 14), *line)) for line in rest]
        rows += [(None, ()), (None, (say(_("Payload"), "title"),))]
        if self._payload[:2] != (item.payload, width):
            self._payload = item.payload, width, [li for text in _pretty(item.payload) for li in _laid_out(text, width)]
        return rows + [(None, line) for line in self._payload[2]]

    def _about(self, entity: str) -> str:
        """The entity with its task's title, where that is known."""
        task = next((task for task in self.aria.live.shown_tasks() if entity.endswith(task.id)), None)
        return f"{task.title} ({entity})" if task is not None else entity

    def _target(self, item: QueueItem) -> str:
        """The Hub that the row is for, as a person knows it."""
        hub = self.aria.live.hub
        if item.reason_code == "held_target":
            return item.reason_args.get("target", item.target)
        if item.target == "embedded" or (hub.hub_id and hub.hub_id in item.target):
            account = _("account {name}").format(name=hub.account) if hub.account else ""
            return " · ".join(part for part in (hub.url or _("embedded, on this machine"), account) if part)
        return item.target

    def offers(self, name: str) -> bool:
        return can_do(self._tab, name.removeprefix("detail."))

    def _can(self, what: str) -> bool:
        if not can_do(self._tab, what):
            self.aria.toast(why_not(self._tab, what))
        return can_do(self._tab, what)

    async def do_detail_retry(self) -> None:
        if self._can("retry"):
            await self.aria.rows.retry(self._item)

    async def do_detail_edit(self) -> None:
        if self._can("edit"):
            await self.aria.rows.edit(self._item)

    async def do_detail_discard(self) -> None:
        if self._can("discard") and await self.aria.rows.discard(self._item) and self.is_current:
            self.dismiss()

    do_detail_close = ListingScreen.do_close


def _pretty(payload: str) -> list[str]:
    """JSON with indentation; a text that isn't JSON as it is."""
    with contextlib.suppress(ValueError, RecursionError):
        payload = json.dumps(json.loads(payload), ensure_ascii=False, indent=2)
    return payload.split("\n")


def _laid_out(text: str, width: int) -> Sequence[Line | Later]:
    """Wrapped at words; a line of thousands of characters simply cut into pieces, which is quick at any length."""
    if len(text) < _LONG:
        bare = text.lstrip(" ")
        return wrapped(bare, width, indent=" " * min(len(text) - len(bare), width // 2))
    step = width if text.isascii() else width // 2
    cuts = [0]
    while (end := cuts[-1] + step) < len(text):
        while end < len(text) and (text[end] == _JOINER or text[end - 1] == _JOINER or not cell_width(text[end])):
            end += 1  # never inside a character
        cuts.append(end)
    return [partial(_piece, text, start, end) for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _piece(text: str, start: int, end: int) -> Line:
    return (say(text[start:end]),)
