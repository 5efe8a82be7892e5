"""A conflict: base, mine and theirs side by side, chosen field by field, or both kept."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from aria_tui.errors import HubUnavailable
from aria_tui.locale import _
from aria_tui.models import Conflict, WriteResult
from aria_tui.tui.bindings import bindings
from aria_tui.tui.content import Line, Piece, fit, say, wrapped
from aria_tui.tui.queue_rows import field_value, operation_word
from aria_tui.tui.screens.listing import ListingScreen
from aria_tui.wording import field_word, unavailable

Side = Literal["mine", "theirs"]


class ConflictScreen(ListingScreen):
    """Nothing is sent before a choice is saved; leaving keeps the conflict where it was."""

    PLACE = "conflict"
    BINDINGS = bindings("conflict")

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number
        self._conflict: Conflict | None = None
        self._chosen: dict[str, Side] = {}
        self._problem = ""

    def on_mount(self) -> None:
        super().on_mount()
        self.aria.spawn(self._read(), "conflict")

    async def _read(self) -> None:
        if (assistant := self.aria.live.assistant) is None:
            return
        found = [conflict for conflict in await assistant.conflicts() if conflict.id == self._number]
        if found:
            self._conflict = found[0]
            self._chosen = dict.fromkeys(found[0].fields, "mine")
        else:
            self._problem = _("this conflict is resolved already")
        self.draw()

    def heading(self) -> tuple[str, str]:
        operation, _space, rest = (self._conflict.title if self._conflict else "").partition(" ")
        return _("Conflict #{n}").format(n=self._number), f"{operation_word(operation)} {rest}".strip()

    def rows_for(self, width: int) -> list[tuple[str | None, Line]]:
        conflict = self._conflict
        if conflict is None:
            return [(None, (say(self._problem or _("reading …"), "dim"),))]
        head: list[tuple[str | None, Line]] = []
        if conflict.theirs is None:
            lines = wrapped(_("It was deleted at the Hub, and changed here."), width, "warn")
            head = [*((None, line) for line in lines), (None, ())]
        name, column = 14, max(8, (width - 14 - 4) // 3)
        titles = (
            fit("", name), fit(_("before"), column, "title"), Piece("  "), fit(_("mine"), column, "title"),
            Piece("  "), fit(_("the Hub's"), column, "title"),
        )  # fmt: skip
        rows: list[tuple[str | None, Line]] = [*head, (None, titles)]
        fields = list(dict.fromkeys([*conflict.fields, *conflict.mine]))
        for field in fields:
            rows += [(f"{field}:{n}", line) for n, line in enumerate(self._field(field, name, column))]
        how = _("m mine, h the Hub's, for the field under the cursor; b keeps both")
        return [*rows, (None, ()), *((None, line) for line in wrapped(how, width, "dim"))]

    def _field(self, field: str, name: int, column: int) -> list[Line]:
        """A field's three values in columns, as many lines as the longest takes; the chosen one is marked."""
        conflict = self._conflict
        assert conflict is not None
        side = self._chosen.get(field)
        theirs = (conflict.theirs or {}).get(field)
        values = (conflict.base.get(field), conflict.mine.get(field, conflict.base.get(field)), theirs)
        columns = [wrapped(field_value(field, value), column - 2)[:12] for value in values]
        height = max(len(lines) for lines in columns)
        result: list[Line] = []
        for number in range(height):
            line: Line = (fit(field_word(field) if number == 0 else "", name, "key" if side else "dim"),)
            for which, lines in zip(("base", "mine", "theirs"), columns, strict=True):
                picked = which == side
                mark = "● " if picked and number == 0 else "  "
                text = lines[number][0].text if number < len(lines) else ""
                style = "good" if picked else "dim" if which == "base" or side else ""
                line = (*line, Piece(mark, "good"), fit(text, column - 2, style), Piece("  "))
            result.append(line)
        return result

    def _pick(self, side: Side) -> None:
        field = (self.cursor_key or "").partition(":")[0]
        if field in self._chosen:
            self._chosen[field] = side
            self.draw()

    def do_conflict_mine(self) -> None:
        self._pick("mine")

    def do_conflict_theirs(self) -> None:
        self._pick("theirs")

    def do_conflict_all_mine(self) -> None:
        self._resolve("mine")

    def do_conflict_all_theirs(self) -> None:
        self._resolve("theirs")

    def do_conflict_both(self) -> None:
        self._resolve("both")

    def do_conflict_save(self) -> None:
        sides = set(self._chosen.values())
        self._resolve(sides.pop() if len(sides) == 1 else dict(self._chosen))

    def _resolve(self, choice: Any) -> None:
        if self._conflict is None:
            return
        write = self.aria.writes.start(lambda a: a.resolve_conflict(self._number, choice))
        self.aria.spawn(self._resolved(write), "conflict")

    async def _resolved(self, write: asyncio.Task[WriteResult]) -> None:
        try:
            await write
        except HubUnavailable as error:
            self.aria.toast(unavailable(error, "conflict"), "error")
            return
        if self.is_current:
            self.dismiss()

    do_conflict_close = ListingScreen.do_close
