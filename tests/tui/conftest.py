"""A dashboard over the real assistant: with its embedded Hub, or with the address of a Hub that isn't there."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aria_tui import locale
from aria_tui.config import Config
from aria_tui.tui.app import AriaApp

AWAY = "http://127.0.0.1:9"
"""Port 9 (discard) is closed everywhere these tests run: a Hub that is away."""


@pytest.fixture(autouse=True)
def english() -> Any:
    locale.use("en")
    yield
    locale.use("en")


def configured(*, away: bool = False, **tables: Any) -> Config:
    """A configuration without sources that reach outside."""
    config = Config(
        docker=msgspec.structs.replace(Config().docker, enabled=False),
        briefing=msgspec.structs.replace(Config().briefing, timezone="America/Fortaleza"),
    )
    if away:
        config = msgspec.structs.replace(
            config, hub=msgspec.structs.replace(config.hub, url=AWAY, token="a-test-token")
        )
    return msgspec.structs.replace(config, **tables)


async def until(condition: Callable[[], Any], what: str = "", seconds: float = 15) -> Any:
    """Waits for a condition to hold; fails with the last reason."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(LookupError):
            if found := condition():
                return found
        assert time.monotonic() < end, f"waited {seconds} s for {what or condition}"
        await asyncio.sleep(0.02)


class Running:
    """A dashboard under a pilot, with what tests ask of it."""

    def __init__(self, app: AriaApp, pilot: Any) -> None:
        self.app, self.pilot = app, pilot

    async def keys(self, *keys: str) -> None:
        """Presses keys one after another, each handled before the next."""
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()

    async def text(self, text: str) -> None:
        """Types a text."""
        for char in text:
            await self.pilot.press(char)

    @property
    def screen_text(self) -> str:
        """Everything that is on the screen, line by line."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in line) for line in lines)

    @property
    def toasts(self) -> list[str]:
        """The texts of the toasts that are up."""
        return [notification.message for notification in self.app._notifications]

    async def sees(self, *texts: str, seconds: float = 15) -> str:
        """Waits until all texts are on the screen and gives the screen."""
        try:
            await until(lambda: all(text in self.screen_text for text in texts), seconds=seconds)
        except AssertionError:
            pytest.fail(f"{texts} not on the screen:\n{self.screen_text}")
        return self.screen_text

    async def told(self, text: str, seconds: float = 15) -> None:
        """Waits for a toast that holds the text."""
        try:
            await until(lambda: any(text in toast for toast in self.toasts), seconds=seconds)
        except AssertionError:
            pytest.fail(f"{text!r} not in the toasts {self.toasts}:\n{self.screen_text}")

    @property
    def assistant(self) -> Any:
        """The real assistant under the screen."""
        return self.app.live.assistant


@pytest.fixture
def dashboard(tmp_path: Path) -> Callable[..., contextlib.AbstractAsyncContextManager[Running]]:
    """``async with dashboard(size=(120, 40), config=…) as running:`` open, and everything read."""

    @contextlib.asynccontextmanager
    async def start(
        *, size: tuple[int, int] = (120, 40), config: Config | None = None, home: Path | None = None, **kind: Any
    ) -> AsyncIterator[Running]:
        home = home or tmp_path / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        app = AriaApp(config or configured(), home=home, **kind)
        async with app.run_test(size=size, notifications=True) as pilot:
            running = Running(app, pilot)
            await until(lambda: app.live.assistant is not None and app.live.tasks is not None, "the assistant to open")
            await until(lambda: app.live.queue is not None or app.live.queue_problem, "the queue to be read")
            await pilot.pause()
            yield running

    return start
