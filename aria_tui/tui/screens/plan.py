"""What a sync would send now, after folding; nothing is sent by looking."""

from __future__ import annotations

from typing import Any

from aria_tui.locale import _, ngettext
from aria_tui.tui.bindings import bindings
from aria_tui.tui.content import Line, fit, say
from aria_tui.tui.queue_rows import operation_word
from aria_tui.tui.screens.listing import ListingScreen


class PlanScreen(ListingScreen):
    """The plan as ``aria sync --plan`` prints it, in words."""

    PLACE = "plan"
    BINDINGS = bindings("plan")
    _plan: dict[str, Any] | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.aria.spawn(self._read(), "plan")

    async def _read(self) -> None:
        if (assistant := self.aria.live.assistant) is not None:
            self._plan = await assistant.queue_plan()
            self.draw()

    def heading(self) -> tuple[str, str]:
        count = len(self._plan["operations"]) if self._plan else 0
        return _("Sync plan"), ngettext("{n} operation", "{n} operations", count).format(n=count) if self._plan else ""

    def rows_for(self, width: int) -> list[tuple[str | None, Line]]:
        if self._plan is None:
            return [(None, (say(_("reading …"), "dim"),))]
        rows: list[tuple[str | None, Line]] = []
        for operation in self._plan["operations"]:
            numbers = ", ".join(f"#{n}" for n in operation["from"])
            line = (
                fit(operation_word(str(operation["operation"])), 15),
                fit(numbers, 16, "dim"),
                say(_gist(operation["payload"]) or str(operation.get("entity", ""))),
            )
            rows.append((None, line))
        if not rows:
            rows.append((None, (say(_("nothing would be sent"), "dim"),)))
        if cancelled := self._plan["cancelled"]:
            numbers = ", ".join(f"#{n}" for n in cancelled)
            rows += [(None, ()), (None, (say(_("cancel each other, never sent: {rows}").format(rows=numbers), "dim"),))]
        return rows

    do_plan_close = ListingScreen.do_close


def _gist(payload: Any) -> str:
    """What a person knows the operation by; empty for what another program put into the queue in a form of its own."""
    if not isinstance(payload, dict):
        return ""
    changes = payload.get("changes")
    title = changes.get("title") if isinstance(changes, dict) else None
    return str(payload.get("title") or payload.get("content") or title or payload.get("date") or "")
