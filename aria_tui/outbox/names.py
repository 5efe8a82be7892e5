"""How targets are named (queue.md, "Target"): by Hub id and account where they are known, else by address and token."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

EMBEDDED = "embedded"
UNBOUND = "addr:"


def digest(token: str) -> str:
    """A short digest that tells two tokens apart and gives neither away."""
    return hashlib.sha256(b"aria-target:" + token.encode()).hexdigest()[:16] if token else "none"


def address(url: str, token: str) -> str:
    """The name of an address with a token; the embedded Hub has neither."""
    return f"{url.rstrip('/')}#{digest(token)}" if url else EMBEDDED


def named(hub_id: str, account: str) -> str:
    """The target of a Hub and account that are known."""
    return f"hub:{hub_id}:{account}"


def unbound(where: str) -> str:
    """The target of an address where nobody answered yet, or a plain Hub, which has no id."""
    return EMBEDDED if where == EMBEDDED else UNBOUND + where


def label(target: str, known: dict[str, str]) -> str:
    """A target's name for people, also of one that was never bound."""
    if name := known.get(target):
        return name
    return urlsplit(target.removeprefix(UNBOUND)).netloc or target
