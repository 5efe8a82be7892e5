"""The large runs: ``python -m tests.faults --long [--schedules N] [--kills N] [--seed N] [--jobs N]``.

Random fault schedules in worker processes, then ``kill -9`` of a writing process against a real Hub. Shows progress
and time left; ends with a summary, and with exit status 1 when any promise was broken. A seed that fails is printed
with its story: put it into ``FAILED_ONCE`` of ``test_schedules.py``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.faults.kills import kill_many
from tests.faults.schedule import outcome
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess

LIVES_PER_HOME = 250


class Progress:
    """One line on a terminal, rewritten; one line a minute elsewhere."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self.started = self.told = time.monotonic()

    def step(self, count: int = 1) -> None:
        self.done += count
        now = time.monotonic()
        if now - self.told < (0.5 if sys.stderr.isatty() else 60) and self.done < self.total:
            return
        self.told = now
        rate = self.done / max(now - self.started, 0.001)
        left = (self.total - self.done) / rate if rate else 0.0
        line = f"{self.what}: {self.done}/{self.total}  {rate:.1f}/s  {left / 60:.1f} min left"
        sys.stderr.write(f"\r{line}\x1b[K" if sys.stderr.isatty() else f"{line}\n")
        if self.done >= self.total and sys.stderr.isatty():
            sys.stderr.write("\n")
        sys.stderr.flush()


def schedules(first: int, count: int, jobs: int) -> Iterator[tuple[int, int, str]]:
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=2000) as pool:
        yield from pool.imap_unordered(outcome, range(first, first + count), chunksize=10)


def run_schedules(first: int, count: int, jobs: int) -> tuple[int, list[str]]:
    progress, wrong, acknowledged = Progress("schedules", count), [], 0
    for seed, acks, problem in schedules(first, count, jobs):
        acknowledged += acks
        if problem:
            wrong.append(f"seed {seed}")
            print(f"\n{problem}\n", flush=True)
        progress.step()
    return acknowledged, wrong


def run_kills(count: int, seed: int) -> tuple[int, list[str]]:
    progress, wrong, acknowledged = Progress("kills", count), [], 0
    for start in range(0, count, LIVES_PER_HOME):
        with tempfile.TemporaryDirectory(prefix="aria-kills-") as folder:
            aria, hub = Aria(Path(folder) / "client"), HubProcess(Path(folder))
            try:
                lives = min(LIVES_PER_HOME, count - start)
                toll = kill_many(aria, hub.start(), lives, seed + start, told=lambda _: progress.step())
            finally:
                aria.close()
                hub.close()
        acknowledged += toll.acknowledged
        wrong += toll.wrong
        for problem in toll.wrong:
            print(f"\n{problem}", flush=True)
    return acknowledged, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--long", action="store_true", help="200,000 schedules and 10,000 kills unless told otherwise")
    parser.add_argument("--schedules", type=int, help="how many random schedules")
    parser.add_argument("--kills", type=int, help="how many kills")
    parser.add_argument("--seed", type=int, default=1_000_000, help="the first seed (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    args = parser.parse_args()
    planned = (200_000, 10_000) if args.long else (500, 50)
    count = planned[0] if args.schedules is None else args.schedules
    kills = planned[1] if args.kills is None else args.kills
    started = time.monotonic()
    acks, wrong = run_schedules(args.seed, count, args.jobs) if count else (0, [])
    kill_acks, kill_wrong = run_kills(kills, args.seed) if kills else (0, [])
    kinds = {
        word: sum(problem.startswith(word) for problem in kill_wrong) for word in ("lost", "twice", "from nowhere")
    }
    minutes = (time.monotonic() - started) / 60
    print(f"{count} schedules, {acks} acknowledged writes: {len(wrong)} broken {wrong[:20] if wrong else ''}")
    print(f"{kills} kills, {kill_acks} acknowledged writes: {kinds['lost']} lost, {kinds['twice']} twice, "
          f"{kinds['from nowhere']} from nowhere, {len(kill_wrong) - sum(kinds.values())} other")  # fmt: skip
    print(f"{minutes:.1f} minutes; {'every promise held' if not (wrong or kill_wrong) else 'PROMISES WERE BROKEN'}")
    return 1 if wrong or kill_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
