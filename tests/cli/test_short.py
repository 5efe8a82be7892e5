"""``aria status --short``: one mark, from the queue file alone, whatever state that file is in."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from tests.helpers.aria import Aria


def mark(aria: Aria) -> str:
    return aria("status", "--short").ok().out


def change(aria: Aria, sql: str, *values: object) -> None:
    connection = sqlite3.connect(aria.queue_file, timeout=10)
    try:
        connection.execute(sql, values)
        connection.commit()
    finally:
        connection.close()


def test_nothing_waiting_one_waiting_and_back(aria: Aria) -> None:
    assert mark(aria) == "✓\n"
    assert not aria.home.exists()
    aria("insight", "add", "--offline", "x").ok()
    aria("insight", "add", "--offline", "y").ok()
    before = aria.queue_file.read_bytes()
    assert mark(aria) == "⇡2\n"
    assert aria.queue_file.read_bytes() == before
    aria("sync").ok()
    assert mark(aria) == "✓\n"


@pytest.mark.parametrize("written", ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"])
def test_an_old_row_in_either_form_of_time_is_a_warning(aria: Aria, written: str) -> None:
    aria("insight", "add", "--offline", "x").ok()
    now = datetime.now(UTC)
    change(aria, "UPDATE queue SET created_at = ?", (now - timedelta(hours=23)).strftime(written))
    assert mark(aria) == "⇡1\n"
    change(aria, "UPDATE queue SET created_at = ?", (now - timedelta(hours=25)).strftime(written))
    assert mark(aria) == "⚠\n"


def test_what_is_parked_is_a_warning(aria: Aria) -> None:
    aria("insight", "add", "--offline", "x").ok()
    change(
        aria,
        "INSERT INTO parked(id, kind, operation, payload, created_at, parked_at) "
        "VALUES (7, 'dead', 'create_task', '{}', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')",
    )
    assert mark(aria) == "⚠\n"


def test_a_refused_token_is_a_warning(aria: Aria, hub) -> None:  # type: ignore[no-untyped-def]
    aria.use(hub.url, "not-a-token")
    aria("insight", "add", "x").ok()
    assert mark(aria) == "⚠\n"
    aria.use(hub.url, hub.token)
    aria("sync").ok()
    assert mark(aria) == "✓\n"


def test_a_file_of_the_old_shape_is_read_and_left_alone(aria: Aria) -> None:
    aria.home.mkdir()
    connection = sqlite3.connect(aria.queue_file)
    connection.execute(
        "CREATE TABLE queue(id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, payload TEXT NOT NULL, "
        "created_at TEXT NOT NULL DEFAULT (datetime('now')), synced_at TEXT, error TEXT)"
    )
    connection.executemany("INSERT INTO queue(operation, payload) VALUES ('create_task', ?)", [("{}",)] * 3)
    connection.commit()
    connection.close()
    before = aria.queue_file.read_bytes()
    assert mark(aria) == "⇡3\n"
    assert aria.queue_file.read_bytes() == before


def test_a_restored_hub_is_a_warning_as_long_as_something_waits_for_it(aria: Aria) -> None:
    aria("insight", "add", "--offline", "x").ok()
    known = """INSERT INTO state SELECT 'hub:' || target, '{"restored": "it has a new epoch"}' FROM queue"""
    change(aria, known)
    assert mark(aria) == "⚠\n"
    change(aria, "DELETE FROM queue")
    assert mark(aria) == "✓\n"


def spoiled(good: bytes) -> dict[str, bytes]:
    """One damage each: bytes of the header, the file cut to half, another program's file."""
    return {
        "header": bytes(byte ^ 0x5A for byte in good[:100]) + good[100:],
        "cut": good[: len(good) // 2],
        "other": b"this is no database" * 100,
    }


def test_a_queue_that_can_not_be_used_is_a_warning_with_a_reason(aria: Aria) -> None:
    aria("insight", "add", "--offline", "x").ok()
    good = aria.queue_file.read_bytes()
    for name, data in spoiled(good).items():
        aria.queue_file.write_bytes(data)
        done = aria("status", "--short")
        assert (done.status, done.out) == (1, "⚠\n"), (name, done)
        assert f"queue unavailable: {aria.queue_file}: " in done.err, (name, done)
    aria.queue_file.write_bytes(good)
    change(aria, "PRAGMA user_version = 99")
    done = aria("status", "--short")
    assert (done.status, done.out) == (1, "⚠\n") and "newer version" in done.err, done
    for home in (aria.queue_file, aria.queue_file / "below"):
        done = aria("status", "--short", env={"ARIA_HOME": str(home)})
        assert (done.status, done.out) == (1, "⚠\n"), done


@pytest.mark.case("S04")
def test_a_damaged_file_that_was_set_aside_stays_a_warning_until_it_is_taken_away(aria: Aria) -> None:
    aria.home.mkdir()
    aria.queue_file.write_bytes(b"this is no database" * 300)
    aria("queue", "list").ok()
    assert mark(aria) == "⚠\n"
    for file in aria.home.glob("*.damaged-*"):
        file.unlink()
    assert mark(aria) == "✓\n"


def test_a_killed_writers_journal_is_rolled_back(aria: Aria) -> None:
    """SQLite gives a reader nothing from a file with a hot journal until a writer rolled it back."""
    import os
    import subprocess
    import sys

    aria("insight", "add", "--offline", "x").ok()
    script = (
        "import sqlite3, os, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1')\nc.execute('BEGIN IMMEDIATE')\n"
        "row = ('create_task', 'x' * 2000)\n"
        "for n in range(300): c.execute('INSERT INTO queue(operation, payload) VALUES (?, ?)', row)\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(aria.queue_file)], check=False)
    assert os.path.getsize(f"{aria.queue_file}-journal") > 0
    assert mark(aria) == "⇡1\n"
