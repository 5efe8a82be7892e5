"""A plain Hub, as somebody might run one: hub-api.md's *plain* rows and nothing else, with ideas of its own.

It numbers its tasks itself, ignores the fields that it doesn't know (the client's ids among them), has no
``/api/meta``, no batch, no versions, and unless told otherwise no idea of idempotency keys. It shares no code with the
program. State lives in one SQLite file, where a test may look: tables ``tasks``, ``insights``, ``briefings``, and
``requests`` with every write that arrived (key, path, body, and whether its answer was dropped).

    python -m tests.helpers.plain_hub --port 0 --database FILE [--token T] [--token-header X-API-Key]
        [--no-queue-endpoint] [--honours-keys] [--drop-after-apply N]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, description TEXT, priority TEXT,
    status TEXT, project_name TEXT, due_date TEXT, tags TEXT, created_at TEXT, updated_at TEXT, completed_at TEXT);
CREATE TABLE IF NOT EXISTS insights(id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT, project TEXT, tags TEXT,
    captured_at TEXT);
CREATE TABLE IF NOT EXISTS briefings(date TEXT PRIMARY KEY, content TEXT, captured_at TEXT);
CREATE TABLE IF NOT EXISTS answers(key TEXT PRIMARY KEY, status INTEGER, body TEXT);
CREATE TABLE IF NOT EXISTS requests(id INTEGER PRIMARY KEY, key TEXT, method TEXT, path TEXT, body TEXT,
    status INTEGER, dropped INTEGER DEFAULT 0);
"""
TASK = ("title", "description", "priority", "status", "project_name", "due_date", "tags", "completed_at")
INSIGHT = ("content", "project", "tags", "captured_at")


class No(Exception):
    """A refusal: status and words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


@dataclass
class Manners:
    """How this Hub behaves."""

    database: str
    token: str = ""
    token_header: str = "Authorization"
    queue_endpoint: bool = True
    honours_keys: bool = False
    drop_after_apply: int = 0


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class Store:
    """One connection, one request at a time."""

    def __init__(self, manners: Manners) -> None:
        self.manners = manners
        self.lock = threading.Lock()
        self.db = sqlite3.connect(manners.database, check_same_thread=False, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        self.db.executescript(SCHEMA)
        self.left_to_drop = manners.drop_after_apply

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        found = [dict(row) for row in self.db.execute(sql, values)]
        for row in found:
            if "tags" in row:
                row["tags"] = json.loads(row["tags"] or "[]")
        return found

    def insert(self, table: str, fields: dict[str, Any]) -> int:
        names = ", ".join(fields)
        marks = ", ".join("?" for _ in fields)
        made = self.db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(fields.values()))
        return int(made.lastrowid or 0)

    def task(self, given: Any) -> dict[str, Any]:
        with contextlib.suppress(TypeError, ValueError):
            if found := self.rows("SELECT * FROM tasks WHERE id = ?", int(given)):
                return found[0]
        raise No(404, f"no task {given}")


def known(payload: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The fields that this Hub knows; tags as text."""
    if "project" in payload and "project_name" in names:
        payload = {"project_name": payload["project"], **payload}
    kept = {name: payload[name] for name in names if name in payload}
    if "tags" in kept:
        kept["tags"] = json.dumps(kept["tags"] or [])
    return kept


