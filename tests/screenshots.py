"""Makes ``screenshots/*.svg`` and ``.png`` from the running program: ``python -m tests.screenshots [NAME…]``.

The dashboard runs over the demo's Hub and data, driven by keys as a person would. The pictures fetch nothing from
elsewhere. The PNGs need a Chromium on the machine; without one only the SVGs are made.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from aria_tui import locale
from aria_tui.cli.demo import Demo
from aria_tui.tui.app import AriaApp
from tests.helpers.proxy import FaultProxy, Request, is_write
from tests.tui.conftest import Running, until

FOLDER = Path(__file__).parents[1] / "screenshots"
WIDE, NARROW, HUGE = (120, 40), (80, 24), (200, 60)
Shot = Callable[[Running, Demo], Awaitable[None]]


async def nothing(running: Running, demo: Demo) -> None:
    await running.keys("2")


async def light(running: Running, demo: Demo) -> None:
    await running.keys("T", "2", "down")


async def offline(running: Running, demo: Demo) -> None:
    await demo.toggle()
    await running.assistant.hub_status()
    await running.sees("offline")
    await running.assistant.create_task("Draft the contract", project="menthos", priority="HIGH")
    await running.assistant.create_task("Pay the domain", project="finance", due="2030-01-01")
    await running.assistant.capture_insight("Better Auth needs the cookie prefix", project="menthos", tags=["auth"])
    await running.assistant.capture_insight("The Drizzle adapter is fine as it is", project="menthos")
    await running.sees("4 waiting")
    await running.keys("r")
    await running.sees("QUEUE: 4 waiting")
    await running.keys("4")


async def syncing(running: Running, demo: Demo) -> None:
    """300 rows; the Hub is behind a proxy that makes it take its time (see ``dashboard``)."""
    await demo.toggle()
    await running.assistant.hub_status()
    for number in range(300):
        await running.assistant.capture_insight(f"Idea number {number}", project="aria-tui", offline=True)
    await until(lambda: running.app.live.queue and running.app.live.queue.pending_total >= 300, seconds=60)
    await running.keys("4")
    await demo.toggle()
    await running.keys("s")
    await until(lambda: running.app.live.sync and running.app.live.sync.done >= 150, "the sync", seconds=60)
    await running.sees("/s", "left", "Stop")


async def capture(running: Running, demo: Demo) -> None:
    await running.keys("t")
    await until(lambda: running.app.screen.query("#title"))
    await running.text("Call the bank")
    await running.keys("tab")
    await running.text("fin")
    await running.keys("tab")
    await running.text("fri")
    await running.sees("= Fri")


async def helping(running: Running, demo: Demo) -> None:
    await running.keys("question_mark")
    await running.sees("Everywhere")


async def portuguese(running: Running, demo: Demo) -> None:
    await running.keys("2")


SHOTS: dict[str, tuple[tuple[int, int], str, Shot]] = {
    "online": (WIDE, "en", nothing),
    "online-light": (WIDE, "en", light),
    "offline": (WIDE, "en", offline),
    "mid-sync": (WIDE, "en", syncing),
    "narrow": (NARROW, "en", nothing),
    "capture": (NARROW, "en", capture),
    "help": (NARROW, "en", helping),
    "huge": (HUGE, "en", nothing),
    "portuguese": (WIDE, "pt_BR", portuguese),
}


@contextlib.asynccontextmanager
async def dashboard(size: tuple[int, int], language: str, slow: bool) -> AsyncIterator[tuple[Running, Demo]]:
    """The demo as ``aria demo`` starts it, under a pilot; ``slow``: 50 ms for each operation, 20 at once."""
    home = Path(tempfile.mkdtemp(prefix="aria-pictures-"))
    demo = Demo(home)
    stack = contextlib.ExitStack()
    try:
        await asyncio.to_thread(demo.start)
        config = await asyncio.to_thread(demo.prepare)
        os.environ["ARIA_HOME"] = str(home)
        if slow:
            proxy = stack.enter_context(contextlib.closing(FaultProxy(demo.port)))
            proxy.add("rewrite", when=lambda request: request.path == "/api/meta", rewrite=_small_batches)
            proxy.add("latency", when=is_write, seconds=1.0)
            config = replace(config, hub=replace(config.hub, url=proxy.url))
        locale.use(language)
        app = AriaApp(config, demo=demo, home=home)
        async with app.run_test(size=size, notifications=True) as pilot:
            running = Running(app, pilot)
            await until(lambda: app.live.assistant is not None and app.live.tasks is not None, seconds=30)
            await until(lambda: app.live.hub.state == "online", "the Hub to answer", seconds=30)
            await until(lambda: app.screen._doc is not None, "the briefing", seconds=30)
            yield running, demo
    finally:
        stack.close()
        await asyncio.to_thread(demo.stop)
        shutil.rmtree(home, ignore_errors=True)


def _small_batches(_request: Request, given: bytes) -> bytes:
    head, _, body = given.partition(b"\r\n\r\n")
    meta = json.loads(body)
    meta["limits"]["batch_ops"] = 20
    body = json.dumps(meta).encode()
    return re.sub(rb"(?i)content-length: \d+", b"Content-Length: %d" % len(body), head) + b"\r\n\r\n" + body


def without_fonts(svg: str) -> str:
    """The picture without the rule that fetches a font from elsewhere; any fixed-width font will do."""
    svg = re.sub(r"@font-face\s*\{[^}]*\}", "", svg)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono")
    if "url(http" in svg or "@import" in svg:
        raise ValueError("the picture still fetches something")
    return svg


def to_png(svg: Path) -> bool:
    """Draws the picture with a headless Chromium; False where there is none."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return False
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text())
    width, height = (round(float(found[1])), round(float(found[2]))) if found else (1200, 800)
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
             f"--window-size={width},{height}", f"--screenshot={svg.with_suffix('.png')}", svg.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
    return True


async def take(name: str) -> Path:
    """Takes one picture."""
    size, language, shot = SHOTS[name]
    async with dashboard(size, language, slow=shot is syncing) as (running, demo):
        await shot(running, demo)
        await running.pilot.pause(0.3)
        svg = running.app.export_screenshot(title="aria")
    file = FOLDER / f"{name}.svg"
    file.write_text(without_fonts(svg), encoding="utf-8")
    return file


def main(names: list[str]) -> int:
    FOLDER.mkdir(exist_ok=True)
    for name in names or SHOTS:
        file = asyncio.run(take(name))
        print(file, "and .png" if to_png(file) else "(no Chromium here: no .png)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
