"""The payload of a queue row, as JSON to be edited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from textual.widget import Widget

from aria_tui.errors import FieldError, InvalidInput
from aria_tui.locale import _
from aria_tui.models import QueueItem, WriteResult
from aria_tui.tui.screens.form import FormScreen
from aria_tui.tui.widgets.block_input import BlockInput

LONGEST = 100_000
"""Characters up to which a payload is edited here: beyond them a key takes longer than a person waits for it."""


class PayloadForm(FormScreen):
    """Edits a waiting row that was never sent, or a dead letter; saved under a new key that is linked to the old."""

    def __init__(self, item: QueueItem) -> None:
        super().__init__(f"payload:{item.id}")
        self._item = item

    def title_words(self) -> str:
        return _("Edit #{n} {operation}").format(n=self._item.id, operation=self._item.operation)

    def fields(self) -> Iterator[tuple[str, Widget]]:
        try:
            text = json.dumps(json.loads(self._item.payload), ensure_ascii=False, indent=2)
        except (ValueError, RecursionError):
            text = self._item.payload
        yield _("Payload"), BlockInput(self.draft().get("payload", text), id="payload", enter_saves=False)

    def begin(self, values: dict[str, Any]) -> asyncio.Task[WriteResult] | None:
        try:
            payload = json.loads(values["payload"])
        except (ValueError, RecursionError) as error:
            raise InvalidInput([FieldError(_("payload"), _("is not JSON: {why}").format(why=error))]) from None
        if not isinstance(payload, dict):
            raise InvalidInput([FieldError(_("payload"), _("must be a JSON object"))])
        assistant = self.aria.live.assistant
        assert assistant is not None

        async def edit() -> WriteResult:
            item = await assistant.queue_edit(self._item.id, payload)
            return WriteResult(status="queued", destination="local", id=item.entity, message="", queue_id=item.id)

        return self.aria.writes.start(lambda _assistant: edit())
