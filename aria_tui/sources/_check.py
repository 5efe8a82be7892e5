"""What ``aria config check`` says of each source: it is tried, and its section is put into a few words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aria_tui.config import Config
from aria_tui.models import Section, SectionState
from aria_tui.sources import Moment, Source, last_section, load_sources
from aria_tui.sources.context import zone_of


async def check(config: Config, home: Path, environ: Mapping[str, str] | None) -> list[tuple[str, SectionState, str]]:
    zone, problem = zone_of(config.briefing.timezone, environ)
    when = Moment(now=datetime.now(UTC).astimezone(zone), zone=zone)
    state: SectionState = "unavailable" if problem else "ok"
    sources = load_sources(config, home=home, environ=environ)
    tried = await asyncio.gather(*(_tried(source, when, config) for source in sources))
    return [("context", state, problem or f"time zone {zone.key}"), *tried]


async def _tried(source: Source, when: Moment, config: Config) -> tuple[str, SectionState, str]:
    section = await last_section(source, when, config)
    found = "" if section.state in ("unavailable", "not_configured") else words(section)
    return section.name, section.state, "; ".join(part for part in (found, section.reason) if part)


def words(section: Section) -> str:
    """What a section holds: ``14 repositories, 2 stale``."""
    data: dict[str, Any] = section.data
    try:
        match section.name:
            case "projects":
                return f"{_count(len(data['projects']), 'repository', 'repositories')}, {data['stale']} stale"
            case "docker":
                return f"{data['engine']}: {data['running']} running of {data['total']}"
            case "calendar":
                return f"{_count(len(data['today']), 'event', 'events')} today, {len(data['tomorrow'])} tomorrow"
            case "finance":
                budgets, due = len(data["budgets"] or []), len(data["due"] or [])
                return f"{_count(budgets, 'budget', 'budgets')}, {_count(due, 'payment', 'payments')} due"
            case "reports":
                return _count(len(data["reports"]), "report", "reports")
    except (KeyError, TypeError):
        return "found something of an unknown form"
    return "found"


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
