"""S04: a damaged queue file is kept whole under a new name, what can be read goes on, a banner says so."""

from __future__ import annotations

import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.aria import Aria, Done
from tests.helpers.tmux import Tmux
from tests.mcp_server.client import call, connected

SET = ("queue.db", "queue.db-wal", "queue.db-shm")
ROWS = 12
LATER = 5
WRITER = """
import json, os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = wal")
db.execute("PRAGMA wal_autocheckpoint = 0")
for number in range(int(sys.argv[2])):
    payload = json.dumps({"content": f"in the wal {number} " + "w" * 1500})
    db.execute("INSERT INTO queue(operation, payload) VALUES ('capture_insight', ?)", (payload,))
os.kill(os.getpid(), signal.SIGKILL)
"""


def broken(file: Path, how: str, seed: int = 7) -> None:
    dice = random.Random(seed)
    data = bytearray(file.read_bytes())
    match how:
        case "header":
            data[:100] = dice.randbytes(100)
        case "half":
            data = data[: len(data) // 2]
        case "flipped":
            for place in dice.sample(range(len(data)), 100):
                data[place] ^= dice.randrange(1, 256)
        case "text":
            data = bytearray(b"this was never a database\n" * 1000)
    file.write_bytes(data)


def filled(aria: Aria) -> None:
    """Rows through the program; one command for all, for it is not what is tried here."""
    lines = [
        {"aria_queue": 1, "operation": "capture_insight", "op_id": f"{number:08}-0000-7000-8000-000000000000",
         "payload": json.dumps({"content": f"row {number} " + "y" * (9000 if number == 3 else 1500)})}
        for number in range(ROWS)
    ]  # fmt: skip
    aria("queue", "import", "-", stdin="\n".join(map(json.dumps, lines)).encode()).ok()


def with_wal(aria: Aria) -> None:
    """The set as a killed program in WAL mode leaves it."""
    done = subprocess.run([sys.executable, "-c", WRITER, str(aria.queue_file), str(LATER)])
    assert done.returncode == -signal.SIGKILL
    assert (aria.home / "queue.db-wal").stat().st_size and (aria.home / "queue.db-shm").exists()


def contents(aria: Aria) -> list[str]:
    """What waits, without the filling; what a flipped byte made no JSON as it is."""
    found = aria("queue", "list", "--json").ok().json
    rows = found if isinstance(found, list) else found["items"]
    beginnings = re.compile(r'"content": ?"([^"]*?)(?: [wy]+)?"')
    return [match[1] if (match := beginnings.search(row["payload"])) else row["payload"] for row in rows]


def set_of(aria: Aria) -> dict[str, bytes]:
    return {name: (aria.home / name).read_bytes() for name in SET if (aria.home / name).exists()}


def kept_set(aria: Aria) -> tuple[Path, dict[str, bytes]]:
    """The one set that was put aside: its name, and its files under the names that they had."""
    (old,) = [file for file in aria.home.glob("queue.db.damaged-*") if not file.name.endswith(("-wal", "-shm"))]
    sides = {name: old.with_name(old.name + name.removeprefix("queue.db")) for name in SET}
    return old, {name: file.read_bytes() for name, file in sides.items() if file.exists()}


def told(done: Done, old: Path, saved: int) -> bool:
    return "The queue file was damaged (" in done.err and f"Saved: {saved} waiting" in done.err and str(old) in done.err


@pytest.mark.case("S04")
@pytest.mark.parametrize("wal", [False, True], ids=["", "wal"])
@pytest.mark.parametrize("how", ["header", "half", "flipped", "text"])
def test_the_whole_set_is_kept_what_can_be_read_is_carried_over_and_new_saves_work(
    aria: Aria, how: str, wal: bool
) -> None:
    aria.use("http://127.0.0.1:9", "token")
    filled(aria)
    if wal:
        with_wal(aria)
    broken(aria.queue_file, how)
    before, files = set_of(aria), set(aria.home.iterdir())
    assert set(before) == (set(SET) if wal else {"queue.db"})
    first = aria("queue", "status", "--json")
    old, kept = kept_set(aria)
    assert kept == before, "byte for byte, with all that belongs to it"
    assert {file for file in files if not file.name.endswith(("-wal", "-shm"))} <= set(aria.home.iterdir())
    saved = first.ok().json["pending_total"]
    assert told(first, old, saved), first
    if how == "header":
        assert saved == ROWS + LATER * wal, "all of it can still be read"
    elif how == "flipped":
        assert saved >= ROWS + LATER * wal - 4, "the first page and the tables' names are broken, the rows are there"
        assert "malformed" in first.err or wal, "the damage that this is about"
    elif wal:
        assert saved >= LATER, "what stands in the -wal can be read, whatever became of the file"
    done = aria("insight", "add", "after the damage", "--offline").ok()
    assert "queued" in done.out and told(done, old, saved), done
    now = contents(aria)
    assert now.count("after the damage") == 1 and len(now) >= saved - 2
    if wal:
        assert {f"in the wal {number}" for number in range(LATER)} <= set(now) or how == "flipped"
    with sqlite3.connect(aria.queue_file) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    for words in (("queue",), ("queue", "--json"), ("status",), ("status", "--json"), ("sync", "--plan")):
        assert told(aria(*words), old, saved), words
    assert aria("status", "--short").out == "⚠\n"
    assert kept_set(aria) == (old, before), "and nothing of it is touched later"


@pytest.mark.case("S04")
async def test_where_nothing_could_be_saved_no_pending_is_never_shown_without_the_banner(
    aria: Aria, terminal: Callable[..., Tmux]
) -> None:
    aria.use("http://127.0.0.1:9", "token")
    filled(aria)
    broken(aria.queue_file, "text")
    async with connected(aria) as client:
        assert (await call(client, "aria_queue_status"))["pending_total"] == 0
        banner = (await client.call_tool("aria_queue_status", {})).content[1].text
        assert "The queue file was damaged" in banner and str(kept_set(aria)[0]) in banner
    screen = terminal(140, 40).run(aria)
    shown = screen.wait_for("The queue file was damaged", "Saved: 0 waiting", "Briefing", "offline")
    old, _ = kept_set(aria)
    assert str(old) in shown.replace("\n", "") or old.name in shown
    screen.keys("i")
    screen.wait_for("ew insight")
    screen.type("typed after the damage")
    screen.keys("C-s")
    # The banner stands beside whatever else has to be said, for as long as the old file lies there.
    screen.wait_for("The queue file was damaged", "1 waiting", "typed after")
    screen.keys("q")
    screen.wait_for("exit-status=0")
    for words in (("queue",), ("queue", "--json"), ("status", "--json")):
        assert told(aria(*words), old, 0), words


@pytest.mark.case("S04")
def test_a_text_of_a_stranger_s_that_is_none_hides_no_other_row(aria: Aria) -> None:
    """A flipped byte, or a program that writes Latin-1: every list and the export still come, in words and as JSON."""
    aria.use("http://127.0.0.1:9", "token")
    aria("insight", "add", "fine", "--offline").ok()
    for column in ("operation", "payload", "created_at", "error"):
        with sqlite3.connect(aria.queue_file) as db:
            db.execute("INSERT INTO queue(operation, payload) VALUES ('capture_insight', '{\"content\": \"x\"}')")
            db.execute(f"UPDATE queue SET {column} = CAST(x'636166e9' AS TEXT) WHERE id = last_insert_rowid()")
        db.close()
    for words in (("queue", "--json"), ("status", "--json"), ("queue", "list", "--json"), ("queue", "export")):
        done = aria(*words).ok()
        assert "caf�" in done.out or words == ("status", "--json"), done
        json.loads(done.out.splitlines()[-1])
    for words in (
        ("queue",),
        ("queue", "list"),
        ("queue", "show", "2"),
        ("sync", "--plan"),
        ("sync", "--plan", "--json"),
    ):
        assert aria(*words).status == 0, words
    assert "fine" in aria("queue", "list").out
