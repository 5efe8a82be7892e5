"""What a user's words mean: an id by its beginning, a day in the user's zone. For the command line and the tools."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Literal

from aria_tui.errors import FieldError, HubUnavailable, InvalidInput, NotFound

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant
    from aria_tui.config import Config

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.ASCII | re.IGNORECASE)


async def find_id(assistant: Assistant, kind: Literal["task", "insight"], beginning: str) -> str:
    """The id that begins so, among those that are known here; where none is, the Hub's list is read once.

    A whole UUID is taken as it is: it needs no list, so it works while the Hub is away. Raises NotFound, Ambiguous,
    and InvalidInput for nothing at all.
    """
    if not beginning.strip():
        raise InvalidInput([FieldError("id", "must not be empty")])  # every id begins so
    if _UUID.match(beginning):
        return beginning.lower()
    try:
        return await assistant.resolve_id(kind, beginning)
    except NotFound as unknown:
        try:
            if kind == "task":
                await assistant.list_tasks(drain=False)
            else:
                await assistant.list_insights(drain=False)
        except HubUnavailable:
            raise unknown from None
        return await assistant.resolve_id(kind, beginning)


def now(config: Config) -> datetime:
    """Now in the configured zone, else the system's."""
    from aria_tui.sources.context import zone_of

    return datetime.now(zone_of(config.briefing.timezone)[0])


def day(text: str, config: Config, *, field: str = "due") -> date:
    """The day that a word means today: today, fri, +3d, 2026-12-01. Raises InvalidInput, of the named field."""
    from aria_tui.dates import parse_due

    try:
        return parse_due(text, now(config).date())
    except InvalidInput as error:
        raise InvalidInput([FieldError(field, one.message) for one in error.errors]) from None


def since(text: str, config: Config) -> date:
    """The day that a word means from which on one looks back: a weekday is the last one. Raises InvalidInput."""
    from aria_tui.dates import parse_since

    try:
        return parse_since(text, now(config).date())
    except InvalidInput as error:
        raise InvalidInput([FieldError("since", one.message) for one in error.errors]) from None


def beginning_of(text: str, config: Config) -> str:
    """The first moment of such a day in the user's zone, as the wire writes it. Raises InvalidInput (``since``)."""
    from aria_tui.hub.contract import write_time

    first = datetime.combine(since(text, config), time(), tzinfo=now(config).tzinfo)
    return write_time(first)
