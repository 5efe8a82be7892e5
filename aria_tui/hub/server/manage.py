"""What ``aria hub`` does to a database: migrate, tokens. Each call opens it, does one thing and closes it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from aria_tui.errors import Ambiguous, AriaError, NotFound, UsageError
from aria_tui.hub.server import auth, copies, entities
from aria_tui.hub.server.service import now_ms
from aria_tui.hub.server.storage import open_storage, prepare, sqlite_path
from aria_tui.hub.server.storage.base import Storage, Token

if TYPE_CHECKING:
    from aria_tui.hub.server.push import Pushed

T = TypeVar("T")
ID_LENGTH = 12
"""A token's id in lists: the beginning of its digest, of which the token can't be found."""


def with_storage(url: str, work: Callable[[Storage], Awaitable[T]], *, ready: bool = True) -> T:
    """Runs ``work`` on an open database, migrated or new where ``ready``. Raises AriaError."""

    async def run() -> T:
        storage = await open_storage(url)
        try:
            if ready:
                await prepare(storage, url)
            return await work(storage)
        finally:
            await storage.close()

    return asyncio.run(run())


def as_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def migrate(url: str) -> list[str]:
    """Applies what is missing; gives the names. Raises NewerSchema."""
    return with_storage(url, lambda storage: storage.migrate(), ready=False)


def create_token(url: str, *, account: str, name: str, scope: str, expires_days: float | None = None) -> dict[str, Any]:
    """A new token of an account, which is made if it isn't there. Its secret is shown here and nowhere else."""
    now = now_ms()
    expires = None if expires_days is None else now + round(expires_days * 86_400_000)
    token, row = auth.mint(account, name or "device", scope, now, expires)

    async def work(storage: Storage) -> None:
        await storage.ensure_account(account, now)
        await storage.add_token(row)

    with_storage(url, work)
    return {"token": token, **_shown(row)}


def list_tokens(url: str, account: str | None) -> list[dict[str, Any]]:
    return [_shown(row) for row in with_storage(url, lambda storage: storage.tokens(account))]


def revoke_token(url: str, wanted: str, account: str | None) -> dict[str, Any]:
    """Ends a token, named by the beginning of its id, its unique name, or itself. Raises NotFound, Ambiguous."""

    async def work(storage: Storage) -> Token:
        rows = [row for row in await storage.tokens(account) if row.revoked_at is None]
        digest = auth.digest(wanted)
        fits = [row for row in rows if row.digest == digest or row.digest.startswith(wanted)]
        fits = fits or [row for row in rows if row.name == wanted]
        if not fits:
            raise NotFound(f"no token that is in use has the id or name {wanted[:40]!r}")
        if len(fits) > 1:
            ids = ", ".join(row.digest[:ID_LENGTH] for row in fits)
            raise Ambiguous(f"{wanted[:40]!r} fits more than one token: {ids}")
        await storage.revoke(fits[0].account, fits[0].digest, now_ms())
        return fits[0]

    return _shown(with_storage(url, work))


def backup(url: str, target: Path | None) -> Path:
    """A whole copy of an SQLite Hub. Raises AriaError; UsageError for PostgreSQL, which has its own tools."""
    path = _file_of(url, "pg_dump --format=custom --file=hub.dump")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return copies.copy(path, target or copies.folder(path) / f"{path.stem}-at-{stamp}.db")


def restore(url: str, copied: Path) -> tuple[Path | None, str]:
    """Puts a copy's contents back; gives where the contents that were there are now, and the new epoch."""
    path = _file_of(url, "pg_restore --clean --if-exists hub.dump, then `aria hub restored`")
    kept = copies.restore(copied, path)
    return kept, restored(url)


def restored(url: str) -> str:
    """Gives the Hub a new epoch, so that its clients look at what may be missing (queue.md). Gives it back too."""
    return with_storage(url, lambda storage: storage.new_epoch())


def _file_of(url: str, instead: str) -> Path:
    if (path := sqlite_path(url)) is None:
        raise UsageError(f"a PostgreSQL database is copied and restored by its own tools: {instead}")
    return path


def push(source: Path, account: str, url: str, token: str, progress: Callable[[Pushed], None]) -> Pushed:
    """Moves an account's contents to another Hub. Raises AriaError."""
    if not source.exists():
        raise AriaError(f"{source} is not there: there is nothing to push")
    from aria_tui.hub.server.push import Push

    database = f"sqlite:///{source}"
    return with_storage(database, lambda storage: Push(storage, account, url, token, source.parent).run(progress))


def _shown(row: Token) -> dict[str, Any]:
    def when(moment: int | None) -> str | None:
        return None if moment is None else entities.time_text(moment)

    state = "active"
    if row.expires_at is not None and row.expires_at <= now_ms():
        state = "expired"
    if row.revoked_at is not None:
        state = "revoked"
    return {
        "id": row.digest[:ID_LENGTH],
        "account": row.account,
        "name": row.name,
        "scope": row.scope,
        "state": state,
        "created_at": when(row.created_at),
        "expires_at": when(row.expires_at),
        "last_used_at": when(row.last_used_at),
    }
