"""The briefing as data, and back: the shape of briefing.md, "As data"."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import msgspec

from aria_tui.errors import AriaError
from aria_tui.models import Alert, BriefingDoc, Section
from aria_tui.sources._secrets import redact

STORED_BYTES = 400 * 1024
"""A stored briefing's data is made smaller than this: the Hub takes 1 MiB with everything around it."""


class NotABriefing(AriaError, ValueError):
    """Stored data that is no briefing of this program's form."""


def as_data(doc: BriefingDoc) -> dict[str, Any]:
    """The document in the contract's form; ``reason`` and ``as_of`` stand only where there is one."""
    sections: dict[str, Any] = {}
    for section in doc.sections:
        shown: dict[str, Any] = {"state": section.state}
        if section.reason:
            shown["reason"] = section.reason
        if section.as_of:
            shown["as_of"] = section.as_of
        sections[section.name] = shown | {"data": msgspec.to_builtins(section.data)}
    return {
        "date": doc.date,
        "kind": doc.kind,
        "generated_at": doc.generated_at,
        "timezone": doc.timezone,
        "alerts": [{"level": a.level, "source": a.source, "text": a.text} for a in doc.alerts],
        "sections": sections,
    }


def from_data(data: Any) -> BriefingDoc:
    """The document that ``as_data`` gave this for. Raises NotABriefing for what is none of that form."""
    try:
        date.fromisoformat(data["date"])
        sections = tuple(
            msgspec.convert({"name": name, **section}, Section) for name, section in data["sections"].items()
        )
        rest = {key: data[key] for key in ("date", "kind", "generated_at", "timezone")}
        alerts = msgspec.convert(data.get("alerts", []), tuple[Alert, ...])
        return msgspec.structs.replace(msgspec.convert(rest, BriefingDoc), alerts=alerts, sections=sections)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise NotABriefing("the stored briefing has another form, made by another program") from error
    except ValueError as error:
        raise NotABriefing(f"the stored briefing has no usable date: {error}") from None


def without_secrets(data: Mapping[str, Any]) -> dict[str, Any]:
    """What of the data may be stored: no address beyond its host, no payload of what waits (it would grow by itself
    from one offline day to the next), and small enough for the Hub."""
    kept = _redacted(msgspec.to_builtins(dict(data)))
    sections = kept.get("sections", {})
    for item in sections.get("queue", {}).get("data", {}).get("items", []):
        item.pop("payload", None)
    for shrink in (_short_commits, _short_tasks, _only_counts):
        if len(msgspec.json.encode(kept)) <= STORED_BYTES:
            break
        shrink(sections)
    return kept


def _redacted(data: dict[str, Any]) -> dict[str, Any]:
    for alert in data.get("alerts", []):
        alert["text"] = redact(alert["text"], ())
    for section in data.get("sections", {}).values():
        if "reason" in section:
            section["reason"] = redact(section["reason"], ())
    return data


def _groups(sections: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    tasks = sections.get("tasks", {}).get("data", {})
    return {name: group for name, group in tasks.items() if isinstance(group, list)}


def _short_commits(sections: dict[str, Any]) -> None:
    for project in sections.get("projects", {}).get("data", {}).get("projects", []):
        project.pop("today", None)
        project.pop("position", None)


def _short_tasks(sections: dict[str, Any]) -> None:
    """Ids and the beginnings of titles: what the comparison with a later day needs."""
    tasks = sections.get("tasks", {}).get("data", {})
    for name, group in _groups(sections).items():
        tasks[name] = [{"id": task.get("id"), "title": str(task.get("title", ""))[:80]} for task in group]


def _only_counts(sections: dict[str, Any]) -> None:
    """Too much even so: the lists go, the state says why, and no later day compares with this one."""
    for name, section in sections.items():
        if len(msgspec.json.encode(section)) > STORED_BYTES // 8:
            counts = {key: value for key, value in section["data"].items() if not isinstance(value, list | dict)}
            sections[name] = {"state": "partial", "reason": "too large to be stored whole", "data": counts}
