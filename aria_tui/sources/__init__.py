"""Where the briefing's sections come from: one small interface, one module each, found by entry point.

A source gets the configuration and a deadline and gives a section; it knows nothing of the screen and does nothing but
read (briefing.md, "Sources"). The program's own sources are listed here too, so that a checkout whose metadata can't
be read still has them. A source of another package runs in a process of its own: whatever it does, it costs its own
section and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module, metadata
from pathlib import Path
from typing import Literal, Protocol
from zoneinfo import ZoneInfo

from aria_tui.config import Config
from aria_tui.models import Section, SectionState

GROUP = "aria_tui.sources"
BUILT_IN: dict[str, str] = {
    "git": "aria_tui.sources.git:GitSource",
    "docker": "aria_tui.sources.docker:DockerSource",
    "calendar": "aria_tui.sources.calendar:CalendarSource",
    "finance": "aria_tui.sources.finance:FinanceSource",
    "reports": "aria_tui.sources.reports:ReportsSource",
}
RESERVED = frozenset(
    {"alerts", "calendar", "commits", "context", "docker", "done", "finance", "insights", "projects", "queue"}
    | {"reports", "tasks", "tomorrow", "yesterday"}
)
"""Names of sections that a user's own source can't take."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a briefing is made: ``now`` is aware and in the user's ``zone``; ``kind`` is which view asks."""

    now: datetime
    zone: ZoneInfo
    kind: Literal["morning", "evening"] = "morning"


class Source(Protocol):
    """What a source is. ``name`` is the name of the section that it gives.

    ``gather`` is given ``deadline``, the seconds it has. It gives its section, or is an asynchronous generator of
    sections of which each replaces the one before (what is known so far, then the whole). It may raise: that is then
    the reason on the screen.
    """

    name: str

    def __init__(self, config: Config, *, home: Path, environ: Mapping[str, str] | None = None) -> None: ...

    def gather(self, when: Moment, deadline: float) -> Awaitable[Section] | AsyncIterator[Section]: ...


def load_sources(config: Config, *, home: Path, environ: Mapping[str, str] | None = None) -> list[Source]:
    """Every source there is: the program's own in the briefing's order, then others by name. Imports little: a
    package of the user's is imported only in its own process."""
    from aria_tui.sources._foreign import ForeignSource

    environ = os.environ if environ is None else environ
    loaded: list[Source] = []
    for target in BUILT_IN.values():
        module, _, attribute = target.partition(":")
        loaded.append(getattr(import_module(module), attribute)(config, home=home, environ=environ))
    taken = RESERVED | {source.name for source in loaded}
    for name, target in _others():
        unique = name
        number = 2
        while unique in taken:
            unique, number = f"{name}-{number}", number + 1
        taken |= {unique}
        loaded.append(ForeignSource(config, home=home, environ=environ, name=unique, entry=name, target=target))
    return loaded


def _others() -> list[tuple[str, str]]:
    """Name and target of each source that isn't the program's own. Unreadable metadata of a package hides that
    package alone."""
    found: set[tuple[str, str]] = set()
    try:
        points = metadata.entry_points(group=GROUP)
    except Exception:  # noqa: BLE001 - one broken .dist-info must not cost the others
        points = metadata.EntryPoints(_readable_points())
    for point in points:
        if BUILT_IN.get(point.name) != point.value:
            found.add((point.name, point.value))
    return sorted(found)


def _readable_points() -> list[metadata.EntryPoint]:
    points: list[metadata.EntryPoint] = []
    for distribution in metadata.distributions():
        try:
            points += [point for point in distribution.entry_points if point.group == GROUP]
        except Exception:  # noqa: BLE001, S112 - see above
            continue
    return points


async def check_sources(
    config: Config, home: Path, *, environ: Mapping[str, str] | None = None
) -> list[tuple[str, SectionState, str]]:
    """Tries every source, all at once: name, state, and in a few words what was found or why nothing was."""
    from aria_tui.sources._check import check

    return await check(config, home, environ)


async def last_section(source: Source, when: Moment, config: Config) -> Section:
    """One source's section under the same guards as in the briefing. Never raises for what the source does."""
    from aria_tui.sources._contain import contained, unavailable
    from aria_tui.sources._secrets import secrets_of

    section = unavailable(source.name, "gave nothing")
    async for section in contained(source, when, config.briefing.timeout, secrets_of(config)):  # noqa: B007 - the last
        pass
    return section
