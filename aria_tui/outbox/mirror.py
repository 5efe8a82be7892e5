"""What was read from the Hub: kept for ids, for the former values that an edit is based on, and as the last-seen list.

Nothing here is the only copy of anything, so the file is written without syncing and made anew when it is broken.
What was acknowledged stays laid over what is read until a read that began after the acknowledgement (queue.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import aiosqlite
import msgspec

from aria_tui.errors import HubUnavailable
from aria_tui.hub.client import CursorExpired, HubClient
from aria_tui.outbox import overlay
from aria_tui.outbox.connecting import open_connection
from aria_tui.outbox.settle import Judged
from aria_tui.outbox.verdict import Verdict

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
        self._acknowledged: list[overlay.Change] | None = None
        """What was acknowledged while a read is under way, which may not show it."""
        self._connection: aiosqlite.Connection | None = None
        self._writing = asyncio.Lock()
        self._loading = asyncio.Lock()
        self._opening = asyncio.Lock()
        self._closed = False
        self._version = -1

    async def load(self, target: str) -> None:
        """Takes up what is kept for a target, again where another process has written since."""
        async with self._loading:
            if self.target != target or (self._acknowledged is None and await self._changed_by_others()):
                await self._load(target)

    async def _load(self, target: str) -> None:
        self.things, self.as_of, self._cursor = {"task": {}, "insight": {}}, {"task": None, "insight": None}, None
        await self._changed_by_others()
        try:
            seen, marks = await self._kept(target)
        except sqlite3.Error:
            seen, marks = [], []
            async with self._opening:
                if not self._closed:
                    await self._make_anew()
        for kind, thing, body in seen:
            with contextlib.suppress(msgspec.DecodeError):
                self.things["task" if kind == "task" else "insight"][thing] = msgspec.json.decode(body)
        for cursor, tasks, insights in marks:
            self._cursor, self.as_of = cursor, {"task": tasks, "insight": insights}
        self.target = target

    async def _changed_by_others(self) -> bool:
        """An edit that another process delivered must be known here too, else the next one would rest on what was
        before it."""
        before = self._version
        try:
            connection = await self._open()
            self._version = next(iter(await connection.execute_fetchall("PRAGMA data_version")))[0]
        except sqlite3.Error:
            return False
        return before != self._version

    async def _kept(self, target: str) -> tuple[list[Any], list[Any]]:
        connection = await self._open()
        seen = await connection.execute_fetchall("SELECT kind, id, body FROM seen WHERE target = ?", (target,))
        marks = await connection.execute_fetchall(
            "SELECT cursor, tasks_as_of, insights_as_of FROM marks WHERE target = ?", (target,)
        )
        return list(seen), list(marks)

    async def refresh(self, client: HubClient, kind: Kind, now: str, timeout: float) -> None:
        """Reads what changed since the last time, or from a plain Hub everything; one at a time.

        Raises HubUnavailable.
        """
        self._acknowledged = []
        try:
            if client.plain:
                await self._read_list(client, kind, timeout)
                fresh: tuple[Kind, ...] = (kind,)
            else:
                await self._read_changes(client, timeout)
                fresh = ("task", "insight")
        finally:
            later, self._acknowledged = self._acknowledged, None
        for change in later:
            overlay.apply(self.things[change.kind], change)
        await self._write({(change.kind, change.id) for change in later})
        for one in fresh:
            self.as_of[one] = now
        marks = (self.target, self._cursor, self.as_of["task"], self.as_of["insight"])
        await self._keep(("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)", [marks]))

    async def acknowledged(self, delivered: Sequence[Judged], target: str, ids: Mapping[str, str]) -> None:
        """Lays what the Hub just acknowledged over what was read before, and keeps that for the next process.

        ``ids``: ours → those that a plain Hub handed out."""
        changes = []
        for row, verdict in delivered:
            if row.operation == "capture_insight" and not self.target:
                continue  # nobody here looks at insights, and the next read brings it
            change = overlay.change_of(row.operation, row.payload, row.entity, row.created_at)
            if change is None or verdict.outcome not in ("applied", "duplicate"):
                continue
            if (own := ids.get(change.id)) is not None:
                change = msgspec.structs.replace(change, id=own)
            changes.append((change, _version_of(verdict)))
        if not changes:
            return
        await self.load(target)
        for change, version in changes:
            if self._acknowledged is not None:
                self._acknowledged.append(change)
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

    def start_over(self) -> None:
        """The next read is of everything: the Hub went back behind what was read."""
        self._cursor = None

    async def forget_versions(self) -> None:
        """After a restoration an equal number may be that of another content; the values stand as seen."""
        for things in self.things.values():
            for thing in things.values():
                thing.pop("version", None)
        await self._replace("task", "insight")

    async def close(self) -> None:
        self._closed = True
        async with self._opening:
            await self._drop()

    async def _drop(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _read_changes(self, client: HubClient, timeout: float) -> None:
        if self._cursor is not None:
            try:
                await self._follow(client, timeout)
                return
            except CursorExpired:
                self._cursor = None
        await self._read_whole(client, timeout)

    async def _follow(self, client: HubClient, timeout: float) -> None:
        """What changed since the cursor, page by page."""
        more = True
        while more:
            changes, self._cursor, more = await self._page(client, self._cursor, timeout)
            touched = _take(self.things, changes)
            await self._write(touched)

    async def _read_whole(self, client: HubClient, timeout: float) -> None:
        """Everything; what was seen before is kept until all of it is there."""
        fresh: dict[Kind, Things] = {"task": {}, "insight": {}}
        cursor, more = None, True
        while more:
            try:
                changes, cursor, more = await self._page(client, cursor, timeout)
            except CursorExpired:
                raise HubUnavailable("online", "the Hub's list of changes can't be read") from None
            _take(fresh, changes)
        self.things, self._cursor = fresh, cursor
        await self._replace("task", "insight")

    async def _page(self, client: HubClient, cursor: str | None, timeout: float) -> tuple[list[Any], str, bool]:
        page = await client.get("/api/changes", {"since": cursor}, timeout=timeout)
        changes, after, more = page.get("changes"), str(page.get("cursor") or ""), bool(page.get("has_more"))
        if not isinstance(changes, list) or (more and after in ("", cursor)):
            raise HubUnavailable("not_the_hub", "unexpected answer")  # with "more" after the same place: for ever
        return changes, after, more

    async def _write(self, touched: set[tuple[Kind, str]]) -> None:
        """Keeps things as they are now; what is gone is forgotten."""
        if not touched:
            return
        rows = [
            (self.target, kind, thing, msgspec.json.encode(self.things[kind][thing]).decode())
            for kind, thing in touched
            if thing in self.things[kind]
        ]
        await self._keep(
            ("DELETE FROM seen WHERE target = ? AND kind = ? AND id = ?", [(self.target, *one) for one in touched]),
            ("INSERT INTO seen VALUES (?, ?, ?, ?)", rows),
        )

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
        await self._replace(kind)

    async def _replace(self, *kinds: Kind) -> None:
        """Keeps everything of these kinds as it is now."""
        bodies = [
            (self.target, kind, thing, msgspec.json.encode(body).decode())
            for kind in kinds
            for thing, body in self.things[kind].items()
        ]
        await self._keep(
            ("DELETE FROM seen WHERE target = ? AND kind = ?", [(self.target, kind) for kind in kinds]),
            ("INSERT INTO seen VALUES (?, ?, ?, ?)", bodies),
        )

    async def _keep(self, *statements: tuple[str, list[tuple[Any, ...]]]) -> None:
        """All or nothing. Where it can't be kept (a full disk, a lock) it is known to this process alone."""
        async with self._writing:
            if self._closed:
                return
            connection = await self._open()
            try:
                await connection.execute("BEGIN IMMEDIATE")
                for sql, rows in statements:
                    await connection.executemany(sql, rows)
                await connection.execute("COMMIT")
            except sqlite3.Error:
                pass
            finally:
                if connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        await connection.execute("ROLLBACK")

    async def _open(self) -> aiosqlite.Connection:
        """One connection, however many ask at once; in a task of its own, for it must not be left half made."""
        return await asyncio.shield(asyncio.ensure_future(self._connected()))

    async def _connected(self) -> aiosqlite.Connection:
        async with self._opening:
            if self._connection is None:
                if self._closed:
                    raise sqlite3.ProgrammingError("the program is closing")
                try:
                    self._connection = await _connect(self.path)
                except (sqlite3.Error, OSError):
                    await self._make_anew()
            assert self._connection is not None
            return self._connection

    async def _make_anew(self) -> None:
        """A file that can't be read is made anew; where that can't be, things are kept for this run only."""
        await self._drop()
        try:
            self.path.unlink(missing_ok=True)
            self._connection = await _connect(self.path)
        except (sqlite3.Error, OSError):
            self._connection = await _connect(None)


def _version_of(verdict: Verdict) -> int | None:
    """The version that the Hub made of an operation; None where it only said that it was there before."""
    return verdict.result.version if verdict.result and verdict.outcome == "applied" else None


def _take(things: dict[Kind, Things], changes: list[Any]) -> set[tuple[Kind, str]]:
    """Makes the Hub's changes in a collection; which things they touched."""
    touched: set[tuple[Kind, str]] = set()
    for change in changes:
        if not isinstance(change, dict):
            continue
        kind_text, _, thing = str(change.get("entity", "")).partition(":")
        if kind_text not in ("task", "insight"):
            continue
        kind: Kind = "task" if kind_text == "task" else "insight"
        body = change.get(kind)
        touched.add((kind, thing))
        if change.get("deleted") or not isinstance(body, dict):
            things[kind].pop(thing, None)
        else:
            things[kind][thing] = body
    return touched


async def _connect(path: Path | None) -> aiosqlite.Connection:
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.touch(mode=0o600)
    connection = await open_connection(path, patience_s=2)
    try:
        await connection.execute("PRAGMA synchronous = OFF")
        for statement in _SCHEMA.split(";"):
            await connection.execute(statement)
    except BaseException:
        await connection.close()
        raise
    return connection
