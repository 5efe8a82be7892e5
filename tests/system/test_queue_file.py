"""The queue's file when the world is not kind: locked, full, damaged, not ours, newer, not valid text."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.aria import Aria, Done
from tests.helpers.hub import HubProcess
from tests.helpers.tmux import Tmux
from tests.mcp_server.client import call, connected, failure

HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN " + sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
"""


@contextlib.contextmanager
def write_lock(file: Path, kind: str = "IMMEDIATE") -> Iterator[Callable[[], None]]:
    """Another process holds the file's write lock until the given call, or the end."""
    command = [sys.executable, "-c", HOLDER, str(file), kind]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout and holder.stdin
    try:
        assert holder.stdout.readline() == b"held\n"
        yield holder.kill
    finally:
        holder.kill()
        holder.communicate()


def integrity(aria: Aria) -> str:
    with sqlite3.connect(aria.queue_file) as db:
        answer = str(db.execute("PRAGMA integrity_check").fetchone()[0])
    db.close()
    return answer


def timed(aria: Aria, *args: str) -> tuple[Done, float]:
    """A command, and the seconds that it took."""
    began = time.monotonic()
    done = aria(*args, timeout=30)
    return done, time.monotonic() - began


@pytest.mark.case("S01")
def test_a_write_lock_of_three_seconds_is_waited_for(aria: Aria) -> None:
    _, without = timed(aria, "task", "add", "first", "--offline")
    with write_lock(aria.queue_file) as release:
        letting_go = threading.Timer(3, release)
        letting_go.start()
        done, took = timed(aria, "task", "add", "second", "--offline")
        letting_go.join()
    assert done.status == 0 and done.out == "queued (#2)\n" and not done.err, done
    assert 2.5 < took < 5 + without, "within 5 s, and what this machine needs for any command"
    assert aria.waiting() == 2


