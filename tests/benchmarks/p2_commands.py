"""P2: how long commands take from the shell's point of view."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.measure import Figure, interleaved, main, timed
from tests.helpers.aria import Aria, clean_environment
from tests.helpers.hub import HubProcess

ROUNDS = 21

COMMIT_ONE = """
import asyncio, argparse, sys
import aiosqlite
async def run(path):
    async with aiosqlite.connect(path, isolation_level=None) as db:
        await db.execute("PRAGMA synchronous=EXTRA")
        await db.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, x TEXT)")
        await db.execute("INSERT INTO t (x) VALUES ('x')")
parser = argparse.ArgumentParser(); parser.add_argument("path")
asyncio.run(run(parser.parse_args().path))
"""
COMMIT_AND_POST = """
import asyncio, argparse, sys
import aiosqlite, httpx
async def run(path, url, token):
    async with aiosqlite.connect(path, isolation_level=None) as db:
        await db.execute("PRAGMA synchronous=EXTRA")
        await db.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, x TEXT)")
        await db.execute("INSERT INTO t (x) VALUES ('x')")
    async with httpx.AsyncClient() as client:
        answer = await client.post(url + "/api/queue/capture_insight", json={"content": "x"},
                                   headers={"Authorization": "Bearer " + token})
        assert answer.status_code in (200, 201), answer.text
parser = argparse.ArgumentParser()
for name in ("path", "url", "token"):
    parser.add_argument(name)
args = parser.parse_args()
asyncio.run(run(args.path, args.url, args.token))
"""


@contextmanager
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="aria-bench-") as folder:
        yield Path(folder)


def process(command: Sequence[str], env: dict[str, str]) -> None:
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, done.stderr.decode(errors="replace")


def aria_script() -> str:
    """The installed ``aria``, as a user starts it."""
    return str(Path(sys.executable).with_name("aria"))


def compare(
    name: str, what: str, goal: float, ours: Sequence[str], theirs: Sequence[str], env: dict[str, str]
) -> Figure:
    times = interleaved(
        {"ours": timed(lambda: process(ours, env)), "theirs": timed(lambda: process(theirs, env))}, ROUNDS, warm=2
    )
    details = {f"{who} s": value for who, value in times.items()}
    return Figure(name, what, times["ours"] / times["theirs"], goal, details=details)


def measure() -> list[Figure]:
    python, aria_command = sys.executable, aria_script()
    with place() as folder:
        env = clean_environment(folder, PYTHONDONTWRITEBYTECODE="")
        env.pop("PYTHONPATH")
        os.makedirs(env["HOME"])
        local = Aria(folder)
        local("insight", "add", "first", "--offline").ok()
        figures = [
            compare("P2a", "aria --version / python -c 'import argparse'", 1.5,
                    [aria_command, "--version"], [python, "-c", "import argparse"], env),
            compare("P2b", "aria insight add --offline / asyncio, argparse, aiosqlite, one commit", 1.4,
                    [aria_command, "insight", "add", "--offline", "x"],
                    [python, "-c", COMMIT_ONE, str(folder / "bare.db")], env),
            compare("P2d", "aria status --short / python -c pass", 1.6,
                    [aria_command, "status", "--short"], [python, "-c", "pass"], env),
        ]  # fmt: skip
        hub = HubProcess(folder).start()
        try:
            online = {**env, "ARIA_HOME": str(folder / "online"), "ARIA_HUB_URL": hub.url, "ARIA_HUB_TOKEN": hub.token}
            figures.insert(2, compare(
                "P2c", "aria insight add, Hub on loopback / httpx, aiosqlite, one commit, one POST", 1.4,
                [aria_command, "insight", "add", "x"],
                [python, "-c", COMMIT_AND_POST, str(folder / "bare.db"), hub.url, hub.token], online,
            ))  # fmt: skip
        finally:
            hub.close()
    return figures


if __name__ == "__main__":
    main(measure)
