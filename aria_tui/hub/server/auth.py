"""Tokens: 256 random bits, one per device, stored as a digest, with a name, a scope, an expiry and a revoke.

A token is ``aria1.ACCOUNT.SECRET``; it names its account so that its row is found by a key that begins with the
account, on whatever shard that is.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets

from aria_tui.errors import UsageError
from aria_tui.hub.server import problems
from aria_tui.hub.server.limits import Buckets
from aria_tui.hub.server.storage.base import Storage, Token

SCOPES = ("read", "write")
ACCOUNT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}\Z")
_TOKEN = re.compile(r"aria1\.([A-Za-z0-9_-]{2,100})\.([A-Za-z0-9_-]{43})\Z")
_SEEN_EVERY_MS = 60_000


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def mint(account: str, name: str, scope: str, now: int, expires_at: int | None = None) -> tuple[str, Token]:
    """A new token and the row that is kept of it. Raises UsageError for a name that can't be one."""
    if not ACCOUNT.match(account):
        raise UsageError(f"not an account name: {account!r}; letters, digits and ._@- up to 64 characters")
    if scope not in SCOPES:
        raise UsageError(f"not a scope: {scope!r}; read or write")
    if not 0 < len(name) <= 100 or not name.isprintable():
        raise UsageError("a token's name has 1 to 100 printable characters")
    secret = secrets.token_urlsafe(32)
    token = f"aria1.{base64.urlsafe_b64encode(account.encode()).decode().rstrip('=')}.{secret}"
    row = Token(
        account=account, digest=digest(token), name=name, scope=scope, created_at=now, expires_at=expires_at
    )  # fmt: skip
    return token, row


def account_of(token: str) -> str | None:
    """The account that a token names, or None for a text that is no token of ours."""
    if (found := _TOKEN.match(token)) is None:
        return None
    try:
        account = base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)).decode()
    except ValueError:
        return None
    return account if ACCOUNT.match(account) else None


class Doorkeeper:
    """Says whose request it is. Failed attempts are limited per address; a good token always passes."""

    def __init__(self, storage: Storage, *, failures_per_minute: float = 30) -> None:
        self._storage = storage
        self._failures = Buckets(failures_per_minute / 60, failures_per_minute)
        self._nobody = digest(secrets.token_urlsafe(32))

    async def authenticate(self, header: str | None, address: str, now: int) -> Token:
        """The token of an Authorization header. Raises Refusal (401; 429 after too many that weren't one)."""
        scheme, _, text = (header or "").partition(" ")
        token = text.strip() if scheme.lower() == "bearer" else ""
        if header is None:
            raise problems.unauthenticated("give a token: Authorization: Bearer TOKEN")
        account = account_of(token)
        given = digest(token) if account else self._nobody
        row = await self._storage.token(account, given) if account else None
        known = hmac.compare_digest(given, row.digest if row else self._nobody) and row is not None
        if not known or row is None:
            self._count_failure(address)
            raise problems.unauthenticated("the token is not known here")
        if row.revoked_at is not None:
            raise problems.unauthenticated("the token was revoked")
        if row.expires_at is not None and row.expires_at <= now:
            raise problems.unauthenticated("the token has expired")
        if row.last_used_at is None or now - row.last_used_at >= _SEEN_EVERY_MS:
            await self._storage.touch_token(row.account, row.digest, now)
        return row

    def _count_failure(self, address: str) -> None:
        if wait := self._failures.take(address):
            raise problems.slow_down("too many tokens that are not known here", wait)
