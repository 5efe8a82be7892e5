"""What the forms need from the rest: projects and tags that exist, and a place for a write that outlives its form."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from aria_tui.complaints import in_words
from aria_tui.errors import AriaError
from aria_tui.locale import _

if TYPE_CHECKING:
    from aria_tui.models import WriteResult
    from aria_tui.tui.app import AriaApp
    from aria_tui.tui.screens.form import FormScreen


class Captures:
    """Helper of the app for its forms."""

    def __init__(self, app: AriaApp) -> None:
        self._app = app
        self._count = 0

    def projects(self) -> tuple[str, ...]:
        """Projects of tasks and insights, the most used first."""
        live = self._app.live
        found = Counter(task.project_name for task in live.shown_tasks())
        found.update(insight.project for insight in (live.insights.insights if live.insights else ()))
        return tuple(name for name, _n in found.most_common(500) if name)

    def tags(self) -> tuple[str, ...]:
        """Tags of tasks and insights, the most used first."""
        live = self._app.live
        found = Counter(tag for task in live.shown_tasks() for tag in task.tags)
        found.update(tag for insight in (live.insights.insights if live.insights else ()) for tag in insight.tags)
        return tuple(tag for tag, _n in found.most_common(500))

    def follow(
        self, write: asyncio.Task[WriteResult], form: type[FormScreen], draft_key: str, values: dict[str, str]
    ) -> None:
        """A form has gone before its write's outcome came: until then its text is kept, and after an error for good."""
        self._count += 1
        waiting = f"{draft_key}#{self._count}"
        drafts = self._app.drafts
        drafts.put(waiting, values)

        def done(task: asyncio.Task[WriteResult]) -> None:
            if task.cancelled():
                return  # the program ends: what was not committed is found as a draft again
            drafts.put(waiting, None)
            error = task.exception()
            if error is None:
                return
            if drafts.get(draft_key) is None:
                drafts.put(draft_key, values)
            with self._app.guard("write"):
                if isinstance(error, AriaError):
                    self._app.toast(_("{error}; the text is kept").format(error=in_words(error)), "error")
                else:
                    raise error

        write.add_done_callback(done)

    def recover(self) -> None:
        """At the start: what a killed program had on its way is a draft again, unless one is there already."""
        drafts = self._app.drafts
        for key in drafts.keys():  # noqa: SIM118 - not a dict
            name, mark, _n = key.partition("#")
            if mark:
                if drafts.get(name) is None:
                    drafts.put(name, drafts.get(key))
                drafts.put(key, None)