def create_task(store: Store, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    if not isinstance(payload.get("title"), str) or not payload["title"].strip():
        raise No(422, "a task needs a title")
    made = store.insert(
        "tasks",
        {"priority": "MEDIUM", "status": "TODO", **known(payload, TASK), "created_at": now(), "updated_at": now()},
    )
    return 201, {"task": store.task(made)}


def update_task(store: Store, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    task = store.task(payload.get("id"))
    changes = known(dict(payload.get("changes") or {}), TASK) | {"updated_at": now()}
    sets = ", ".join(f"{name} = ?" for name in changes)
    store.db.execute(f"UPDATE tasks SET {sets} WHERE id = ?", [*changes.values(), task["id"]])
    return 200, {"task": store.task(task["id"])}


def complete_task(store: Store, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    done = payload.get("completed_at") or now()
    return update_task(store, {"id": payload.get("id"), "changes": {"status": "DONE", "completed_at": done}})


def delete_task(store: Store, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    task = store.task(payload.get("id"))
    store.db.execute("DELETE FROM tasks WHERE id = ?", [task["id"]])
    return 200, {"task": task}


def capture_insight(store: Store, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    if not isinstance(payload.get("content"), str) or not payload["content"].strip():
        raise No(422, "an insight needs content")
    made = store.insert("insights", {"captured_at": now(), **known(payload, INSIGHT)})
    return 201, {"insight": store.rows("SELECT * FROM insights WHERE id = ?", made)[0]}


def store_briefing(store: Store, payload: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    if not payload.get("date") or "content" not in payload:
        raise No(422, "a briefing needs date and content")
    store.db.execute("INSERT OR REPLACE INTO briefings VALUES (?, ?, ?)", [payload["date"], payload["content"], now()])
    return 200, {"briefing": {"date": payload["date"], "content": payload["content"]}}


OPERATIONS = {
    function.__name__: function
    for function in (create_task, update_task, complete_task, delete_task, capture_insight, store_briefing)
}
DIRECT = {"/api/tasks": create_task, "/api/insights": capture_insight}


def read(store: Store, path: str, asked: dict[str, str]) -> dict[str, Any]:
    """The three lists; newest first."""
    limit = min(int(asked.get("limit", "100")), 500)
    if path == "/api/tasks":
        wanted = {"status": "status", "project": "project_name", "priority": "priority"}
        terms = {column: asked[name] for name, column in wanted.items() if asked.get(name)}
        where = "".join(f" AND {column} = ?" for column in terms)
        sql = f"SELECT * FROM tasks WHERE 1{where} ORDER BY id DESC LIMIT ?"
        return {"tasks": store.rows(sql, *terms.values(), limit)}
    if path == "/api/insights":
        before = int(asked.get("cursor") or 2**62)
        words = f"%{asked.get('q', '')}%"
        sql = "SELECT * FROM insights WHERE id < ? AND content LIKE ? AND captured_at >= ? ORDER BY id DESC LIMIT ?"
        found = store.rows(sql, before, words, asked.get("since", ""), limit + 1)
        more = len(found) > limit
        return {"insights": found[:limit], "next_cursor": str(found[limit - 1]["id"]) if more else None}
    if path == "/api/briefings":
        sql = "SELECT * FROM briefings WHERE date < ? ORDER BY date DESC LIMIT ?"
        return {"briefings": store.rows(sql, asked.get("before", "9999"), limit)}
    raise No(404, "nothing here")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store

    def do_GET(self) -> None:
        self._answered(self._read)

    def do_POST(self) -> None:
        self._answered(self._write)

    def log_message(self, *_: Any) -> None:
        pass

    def _answered(self, work: Any) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        with self.store.lock:
            try:
                self._admit()
                status, said, dropped = work(body)
            except No as no:
                status, said, dropped = no.status, {"error": str(no)}, False
            except (ValueError, TypeError):
                status, said, dropped = 400, {"error": "that makes no sense"}, False
        if dropped:
            self.close_connection = True
            return
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _admit(self) -> None:
        manners = self.store.manners
        if manners.token:
            bearer = manners.token_header.lower() == "authorization"
            if self.headers.get(manners.token_header) != (f"Bearer {manners.token}" if bearer else manners.token):
                raise No(401 if urlsplit(self.path).path != "/api/meta" else 404, "who are you?")

    def _read(self, _: bytes) -> tuple[int, dict[str, Any], bool]:
        parts = urlsplit(self.path)
        return 200, read(self.store, parts.path, {k: v[-1] for k, v in parse_qs(parts.query).items()}), False

    def _write(self, body: bytes) -> tuple[int, dict[str, Any], bool]:
        store, manners = self.store, self.store.manners
        path = urlsplit(self.path).path
        key = (self.headers.get("Idempotency-Key") or "").strip('"')
        note = store.insert("requests", {"key": key, "method": "POST", "path": path, "body": body.decode()})
        status, said = 500, {"error": "no answer"}
        try:
            status, said = self._apply(path, key, body)
        except No as no:
            status, said = no.status, {"error": str(no)}
        dropped = status < 300 and store.left_to_drop > 0
        store.left_to_drop -= dropped
        store.db.execute("UPDATE requests SET status = ?, dropped = ? WHERE id = ?", [status, dropped, note])
        if status < 300 and manners.honours_keys and key:
            store.db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?)", [key, status, json.dumps(said)])
        return status, said, dropped

    def _apply(self, path: str, key: str, body: bytes) -> tuple[int, dict[str, Any]]:
        store = self.store
        queued = re.fullmatch(r"/api/queue/(\w+)", path)
        work = DIRECT.get(path)
        if queued and store.manners.queue_endpoint:
            work = OPERATIONS.get(queued[1])
        if work is None:
            raise No(404, "nothing here")
        if store.manners.honours_keys and key:
            for before in store.db.execute("SELECT * FROM answers WHERE key = ?", [key]):
                return int(before["status"]), dict(json.loads(before["body"]))
        payload = json.loads(body)
        if not isinstance(payload, dict):
            raise No(400, "an object, please")
        return work(store, payload)


class Server(ThreadingHTTPServer):
    daemon_threads = True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--database", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--token-header", default="Authorization")
    parser.add_argument("--no-queue-endpoint", dest="queue_endpoint", action="store_false")
    parser.add_argument("--honours-keys", action="store_true")
    parser.add_argument("--drop-after-apply", type=int, default=0, metavar="N")
    given = vars(parser.parse_args())
    host, port = given.pop("host"), given.pop("port")
    Handler.store = Store(Manners(**given))
    server = Server((host, port), Handler)
    print(f"http://{host}:{server.server_address[1]}", flush=True)
    server.serve_forever()


# For tests: the Hub as a process


@dataclass
class PlainHub:
    """A running plain Hub: ``url``, and what its file says."""

    url: str
    database: Path

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.database)
        try:
            return list(connection.execute(sql, values))
        finally:
            connection.close()

    def keys(self) -> list[str]:
        """The keys of all writes, in the order of their arrival."""
        return [str(key) for (key,) in self.rows("SELECT key FROM requests ORDER BY id")]


@contextlib.contextmanager
def running(database: Path, *options: str, port: int = 0) -> Iterator[PlainHub]:
    """Starts a plain Hub over this file, waits until it listens, and ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.plain_hub", "--port", str(port), "--database", str(database), *options],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), "the plain Hub did not start"
        yield PlainHub(url, database)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    main()
