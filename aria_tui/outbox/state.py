"""Small facts that the processes of one home share through the queue's file: gates, Hubs known, the running drain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import aiosqlite
import msgspec

from aria_tui.outbox.store import Store

T = TypeVar("T")


async def get(store: Store, name: str, kind: type[T]) -> T | None:
    """A fact, or None when it isn't there (or was written in a form of another version)."""
    found = await store.read("SELECT value FROM state WHERE name = ?", (name,))
    return decoded(found[0][0], kind) if found else None


def decoded(value: str | None, kind: type[T]) -> T | None:
    """A fact as it is stored, or None."""
    try:
        return msgspec.json.decode(value, type=kind) if value else None
    except msgspec.DecodeError:
        return None


async def put_in(connection: aiosqlite.Connection, name: str, value: object | None) -> None:
    """Sets a fact, or with None removes it, inside a transaction of the caller's."""
    if value is None:
        await connection.execute("DELETE FROM state WHERE name = ?", (name,))
    else:
        await put_all_in(connection, {name: value})


async def put_all_in(connection: aiosqlite.Connection, facts: Mapping[str, object]) -> None:
    """Sets some facts at once, inside a transaction of the caller's."""
    texts = [(name, msgspec.json.encode(value).decode()) for name, value in facts.items()]
    await connection.executemany("INSERT OR REPLACE INTO state(name, value) VALUES (?, ?)", texts)


async def put(store: Store, name: str, value: object | None) -> None:
    """Sets a fact, or with None removes it."""

    async def job(connection: aiosqlite.Connection) -> None:
        await put_in(connection, name, value)

    await store.write(job, hurried=True)
