"""httpx, loaded when it is first needed, and without its command line."""

from __future__ import annotations

import sys


def load() -> None:
    """Loads the module httpx; an ``import httpx`` after it costs nothing.

    Where click and Rich are installed, importing httpx also loads its own command line and so both of them: a third
    of its time, and Rich has no place below the screen. A None in ``sys.modules`` makes that import fail, which httpx
    is prepared for.
    """
    if "httpx" in sys.modules:
        return
    kept = sys.modules.get("httpx._main")
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
    try:
        import httpx  # noqa: F401
    finally:
        if kept is None:
            sys.modules.pop("httpx._main", None)
