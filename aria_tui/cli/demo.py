"""``aria demo``: the dashboard over sample data, with a Hub of its own that the user switches off and on.

Everything lies in a temporary home and is gone afterwards; the user's own home and Hub are not touched.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from aria_tui.cli.parser import SubParsers, add_command, help_of
from aria_tui.errors import AriaError
from aria_tui.locale import _

if TYPE_CHECKING:
    from aria_tui.config import Config

START_SECONDS = 20
STOP_SECONDS = 5


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``demo``."""
    add_command(
        subparsers, "demo", help_of("demo"), _run,
        description=_("Starts a Hub on this machine with sample data in a temporary folder. Switch it off and on with "
                      "o, and watch the queue fill and drain. Nothing of yours is touched."),
        examples=("aria demo",),
    )  # fmt: skip


def _run(args: argparse.Namespace) -> int:
    from aria_tui.cli.dashboard import require_terminal

    require_terminal()
    home = Path(tempfile.mkdtemp(prefix="aria-demo-"))
    demo = Demo(home)
    try:
        demo.start()
        config = demo.prepare()
        _live_in(home)
        from aria_tui.tui.app import run as run_app

        return run_app(config, demo=demo) or 0
    finally:
        demo.stop()
        shutil.rmtree(home, ignore_errors=True)


def _live_in(home: Path) -> None:
    """This process, and what it starts, knows only the demo's home from here on."""
    for name in ("ARIA_HUB_URL", "ARIA_HUB_TOKEN", "ARIA_HUB_KIND"):
        os.environ.pop(name, None)
    os.environ["ARIA_HOME"] = str(home)


class Demo:
    """A Hub in a process of its own on a loopback port, which keeps its port and its data while it is off."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = _free_port()
        self.token = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def database(self) -> str:
        return f"sqlite:///{self.home / 'demo-hub.db'}"

    def start(self) -> None:
        """Starts it and waits until it answers. Raises AriaError with what it said instead."""
        if self._process is not None:
            return
        if not self.token:
            from aria_tui.hub.server import manage

            self.token = manage.create_token(self.database, account="demo", name="demo", scope="write", expires_days=1)[
                "token"
            ]
        self._log = (self.home / "demo-hub.log").open("ab")
        command = [
            sys.executable,
            "-m",
            "aria_tui.cli.tethered",
            "hub",
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
        ]
        self._process = subprocess.Popen(
            [*command, "--database", self.database],
            stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, start_new_session=True,
        )  # fmt: skip
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return
            except OSError:
                time.sleep(0.05)
        self.stop()
        said = (self.home / "demo-hub.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise AriaError(_("the demo's Hub did not start: {reason}").format(reason=said[-1] if said else _("no reason")))

    def stop(self) -> None:
        """Ends it. Its data stay."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin is not None:
                process.stdin.close()
        if self._log is not None:
            self._log.close()
            self._log = None

    async def toggle(self) -> bool:
        """Switches the Hub off or on; whether it is on now. Raises AriaError where it can't be started."""
        if self._process is not None:
            await asyncio.to_thread(self.stop)
            return False
        await asyncio.to_thread(self.start)
        return True

    def prepare(self) -> Config:
        """Fills Hub and home with sample data and gives the demo's configuration."""
        from aria_tui.cli import samples

        samples.fill_hub(self.url, self.token)
        return samples.configuration(self.home, self.url, self.token)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
