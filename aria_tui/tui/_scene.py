"""What a briefing's section is drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

Data = Mapping[str, Any]
"""A section's data, in the shapes of briefing.md."""


@dataclass(frozen=True)
class Scene:
    """What every section may need to know to be drawn."""

    width: int
    now: datetime
    today: date