@pytest.mark.case("S01")
@pytest.mark.parametrize("kind", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_write_lock_held_for_ever_is_told_and_nothing_is_sent(aria: Aria, hub: HubProcess, kind: str) -> None:
    """Exclusive: not even reading goes, and so the file can't be opened."""
    _, without = timed(aria, "task", "add", "first", "--offline")
    aria.use(hub.url, hub.token)
    with write_lock(aria.queue_file, kind):
        done, took = timed(aria, "task", "add", "words worth keeping")
    assert done.status == 1 and done.out == "", done
    assert "not saved" in done.err and "words worth keeping\n" in done.err and str(aria.queue_file) in done.err, done
    assert "queued" not in done.err
    assert took < 10 + without, "within 10 s, and what this machine needs for any command"
    assert hub.count("tasks") == 0
    assert aria.waiting() == 1


@pytest.mark.case("S01")
def test_on_the_screen_a_lock_held_for_ever_keeps_what_was_typed(aria: Aria, terminal: Callable[..., Tmux]) -> None:
    aria.use("http://127.0.0.1:9", "token")
    aria("task", "add", "first", "--offline").ok()
    screen = terminal(140, 40).run(aria)
    screen.wait_for("first", "offline", "1 waiting")
    with write_lock(aria.queue_file):
        screen.keys("t")
        screen.wait_for("New task")
        screen.type("words worth keeping")
        screen.keys("C-s")
        shown = screen.wait_for("not saved: another program holds the queue's lock", "words worth keeping")
        assert "queued" not in shown
    screen.keys("t")
    screen.wait_for("New task", "words worth keeping")  # it isn't typed again
    screen.keys("C-s")
    screen.wait_for("queued (#2)")
    assert aria.waiting() == 2


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder.mkdir(parents=True)
    if os.getuid() != 0:
        pytest.skip("only root may mount a small file system")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "aria-test", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_up(folder: Path) -> Path:
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    return ballast


@pytest.mark.case("S02")
def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    aria = Aria(tmp_path)
    with small_disk(aria.home):
        for n in range(3):
            aria("task", "add", f"early {n}", "--offline").ok()
        ballast = fill_up(aria.home)
        done = aria("task", "add", "one too many " + "x" * 480, "--offline")
        while done.status == 0:  # what was free inside the file's own pages is used up
            done = aria("insight", "add", "filler " + "x" * 30_000, "--offline")
        assert "not saved" in done.err and "disk full" in done.err.lower() and "queued" not in done.out, done
        before = aria.waiting()
        assert before >= 3
        assert integrity(aria) == "ok"
        ballast.unlink()
        aria("task", "add", "after", "--offline").ok()
        assert aria.waiting() == before + 1
        assert integrity(aria) == "ok"


@pytest.mark.case("S02")
def test_on_a_full_disk_the_screen_keeps_what_was_typed(tmp_path: Path, terminal: Callable[..., Tmux]) -> None:
    aria = Aria(tmp_path).use("http://127.0.0.1:9", "token")
    with small_disk(aria.home):
        aria("task", "add", "early", "--offline").ok()
        screen = terminal().run(aria)
        screen.wait_for("early")
        ballast = fill_up(aria.home)
        words = "typed with care"
        for size in (30_000, 3_000, 60):  # what is free inside the file's own pages is used up first
            while aria("insight", "add", "x" * size, "--offline").status == 0:
                pass
        screen.keys("i")
        screen.wait_for("nsight")
        screen.type(words)
        screen.wait_for(words)
        screen.keys("C-s")
        assert words in screen.wait_for("ot saved")
        ballast.unlink()
        screen.keys("C-s")
        screen.wait_for("queued")


FUTURE = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = " + sys.argv[2])
db.execute("PRAGMA wal_autocheckpoint = 0")
db.execute("PRAGMA user_version = 4000")
db.execute("CREATE TABLE of_the_future (x)")
os.kill(os.getpid(), signal.SIGKILL)
"""


def hashes(aria: Aria) -> dict[str, str]:
    """Of the queue's file and of a -wal beside it, which is a part of it."""
    files = [file for file in (aria.queue_file, aria.home / "queue.db-wal") if file.exists()]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.case("S07")
@pytest.mark.parametrize("journal", ["delete", "wal"])
async def test_a_file_from_a_newer_version_is_written_by_none_of_the_programs(
    aria: Aria, hub: HubProcess, terminal: Callable[..., Tmux], journal: str
) -> None:
    """In WAL mode what says so is in the -wal only, as a newer program that was killed leaves it."""
    aria.use(hub.url, hub.token)
    aria("task", "add", "early", "--offline").ok()
    (aria.home / "config.toml").write_text(f'[projects]\nroots = ["{aria.root / "user"}"]\n')
    subprocess.run([sys.executable, "-c", FUTURE, str(aria.queue_file), journal])
    before = hashes(aria)
    assert len(before) == (2 if journal == "wal" else 1)
    reason = f"{aria.queue_file}: made by a newer version (schema 4000"
    for args in (("task", "add", "late"), ("insight", "add", "late", "--offline")):
        done = aria(*args)
        assert (done.status, done.out) == (1, ""), done
        assert "not saved: " in done.err and "made by a newer version" in done.err and "late\n" in done.err, done
    for args in (("queue", "status", "--json"), ("sync",), ("queue", "list"), ("status",), ("queue", "retry", "--all")):
        done = aria(*args)
        assert done.status == 1 and reason in done.err, done
    short = aria("status", "--short")
    assert (short.status, short.out) == (1, "⚠\n") and "newer version" in short.err, short
    assert hashes(aria) == before
    async with connected(aria) as client:
        for tool, arguments in (
            ("aria_create_task", {"title": "late"}),
            ("aria_capture_insight", {"content": "late", "offline": True}),
            ("aria_queue_status", {}),
            ("aria_sync", {}),
        ):
            assert "made by a newer version" in await failure(client, tool, **arguments), tool
        assert await call(client, "aria_scan_projects"), "what needs no queue works"
    assert hashes(aria) == before
    screen = terminal(200, 40).run(aria)
    screen.wait_for(f"⚠ queue unavailable: {reason}", "Briefing", "Today", "Docker", "online")
    screen.keys("t")
    screen.wait_for("New task")
    screen.type("late")
    screen.keys("C-s")
    screen.wait_for("not saved: made by a newer version", "late")
    screen.keys("Escape")
    screen.wait_gone("New task")
    screen.keys("q")
    assert "Traceback" not in screen.wait_for("exit-status=0")
    assert hashes(aria) == before
    assert (hub.count("tasks"), hub.count("insights"), hub.count("briefings")) == (0, 0, 0)


OLD_SHAPE = """
CREATE TABLE queue(id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL, payload TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (datetime('now')), synced_at TEXT, error TEXT);
CREATE INDEX idx_queue_unsynced ON queue(synced_at) WHERE synced_at IS NULL;
"""


def test_killed_while_an_old_file_is_migrated_nothing_is_lost(tmp_path: Path) -> None:
    """10,000 rows of the old shape; the first command dies at moments all over the migration."""
    rows = 10_000
    original = tmp_path / "old.db"
    with sqlite3.connect(original) as db:
        db.executescript(OLD_SHAPE)
        db.executemany(
            "INSERT INTO queue (operation, payload, synced_at) VALUES ('create_task', ?, ?)",
            [(f'{{"title": "task {n}"}}', "2026-02-21 08:14:22" if n % 2 else None) for n in range(rows)],
        )
    db.close()
    dice = random.Random(3)
    for attempt in range(8):
        aria = Aria(tmp_path / str(attempt))
        aria.home.mkdir(mode=0o700)
        shutil.copy(original, aria.queue_file)
        command = aria.start("queue", "status")
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.process.wait(dice.uniform(0.1, 0.9))
        command.kill()
        assert aria.waiting() == rows // 2
        with sqlite3.connect(aria.queue_file) as db:
            kept = db.execute("SELECT id, operation, payload, synced_at IS NULL FROM queue ORDER BY id").fetchall()
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()
        assert kept == [(n + 1, "create_task", f'{{"title": "task {n}"}}', n % 2 == 0) for n in range(rows)]


@pytest.mark.case("S08")
@pytest.mark.parametrize("bad", [b"caf\xe9", b"\xed\xa0\xbd", b"x\xff"])
def test_an_argument_that_is_not_utf8_is_refused_and_no_row_made(aria: Aria, bad: bytes) -> None:
    for words in ((b"task", b"add"), (b"insight", b"add")):
        done = aria(*words, bad, b"--offline")
        assert done.status == 2 and "UTF-8" in done.err, done
    piped = aria("insight", "add", "-", "--offline", stdin=bad)
    assert piped.status == 2 and "UTF-8" in piped.err, piped
    assert aria.waiting() == 0


def test_text_that_can_t_be_kept_is_refused_with_the_same_words(aria: Aria) -> None:
    too_long = aria("task", "add", "x" * 501, "--offline")
    assert too_long.status == 2 and "501" in too_long.err, too_long
    zero = aria("insight", "add", "-", "--offline", stdin=b"a\x00b")
    assert zero.status == 2 and "U+0000" in zero.err, zero
    empty = aria("task", "add", "   ", "--offline")
    assert empty.status == 2, empty
    assert aria.waiting() == 0
