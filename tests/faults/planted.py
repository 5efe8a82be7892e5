"""Twelve bugs, planted one at a time, to test the tests: the suite must fail on each of them.

A plant replaces one small decision of the program by a wrong one that real programs were seen to make. As a plugin:
``ARIA_TEST_PLANT=no_drain_lock python -m pytest -p tests.faults.planted tests/faults/test_promises.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

VARIABLE = "ARIA_TEST_PLANT"
PROMISES, POWER, HUB = "test_promises.py", "test_power_loss.py", "test_hub_atomic.py"
PLANTS: dict[str, tuple[Callable[[], None], str]] = {}
"""Name → (what plants it, the test file meant to catch it)."""


def plant(caught_by: str = PROMISES) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(function: Callable[[], None]) -> Callable[[], None]:
        PLANTS[function.__name__] = (function, caught_by)
        return function

    return register


def from_environment() -> None:
    """Plants what the environment names, if anything."""
    if name := os.environ.get(VARIABLE):
        PLANTS[name][0]()


def passed_on() -> dict[str, str]:
    """The variable for a child process."""
    return {VARIABLE: name} if (name := os.environ.get(VARIABLE)) else {}


def pytest_configure() -> None:
    from_environment()


@plant()
def new_key_on_retry() -> None:
    """Every further attempt gets a key of its own."""
    _change_keys(lambda row: row.sent_at is not None, stored=True)


@plant()
def key_made_after_the_first_try() -> None:
    """The first attempt goes out under a key that is not the one kept with the row."""
    _change_keys(lambda row: row.sent_at is None, stored=False)


def _change_keys(which: Callable[[Any], bool], *, stored: bool) -> None:
    import msgspec

    from aria_tui.outbox import settle
    from aria_tui.outbox.ids import new_id

    right = settle.mark_sent

    async def mark_sent(connection: Any, rows: Any, now: str, edits: int | None = None) -> Any:
        kept, changed = await right(connection, rows, now, edits)
        for place, row in enumerate(kept):
            if which(row):
                kept[place] = msgspec.structs.replace(row, op_id=new_id())
                if stored:
                    await connection.execute("UPDATE queue SET op_id = ? WHERE id = ?", (kept[place].op_id, row.id))
        return kept, changed

    settle.mark_sent = mark_sent


@plant()
def mark_before_send() -> None:
    """A row is marked as delivered when it is handed to the network."""
    from aria_tui.outbox import settle

    right = settle.mark_sent

    async def mark_sent(connection: Any, rows: Any, now: str, edits: int | None = None) -> Any:
        kept, changed = await right(connection, rows, now, edits)
        for row in kept:
            await connection.execute("UPDATE queue SET synced_at = ?, outcome = 'applied' WHERE id = ?", (now, row.id))
        return kept, changed

    settle.mark_sent = mark_sent


@plant()
def any_2xx_is_an_acknowledgement() -> None:
    """The status alone decides."""
    import msgspec

    from aria_tui.hub.contract import OpResult
    from aria_tui.outbox.drain import Drain

    right = Drain._request

    async def request(self: Any, part: Any) -> Any:
        outcome = await right(self, part)
        if outcome.status is None or not 200 <= outcome.status < 300:
            return outcome
        results = tuple(OpResult(op_id=row.op_id, status="applied") for row in part)
        return msgspec.structs.replace(outcome, kind="answered", results=results)

    Drain._request = request  # type: ignore[method-assign]


@plant()
def order_by_created_at() -> None:
    """Time decides what goes first."""
    from aria_tui.outbox import rows

    right = rows.page

    async def page(store: Any, after: int, limit: int) -> Any:
        return sorted(await right(store, after, limit), key=lambda row: row.created_at)

    rows.page = page


@plant()
def past_a_failed_head() -> None:
    """What stands behind a failed operation of its entity is sent all the same."""
    from aria_tui.outbox.books import Books

    Books.block = lambda self, row: None  # type: ignore[method-assign]


@plant()
def no_drain_lock() -> None:
    """Everybody drains whenever he likes."""
    from aria_tui.outbox.lock import DrainLock

    def acquire(self: Any) -> bool:
        self._held = True
        return True

    DrainLock.acquire = acquire  # type: ignore[method-assign]
    DrainLock.taken = lambda self: False  # type: ignore[method-assign]


@plant()
def stale_busy_kept() -> None:
    """A file says that somebody drains; who dies leaves it behind."""
    from aria_tui.outbox.lock import DrainLock

    def flag(self: Any) -> Path:
        return Path(f"{self.path.with_suffix('')}.busy")

    def acquire(self: Any) -> bool:
        if flag(self).exists():
            return False
        flag(self).touch()
        self._held = True
        return True

    def release(self: Any) -> None:
        self._held = False
        flag(self).unlink(missing_ok=True)

    DrainLock.acquire = acquire  # type: ignore[method-assign]
    DrainLock.release = release  # type: ignore[method-assign]
    DrainLock.taken = lambda self: flag(self).exists()  # type: ignore[method-assign]


@plant()
def attempts_spent_while_offline() -> None:
    """Each failed connection counts toward giving up."""
    from aria_tui.outbox import settle
    from aria_tui.outbox.books import Books
    from aria_tui.outbox.verdict import Verdict

    async def nothing_spent(self: Any, part: Any, outcome: Any) -> None:
        async def job(connection: Any) -> None:
            for row in part:
                await settle.spend(
                    connection, self.clock, self.link.now(), self.config.queue.max_attempts, row,
                    Verdict(fate="failed", error=outcome.reason), why="backoff",
                )  # fmt: skip

        await self.store.write(job)

    Books.nothing_spent = nothing_spent  # type: ignore[method-assign]


@plant(POWER)
def synchronous_off() -> None:
    """The queue is not synced to disk."""
    from aria_tui.outbox import schema

    right = schema.prepare

    async def prepare(connection: Any, path: Any, journal: str) -> str:
        mode = await right(connection, path, journal)
        await connection.execute("PRAGMA synchronous = OFF")
        return mode

    schema.prepare = prepare


@plant()
def folds_a_create_that_was_sent() -> None:
    """Folding doesn't ask whether an operation may be at the Hub already."""
    from aria_tui.outbox import folding

    folding.may_fold = lambda row: row.ours


@plant(HUB)
def key_outside_the_row_s_transaction() -> None:
    """The Hub records the key after it committed the effect."""
    from aria_tui.hub.server.storage.base import Writes
    from aria_tui.hub.server.storage.sqlite import SqliteStorage

    right, transact = SqliteStorage._write, SqliteStorage._transact
    kept: list[Any] = []

    def write(self: Any, connection: Any, account: str, writes: Any) -> None:
        kept[:] = [writes]
        right(self, connection, account, Writes(writes.seq, [], writes.rows, writes.revisions))

    def in_two(self: Any, account: str, *args: Any) -> Any:
        done = transact(self, account, *args)
        with self._transaction() as connection:
            right(self, connection, account, Writes(kept[0].seq, kept[0].records, [], []))
        return done

    SqliteStorage._write = write  # type: ignore[method-assign]
    SqliteStorage._transact = in_two  # type: ignore[method-assign]
