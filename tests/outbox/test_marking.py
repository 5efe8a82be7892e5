"""Rows are marked before they are sent as they were read, or not at all: by a count of changes where that stands, row
by row where it doesn't, and both come to the same."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from aria_tui.outbox import rows, settle, state
from aria_tui.outbox.handing import Work
from aria_tui.outbox.inserting import NewRow
from aria_tui.outbox.rows import Row
from aria_tui.outbox.store import Store
from tests.outbox.bench import rows as stored

NOW = "2026-11-30T08:00:00.000Z"
MARKED = "SELECT id, op_id, tries, sent_at, why FROM queue WHERE synced_at IS NULL ORDER BY id"
REPLACED = "INSERT OR REPLACE INTO queue (id, operation, payload) VALUES ({}, 'capture_insight', '{{}}')"
ADOPTED = (
    "UPDATE queue SET op_id = 'new', entity = 'insight:new', origin = 'other', target = 'addr:x' WHERE op_id IS NULL"
)
RESTORED = (
    "CREATE TEMP TABLE kept AS SELECT * FROM queue WHERE id = 3", "UPDATE kept SET op_id = 'other'",
    "DELETE FROM queue WHERE id = 3", "INSERT INTO queue SELECT * FROM kept",
)  # fmt: skip


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """Six rows; 2, 4 and 6 are of one entity."""
    store = Store(tmp_path / "queue.db")
    await store.open()
    for n in range(1, 7):
        await store.insert(
            NewRow(
                operation="update_task", payload="{}", created_at=NOW, op_id=f"key-{n}",
                entity="task:even" if n % 2 == 0 else f"task:{n}", origin="cli", address="addr:x",
                base_version=1, base='{"title": "x"}',
            )
        )  # fmt: skip
    await store.close()
    return tmp_path / "queue.db"


def change(file: Path, *statements: str) -> None:
    db = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


async def mark(file: Path, statements: tuple[str, ...], *, counted: bool) -> tuple[list[int], list[int], list[Any]]:
    """Reads, lets somebody change something, marks; the rows that are kept, those that changed, and what is stored."""
    store = Store(file)
    edits = await state.get(store, "edits", int)
    read = await rows.page(store, 0, 100)
    change(file, *statements)

    async def job(connection: aiosqlite.Connection) -> tuple[list[Row], list[Row]]:
        return await settle.mark_sent(connection, read, NOW, edits if counted else None)

    kept, changed = await store.write(job)
    await store.close()
    assert all(row in read for row in kept)
    return [row.id for row in kept], [row.id for row in changed], stored(file, MARKED)


@pytest.mark.parametrize(
    ("statements", "kept", "changed"),
    [
        ((), [1, 2, 3, 4, 5, 6], []),
        (("UPDATE queue SET op_id = 'other' WHERE id = 2",), [1, 3, 5], [2]),
        (("UPDATE queue SET target = 'hub:other' WHERE id = 4",), [1, 2, 3, 5], [4]),
        (("UPDATE queue SET base_version = 2 WHERE id = 1",), [2, 3, 4, 5, 6], [1]),
        (("UPDATE queue SET base = NULL WHERE id = 6",), [1, 2, 3, 4, 5], [6]),
        (("DELETE FROM queue WHERE id = 1",), [2, 3, 4, 5, 6], []),
        (("UPDATE queue SET synced_at = 'now' WHERE id = 2",), [1, 3, 4, 5, 6], []),
        (("UPDATE queue SET synced_at = 'now', outcome = 'discarded' WHERE id IN (1, 2)",), [3, 4, 5, 6], []),
        (("DELETE FROM queue",), [], []),
        ((REPLACED.format(3),), [1, 2, 4, 5, 6], [3]),
        ((REPLACED.format(2),), [1, 3, 5], [2]),
        ((REPLACED.format(3), ADOPTED), [1, 2, 4, 5, 6], [3]),
        (RESTORED, [1, 2, 4, 5, 6], [3]),
        (("DELETE FROM state WHERE name = 'edits'",), [1, 2, 3, 4, 5, 6], []),
        (("UPDATE queue SET op_id = 'other' WHERE id = 2", "DELETE FROM queue WHERE id = 3"), [1, 5], [2]),
    ],
)
async def test_by_the_count_and_row_by_row_the_same_is_sent(
    file: Path, tmp_path: Path, statements: tuple[str, ...], kept: list[int], changed: list[int]
) -> None:
    (tmp_path / "other").mkdir()
    other = shutil.copy(file, tmp_path / "other" / "queue.db")
    quick, thorough = await mark(file, statements, counted=True), await mark(other, statements, counted=False)
    assert quick == thorough
    assert quick[:2] == (kept, changed)
    for number, _, tries, sent_at, why in quick[2]:
        assert (tries, sent_at, why) == ((1, NOW, "in_doubt") if number in kept else (0, None, None)), number


async def test_where_nobody_changed_anything_no_row_is_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(*_: Any) -> Any:
        raise AssertionError("the rows were compared one by one")

    monkeypatch.setattr(settle, "_as_read", read)
    count = stored(file, "SELECT value FROM state WHERE name = 'edits'")
    assert (await mark(file, (), counted=True))[0] == [1, 2, 3, 4, 5, 6]
    assert count == stored(file, "SELECT value FROM state WHERE name = 'edits'"), "marking is no change"


async def test_the_count_of_a_file_is_never_that_of_the_one_in_whose_place_it_stands(file: Path) -> None:
    store = Store(file)
    before = await state.get(store, "edits", int)
    page = stored(file, "SELECT rootpage FROM sqlite_master WHERE name = 'idx_queue_entity'")[0][0]
    with file.open("r+b") as raw:
        raw.seek((page - 1) * 4096)
        raw.write(bytes(4096))
    await store._wait_for(Work(None, damage="an index is gone"))
    after = await state.get(store, "edits", int)
    await store.close()
    assert before is not None and after is not None and abs(before - after) > 1000
    assert stored(file, "SELECT count(*) FROM queue") == [(6,)]


async def test_a_file_of_the_first_schema_has_no_count_and_is_compared(file: Path) -> None:
    change(file, "DROP TRIGGER queue_edited", "DELETE FROM state WHERE name = 'edits'", "PRAGMA user_version = 1")
    with sqlite3.connect(file) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM queue").fetchall()  # so that it isn't brought to the second
        store = Store(file)
        assert await state.get(store, "edits", int) is None
        other.rollback()
        read = await rows.page(store, 0, 100)
        change(file, "UPDATE queue SET op_id = 'other' WHERE id = 2")
        kept, changed = await store.write(lambda connection: settle.mark_sent(connection, read, NOW, None))
        assert ([row.id for row in kept], [row.id for row in changed]) == ([1, 3, 5], [2])
        await store.close()
    other.close()
