"""The reference Hub as a real process on a loopback port, which can be stopped, killed and started again."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.helpers.aria import Aria, end
from tests.helpers.proxy import answer
from tests.helpers.waiting import wait_until


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class HubProcess:
    """``aria hub serve`` over one SQLite file. ``start`` waits until it answers."""

    root: Path
    port: int = field(default_factory=free_port)
    extra: tuple[str, ...] = ()
    account: str = "me"
    process: subprocess.Popen[bytes] | None = None
    token: str = ""
    _log: IO[bytes] | None = None

    def __post_init__(self) -> None:
        self.aria = Aria(self.root / "hub-home")
        self.file = self.root / "server.db"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def database(self) -> str:
        return f"sqlite:///{self.file}"

    def make_token(self, account: str = "", name: str = "test", *more: str) -> str:
        """A new token of this Hub's, made by its own command."""
        done = self.aria(
            "hub", "token", "create", "--account", account or self.account, "--name", name,
            "--database", self.database, *more,
        ).ok()  # fmt: skip
        return done.out.strip().split()[-1]

    def start(self) -> HubProcess:
        assert self.process is None, "it runs already"
        if not self.token:
            self.token = self.make_token()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by _end
        self.process = subprocess.Popen(
            [*self.aria.command, "hub", "serve", "--host", "127.0.0.1", "--port", str(self.port),
             "--database", self.database, *self.extra],
            env=self.aria.environment(), cwd=self.root, stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        wait_until(self._listens, 20, f"the Hub listens on {self.url}")
        return self

    def _listens(self) -> bool:
        assert self.process and self.process.poll() is None, f"the Hub ended: {self.log()}"
        return "Hub listening on" in self.log()

    def log(self) -> str:
        assert self._log is not None
        position = self._log.tell()
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        self._log.seek(position)
        return text

    def stop(self) -> None:
        """A graceful end (SIGTERM)."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(15)
        self._end()

    def kill(self) -> None:
        self._end()

    def _end(self) -> None:
        if self.process is not None:
            end(self.process)
            self.process = None
        if self._log is not None:
            self._log.close()
            self._log = None

    close = kill

    def get(self, path: str, *, token: str = "") -> Any:
        """A JSON document of the Hub's, read past any proxy and past our own client."""
        return ask(self.url + path, token or self.token)[2]

    def apply(self, op: dict[str, Any]) -> dict[str, Any]:
        """Sends one operation and gives its result."""
        return dict(
            ask(self.url + "/api/queue", self.token, method="POST", body={"ops": [op], "client_id": "t"})[2]["results"][
                0
            ]
        )

    def says(self, document: Any, status: int = 200, **headers: str) -> bytes:
        """A whole answer as this Hub gives it, with its own id, for a test that speaks in its place."""
        meta = self.get("/api/meta")
        kind = "application/json" if status < 400 else "application/problem+json"
        own = {"Aria-Hub-Id": meta["hub_id"], "Aria-Hub-Epoch": meta["epoch"]}
        return answer(status, json.dumps(document).encode(), kind, **own, **headers)

    def rows(self, sql: str, *args: Any) -> list[tuple[Any, ...]]:
        """Rows of the Hub's own database, read only."""
        connection = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute(sql, args).fetchall()
        finally:
            connection.close()

    def count(self, kind: str) -> int:
        """How many ``tasks``, ``insights`` or ``briefings`` there are, over all accounts."""
        sql = "SELECT count(*) FROM entities WHERE kind = ? AND deleted_at IS NULL"
        return int(self.rows(sql, kind.removesuffix("s"))[0][0])

    def keys(self) -> list[str]:
        """The idempotency keys under which the Hub recorded an effect."""
        return [row[0] for row in self.rows("SELECT op_id FROM operations ORDER BY seq")]

    def all(self, kind: str, token: str = "") -> list[dict[str, Any]]:
        """Every task, insight or briefing, through the pages."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.get(f"/api/{kind}?limit=500{f'&cursor={cursor}' if cursor else ''}", token=token)
            found += page[kind]
            cursor = page.get("next_cursor") or ""
            if not cursor:
                return found


def ask(
    url: str, token: str = "", *, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], Any]:
    """One request by the standard library alone: status, headers in lower case, JSON document or text."""
    data = None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **(headers or {})}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, data=data, method=method, headers=sent)
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            status, got, raw = answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            status, got, raw = error.code, error.headers, error.read()
    try:
        document = json.loads(raw)
    except ValueError:
        document = raw.decode(errors="replace")
    return status, {k.lower(): v for k, v in got.items()}, document
