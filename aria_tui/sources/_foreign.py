"""A source from a package of the user's own, run in a process of its own so that nothing it does can hurt."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from aria_tui.config import Config
from aria_tui.models import Section
from aria_tui.sources import Moment, _child


class ForeignSource:
    """Stands for an entry point; the package behind it is imported in the child only."""

    def __init__(
        self, config: Config, *, home: Path, environ: Mapping[str, str] | None, name: str, entry: str, target: str
    ) -> None:
        self.name = name
        self._entry, self._target = entry, target
        self._config, self._home = config, home
        self._environ = os.environ if environ is None else environ

    async def gather(self, when: Moment, deadline: float) -> Section:
        arguments = {
            "target": self._target,
            "config": msgspec.to_builtins(self._config),
            "home": str(self._home),
            "now": when.now.isoformat(),
            "zone": when.zone.key,
            "kind": when.kind,
            "deadline": deadline,
        }
        try:
            answer = await _child.call("aria_tui.sources._foreign:run", arguments, deadline, environ=self._environ)
            section = msgspec.convert(answer, Section)
        except _child.ChildFailed as error:
            return self._unavailable(f"failed: {error}")
        except TimeoutError:
            return self._unavailable(f"timed out after {deadline:g} s")
        except msgspec.ValidationError as error:
            return self._unavailable(f"gave a section that can't be read: {error}")
        return section

    def _unavailable(self, reason: str) -> Section:
        return Section(name=self.name, state="unavailable", reason=reason)


def run(
    target: str, config: dict[str, Any], home: str, now: str, zone: str, kind: Literal["morning", "evening"],
    deadline: float,
) -> Any:  # fmt: skip
    """The child's side: makes the source and gives its section as plain data."""
    module, _, attribute = target.partition(":")
    made: Any = import_module(module)
    for step in attribute.split("."):
        made = getattr(made, step)
    source = made(msgspec.convert(config, Config), home=Path(home), environ=os.environ)
    place = ZoneInfo(zone)
    moment = Moment(now=datetime.fromisoformat(now).astimezone(place), zone=place, kind=kind)
    given = asyncio.run(_last(source, moment, deadline))
    if not isinstance(given, Section):
        raise TypeError(f"gave {type(given).__name__} where a section was wanted")
    return msgspec.to_builtins(given)


async def _last(source: Any, moment: Moment, deadline: float) -> Any:
    work = source.gather(moment, deadline)
    if hasattr(work, "__aiter__"):
        sections = [section async for section in work]
        return sections[-1] if sections else None
    return await work if inspect.isawaitable(work) else work
