"""One storage interface, two engines: ``sqlite:///PATH`` and ``postgresql://…``."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from aria_tui.errors import UsageError
from aria_tui.hub.server.storage.base import Storage


def sqlite_path(url: str) -> Path | None:
    """The file of a ``sqlite:///PATH`` address (``sqlite:////absolute`` too), None for any other address."""
    if not url.startswith("sqlite:"):
        return None
    rest = url.removeprefix("sqlite:")
    if not rest.startswith("///") or len(rest) < 4:
        raise UsageError(f"not a database: {url!r}; write sqlite:///PATH or postgresql://…")
    return Path(unquote(rest[3:])).expanduser()


async def open_storage(url: str) -> Storage:
    """Opens a database by its address. Raises UsageError for a bad address, StorageUnavailable."""
    if (path := sqlite_path(url)) is not None:
        from aria_tui.hub.server.storage.sqlite import SqliteStorage

        return await SqliteStorage.open(path)
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from aria_tui.hub.server.storage.postgres import PostgresStorage
        except ImportError:
            raise UsageError("PostgreSQL needs the extra: pip install 'aria-tui[server]'") from None
        return await PostgresStorage.open(url)
    raise UsageError(f"not a database: {url.split('@')[-1]!r}; write sqlite:///PATH or postgresql://…")


async def prepare(storage: Storage, url: str) -> None:
    """A new database, and any SQLite file, is migrated here; a PostgreSQL one that lives is by `aria hub migrate`.

    Raises NewerSchema, MigrationNeeded.
    """
    if sqlite_path(url) is not None or await storage.is_empty():
        await storage.migrate()
    await storage.check_schema()
