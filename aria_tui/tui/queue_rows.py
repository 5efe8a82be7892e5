"""Queue rows in words: what the operation is about, how old it is, why it is still there."""

from __future__ import annotations

import contextlib
import json
import re
from datetime import datetime
from typing import Any

from aria_tui.hub._reasons import in_words
from aria_tui.locale import _, formats
from aria_tui.models import QueueItem
from aria_tui.tui.content import Line, Piece, cell_width, fit, say, visible
from aria_tui.tui.pages import Pages
from aria_tui.tui.task_rows import priority_word, status_word
from aria_tui.wording import disputed, field_word

_REASON_STYLE = {
    "sending": "good", "backoff": "warn", "retry_after": "warn", "paused": "bad", "in_doubt": "warn",
    "parked_ahead": "warn", "held_operation": "warn", "held_target": "warn",
}  # fmt: skip

_LARGE = 32 * 1024
_FIRST_TEXT = re.compile(r'"(?:title|content|summary|notes)"\s*:\s*"((?:[^"\\]|\\.){1,500})')
"""Of a large payload only the beginning is looked at: rows are drawn often."""
_DATE = re.compile(r'(?<!\\)"date"\s*:\s*"(\d{4}-\d\d-\d\d)"')


def _operation_words() -> dict[str, str]:
    return {
        "create_task": _("new task"),
        "update_task": _("edit task"),
        "complete_task": _("task done"),
        "delete_task": _("delete task"),
        "capture_insight": _("insight"),
        "update_insight": _("edit insight"),
        "delete_insight": _("delete insight"),
        "store_briefing": _("briefing"),
        "record_activity": _("activity"),
    }


def operation_word(operation: str) -> str:
    """What the operation does, in a word or two; one we don't know by its own name."""
    return _operation_words().get(operation, operation)


def field_value(name: str, value: Any) -> str:
    """A field's value as a person reads it."""
    if value is None:
        return "–"
    if name == "priority":
        return priority_word(str(value))
    if name == "status":
        return status_word(str(value))
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def gist(item: QueueItem) -> str:
    """The one thing of the payload that a person knows it by."""
    if len(item.payload) > _LARGE:
        if item.operation == "store_briefing":
            return date[1] if (date := _DATE.search(item.payload)) else ""
        found = _FIRST_TEXT.search(item.payload[:_LARGE])
        with contextlib.suppress(ValueError, RecursionError):
            return str(json.loads(f'"{found[1]}"')) if found else item.payload[:200]
        return item.payload[:200]
    try:
        payload = json.loads(item.payload)
    except (ValueError, RecursionError):
        return item.payload[:200]
    if not isinstance(payload, dict):
        return item.payload[:200]
    found = payload.get("changes")
    changes = found if isinstance(found, dict) else {}
    if item.operation == "store_briefing":
        return str(payload.get("date", ""))
    for name in ("title", "content", "summary", "notes"):
        if value := payload.get(name) or changes.get(name):
            return str(value)[:500]
    if changes:
        return ", ".join(f"{field_word(name)}: {field_value(name, value)}" for name, value in changes.items())[:500]
    return str(payload.get("project") or payload.get("id") or item.payload)[:200]


def outcome_words(item: QueueItem) -> str:
    """What became of a row of the journal, in the user's language; an outcome we don't know by its own name."""
    return {
        "applied": _("delivered"),
        "delivered": _("delivered"),
        "duplicate": _("delivered before"),
        "superseded": _("superseded"),
        "foreign": _("marked by another program"),
        "folded": _("folded into #{n}").format(n=item.reason_args.get("into", "")),
        "cancelled": _("cancelled, never sent"),
        "lost": _("given up in a conflict"),
        "discarded": _("discarded"),
        "edited": _("replaced by an edited one"),
    }.get(item.outcome, item.outcome)


