"""What was read from the Hub: kept for ids, for the former values that an edit is based on, and as the last-seen list.

Nothing here is the only copy of anything, so the file is written without syncing and made anew when it is broken.
What was acknowledged stays laid over what is read until a read that began after the acknowledgement (queue.md).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import aiosqlite
import msgspec

from aria_tui.errors import HubUnavailable
from aria_tui.hub.client import CursorExpired, HubClient
from aria_tui.outbox import overlay
from aria_tui.outbox.settle import Judged

Kind = Literal["task", "insight"]
Things = dict[str, dict[str, Any]]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS seen(target TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (target, kind, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS marks(target TEXT PRIMARY KEY, cursor TEXT, tasks_as_of TEXT, insights_as_of TEXT)
  WITHOUT ROWID;
"""


class Mirror:
    """Tasks and insights of one target, as last seen, by id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.target = ""
        self.things: dict[Kind, Things] = {"task": {}, "insight": {}}
        self.as_of: dict[Kind, str | None] = {"task": None, "insight": None}
        self.int_ids = False
        self._cursor: str | None = None
        self._acknowledged: list[tuple[int, overlay.Change]] = []
        self._count = 0
        self._connection: aiosqlite.Connection | None = None

    async def load(self, target: str) -> None:
        """Takes up what is kept for a target."""
        if self.target == target:
            return
        self.things, self.as_of, self._cursor = {"task": {}, "insight": {}}, {"task": None, "insight": None}, None
        connection = await self._open()
        for kind, thing, body in await connection.execute_fetchall(
            "SELECT kind, id, body FROM seen WHERE target = ?", (target,)
        ):
            self.things["task" if kind == "task" else "insight"][thing] = msgspec.json.decode(body)
        for cursor, tasks, insights in await connection.execute_fetchall(
            "SELECT cursor, tasks_as_of, insights_as_of FROM marks WHERE target = ?", (target,)
        ):
            self._cursor, self.as_of = cursor, {"task": tasks, "insight": insights}
        self.target = target

    async def refresh(self, client: HubClient, kind: Kind, now: str, timeout: float) -> None:
        """Reads what changed since the last time, or from a plain Hub everything. Raises HubUnavailable."""
        began = self._count
        if client.plain:
            await self._read_list(client, kind, timeout)
            fresh: tuple[Kind, ...] = (kind,)
        else:
            await self._read_changes(client, timeout)
            fresh = ("task", "insight")
        later = [change for number, change in self._acknowledged if number > began]
        for change in later:
            overlay.apply(self.things[change.kind], change)
        await self._write({(change.kind, change.id) for change in later})
        self._acknowledged = [(number, change) for number, change in self._acknowledged if number > began]
        for one in fresh:
            self.as_of[one] = now
        await self._write_marks()

    async def acknowledged(self, delivered: Sequence[Judged], target: str) -> None:
        """Lays what the Hub just acknowledged over what was read before, and keeps that for the next process."""
        changes = []
        for row, verdict in delivered:
            change = overlay.change_of(row.operation, row.payload, row.entity, row.created_at)
            if change is None or verdict.outcome not in ("applied", "duplicate"):
                continue
            if row.operation == "capture_insight" and not self.target:
                continue  # nobody here looks at insights, and the next read brings it
            changes.append((change, verdict.result.version if verdict.result else None))
        if not changes:
            return
        if not self.target:
            await self.load(target)
        for change, version in changes:
            self._count += 1
            self._acknowledged.append((self._count, change))
            overlay.apply(self.things[change.kind], change, version=version)
        await self._write({(change.kind, change.id) for change, _ in changes})

    def base_of(self, kind: Kind, thing: str, waiting: Sequence[Any]) -> dict[str, Any] | None:
        """A thing as it will be when what waits for it is delivered; None: never seen, and no create of it waits."""
        found = self.things[kind].get(thing)
        scratch: Things = {thing: dict(found)} if found is not None else {}
        for row in waiting:
            change = overlay.change_of(row.operation, row.payload, row.entity, row.created_at)
            if change is not None:
                overlay.apply(scratch, msgspec.structs.replace(change, id=thing))
        if waiting and thing in scratch:
            scratch[thing].pop("version", None)  # the Hub's version at that time isn't known
        return scratch.get(thing)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _read_changes(self, client: HubClient, timeout: float) -> None:
        more, whole = True, self._cursor is None
        if whole:
            self.things = {"task": {}, "insight": {}}
            await self._forget()
        while more:
            try:
                page = await client.get("/api/changes", {"since": self._cursor}, timeout=timeout)
            except CursorExpired:
                if self._cursor is None:
                    raise HubUnavailable("online", "the Hub's list of changes can't be read") from None
                self._cursor = None
                await self._read_changes(client, timeout)
                return
            changes = page.get("changes")
            if not isinstance(changes, list):
                raise HubUnavailable("not_the_hub", "unexpected answer")
            self._cursor, more = str(page.get("cursor") or ""), bool(page.get("has_more"))
            await self._take(changes)

    async def _take(self, changes: list[Any]) -> None:
        touched: set[tuple[Kind, str]] = set()
        for change in changes:
            kind_text, _, thing = str(change.get("entity", "")).partition(":")
            if kind_text not in ("task", "insight"):
                continue
            kind: Kind = "task" if kind_text == "task" else "insight"
            body = change.get(kind)
            touched.add((kind, thing))
            if change.get("deleted") or not isinstance(body, dict):
                self.things[kind].pop(thing, None)
            else:
                self.things[kind][thing] = body
        await self._write(touched)

    async def _write(self, touched: set[tuple[Kind, str]]) -> None:
        """Keeps things as they are now; what is gone is forgotten."""
        if not touched:
            return
        rows = [
            (self.target, kind, thing, msgspec.json.encode(self.things[kind][thing]).decode())
            for kind, thing in touched
            if thing in self.things[kind]
        ]
        connection = await self._open()
        await connection.execute("BEGIN IMMEDIATE")
        await connection.executemany(
            "DELETE FROM seen WHERE target = ? AND kind = ? AND id = ?", [(self.target, *one) for one in touched]
        )
        await connection.executemany("INSERT INTO seen VALUES (?, ?, ?, ?)", rows)
        await connection.execute("COMMIT")

    async def _read_list(self, client: HubClient, kind: Kind, timeout: float) -> None:
        name = f"{kind}s"
        page = await client.get(f"/api/{name}", {"limit": 500}, timeout=timeout)
        listed = page.get(name)
        if not isinstance(listed, list):
            raise HubUnavailable("not_the_hub", "unexpected answer")
        things: Things = {}
        for one in listed:
            if isinstance(one, dict) and one.get("id") is not None:
                self.int_ids = self.int_ids or isinstance(one["id"], int)
                things[str(one["id"])] = {**one, "id": str(one["id"])}
        self.things[kind] = things
        connection = await self._open()
        await connection.execute("BEGIN IMMEDIATE")
        await connection.execute("DELETE FROM seen WHERE target = ? AND kind = ?", (self.target, kind))
        await connection.executemany(
            "INSERT INTO seen VALUES (?, ?, ?, ?)",
            [(self.target, kind, thing, msgspec.json.encode(body).decode()) for thing, body in things.items()],
        )
        await connection.execute("COMMIT")

    async def _forget(self) -> None:
        connection = await self._open()
        await connection.execute("DELETE FROM seen WHERE target = ?", (self.target,))

    async def _write_marks(self) -> None:
        connection = await self._open()
        await connection.execute(
            "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)",
            (self.target, self._cursor, self.as_of["task"], self.as_of["insight"]),
        )

    async def _open(self) -> aiosqlite.Connection:
        if self._connection is None:
            try:
                self._connection = await _connect(self.path)
            except (sqlite3.DatabaseError, OSError):
                try:
                    self.path.unlink(missing_ok=True)
                    self._connection = await _connect(self.path)
                except (sqlite3.Error, OSError):
                    self._connection = await _connect(None)  # a home that can't be written: kept for this run only
        return self._connection


async def _connect(path: Path | None) -> aiosqlite.Connection:
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
    connection = await aiosqlite.connect(path or ":memory:", isolation_level=None, timeout=2)
    try:
        await connection.execute("PRAGMA synchronous = OFF")
        for statement in _SCHEMA.split(";"):
            await connection.execute(statement)
    except BaseException:
        await connection.close()
        raise
    return connection
