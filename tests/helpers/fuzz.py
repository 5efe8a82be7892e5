"""How many made-up inputs each reader is given: quality.md, "Faults". ``ARIA_FUZZ=1000000`` is the long run."""

from __future__ import annotations

import os

EXAMPLES = int(os.environ.get("ARIA_FUZZ", "2000"))