def reason_words(item: QueueItem, now: datetime, *, short: bool = False) -> str:
    """Why the row is still there, in the user's language; the assistant's own words for what isn't known here."""
    if short and item.reason_code == "offline":
        return _("Hub offline")
    if short and item.reason_code == "in_doubt":
        return _("in doubt")
    if short and item.reason_code == "paused":
        return _("sign-in needed") if item.reason_args else _("Hub restored")
    if short and item.reason_code == "parked_ahead" and item.reason_args.get("number"):
        return _("behind #{n}").format(n=item.reason_args["number"])
    args = item.reason_args
    at = formats.when(args.get("at") or item.next_attempt_at, now)
    if short and item.reason_code in ("backoff", "retry_after") and at:
        return _("again at {time}").format(time=at)
    match item.reason_code:
        case "sending":
            return _("sending")
        case "next":
            return _("next")
        case "backoff" if at:
            return _("attempt {n} failed, next at {time}").format(n=args.get("attempt", item.attempts), time=at)
        case "retry_after" if at:
            return _("the Hub asked to wait until {time}").format(time=at)
        case "paused":
            # A pause without arguments is a restored Hub's; one for a token names why.
            restored = _("paused: the Hub was restored; run `aria queue verify`")
            return _("paused: sign-in needed") if item.reason_args else restored
        case "in_doubt":
            return _("in doubt: sent, no answer came; goes again with the same key")
        case "offline" if args.get("since"):
            return _("Hub offline since {time}").format(time=formats.when(args["since"], now))
        case "behind" if args.get("number"):
            return _("behind #{n}").format(n=args["number"])
        case "parked_ahead" if args.get("number"):
            return _("behind #{n}, which needs attention").format(n=args["number"])
        case "held_operation":
            return _("the Hub doesn't know this operation yet")
        case "held_target" if args.get("target"):
            return _("for another Hub: {name}").format(name=args["target"])
    return item.reason


def parked_words(reason: str) -> str:
    """Why a row was parked, in the user's language as far as it is ours; the Hub's own words stay as they are."""
    head, colon, why = reason.partition(": ")
    if head == "changed on both sides":
        return _("changed on both sides") + colon + disputed(why)
    return f"{_('rejected')}{colon}{in_words(why)}" if head == "rejected" else in_words(reason)


class QueueRows:
    """Rows for a RowList over one of the queue's lists."""

    def __init__(self, pages: Pages, kind: str, now: datetime) -> None:
        self._pages, self._kind, self._now = pages, kind, now
        self._longest = max(cell_width(word) for word in _operation_words().values())

    def __len__(self) -> int:
        return len(self._pages)

    def key(self, index: int) -> str | None:
        row = self._pages.row(index)
        return None if row is None else str(row.id)

    def find(self, key: str) -> int | None:
        return self._pages.find(int(key))

    def item(self, key: str) -> QueueItem | None:
        """The row with this key, if it is there."""
        number = self._pages.find(int(key))
        return None if number is None else self._pages.row(number)

    def line(self, index: int, width: int) -> Line:
        row = self._pages.row(index)
        if row is None:
            return (say("…", "dim"),)
        number, operation = len(str(row.id)) + 1, min(self._longest, 9 if width < 50 else 11 if width < 70 else 20) + 1
        age = 7 if width >= 60 else 0
        last, style = self._last(row, width < 90)
        share = 6 if self._kind in ("dead", "conflicts") else 5 if width >= 70 else 4
        reason = min(max(10, cell_width(visible(last))), max(8, (width - number - operation - age) * share // 9))
        title = width - number - operation - age - reason - 1
        pieces = [
            fit(str(row.id), number, "dim"),
            fit(operation_word(row.operation), operation - 1),
            Piece(" "),
            fit(gist(row), title),
            Piece(" "),
        ]
        if age:
            pieces.append(fit(formats.age(row.created_at, self._now), age, "dim"))
        return (*pieces, fit(last, reason, style))

    def _last(self, row: QueueItem, short: bool) -> tuple[str, str]:
        if self._kind == "journal":
            return f"{outcome_words(row)} {formats.when(row.synced_at, self._now)}".strip(), "dim"
        if self._kind in ("dead", "conflicts"):
            return parked_words(row.reason or row.error or ""), "bad" if self._kind == "dead" else "warn"
        return reason_words(row, self._now, short=short), _REASON_STYLE.get(row.reason_code, "dim")
