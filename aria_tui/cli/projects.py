"""``aria projects``: the git projects as the briefing sees them."""

from __future__ import annotations

import argparse
from typing import Any

from aria_tui.cli import output
from aria_tui.cli.parser import SubParsers, add_command, add_json, help_of
from aria_tui.cli.session import opened
from aria_tui.locale import _


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``projects``."""
    projects = add_command(
        subparsers, "projects", help_of("projects"), _run, examples=("aria projects", "aria projects --stale --json")
    )
    projects.add_argument("--stale", action="store_true", help=_("only those without a commit for long"))
    add_json(projects)


async def _run(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        section = await assistant.projects()
    if section.state in {"unavailable", "not_configured"}:
        output.complain(section.reason or _("projects: {state}").format(state=section.state))
        if section.state == "unavailable":
            return 1
    found = list(section.data.get("projects", ()))
    stale = [project for project in found if project.get("freshness") == "stale"]
    shown = stale if args.stale else found
    if section.state == "partial":
        output.complain(section.reason)
    if args.json:
        output.emit({**section.data, "projects": shown, "stale": section.data.get("stale", len(stale))})
        return 0
    output.table([_row(project) for project in shown])
    output.say(_("{stale} stale of {total}").format(stale=len(stale), total=len(found)))
    return 0


def _row(project: dict[str, Any]) -> tuple[str, ...]:
    from aria_tui._briefing_lines import changes_words, state_words
    from aria_tui._briefing_words import say
    from aria_tui.cli.words import age

    name = output.clip(str(project["name"]), 24)
    if problem := project.get("problem"):
        return (name, output.clip(say(str(problem)), 60), "", "", "", "")
    state = str(project["state"])
    ahead, behind = project.get("ahead") or 0, project.get("behind") or 0
    commit = project.get("last_commit") or {}
    return (
        name,
        output.clip(str(project.get("branch") or ""), 24),
        "" if state == "ok" else state_words(state),
        "" if state == "bare" else changes_words(project),
        " ".join(part for part in (f"↑{ahead}" if ahead else "", f"↓{behind}" if behind else "") if part),
        f"{age(commit.get('at'))} {_fresh(project.get('freshness'))}".strip(),
    )


def _fresh(word: str | None) -> str:
    """``fresh``, ``quiet``, ``stale`` in the language in use."""
    return {"fresh": _("fresh"), "quiet": _("quiet"), "stale": _("stale")}.get(word or "", "")
