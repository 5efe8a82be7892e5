"""Errors and death at each single write and sync of a command, by ``strace`` (its -P filter keeps to our files)."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.aria import Aria, Done

CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "unlink")
EFFECTS = ("signal=KILL", "error=EIO", "error=ENOSPC")


@dataclass(frozen=True)
class Point:
    """The ``nth`` call of a name on the queue's files, and what is to happen there."""

    call: str
    nth: int
    effect: str


def files(home: Path) -> list[str]:
    """What belongs to the queue, its folder too (whose sync makes a deletion last)."""
    return [str(home), *(str(home / f"queue.db{end}") for end in ("", "-journal", "-wal", "-shm"))]


def run(aria: Aria, words: Sequence[str], options: Sequence[str], log: Path) -> Done:
    paths = [option for path in files(aria.home) for option in ("-P", path)]
    command = ["strace", "-f", "-qqq", "-o", str(log), "-e", f"trace={','.join(CALLS)}", *paths]
    if not any("signal=" in option for option in options):
        command.append("--seccomp-bpf")  # much faster, but signals are not injected under it
    done = subprocess.run(
        [*command, *options, *aria.command, *words],
        env=aria.environment(), cwd=aria.root / "user", stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
    )  # fmt: skip
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    assert "Traceback (most recent call last)" not in out + err, err
    return Done(tuple(words), done.returncode, out, err)


def points(aria: Aria, words: Sequence[str], log: Path) -> list[Point]:
    """Every write and sync point of a command, times every effect. The command runs once to count them."""
    done = run(aria, words, (), log)
    assert done.status in (0, 3), done
    counts: Counter[str] = Counter()
    for line in log.read_text().splitlines():
        name = line.split(" ", 1)[1].lstrip().partition("(")[0]
        if name in CALLS:
            counts[name] += 1
    assert counts["fsync"] + counts["fdatasync"] > 0, counts
    return [
        Point(call, nth, effect) for call, times in counts.items() for nth in range(1, times + 1) for effect in EFFECTS
    ]


def hit(aria: Aria, words: Sequence[str], point: Point, log: Path) -> Done:
    """Runs the command with the fault at one point."""
    return run(aria, words, ("-e", f"inject={point.call}:{point.effect}:when={point.nth}"), log)
