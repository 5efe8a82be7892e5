"""The words that the command line and the screen have in common: states, reasons, times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from aria_tui.hub.contract import read_time
from aria_tui.locale import _, ngettext
from aria_tui.models import HubStatus, QueueItem, QueueStatus, TaskView
from aria_tui.wording import hub_words, more

OLD = timedelta(days=1)
"""Older than this, what waits is a warning everywhere (queue.md, "Seeing it")."""


def hub_line(hub: HubStatus) -> str:
    """A line such as ``Hub offline since 21:40 · https://hub.example.com · can't connect``."""
    parts = [hub_words(hub.state, hub.reason)]
    if hub.since and hub.state in {"offline", "refused", "not_the_hub"}:
        parts[0] = _("{hub} since {time}").format(hub=parts[0], time=moment(hub.since))
    if hub.latency_ms is not None and hub.state in {"online", "slow"}:
        parts[0] += f" {hub.latency_ms:.0f} ms"
    return " · ".join(part for part in (*parts, hub.url, more(hub.state, hub.reason)) if part)


def queue_line(queue: QueueStatus) -> str:
    """A line such as ``QUEUE: 3 waiting · 2× capture_insight, 1× store_briefing · 1 dead``."""
    parts = [ngettext("{n} waiting", "{n} waiting", queue.pending_total).format(n=queue.pending_total)]
    if queue.by_operation:
        parts.append(", ".join(f"{count}× {name}" for name, count in sorted(queue.by_operation.items())))
    if queue.dead_letters:
        parts.append(ngettext("{n} dead letter", "{n} dead letters", queue.dead_letters).format(n=queue.dead_letters))
    if queue.conflicts:
        parts.append(ngettext("{n} conflict", "{n} conflicts", queue.conflicts).format(n=queue.conflicts))
    if attention := queue.dead_letters + queue.conflicts:
        parts.append(_("needs attention: {count}").format(count=attention))
    if queue.held:
        parts.append(ngettext("{n} for another Hub", "{n} for another Hub", queue.held).format(n=queue.held))
    if queue.paused:
        parts.append(_paused(queue))
    if queue.items and (at := queue.items[0].next_attempt_at):
        parts.append(_("again at {time}").format(time=moment(at)))
    if queue.oldest and _is_old(queue.oldest):
        parts.append("⚠ " + _("the oldest waits for {span}").format(span=age(queue.oldest)))
    return _("QUEUE: {parts}").format(parts=" · ".join(parts))


def _is_old(at: str) -> bool:
    try:
        return datetime.now(UTC) - read_time(at) > OLD
    except ValueError:
        return False  # a stranger's word that is no time


def _paused(queue: QueueStatus) -> str:
    """Why nothing is sent until the user did something: in the first paused row's words, which name the way out."""
    for item in queue.items:
        if item.reason_code == "paused":
            restored = _("paused: the Hub was restored; run `aria queue verify`")
            return _("paused: sign-in needed") if item.reason_args else restored
    return _("paused")  # nothing that is shown waits for it; the Hub's line says why


def mark_of(task: TaskView) -> str:
    """One character: waits to be created or changed, or is to be deleted."""
    return {"new": "⇡", "edited": "✎", "deleted": "✗"}.get(task.mark, "⇡" if task.waiting else " ")


def reason(item: QueueItem) -> str:
    """Why a row is still there, in the user's language and zone."""
    from aria_tui.cli.said import in_words

    return in_words(item.reason)


def moment(text: str | None) -> str:
    """A stored time in this machine's zone, to the minute; today's without its date."""
    from aria_tui.locale import formats

    return formats.when(text, datetime.now().astimezone())


def age(text: str | None) -> str:
    """How long ago, short; never negative, whatever the clock did."""
    from aria_tui.locale import formats

    return formats.age(text, datetime.now().astimezone())
