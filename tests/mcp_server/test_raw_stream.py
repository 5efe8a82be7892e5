"""The server as a process, its bytes as they are: in bad company only protocol on standard output, and a prompt end."""

from __future__ import annotations

import json
import os
import queue
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.aria import Aria, Running
from tests.helpers.hub import HubProcess, free_port
from tests.helpers.proxy import FaultProxy, is_write
from tests.helpers.waiting import wait_until
from tests.mcp_server.test_wire import HELLO, READY

pytestmark = pytest.mark.case("M01")

PROMPT = 2.0
"""Seconds within which the server ends after the end of its input."""
PATIENT = 40.0
"""Seconds after which an answer counts as never given."""
TEXT = "line one\nline two\u2028three\u2029four\r\x1b[2J\x1b]52;c;aGk=\x07\x85 \x9b31m end"


@dataclass
class Server:
    """A running ``aria mcp``; ``lines`` is every line that it wrote to standard output, as bytes."""

    running: Running
    lines: list[bytes] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)
    answers: dict[Any, Any] = field(default_factory=dict)
    _came: queue.Queue[None] = field(default_factory=queue.Queue)
    _number: int = 0

    def __post_init__(self) -> None:
        self._readers = [threading.Thread(target=one, daemon=True) for one in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()
        for message in (HELLO, READY):
            self.write(json.dumps(message).encode())
        self.answer(0)

    def _read(self) -> None:
        for line in self.running.process.stdout or ():
            self.lines.append(line)
            try:
                message = json.loads(line)
                self.answers[message.get("id")] = message
            except (ValueError, AttributeError):
                pass  # told by ``end``
            self._came.put(None)

    def _read_errors(self) -> None:
        self.errors += self.running.process.stderr or ()

    def write(self, line: bytes) -> None:
        stdin = self.running.process.stdin
        assert stdin
        stdin.write(line + b"\n")
        stdin.flush()

    def ask(self, tool: str, **arguments: Any) -> int:
        """Sends a call; its number."""
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        self.write(json.dumps(message).encode())
        return self._number

    def answer(self, number: int) -> Any:
        wait_until(lambda: number in self.answers, PATIENT, f"answer {number}: {self.lines} {self.errors}")
        return self.answers[number]

    def call(self, tool: str, **arguments: Any) -> Any:
        """The structured result."""
        result = self.answer(self.ask(tool, **arguments))["result"]
        assert not result["isError"], result
        return result["structuredContent"]

    def failure(self, tool: str, **arguments: Any) -> str:
        """The words of a tool that failed."""
        result = self.answer(self.ask(tool, **arguments))["result"]
        assert result["isError"] and "structuredContent" not in result, result
        return str(result["content"][0]["text"])

    def end(self) -> str:
        """Ends the input; fails unless the server ends in time and wrote nothing but protocol. Its standard error."""
        process = self.running.process
        assert process.stdin and process.stdout and process.stderr
        began = time.monotonic()
        process.stdin.close()
        try:
            status = process.wait(PATIENT)
        except subprocess.TimeoutExpired:
            status = None
        took = time.monotonic() - began
        for reader in self._readers:
            reader.join(PATIENT)
        errors = b"".join(self.errors).decode(errors="replace")
        assert status == 0, (status, errors)
        assert took <= PROMPT, f"{took:.2f} s until it ended"
        for line in self.lines:
            text = line.decode()
            assert text.endswith("\n") and len(text.splitlines()) == 1, text
            message = json.loads(text)
            assert message["jsonrpc"] == "2.0" and ({"method"} & message.keys() or {"result", "error"} & message.keys())
            assert not [c for c in text[:-1] if ord(c) < 32 or 127 <= ord(c) < 160], text
        assert "Traceback (most recent call last)" not in errors, errors
        return errors


Start = Callable[..., Server]


@pytest.fixture
def start(aria: Aria) -> Iterator[Start]:
    """Starts the server with the interpreter's own options before the module."""

    def begin(*options: str, **env: str) -> Server:
        command = aria.command
        aria.command = (command[0], *options, *command[1:])
        try:
            return Server(aria.start("mcp", stdin=subprocess.PIPE, env=env))
        finally:
            aria.command = command

    yield begin


def site(aria: Aria, code: str) -> None:
    """Code that each child process runs when it starts."""
    (aria.root / "site").mkdir()
    (aria.root / "site" / "sitecustomize.py").write_text(code)
    aria.env["PYTHONPATH"] = f"{aria.root / 'site'}:{aria.environment()['PYTHONPATH']}"


def assert_whole(aria: Aria, rows: int) -> list[dict[str, Any]]:
    """The queue's file is sound, and each of its rows is whole; the payloads."""
    with sqlite3.connect(aria.queue_file, timeout=10) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = db.execute("SELECT payload, op_id, entity, target FROM queue ORDER BY id").fetchall()
    db.close()
    assert len(found) == rows and all(all(row) for row in found), found
    return [json.loads(row[0]) for row in found]


def assert_queue_is_the_commands(server: Server, aria: Aria) -> dict[str, Any]:
    told, said = server.call("aria_queue_status"), aria.queue()
    assert told == said
    return said


def test_with_the_hub_down(aria: Aria, start: Start) -> None:
    aria.use(f"http://127.0.0.1:{free_port()}", "a-token-of-some-length")
    server = start()
    made = server.call("aria_create_task", title="later")
    assert (made["status"], made["queue_id"]) == ("queued", 1)
    assert server.call("aria_capture_insight", content=TEXT)["status"] == "queued"
    for tool, words in (("aria_list_tasks", ("task", "list")), ("aria_list_insights", ("insight", "list"))):
        assert f"aria: {server.failure(tool)}\n" in aria(*words).err
    synced = server.call("aria_sync")
    assert (synced["synced"], synced["remaining"], synced["hub"]) == (0, 2, {"state": "offline"})
    said = assert_queue_is_the_commands(server, aria)
    assert said["pending_total"] == 2 and said["items"][0]["reason_code"] == "offline"
    server.end()
    assert assert_whole(aria, 2)[1]["content"] == TEXT


def test_with_warnings_on_and_a_library_that_prints(aria: Aria, start: Start) -> None:
    site(aria, LOUD)
    server = start("-W", "always", "-X", "dev", PYTHONWARNINGS="always")
    assert server.call("aria_create_task", title="x")["status"] == "synced"
    assert_queue_is_the_commands(server, aria)
    errors = server.end()
    for stray in ("stray print", "stray bytes", "stray child", "UserWarning: stray warning", "stray log"):
        assert stray in errors, f"{stray!r} is on standard error: {errors}"
    assert_whole(aria, 1)


LOUD = """
import aria_tui.outbox.ids as ids, logging, os, subprocess, sys, warnings
made = ids.new_id
def loud(*a, **k):
    print('stray print', flush=True); os.write(1, b'stray bytes\\n'); subprocess.run(['echo', 'stray child'])
    sys.__stdout__.write('stray print\\n')
    warnings.warn('stray warning'); logging.getLogger('other').warning('stray log')
    return made(*a, **k)
ids.new_id = loud
"""


@pytest.mark.parametrize("broken", ["[hub]\nurll = 'x'\n", "[hub\n", "\x00\x01", "[hub]\nurl = 3\n"])
def test_with_a_broken_configuration(aria: Aria, start: Start, broken: str) -> None:
    aria.home.mkdir()
    (aria.home / "config.toml").write_text(broken)
    server = start()
    for tool, arguments in (("aria_create_task", {"title": TEXT}), ("aria_queue_status", {}), ("aria_list_tasks", {})):
        words = server.failure(tool, **arguments)
        assert f"aria: {words}\n" == aria("queue", "status").err and "config.toml" in words
    assert not aria.queue_file.exists()
    server.end()


BREAKS = """
import aria_tui.mcp_tools as tools, msgspec
async def broken(*_, **__): raise ZeroDivisionError('odd')
tools.TOOLS = tuple(msgspec.structs.replace(t, call=broken) if t.name == 'aria_list_tasks' else t for t in tools.TOOLS)
import aria_tui.assistant as assistant
assistant.Assistant.list_tasks = broken
"""


def test_with_a_tool_that_raises(aria: Aria, start: Start) -> None:
    site(aria, BREAKS)
    server = start()
    words = server.failure("aria_list_tasks")
    assert words.startswith("unexpected error: ZeroDivisionError: odd"), words
    by_command = aria("task", "list").err
    assert by_command.partition(";")[0] == f"aria: {words.partition(';')[0]}", "the command line's words"
    assert server.call("aria_create_task", title="after it")["status"] == "synced", "the server goes on"
    assert_queue_is_the_commands(server, aria)
    server.end()
    assert_whole(aria, 1)


def test_with_text_of_every_kind(aria: Aria, hub: HubProcess, start: Start) -> None:
    aria.use(hub.url, hub.token)
    aria.home.mkdir()
    (aria.home / "config.toml").write_text("[sync]\nautomatic = false\n")
    server = start()
    task = server.call("aria_create_task", title="t \u2028 \x1b[1m", description=TEXT, project="p\u2029")
    server.call("aria_capture_insight", content=TEXT)
    server.call("aria_store_briefing", date="2026-02-21", content=TEXT, data={TEXT: [TEXT]})
    assert [task["description"] for task in server.call("aria_list_tasks")["tasks"]] == [TEXT]
    assert [insight["content"] for insight in server.call("aria_list_insights")["insights"]] == [TEXT]
    assert "\x1b" not in json.dumps(server.failure("aria_update_task", id=TEXT, title="x"), ensure_ascii=False)
    server.call("aria_update_task", id=task["id"], title=TEXT.replace("\n", " ")[:400], offline=True)
    said = assert_queue_is_the_commands(server, aria)
    assert json.loads(said["items"][0]["payload"])["changes"]["title"].startswith("line one line two\u2028")
    server.end()


@pytest.mark.parametrize("silent", ["all", "writes"])
@pytest.mark.parametrize(
    "tools", [("aria_create_task",), ("aria_sync", "aria_list_tasks", "aria_hub_data", "aria_context")]
)
def test_the_end_with_calls_at_a_hub_that_hangs(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, start: Start, silent: str, tools: tuple[str, ...]
) -> None:
    aria.use(proxy.url, hub.token)
    aria.home.mkdir()
    (aria.home / "config.toml").write_text("[hub]\ntimeout = 600\nbudget = 600\n")
    server = start()
    assert server.call("aria_capture_insight", content="before", offline=True)["status"] == "queued"
    proxy.add("blackhole", when=is_write if silent == "writes" else lambda _request: True)
    before = len(proxy.requests)
    for tool in tools:
        server.ask(tool, **({"title": "saved"} if tool == "aria_create_task" else {}))
    wait_until(lambda: len(proxy.requests) > before, PATIENT, "something is on its way")
    rows = tools.count("aria_create_task")
    wait_until(lambda: count(aria.queue_file) == 1 + rows, PATIENT, "it is saved")
    server.end()
    assert_whole(aria, 1 + rows)
    proxy.clear()
    aria("sync").ok()
    assert len(hub.all("insights")) == 1 and len(hub.all("tasks")) == rows


def count(file: Path) -> int:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10) as db:
        found = int(db.execute("SELECT count(*) FROM queue").fetchone()[0])
    db.close()
    return found


