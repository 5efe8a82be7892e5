"""Death, a failing disk and a full one at each single write and sync of saving and of marking as delivered."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest

from tests.faults.inject import Nursery, Point, points
from tests.faults.portions import FIRST
from tests.helpers.aria import Aria, Done
from tests.helpers.hub import HubProcess

EARLY = ["early 0", "early 1"]
TWO_BATCHES = [f"early {number}" for number in range(2 * FIRST)]
SAVE = ["insight", "add", "the new one", "--offline"]
SYNC = ["sync", "--json"]
Check = Callable[[Nursery, Path, Point, Done], str]


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


def prepared(aria: Aria, texts: list[str] = EARLY) -> Path:
    for text in texts:
        aria("insight", "add", text, "--offline").ok()
    return aria.home


def at_each(aria: Aria, words: list[str], tmp_path: Path, check: Check, *, small: bool = False) -> list[str]:
    """Runs the command with a fault at every point, each over a copy of the home, two at a time; what was wrong.
    ``small``: it sends in small portions."""
    nurseries: SimpleQueue[Nursery] = SimpleQueue()

    def one(numbered: tuple[int, Point]) -> str:
        number, point = numbered
        home = tmp_path / f"at-{number}"
        shutil.copytree(aria.home, home)
        nursery = nurseries.get()
        try:
            return check(nursery, home, point, nursery.run(home, words, point))
        except AssertionError as error:
            return f"{point}: {error}"
        finally:
            nurseries.put(nursery)
            shutil.rmtree(home)

    with Nursery(aria, small=small) as first, Nursery(aria, small=small) as second, ThreadPoolExecutor(2) as pool:
        shutil.copytree(aria.home, tmp_path / "count")
        found = points(first, tmp_path / "count", words, tmp_path / "count.log")
        nurseries.put(first)
        nurseries.put(second)
        return [wrong for wrong in pool.map(one, enumerate(found)) if wrong]


def test_saving_says_queued_if_and_only_if_the_row_is_there(aria: Aria, tmp_path: Path) -> None:
    def check(nursery: Nursery, home: Path, point: Point, done: Done) -> str:
        rows = waiting(home)
        if rows[:2] != EARLY:
            return f"{point}: earlier rows are gone: {rows}"
        there = rows[2:] == ["the new one"]
        if "queued" in done.out and not there:
            return f"{point}: acknowledged and lost: {done}"
        if "not saved" in done.err and there:
            return f"{point}: told as not saved and is there: {done}"
        if point.effect != "signal=KILL" and "queued" not in done.out and "not saved" not in done.err:
            return f"{point}: neither saved nor told: {done}"
        nursery.run(home, ["insight", "add", "afterwards", "--offline"]).ok()
        return "" if waiting(home)[-1] == "afterwards" else f"{point}: no saving afterwards"

    prepared(aria)
    wrong = at_each(aria, SAVE, tmp_path, check)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("texts", [EARLY, TWO_BATCHES], ids=["at once", "results while the next is under way"])
def test_what_the_hub_has_is_marked_or_sent_again_with_the_same_key(
    aria: Aria, tmp_path: Path, hub: HubProcess, texts: list[str]
) -> None:
    def check(nursery: Nursery, home: Path, point: Point, done: Done) -> str:
        if done.status == 0:
            return f"{point}: said done, and rows wait: {done}" if waiting(home) else ""
        again = nursery.finish(home)
        return f"{point}: rows still wait: {again}" if waiting(home) else ""

    aria.use(hub.url, hub.token)
    prepared(aria, texts)
    wrong = at_each(aria, SYNC, tmp_path, check, small=len(texts) > FIRST)
    assert not wrong, "\n".join(wrong)
    assert sorted(row["content"] for row in hub.all("insights")) == texts, "each once, however often it was sent"
