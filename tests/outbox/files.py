"""Queue files in the states that the world leaves them in, and a second process that does something to them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLD_SHAPE = """
CREATE TABLE queue(id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, payload TEXT NOT NULL,
  created_at TEXT NOT NULL DEFAULT (datetime('now')), synced_at TEXT, error TEXT);
CREATE INDEX idx_queue_unsynced ON queue(synced_at) WHERE synced_at IS NULL;
"""


def old_file(path: Path, waiting: int, delivered: int = 0, journal: str = "delete") -> None:
    """A file as an older program made it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.executescript(OLD_SHAPE)
    rows = [("capture_insight", json.dumps({"content": f"old {n}"}), None) for n in range(waiting)]
    rows += [("capture_insight", json.dumps({"content": f"done {n}"}), "2026-11-01 08:00:00") for n in range(delivered)]
    db.executemany("INSERT INTO queue (operation, payload, synced_at) VALUES (?, ?, ?)", rows)
    db.commit()
    db.close()


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir()) if p.is_file()}


def flip(path: Path, count: int, seed: int, start: int = 0) -> None:
    """Changes bytes at random places."""
    data, dice = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(count):
        data[dice.randrange(start, len(data))] ^= 1 + dice.randrange(255)
    path.write_bytes(bytes(data))


LOCKER = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
db.execute("BEGIN " + sys.argv[2])
print("held", flush=True)
sys.stdin.read(1) if sys.argv[3] == "-" else time.sleep(float(sys.argv[3]))
db.execute("ROLLBACK")
"""


@contextlib.contextmanager
def locked(path: Path, kind: str = "IMMEDIATE", seconds: float | None = None) -> Iterator[None]:
    """Another process holds the file's lock: for some seconds, or until the end of the block."""
    command = [sys.executable, "-c", LOCKER, str(path), kind, "-" if seconds is None else str(seconds)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout and process.stdout.readline() == b"held\n"
        yield
    finally:
        process.communicate(b"x")