@pytest.mark.parametrize("source", ["git", "calendar", "token", "finance"])
def test_the_end_with_a_call_at_something_else_that_hangs(aria: Aria, start: Start, source: str) -> None:
    """A git that never ends, a feed and a service that never answer, a token's command that waits for a password."""
    import socket

    aria.home.mkdir()
    tools = aria.root / "bin"
    tools.mkdir()
    marker = aria.root / "asked"
    (tools / "git").write_text(f"#!/bin/sh\n: >'{marker}'\nsleep 600 &\nwait\n")
    (tools / "git").chmod(0o755)
    (aria.root / "projects" / "one" / ".git").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings, tool = {
            "git": (f'[projects]\nroots = ["{aria.root}/projects"]\n', "aria_scan_projects"),
            "calendar": (f'[calendar]\nsources = [{{ url = "{url}" }}]\n', "gcal_events_today"),
            "finance": (f'[finance]\nkind = "http"\nurl = "{url}"\n', "fin_summary"),
            "token": (f'[hub]\nurl = "{url}"\ntoken_command = "{tools}/git"\n', "aria_list_tasks"),
        }[source]
        (aria.home / "config.toml").write_text(f"[briefing]\ntimeout = 600\n{settings}")
        server = start(PATH=f"{tools}:{os.environ['PATH']}")
        server.ask(tool)
        if source in ("git", "token"):
            wait_until(marker.exists, PATIENT, "it was asked")
        else:
            silent.settimeout(PATIENT)
            connection = silent.accept()[0]
            connection.recv(1)
        server.end()
        if source not in ("git", "token"):
            connection.close()
    left = f"{tools}/git" if source == "token" else str(aria.root / "projects" / "one")
    wait_until(lambda: not processes_of(left), 5, "no process is left")


