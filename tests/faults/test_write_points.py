"""Death, a failing disk and a full one at each single write and sync of saving and of marking as delivered."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.inject import Point, hit, points
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess

EARLY = ["early 0", "early 1"]


def waiting(home: Path) -> list[str]:
    """What waits, by a fresh connection, as after a restart; the file must be sound."""
    db = sqlite3.connect(home / "queue.db", timeout=10)
    try:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = db.execute("SELECT payload FROM queue WHERE synced_at IS NULL ORDER BY id").fetchall()
        assert db.execute("SELECT total(waiting) FROM counters").fetchone()[0] == len(rows)
        return [json.loads(payload)["content"] for (payload,) in rows]
    finally:
        db.close()


def prepared(folder: Path) -> Aria:
    aria = Aria(folder)
    for text in EARLY:
        aria("insight", "add", text, "--offline").ok()
    return aria


def fresh(original: Aria, folder: Path) -> Aria:
    """A home that is a copy of a prepared one."""
    aria = Aria(folder, dict(original.env))
    shutil.copytree(original.home, aria.home)
    return aria


def at_each(original: Aria, words: list[str], tmp_path: Path, check: Callable[[Aria, Point, Path], str]) -> list[str]:
    """Runs ``check`` for every point, two at a time; gives what was wrong."""
    found = points(fresh(original, tmp_path / "count"), words, tmp_path / "count.log")

    def one(numbered: tuple[int, Point]) -> str:
        number, point = numbered
        aria = fresh(original, tmp_path / f"at-{number}")
        try:
            return check(aria, point, tmp_path / f"{number}.log")
        except AssertionError as error:
            return f"{point}: {error}"
        finally:
            shutil.rmtree(aria.root)

    with ThreadPoolExecutor(2) as pool:
        return [wrong for wrong in pool.map(one, enumerate(found)) if wrong]


def test_saving_says_queued_if_and_only_if_the_row_is_there(tmp_path: Path) -> None:
    words = ["insight", "add", "the new one", "--offline"]

    def check(aria: Aria, point: Point, log: Path) -> str:
        done = hit(aria, words, point, log)
        rows = waiting(aria.home)
        if rows[:2] != EARLY:
            return f"{point}: earlier rows are gone: {rows}"
        there = rows[2:] == ["the new one"]
        if "queued" in done.out and not there:
            return f"{point}: acknowledged and lost: {done}"
        if "not saved" in done.err and there:
            return f"{point}: told as not saved and is there: {done}"
        if point.effect != "signal=KILL" and "queued" not in done.out and "not saved" not in done.err:
            return f"{point}: neither saved nor told: {done}"
        aria("insight", "add", "afterwards", "--offline").ok()
        return "" if waiting(aria.home)[-1] == "afterwards" else f"{point}: no saving afterwards"

    wrong = at_each(prepared(tmp_path / "original"), words, tmp_path, check)
    assert not wrong, "\n".join(wrong)


def test_what_the_hub_has_is_marked_or_sent_again_with_the_same_key(tmp_path: Path, hub: HubProcess) -> None:
    original = prepared(tmp_path / "original").use(hub.url, hub.token)

    def check(aria: Aria, point: Point, log: Path) -> str:
        done = hit(aria, ["sync", "--json"], point, log)
        if done.status == 0 and waiting(aria.home):
            return f"{point}: said done, and rows wait: {done}"
        aria("sync").ok()
        return f"{point}: rows still wait" if waiting(aria.home) else ""

    wrong = at_each(original, ["sync", "--json"], tmp_path, check)
    assert not wrong, "\n".join(wrong)
    assert sorted(row["content"] for row in hub.all("insights")) == EARLY, "each once, however often it was sent"
