"""The briefing: gathers sections that each degrade alone, and gives them as text, Markdown and data.

It is never aborted: what fails costs its own section, with the reason. All sources start at once, each with its own
deadline; sections are given as they come in, and at the end the whole. Rules and shapes are briefing.md's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

from aria_tui import _briefing_hub as hub_sections
from aria_tui._briefing_alerts import alerts_of
from aria_tui._briefing_compare import compare
from aria_tui._briefing_data import NotABriefing, as_data, from_data, without_secrets
from aria_tui._briefing_note import append_daily_note, evening_activities
from aria_tui._briefing_render import Block, blocks, render_compare, render_markdown, render_projects, render_text
from aria_tui._briefing_words import say
from aria_tui.config import Config
from aria_tui.hub.contract import Activity, Briefing, write_time
from aria_tui.models import BriefingDoc, HubStatus, InsightList, QueueStatus, Section, TaskList
from aria_tui.sources import Moment, Source, last_section, load_sources
from aria_tui.sources._contain import contained, unavailable
from aria_tui.sources._secrets import secrets_of
from aria_tui.sources.context import zone_of

Kind = Literal["morning", "evening"]

SECTIONS: tuple[str, ...] = (
    "context", "calendar", "tasks", "yesterday", "projects", "docker", "finance", "reports", "queue",
)  # fmt: skip
"""The morning's sections in their order; a user's own come before ``queue``. Alerts stand before all of them."""
EVENING_SECTIONS: tuple[str, ...] = (
    "context", "done", "insights", "commits", "finance", "tomorrow", "reports", "queue",
)  # fmt: skip

_EVENING_SOURCES = frozenset({"projects", "finance", "reports"})

__all__ = [
    "EVENING_SECTIONS", "SECTIONS", "Block", "HubReads", "Kind", "NotABriefing", "append_daily_note", "as_data",
    "blocks", "compare", "evening_activities", "from_data", "gather", "gather_projects", "moment", "order",
    "render_compare", "render_markdown", "render_projects", "render_text", "say", "without_secrets",
]  # fmt: skip


class HubReads(Protocol):
    """What the briefing reads of the Hub and the queue; the assistant is one. Reads of the Hub raise HubUnavailable."""

    async def hub_status(self, *, probe: bool = True) -> HubStatus: ...
    async def queue_status(self) -> QueueStatus: ...
    async def list_tasks(self, *, status: str | None = None, last_seen: bool = False) -> TaskList: ...
    async def waiting_tasks(self) -> TaskList: ...
    async def list_briefings(self, *, before: str | None = None, limit: int = 30) -> list[Briefing]: ...
    async def list_insights(self, *, since: str | None = None) -> InsightList: ...
    async def list_activity(self, *, since: str | None = None) -> list[Activity]: ...


def utc_now() -> datetime:
    return datetime.now(UTC)


def moment(
    kind: Kind, config: Config, *, clock: Callable[[], datetime] = utc_now, environ: Mapping[str, str] | None = None
) -> tuple[Moment, str]:
    """The user's local now, and why the configured zone can't be used (else an empty text)."""
    zone, problem = zone_of(config.briefing.timezone, environ)
    return Moment(now=clock().astimezone(zone), zone=zone, kind=kind), problem


async def gather(
    kind: Kind,
    *,
    config: Config,
    home: Path,
    hub: HubReads,
    clock: Callable[[], datetime] = utc_now,
    sources: Sequence[Source] | None = None,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Section | BriefingDoc]:
    """Sections as they come in (one of the same name replaces the earlier one), last the whole BriefingDoc.

    Takes as long as the slowest source, and no source longer than ``config.briefing.timeout``. Never raises for what a
    source or the Hub does. Closing the generator ends whatever still runs.
    """
    when, zone_problem = moment(kind, config, clock=clock, environ=environ)
    if sources is None:
        sources = load_sources(config, home=home, environ=environ)
    work = _Work(hub_sections.Reader(hub, config, when), secrets_of(config), config.briefing.timeout)
    names = frozenset({*SECTIONS, *EVENING_SECTIONS})
    for source in sources:
        if kind == "morning" or source.name in _EVENING_SOURCES or source.name not in names:
            work.add(source.name, partial(work.source, source, when))
    work.add("context", partial(work.hub, kind, zone_problem))
    latest: dict[str, Section] = {}
    try:
        async for section in work.sections():
            shown = _fit(section, kind)
            if shown is not None:
                latest[shown.name] = shown
                yield shown
    finally:
        await work.end()
    ordered = tuple(latest[name] for name in order(kind, latest))
    yield BriefingDoc(
        date=when.now.date().isoformat(),
        kind=kind,
        generated_at=write_time(when.now.replace(microsecond=0)),
        timezone=when.zone.key,
        alerts=alerts_of(ordered, work.reader.status, when.now),
        sections=ordered,
    )


def order(kind: Kind, names: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """The names in the order in which their sections stand; a user's own by name, before the queue."""
    known = SECTIONS if kind == "morning" else EVENING_SECTIONS
    own = sorted(name for name in names if name not in known)
    return [name for name in (*known[:-1], *own, known[-1]) if name in names]


async def gather_projects(
    config: Config, *, home: Path, environ: Mapping[str, str] | None = None, clock: Callable[[], datetime] = utc_now
) -> Section:
    """The ``projects`` section alone, with no Hub and no other source."""
    from aria_tui.sources.git import GitSource

    when, _ = moment("morning", config, clock=clock, environ=environ)
    return await last_section(GitSource(config, home=home, environ=environ), when, config)


def _fit(section: Section, kind: Kind) -> Section | None:
    """A source's section as the view of this kind has it; None where it has none."""
    if section.name == "reports" and section.state == "not_configured":
        return None
    if kind == "evening" and section.name == "projects":
        return hub_sections.commits(section)
    return section


class _Work:
    """Everything that runs for one briefing, and the one queue its sections come out of."""

    def __init__(self, reader: hub_sections.Reader, secrets: Sequence[str], timeout: float) -> None:
        self.reader = reader
        self._secrets, self._timeout = secrets, timeout
        self._out: asyncio.Queue[Section | None] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.create_task(self._guard(name, work), name=f"briefing {name}")
        self._tasks.add(task)

    async def sections(self) -> AsyncIterator[Section]:
        running = len(self._tasks)
        while running:
            section = await self._out.get()
            if section is None:
                running -= 1
            else:
                yield section

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def source(self, source: Source, when: Moment) -> None:
        async for section in contained(source, when, self._timeout, self._secrets):
            self._out.put_nowait(section)

    async def hub(self, kind: Kind, zone_problem: str) -> None:
        async for section in self.reader.sections(kind, zone_problem):
            self._out.put_nowait(section)

    async def _guard(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - one section's failure is that section's
            self._out.put_nowait(unavailable(name, f"failed: {type(error).__name__}"))
        finally:
            self._out.put_nowait(None)
