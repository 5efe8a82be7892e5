"""httpx, loaded when it is first needed, and without its command line."""

from __future__ import annotations

import sys
from types import ModuleType


def load() -> ModuleType:
    """The module httpx.

    Where click and Rich are installed, ``import httpx`` also loads its own command line and so both of them: a third
    of its time, and Rich has no place below the screen. A None in ``sys.modules`` makes that import fail, which httpx
    is prepared for.
    """
    if "httpx" in sys.modules:
        return sys.modules["httpx"]
    kept = sys.modules.get("httpx._main")
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
    try:
        import httpx
    finally:
        if kept is None:
            sys.modules.pop("httpx._main", None)
    return httpx
