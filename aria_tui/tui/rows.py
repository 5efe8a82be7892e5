"""What can be done to a row of the queue: put back, edit, discard. Asked before anything is thrown away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aria_tui.locale import _, ngettext
from aria_tui.tui.queue_rows import gist, operation_word

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant
    from aria_tui.models import QueueItem
    from aria_tui.tui.app import AriaApp


_CAN = {
    "retry": ("dead", "journal"),
    "edit": ("waiting", "dead"),
    "discard": ("waiting", "dead", "conflicts"),
}  # fmt: skip


def can_do(tab: str, what: str) -> bool:
    """Whether something can be done to the rows of one of the queue's lists."""
    return tab in _CAN.get(what, (tab,))


def why_not(tab: str, what: str) -> str:
    """Why something can't be done to a row, and what can."""
    if tab == "journal":
        return _("this row is in the journal: it can't be changed any more")
    if tab == "conflicts":
        return _("this row is in conflict: enter shows both sides, to choose")
    return _("this row waits: it goes by itself, or by s")


class RowActions:
    """Helper of the app for the queue pane and the row's own screen."""

    def __init__(self, app: AriaApp) -> None:
        self._app = app

    @property
    def _assistant(self) -> Assistant:
        assistant = self._app.live.assistant
        assert assistant is not None
        return assistant

    def _again(self) -> None:
        for topic in ("queue", "tasks", "insights"):
            self._app.live.ask(topic)

    async def retry(self, item: QueueItem | None) -> None:
        """Puts one dead letter back, or all of them."""
        count = await self._assistant.queue_retry(None if item is None else item.id)
        self._again()
        if count:
            self._app.toast(ngettext("{n} row put back", "{n} rows put back", count).format(n=count))
        else:
            self._app.toast(_("no dead letter to put back"))

    async def verify(self) -> None:
        """Asks the Hub for what was delivered; what is missing is put back after a question."""
        from aria_tui.tui.screens.confirm import ConfirmScreen

        missing = len((await self._assistant.queue_verify())["missing"])
        if not missing:
            self._app.toast(_("nothing is missing"))
        else:
            question = ngettext(
                "{n} delivered row is missing at the Hub. Send it again?",
                "{n} delivered rows are missing at the Hub. Send them again?",
                missing,
            ).format(n=missing)
            if not await self._app.push_screen_wait(ConfirmScreen(question, _("send again"))):
                return
            count = (await self._assistant.queue_verify(resend=True))["resent"]
            self._app.toast(ngettext("{n} row put back", "{n} rows put back", count).format(n=count))
        self._again()

    async def discard(self, item: QueueItem) -> bool:
        """Discards a row after a question; of a create with dependents after a second one. Gives whether it is gone."""
        from aria_tui.tui.screens.confirm import ConfirmScreen

        what = _("#{n} {operation}: {gist}").format(
            n=item.id, operation=operation_word(item.operation), gist=gist(item)
        )
        if not await self._app.push_screen_wait(ConfirmScreen(_("Discard {what}?").format(what=what), _("discard"))):
            return False
        dependents = await self._assistant.queue_dependents(item.id)
        if dependents:
            count = len(dependents)
            question = ngettext(
                "{n} later row depends on it and goes with it. Really?",
                "{n} later rows depend on it and go with it. Really?",
                count,
            ).format(n=count)
        else:
            question = _("It will not be sent; only a retry from the journal brings it back. Really?")
        if not await self._app.push_screen_wait(ConfirmScreen(question, _("discard for good"))):
            return False
        await self._assistant.queue_discard(item.id)
        self._again()
        self._app.toast(_("discarded: #{n}").format(n=item.id))
        return True

    async def edit(self, item: QueueItem) -> None:
        """Opens the row's payload in a form, unless it is too long for that."""
        from aria_tui.tui.screens.payload import LONGEST, PayloadForm

        if len(item.payload) > LONGEST:
            text = _("too long to be edited here; `aria queue edit {n}` opens it in your editor")
            self._app.toast(text.format(n=item.id), "warning")
            return
        self._app.push_screen(PayloadForm(item))
