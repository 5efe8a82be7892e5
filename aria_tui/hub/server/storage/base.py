"""What the Hub wants of a database, and the rows that go in and out. Both engines pass the same tests.

A write is one call, ``transact``: within one transaction the account is locked, what the operations touch is loaded,
``judge`` decides (pure, maybe called again after a serialization failure) and what it decided is written. So key,
effect and change row commit together, and an account's change numbers become visible in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from aria_tui.errors import AriaError

HUB = "*"
"""The account under which the Hub keeps what is its own."""


class Row(msgspec.Struct, kw_only=True):
    """An entity. ``doc`` is its JSON as on the wire, empty for a tombstone."""

    entity: str
    kind: str
    version: int
    seq: int
    deleted_at: int | None = None
    sort_at: int
    status: str | None = None
    priority: str | None = None
    project: str | None = None
    due_date: str | None = None
    completed_at: int | None = None
    origin: str | None = None
    touched: str | None = None
    folded: str | None = None
    doc: str


class Record(msgspec.Struct, kw_only=True):
    """What an operation did, as kept under its key."""

    op_id: str
    fingerprint: str
    operation: str
    entity: str
    status: str
    version: int | None
    created: int
    seq: int
    recorded_at: int


class Revision(msgspec.Struct, kw_only=True):
    entity: str
    revision: str
    made_at: int
    doc: str


class Loaded(msgspec.Struct):
    """What ``judge`` is given: the account's last change number, known keys by op_id, rows by entity."""

    seq: int
    records: dict[str, Record]
    rows: dict[str, Row]


class Writes(msgspec.Struct):
    """What ``judge`` wants written. ``seq`` is the account's new last change number."""

    seq: int
    records: list[Record]
    rows: list[Row]
    revisions: list[Revision]


class Token(msgspec.Struct, kw_only=True):
    """A device's token without its secret. Moments are milliseconds since 1970."""

    account: str
    digest: str
    name: str
    scope: str
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    last_used_at: int | None = None


class Page(msgspec.Struct, kw_only=True):
    """Which entities of a kind are wanted, newest first. None means any; ``before`` is the place to go on from."""

    kind: str
    status: str | None = None
    project: str | None = None
    priority: str | None = None
    since: int | None = None
    until: int | None = None
    text: str | None = None
    before: tuple[int, str] | None = None
    limit: int = 100


Judge = Callable[[Loaded], Writes]


class StorageUnavailable(AriaError):
    """The database doesn't answer, or is locked for too long: try again later, nothing is known to be wrong."""


class StorageRefused(AriaError):
    """The database can't take just these rows."""


class NewerSchema(AriaError):
    """The database was migrated by a newer version of the program; it is not touched."""


class MigrationNeeded(AriaError):
    """The database's schema is older than the program's: ``aria hub migrate``."""


class Storage(Protocol):
    """One database. Every method raises StorageUnavailable when it doesn't answer."""

    async def close(self) -> None: ...

    async def migrate(self) -> list[str]:
        """Brings the schema up to date; names what it applied. Raises NewerSchema."""

    async def check_schema(self) -> None:
        """Raises NewerSchema, MigrationNeeded."""

    async def is_empty(self) -> bool:
        """Whether no migration was ever applied."""

    async def ping(self) -> None: ...

    async def identity(self) -> tuple[str, str]:
        """(hub_id, epoch)."""

    async def new_epoch(self) -> str: ...

    async def transact(self, account: str, op_ids: Sequence[str], entities: Sequence[str], judge: Judge) -> Writes:
        """Raises also StorageRefused, and whatever ``judge`` raises (nothing is written then)."""

    async def records(self, account: str, op_ids: Sequence[str]) -> dict[str, Record]: ...

    async def row(self, account: str, entity: str) -> Row | None: ...

    async def revision(self, account: str, entity: str, revision: str) -> str | None: ...

    async def revisions(self, account: str, entity: str) -> list[str]: ...

    async def page(self, account: str, page: Page) -> list[Row]: ...

    async def changes(self, account: str, since: int, limit: int) -> tuple[int, list[Row]]:
        """(the account's last change number, the rows changed after ``since`` in order of change)."""

    async def seq(self, account: str) -> int: ...

    async def summary(self, account: str, today: str, start: int, end: int) -> tuple[list[tuple[Any, ...]], int]:
        """Open tasks as (status, priority, project, total, overdue, due today); how many were done in [start, end)."""

    async def ensure_account(self, account: str, now: int) -> None: ...

    async def add_token(self, token: Token) -> None: ...

    async def token(self, account: str, digest: str) -> Token | None: ...

    async def tokens(self, account: str | None) -> list[Token]: ...

    async def revoke(self, account: str, digest: str, now: int) -> None: ...

    async def touch_token(self, account: str, digest: str, now: int) -> None: ...

    async def accounts(self) -> list[str]: ...

    async def expire_keys(self, account: str, before: int, after: str, limit: int) -> str | None:
        """Looks at the next ``limit`` keys in the order of the keys and forgets those recorded before ``before``;
        gives the last key it looked at, None at the end. (The keys have no index by time: it would cost each write.)"""

    async def expire_revisions(self, account: str, before: int, limit: int) -> int:
        """Forgets up to ``limit`` former versions of tasks that are older; gives how many went."""
