"""``aria hub serve`` as a real process, which a test may kill at any moment and start again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aria_tui.hub.server import manage

PROGRAM = [sys.executable, "-m", "aria_tui"]
ROOT = Path(__file__).parents[3]


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ARIA_")}
    return {**kept, "ARIA_HOME": str(home), "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": ""}


def aria(home: Path, *args: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs ``aria hub …`` to its end."""
    return subprocess.run(
        [*PROGRAM, *args], env=environment(home), cwd=ROOT, capture_output=True, text=True, timeout=timeout
    )


def make_token(database: str) -> str:
    """A token that may write, of account ``me``; in a thread, since the test may have a loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(manage.create_token, database, account="me", name="test", scope="write").result()
    return str(made["token"])


class Served:
    """A served Hub; its address and a token are there once it listens."""

    def __init__(self, home: Path, database: str, *args: str, port: int = 0, token: str | None = None) -> None:
        self.token = token or ("" if "--no-token" in args else make_token(database))
        self.database = database
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by kill
        self.process = subprocess.Popen(
            [*PROGRAM, "hub", "serve", "--port", str(port), "--database", database, *args],
            env=environment(home), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log,
            text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.fullmatch(r"Hub listening on (http://127\.0\.0\.1:(\d+))\n", line)
        assert found, f"{line!r} {self.log()}"
        self.url, self.port = found[1], int(found[2])
        self.headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def log(self) -> str:
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

    def terminate(self) -> int:
        """SIGTERM, and its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def kill(self) -> None:
        """SIGKILL. Idempotent."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        if not self._log.closed:
            self._log.close()
