"""Which Hub and account a row is meant for (queue.md, "Target"): bound at the first authenticated answer of
``/api/meta`` from its address, and moved when it is learned that they are one and the same."""

from __future__ import annotations

from urllib.parse import urlsplit

import aiosqlite

from aria_tui.outbox import state
from aria_tui.outbox.names import EMBEDDED, UNBOUND, named, unbound
from aria_tui.outbox.store import Store

UNVERSIONED = "base_version = NULL, current = iif(json_valid(current), json_remove(current, '$.version'), current)"
"""Of a parked row: no version of a Hub that isn't its Hub any more, also not with the Hub's copy in a conflict."""


async def resolve(store: Store, where: str) -> str:
    """The target at an address: the bound one, or the address itself."""
    if where == EMBEDDED:
        return EMBEDDED
    found = await store.read("SELECT target FROM targets WHERE address = ?", (where,))
    return str(found[0][0]) if found else unbound(where)


async def labels(store: Store) -> dict[str, str]:
    """Targets with a name for people: the Hub's host, and the account."""
    found = await store.read("SELECT target, label FROM targets")
    return {EMBEDDED: "the embedded Hub", **dict(found)}


async def bind(store: Store, where: str, hub_id: str, account: str) -> str:
    """Notes who answered at an address; what waited for the address now waits for that Hub and account.

    So does what waited for the same URL with a token that was refused: nobody else can have been meant.
    """
    return await _take(store, where, named(hub_id, account), f"{urlsplit(where).netloc} ({account})")


async def bind_plain(store: Store, where: str) -> str:
    """The same for a plain Hub, which has no id: the address stays its name."""
    return await _take(store, where, unbound(where), urlsplit(where).netloc)


async def _take(store: Store, where: str, target: str, name: str) -> str:
    known = await store.read("SELECT target FROM targets WHERE address = ?", (where,))
    others = await _refused(store, where) | await _left_behind(store, where)
    if known and known[0][0] == target and not others - {target}:
        return target

    async def job(connection: aiosqlite.Connection) -> None:
        await connection.execute("INSERT OR REPLACE INTO targets VALUES (?, ?, ?)", (where, target, name))
        for old in others | {unbound(where)}:
            if old != target:
                await move(connection, old, target)

    await store.write(job)
    return target


async def _left_behind(store: Store, where: str) -> set[str]:
    """The unbound name of the address, if something still waits for it: accepted while somebody else bound it."""
    old = unbound(where)
    found = await store.read("SELECT 1 FROM counters WHERE target = ? AND waiting > 0", (old,))
    return {old} if found else set()


async def _refused(store: Store, where: str) -> set[str]:
    """Targets at the same URL whose token nobody knew (401; a 403 comes from somebody), and which never were
    anybody's."""
    found = await store.read(
        "SELECT substr(name, 6) FROM state WHERE name LIKE 'gate:addr:%' AND json_extract(value, '$.code') = 'paused'"
        " AND json_extract(value, '$.unknown')"
    )
    url = where.rsplit("#", 1)[0]
    return {str(row[0]) for row in found if str(row[0]).removeprefix(UNBOUND).rsplit("#", 1)[0] == url}


async def move(connection: aiosqlite.Connection, old: str, new: str) -> int:
    """Gives what waits for one target to another, with its gate gone; how many waiting rows that were.

    The versions that edits rest on are the old one's: an equal number at the new one would say that nothing changed.
    The former values still tell.
    """
    cursor = await connection.execute(
        "UPDATE queue SET target = ?, base_version = NULL WHERE synced_at IS NULL AND target = ?", (new, old)
    )
    await connection.execute(f"UPDATE parked SET target = ?, {UNVERSIONED} WHERE target = ?", (new, old))  # noqa: S608
    await connection.execute("UPDATE OR REPLACE id_map SET target = ? WHERE target = ?", (new, old))
    await state.put_in(connection, f"gate:{old}", None)
    return cursor.rowcount
