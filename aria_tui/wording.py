"""What the dashboard, the command line and the assistant's tools say of a Hub and of fields, in the same words."""

from __future__ import annotations

from aria_tui.errors import HubUnavailable
from aria_tui.locale import _


def hub_words(state: str, reason: str = "") -> str:
    """A Hub state as the beginning of a sentence. ``reason`` is said only where it is what the state consists of."""
    if state == "not_the_hub" and reason:
        return _("not the Hub: {why}").format(why=why(reason))
    return {
        "embedded": _("Hub embedded"),
        "online": _("Hub online"),
        "slow": _("Hub slow"),
        "offline": _("Hub offline"),
        "refused": _("Hub refused: token"),
        "not_the_hub": _("not the Hub: unexpected answer (login page?)"),
    }.get(state, _("Hub unknown"))


def why(reason: str) -> str:
    """The client's reason in the user's language."""
    from aria_tui.hub.client import in_words

    return in_words(reason) if reason else ""


def more(state: str, reason: str) -> str:
    """What a reason adds to ``hub_words``; empty where it was said already."""
    said = hub_words(state, reason)
    text = why(reason)
    return "" if not text or text in said or (state == "refused" and reason == "token refused") else text


def unavailable(error: HubUnavailable, what: str = "") -> str:
    """Data that was wanted and can't be had: ``Hub offline — task list unavailable: connection refused``."""
    hub = hub_words(error.state, error.reason)
    sentence = {
        "tasks": _("{hub} — task list unavailable"),
        "insights": _("{hub} — insight list unavailable"),
        "activity": _("{hub} — activity unavailable"),
        "hub": _("{hub} — Hub data unavailable"),
        "conflict": _("{hub} — the conflict stays where it was"),
    }.get(what, "{hub}").format(hub=hub)
    rest = more(error.state, error.reason)
    return f"{sentence}: {rest}" if rest else sentence


def field_word(name: str) -> str:
    """A field of the wire in the user's language; one we don't know by its own name."""
    return {
        "title": _("title"),
        "description": _("notes"),
        "project_name": _("project"),
        "project": _("project"),
        "priority": _("priority"),
        "status": _("status"),
        "due_date": _("due date"),
        "tags": _("tags"),
        "content": _("text"),
    }.get(name, name)


def disputed(why: str) -> str:
    """What two sides changed, where it is the reference Hub that says so: fields, or the whole thing."""
    return ", ".join(_disputed(part) for part in why.split("; "))


def _disputed(part: str) -> str:
    if part.endswith("is not here, or was deleted"):
        return _("deleted at the Hub")
    return ", ".join(field_word(name) for name in part.removesuffix(": was changed on the Hub as well").split(", "))
