"""Git projects: how each repository below the configured roots stands. Reads only; runs nothing that one holds.

Up to 8 repositories at a time, one git process each, 5 seconds a repository. What is known so far is given while a
slow one is still being read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from aria_tui.config import Config
from aria_tui.models import Section
from aria_tui.sources import Moment
from aria_tui.sources._git_find import Found, Unread, find
from aria_tui.sources._git_read import blank, read
from aria_tui.sources._git_run import Git, GitMissing

LANES = 8
_FIRST_LOOK, _LATER_LOOKS = 1.0, 0.5
"""Seconds after which a scan that isn't done yet shows what it has, first and then."""


class GitSource:
    name = "projects"

    def __init__(self, config: Config, *, home: Path, environ: Mapping[str, str] | None = None) -> None:
        self._config = config.projects
        self._environ = os.environ if environ is None else environ

    async def gather(self, when: Moment, deadline: float) -> AsyncIterator[Section]:
        """Sections named ``projects``: what is known so far, the last one whole or as whole as the deadline allows."""
        if not self._config.roots:
            yield Section(name=self.name, state="not_configured", reason='set [projects] roots = ["~/projects"]')
            return
        scan = _Scan(self._config.roots, self._config.depth, self._config.stale_days, self._environ, when)
        scan.start(time.monotonic() + deadline)
        try:
            wait = _FIRST_LOOK
            while not scan.done.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await scan.done.wait()
                wait = _LATER_LOOKS
                if not scan.done.is_set():
                    yield scan.section()
            yield scan.section()
        finally:
            scan.stop()


class _Scan:
    """One look at all repositories: a thread that finds them, lanes that read them, results by path."""

    def __init__(self, roots: list[str], depth: int, stale_days: int, environ: Mapping[str, str], when: Moment) -> None:
        self._roots, self._depth, self._stale_days, self._when = roots, depth, stale_days, when
        self._git = Git(environ)
        self._loop = asyncio.get_running_loop()
        self.done = asyncio.Event()
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)
        self._waiting: deque[Found] = deque()
        self._found: dict[Path, Found] = {}
        self._projects: dict[Path, dict[str, Any]] = {}
        self._unread: list[Unread] = []
        self._searching = True
        self._stopped = False
        self._lanes = LANES
        self._failure = ""

    def start(self, end: float) -> None:
        self._end = end
        for target in (self._search, *[self._lane] * LANES):
            threading.Thread(target=target, name="git scan", daemon=True).start()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._more.notify_all()
        self._git.stop()

    def section(self) -> Section:
        """The section as far as it is known now."""
        with self._lock:
            projects = [self._projects.get(path) or blank(found) for path, found in self._found.items()]
            reading = sum(path not in self._projects for path in self._found)
            unread, failure = list(self._unread), self._failure
        projects.sort(key=lambda project: (project["name"].casefold(), project["path"]))
        reasons = [failure] if failure else [f"{item.path}: {item.reason}" for item in unread]
        if reading and not failure:
            reasons.append(f"{reading} of {len(projects)} still being read")
        if slow := sum(project["state"] == "timed out" for project in projects):
            reasons.append(f"{slow} of {len(projects)} timed out")
        for project in projects:
            if project["state"] == "unread":
                project["problem"] = failure or "still being read"
        data = {"projects": projects, "stale": sum(project["freshness"] == "stale" for project in projects)}
        if failure or (unread and not projects):
            return Section(name="projects", state="unavailable", reason="; ".join(reasons))
        return Section(name="projects", state="partial" if reasons else "ok", reason="; ".join(reasons), data=data)

    def _search(self) -> None:
        try:
            for root in self._roots:
                for item in find(root, self._depth, lambda: self._stopped or time.monotonic() > self._end):
                    with self._lock:
                        if isinstance(item, Unread):
                            self._unread.append(item)
                        elif item.path not in self._found:
                            self._found[item.path] = item
                            self._waiting.append(item)
                            self._more.notify()
            if time.monotonic() > self._end:
                with self._lock:
                    self._unread.append(Unread(", ".join(self._roots), "the search for repositories timed out"))
        finally:
            with self._lock:
                self._searching = False
                self._more.notify_all()

    def _lane(self) -> None:
        try:
            while (found := self._next()) is not None:
                project = self._read(found)
                with self._lock:
                    self._projects[found.path] = project
        except GitMissing as error:
            self._failure = str(error)
            self.stop()
        finally:
            with self._lock:
                self._lanes -= 1
                last = self._lanes == 0
            if last:
                with contextlib.suppress(RuntimeError):  # nobody waits any more
                    self._loop.call_soon_threadsafe(self.done.set)

    def _next(self) -> Found | None:
        with self._lock:
            while not self._waiting and self._searching and not self._stopped:
                self._more.wait()
            return self._waiting.popleft() if self._waiting and not self._stopped else None

    def _read(self, found: Found) -> dict[str, Any]:
        try:
            return read(self._git, found, self._when, self._stale_days, self._end)
        except GitMissing:
            raise
        except Exception as error:  # noqa: BLE001 - one repository costs its own row
            return blank(found) | {"state": "error", "problem": f"can't be read: {error}"}
