"""Two days side by side: what changed between two briefings, of what both of them know."""

from __future__ import annotations

from typing import Any

from aria_tui.models import BriefingDoc, Section

_GROUPS = ("overdue", "due_today", "in_progress", "other")


def compare(earlier: BriefingDoc, later: BriefingDoc) -> dict[str, Any]:
    """What changed from ``earlier`` to ``later``.

    ``{"from", "to", "alerts": {"new", "gone"}, "tasks": {"open_then", "open_now", "new", "done"}, "projects": [{"name",
    "then", "now"}], "docker": {"running_then", "running_now", "new", "gone"}, "finance": {"balance_then",
    "balance_now", "currency"}, "unknown": [names]}``; a part that one of the two doesn't know is None, and its name
    is in ``unknown``.
    """
    result: dict[str, Any] = {"from": earlier.date, "to": later.date}
    then_alerts = [alert.text for alert in earlier.alerts]
    now_alerts = [alert.text for alert in later.alerts]
    result["alerts"] = _changes(then_alerts, now_alerts)
    unknown = []
    for name, part in (("tasks", _tasks), ("projects", _projects), ("docker", _docker), ("finance", _finance)):
        then, now = _known(earlier, name), _known(later, name)
        result[name] = None
        if then is not None and now is not None:
            try:
                result[name] = part(then.data, now.data)
            except (KeyError, TypeError, AttributeError):
                unknown.append(name)
        elif not (_absent(earlier, name) and _absent(later, name)):
            unknown.append(name)
    result["unknown"] = unknown
    return result


def _section(doc: BriefingDoc, name: str) -> Section | None:
    return next((section for section in doc.sections if section.name == name), None)


def _known(doc: BriefingDoc, name: str) -> Section | None:
    section = _section(doc, name)
    return section if section is not None and section.state in ("ok", "partial") and section.data else None


def _absent(doc: BriefingDoc, name: str) -> bool:
    section = _section(doc, name)
    return section is None or section.state == "not_configured"


def _changes(then: list[str], now: list[str]) -> dict[str, list[str]]:
    return {"new": [text for text in now if text not in then], "gone": [text for text in then if text not in now]}


def _tasks(then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    before = {task["id"]: task["title"] for group in _GROUPS for task in then[group]}
    after = {task["id"]: task["title"] for group in _GROUPS for task in now[group]}
    return {
        "open_then": len(before),
        "open_now": len(after),
        "new": [title for key, title in after.items() if key not in before],
        "done": [title for key, title in before.items() if key not in after],
    }


def _projects(then: dict[str, Any], now: dict[str, Any]) -> list[dict[str, Any]]:
    before = {project["path"]: project for project in then["projects"]}
    after = {project["path"]: project for project in now["projects"]}
    changed = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if _gist(old) != _gist(new):
            name = (new or old or {})["name"]
            changed.append({"name": name, "then": _gist(old), "now": _gist(new)})
    return changed


def _gist(project: dict[str, Any] | None) -> dict[str, Any] | None:
    if project is None:
        return None
    commit = project["last_commit"]
    subject = commit["subject"] if commit else None
    return {key: project[key] for key in ("state", "branch", "freshness")} | {"last_commit": subject}


def _docker(then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    before = [f"{problem['name']}: {problem['problem']}" for problem in then["problems"]]
    after = [f"{problem['name']}: {problem['problem']}" for problem in now["problems"]]
    return {"running_then": then["running"], "running_now": now["running"], **_changes(before, after)}


def _finance(then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any] | None:
    """The balances, if they are of one month and one currency: others can't be compared."""
    if (then["month"], then["currency"]) != (now["month"], now["currency"]):
        return None
    return {"balance_then": then["balance"], "balance_now": now["balance"], "currency": now["currency"]}