def processes_of(words: str) -> list[str]:
    """Processes that run something by that name, or in that folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal():
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if words in line or str((entry / "cwd").readlink()) == words:
                    found.append(line)
        except OSError:
            continue
    return [line for line in found if str(os.getpid()) not in line and "pytest" not in line]


def test_the_end_while_another_program_keeps_the_lock(aria: Aria, start: Start) -> None:
    server = start()
    assert server.call("aria_capture_insight", content="before", offline=True)["status"] == "queued"
    with sqlite3.connect(aria.queue_file, timeout=10, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        number = server.ask("aria_capture_insight", content="never answered", offline=True)
        server.ask("aria_queue_status")
        server.end()
        assert number not in server.answers
    other.close()
    assert_whole(aria, 1)


@pytest.mark.parametrize("attempt", range(3))
def test_the_end_in_the_middle_of_a_line_and_of_a_flood(aria: Aria, start: Start, attempt: int) -> None:
    server = start()
    for number in range(40):
        server.ask("aria_capture_insight", content=f"idea {number}", offline=True)
    server.write(b'{"jsonrpc": "2.0", "id": 99, "method": "tools/ca')
    server.end()
    acknowledged = [n for n, one in server.answers.items() if isinstance(n, int) and 0 < n < 99 and "result" in one]
    rows = count(aria.queue_file) if aria.queue_file.exists() else 0
    assert len(acknowledged) <= rows <= 40
    if rows:
        assert_whole(aria, rows)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_leaves_no_process(aria: Aria, start: Start, number: signal.Signals) -> None:
    """An assistant's program may not close the input, and end the server from outside."""
    aria.home.mkdir()
    tools, marker, folder = aria.root / "bin", aria.root / "asked", aria.root / "projects" / "one"
    tools.mkdir()
    (tools / "git").write_text(f"#!/bin/sh\n: >'{marker}'\nsleep 600 &\nwait\n")
    (tools / "git").chmod(0o755)
    (folder / ".git").mkdir(parents=True)
    (aria.home / "config.toml").write_text(f'[projects]\nroots = ["{folder.parent}"]\n')
    server = start(PATH=f"{tools}:{os.environ['PATH']}")
    assert server.call("aria_create_task", title="kept", offline=True)["status"] == "queued"
    server.ask("aria_scan_projects")
    wait_until(marker.exists, PATIENT, "it was asked")
    server.running.process.send_signal(number)
    assert server.running.process.wait(PATIENT) == 128 + number
    wait_until(lambda: not processes_of(str(folder)), PROMPT, "no process is left")
    assert_whole(aria, 1)
