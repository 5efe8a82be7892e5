"""Everything that brings text from outside onto the screen, bearing the texts of a test: tasks, insights, events,
containers, repositories, payments, the Hub's own words, rows that were refused and rows in conflict."""

from __future__ import annotations

import contextlib
import json
import socketserver
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.helpers import needs
from tests.helpers.aria import Aria, today
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, Request
from tests.sources.repos import git


@contextlib.contextmanager
def engine(socket_path: Path, names: Sequence[str]) -> Iterator[None]:
    """A container engine on a Unix socket; each container of these names has exited with an error."""
    listed = [
        {"Id": f"{n:064x}", "Names": [f"/{name}"], "Image": "i", "Status": "Exited (1) now", "State": "exited"}
        for n, name in enumerate(names)
    ]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"OK" if self.path == "/_ping" else json.dumps(listed).encode()
            self.send_response(200)
            self.send_header("Api-Version", "1.51")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: Any) -> None:
            """Nothing: a request is no news."""

    class Engine(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    server = Engine(str(socket_path), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def calendar(file: Path, summaries: Sequence[str]) -> None:
    """An iCalendar file with an event of each name for the whole of today."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//t//t//EN"]
    for number, summary in enumerate(summaries):
        written = summary.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")
        lines += [
            "BEGIN:VEVENT", f"UID:{number}", f"DTSTART;VALUE=DATE:{today():%Y%m%d}",
            f"DTEND;VALUE=DATE:{today() + timedelta(days=1):%Y%m%d}", f"SUMMARY:{written}", "END:VEVENT",
        ]  # fmt: skip
    file.write_bytes("\r\n".join([*lines, "END:VCALENDAR", ""]).encode())


def payments(file: Path, names: Sequence[str]) -> None:
    """A finance file with a payment of each name, due today."""
    entries = [
        f"[[recurring]]\ndesc = {json.dumps(name, ensure_ascii=False)}\namount = 5\ndue = {today()}\n" for name in names
    ]
    file.write_text('currency = "BRL"\n' + "\n".join(entries))


def repository(folder: Path, *, subject: str = "first", branch: str = "trunk", author: str = "Ana") -> Path:
    """A repository with one commit of today; the folder's name may be bytes that are no text."""
    needs.program("git")
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    at = f"{today()}T00:00:01-03:00"
    git(folder, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", subject, at=at, GIT_AUTHOR_NAME=author)
    return folder


@dataclass
class Carriers:
    """A home whose every source bears ``texts``."""

    aria: Aria
    hub: HubProcess
    proxy: FaultProxy
    texts: Sequence[str]
    settings: list[str] = field(default_factory=list)
    """More lines of config.toml."""

    @property
    def folder(self) -> Path:
        return self.aria.root / "sources"

    def sources(self, *, names: Sequence[str] | None = None) -> None:
        """The local ones; ``names`` are those that a folder can have."""
        self.folder.mkdir()
        calendar(self.folder / "events.ics", self.texts)
        payments(self.folder / "finance.toml", self.texts)
        for number, name in enumerate(self.texts if names is None else names):
            repository(self.folder / "projects" / name.replace("/", "∕"), subject=self.texts[number % len(self.texts)])
        self.aria.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.aria.home / "session.json").write_text('{"pane": "briefing"}')  # it was used before: no first-run panel
        (self.aria.home / "config.toml").write_text(
            "\n".join([
                *self.settings,
                f"[projects]\nroots = [{json.dumps(str(self.folder / 'projects'))}]",
                f"[docker]\nhost = {json.dumps(f'unix://{self.folder}/engine.sock')}",
                f"[calendar]\nsources = [{{path = {json.dumps(str(self.folder / 'events.ics'))}}}]",
                f'[finance]\nkind = "file"\npath = {json.dumps(str(self.folder / "finance.toml"))}',
                "",
            ])
        )  # fmt: skip
        self.aria.use(self.proxy.url, self.hub.token)

    def engine(self) -> contextlib.AbstractContextManager[None]:
        """The container engine, for as long as the test runs."""
        return engine(self.folder / "engine.sock", self.texts)

    def at_the_hub(self) -> None:
        """Tasks and insights of each text, as another program brought them there."""
        for number, text in enumerate(self.texts):
            task = {"status": ("TODO", "IN_PROGRESS")[number % 2]}
            self.apply(f"t{number}", "create_task", {**task, "title": text, "project_name": text, "tags": [text[:24]]})
            self.apply(f"i{number}", "capture_insight", {"content": text, "project": text, "tags": [text[:24]]})

    def apply(self, key: str, operation: str, payload: dict[str, Any]) -> dict[str, Any]:
        """One operation applied at the Hub, behind the program's back."""
        result = self.hub.apply({"op_id": key, "operation": operation, "payload": payload})
        assert result["status"] == "applied", result
        return result

    def refusal(self, request: Request) -> bytes:
        """How the Hub answers that takes none of the operations, each for a reason that is the task's own title."""
        results = [
            {
                "op_id": op["op_id"],
                "status": "rejected",
                "problem": {"type": "/problems/validation", "title": "no", "detail": op["payload"]["title"]},
            }
            for op in request.ops
        ]
        return self.hub.says({"results": results})

    def refusing(self) -> contextlib.AbstractContextManager[Any]:
        """The Hub takes no new tasks meanwhile."""
        return self.proxy.toxic("answer", when=lambda request: b'"create_task"' in request.body, reply=self.refusal)

    def refuse(self) -> None:
        """A task of each text, refused with the same text: dead letters. Another program put them into the queue."""
        self.aria("queue").ok()
        with contextlib.closing(sqlite3.connect(self.aria.queue_file, timeout=20)) as file, file:
            rows = [("create_task", json.dumps({"title": text})) for text in self.texts]
            file.executemany("INSERT INTO queue (operation, payload) VALUES (?, ?)", rows)
        with self.refusing():
            done = self.aria("sync")
        assert done.status == 3, done

    @property
    def sides(self) -> tuple[str, str, str]:
        """The first task's notes before the conflict, here, and at the Hub."""
        return f"{self.texts[0]} before", f"{self.texts[-1]} mine", f"{self.texts[len(self.texts) // 2]} theirs"

    def disagree(self) -> None:
        """Changes the first task here and at the Hub: a conflict."""
        before, mine, theirs = self.sides
        self.apply("c0", "update_task", {"id": "t0", "changes": {"description": before}})
        self.aria("task", "list").ok()
        self.aria("task", "edit", "t0", "--description", mine, "--offline").ok()
        self.apply("c1", "update_task", {"id": "t0", "changes": {"description": theirs}})
        done = self.aria("sync")
        assert done.status == 3, done
