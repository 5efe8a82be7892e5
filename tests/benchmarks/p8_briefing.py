"""P8: a whole briefing against its slowest source, and a scan of repositories against the bare git commands."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.benchmarks.measure import Figure, interleaved, main

REPOSITORIES, AT_ONCE = 50, 8


def repositories(root: Path) -> list[Path]:
    env = {**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
           "GIT_COMMITTER_EMAIL": "a@b", "HOME": str(root)}  # fmt: skip
    made = []
    for n in range(REPOSITORIES):
        folder = root / f"project-{n:02}"
        folder.mkdir()
        for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run(["git", *command], cwd=folder, env=env, check=True)
        (folder / "new.txt").write_text("x")
        made.append(folder)
    return made


def bare_git(folders: list[Path]) -> float:
    """The commands that the answer needs, one after another in each repository, eight repositories at once."""

    def one(folder: Path) -> None:
        for command in (
            ["status", "--porcelain=v2", "--branch", "-z"],
            ["log", "-1", "--format=%H%x00%ct%x00%an%x00%s"],
            ["log", "--since=midnight", "--format=%H"],
        ):
            subprocess.run(["git", "-C", str(folder), *command], capture_output=True, check=True)

    start = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, folders))
    return time.perf_counter() - start


def scan(root: Path, home: Path) -> float:
    from aria_tui.assistant import Assistant
    from aria_tui.config import Config, DockerConfig, ProjectsConfig

    async def run() -> float:
        config = Config(projects=ProjectsConfig(roots=[str(root)]), docker=DockerConfig(enabled=False))
        async with await Assistant.open(config, home=home) as assistant:
            start = time.perf_counter()
            section = await assistant.projects()
            took = time.perf_counter() - start
            assert section.state == "ok", section
            return took

    return asyncio.run(run())


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="aria-bench-") as name:
        root = Path(name) / "projects"
        root.mkdir()
        folders = repositories(root)
        times = interleaved({"scan": lambda: scan(root, Path(name) / "home"), "git": lambda: bare_git(folders)}, 7)
        whole, slowest = briefing(Path(name))
    return [
        Figure("P8a", "whole briefing with sources of 0.1 to 2 s / the slowest source", whole / slowest, 1.1,
               details={"whole s": whole, "slowest s": slowest}),
        Figure("P8b", "scan of 50 repositories / the bare git commands", times["scan"] / times["git"], 1.3,
               details={f"{who} s": value for who, value in times.items()}),
    ]  # fmt: skip


def briefing(folder: Path) -> tuple[float, float]:
    """A briefing whose calendar and finance answer over HTTP after 0.1, 0.5, 1 and 2 seconds."""
    import json

    from aria_tui.assistant import Assistant
    from aria_tui.config import CalendarConfig, CalendarSourceConfig, Config, DockerConfig, FinanceConfig
    from aria_tui.models import BriefingDoc
    from tests.helpers.proxy import RawServer, Request, answer

    ics = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n"

    def reply(request: Request) -> bytes:
        if request.path.endswith(".ics"):
            return answer(200, ics, "text/calendar")
        return answer(200, json.dumps({}).encode(), "application/json")

    servers = []
    for seconds in (0.1, 0.5, 1.0, 2.0):
        server = RawServer(reply)
        server.add("latency", seconds=seconds)
        servers.append(server)
    config = Config(
        docker=DockerConfig(enabled=False),
        calendar=CalendarConfig(
            sources=[CalendarSourceConfig(url=f"{s.url}/{n}.ics", name=str(n)) for n, s in enumerate(servers)]
        ),
        finance=FinanceConfig(kind="http", url=servers[1].url),
    )

    async def run(number: int) -> float:
        async with await Assistant.open(config, home=folder / f"briefing-{number}") as assistant:
            await assistant.queue_status()
            start = time.perf_counter()
            async for part in assistant.briefing():
                if isinstance(part, BriefingDoc):
                    return time.perf_counter() - start
        raise AssertionError("no briefing came")

    try:
        times = sorted(asyncio.run(run(number)) for number in range(5))
    finally:
        for server in servers:
            server.close()
    return times[2], 2.0


if __name__ == "__main__":
    main(measure)
