"""placeholder until the real one lands in a moment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aria_tui.config import Config
from aria_tui.models import Section
from aria_tui.sources import Moment


class CalendarSource:
    name = "calendar"

    def __init__(self, config: Config, *, home: Path, environ: Mapping[str, str] | None = None) -> None: ...
    async def gather(self, when: Moment, deadline: float) -> Section:
        return Section(name=self.name, state="not_configured", reason="not configured")
