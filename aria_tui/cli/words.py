"""The words that the command line and the screen have in common: states, reasons, times."""

from __future__ import annotations

from datetime import datetime

from aria_tui.locale import _
from aria_tui.models import HubStatus, QueueItem, QueueStatus, TaskView


def hub_words(state: str) -> str:
    """A Hub state as the beginning of a sentence."""
    return {
        "embedded": _("Hub embedded"),
        "online": _("Hub online"),
        "slow": _("Hub slow"),
        "offline": _("Hub offline"),
        "refused": _("Hub refused: token"),
        "not_the_hub": _("not the Hub: unexpected answer (login page?)"),
    }.get(state, _("Hub unknown"))


def hub_line(hub: HubStatus) -> str:
    """A line such as ``Hub offline since 21:40 · https://hub.example.com · can't connect``."""
    parts = [hub_words(hub.state)]
    if hub.since and hub.state in {"offline", "refused", "not_the_hub"}:
        parts[0] = _("{hub} since {time}").format(hub=parts[0], time=moment(hub.since))
    if hub.latency_ms is not None and hub.state in {"online", "slow"}:
        parts[0] += f" {hub.latency_ms:.0f} ms"
    return " · ".join(part for part in (*parts, hub.url, hub.reason) if part)


def queue_line(queue: QueueStatus) -> str:
    """A line such as ``QUEUE: 3 waiting · 2× capture_insight, 1× store_briefing · 1 dead``."""
    parts = [_("{count} waiting").format(count=queue.pending_total)]
    if queue.by_operation:
        parts.append(", ".join(f"{count}× {name}" for name, count in sorted(queue.by_operation.items())))
    if queue.dead_letters:
        parts.append(_("{count} dead").format(count=queue.dead_letters))
    if queue.conflicts:
        parts.append(_("{count} conflicts").format(count=queue.conflicts))
    if attention := queue.dead_letters + queue.conflicts:
        parts.append(_("needs attention: {count}").format(count=attention))
    if queue.held:
        parts.append(_("{count} held for another Hub or a newer one").format(count=queue.held))
    if queue.paused:
        parts.append(_("paused: sign-in needed"))
    return _("QUEUE: {parts}").format(parts=" · ".join(parts))


def mark_of(task: TaskView) -> str:
    """One character: waits to be created or changed, or is to be deleted."""
    return {"new": "⇡", "edited": "✎", "deleted": "✗"}.get(task.mark, "⇡" if task.waiting else " ")


def reason(item: QueueItem) -> str:
    """Why a row is still there, in the user's language and zone."""
    from aria_tui.outbox.reasons import SENTENCES

    template = SENTENCES.get(item.reason_code)
    if template is None or not item.reason_args:
        return item.reason
    times = ("at", "since")
    return _(template).format(**{k: moment(v) if k in times else v for k, v in item.reason_args.items()})


def moment(text: str | None) -> str:
    """A stored time in this machine's zone, to the minute; today's without its date."""
    from aria_tui.locale import formats

    return formats.when(text, datetime.now().astimezone())


def age(text: str | None) -> str:
    """How long ago, short; never negative, whatever the clock did."""
    from aria_tui.locale import formats

    return formats.age(text, datetime.now().astimezone())
