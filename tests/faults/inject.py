"""Errors and death at each single write and sync of a command, by ``strace``, whose -P filter keeps to our files.

A nursery has the program loaded and forks a child for each run; ``strace`` is attached to the child before it begins.
So a point costs a tenth of a second, and all of them can be tried.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.helpers import needs
from tests.helpers.aria import Aria, Done, end

CALLS = ("pwrite64", "fsync", "fdatasync", "ftruncate", "unlink")
EFFECTS = ("signal=KILL", "error=EIO", "error=ENOSPC")


@dataclass(frozen=True)
class Point:
    """The ``nth`` call of a name on the queue's files, and what is to happen there."""

    call: str
    nth: int
    effect: str


def files(home: Path) -> list[str]:
    """What belongs to the queue, its folder too (whose sync makes a deletion last)."""
    return [str(home), *(str(home / f"queue.db{suffix}") for suffix in ("", "-journal", "-wal", "-shm"))]


class Nursery:
    """Runs commands in forked children, under ``strace`` where a point is given. Use as a context manager.

    ``small``: they send in small portions.
    """

    def __init__(self, aria: Aria, *, small: bool = False) -> None:
        self.small = small
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.inject"], env=aria.environment(), cwd=aria.root / "user",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        end(self.process)  # type: ignore[arg-type]

    def run(self, home: Path, words: Sequence[str], point: Point | None = None, log: Path | None = None) -> Done:
        """One command over one home. With a ``log`` and no point the calls are only recorded there."""
        self._tell({"home": str(home), "words": list(words), "small": self.small})
        child = int(self._hear())
        tracer = self._attach(child, home, point, log) if point or log else None
        self._tell("go")
        told = json.loads(self._hear())
        if tracer:
            tracer.wait(60)
            assert tracer.stderr is not None
            tracer.stderr.close()
        assert "Traceback (most recent call last)" not in told["out"] + told["err"], told["err"]
        return Done(tuple(words), told["status"], told["out"], told["err"])

    def finish(self, home: Path) -> dict[str, int]:
        """Drains a home in the nursery's own process, as the next program would; gives what is left."""
        self._tell({"finish": str(home)})
        return dict(json.loads(self._hear()))

    @staticmethod
    def _attach(child: int, home: Path, point: Point | None, log: Path | None) -> subprocess.Popen[str]:
        paths = [option for path in files(home) for option in ("-P", path)]
        options = ["-e", f"inject={point.call}:{point.effect}:when={point.nth}"] if point else []
        tracer = subprocess.Popen(
            [needs.program("strace"), "-f", "-p", str(child), "-o", str(log or os.devnull),
             "-e", f"trace={','.join(CALLS)}", *paths, *options],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert tracer.stderr is not None
        line = tracer.stderr.readline()
        assert "attached" in line, line
        return tracer

    def _tell(self, what: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def _hear(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the nursery has ended"
        return line


def points(nursery: Nursery, home: Path, words: Sequence[str], log: Path) -> list[Point]:
    """Every write and sync point of a command, times every effect. The command runs once to count them."""
    done = nursery.run(home, words, log=log)
    assert done.status in (0, 3), done
    counts: Counter[tuple[str, str]] = Counter()
    for line in log.read_text().splitlines():
        thread, _, rest = line.partition(" ")
        name = rest.lstrip().partition("(")[0]
        if name in CALLS:
            counts[thread, name] += 1
    most = {call: max((n for (_, name), n in counts.items() if name == call), default=0) for call in CALLS}
    assert most["fsync"] + most["fdatasync"] > 0, counts
    return [Point(call, nth, effect) for call in CALLS for nth in range(1, most[call] + 1) for effect in EFFECTS]


# What follows runs in the nursery's process.


def _child(order: dict[str, object], go: int, out: Path) -> None:
    os.read(go, 1)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(out / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ["ARIA_HOME"] = str(order["home"])
    sys.argv = ["aria", *order["words"]]  # type: ignore[misc]
    from aria_tui.cli import main
    from tests.faults.portions import small_portions

    status = 1
    try:
        with small_portions(bool(order["small"])):
            status = main()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 1
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status or 0)


async def _drain(home: Path) -> dict[str, int]:
    import httpx

    from aria_tui import config
    from aria_tui.assistant import Assistant
    from aria_tui.models import SyncFinished

    transport = httpx.AsyncHTTPTransport(verify=False)
    async with await Assistant.open(config.load(), home=home, transport=transport) as assistant:
        async for event in assistant.sync():
            if isinstance(event, SyncFinished):
                return {"synced": event.report.synced, "remaining": event.report.remaining}
    return {}


def _serve() -> None:
    import tempfile

    import aria_tui.assistant
    import aria_tui.cli.entry
    import aria_tui.cli.insight
    import aria_tui.cli.sync
    import aria_tui.hub.client  # noqa: F401 - all of it is loaded once, for all children

    __import__("httpx")
    with tempfile.TemporaryDirectory(prefix="aria-points-") as folder:
        while line := sys.stdin.readline():
            order = json.loads(line)
            if "finish" in order:
                print(json.dumps(asyncio.run(_drain(Path(order["finish"])))), flush=True)
                continue
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(writing)
                _child(order, reading, Path(folder))
            os.close(reading)
            print(child, flush=True)
            sys.stdin.readline()
            os.write(writing, b"g")
            os.close(writing)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            texts = {name: (Path(folder) / name).read_text(errors="replace") for name in ("out", "err")}
            print(json.dumps({"status": status, **texts}), flush=True)


if __name__ == "__main__":
    _serve()
