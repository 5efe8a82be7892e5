"""The raw stream: only JSON-RPC on standard output, bad messages refused, a prompt end."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.helpers.aria import Aria, Running, end

HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tool(number: int, name: str, arguments: str) -> str:
    """A call with its arguments' JSON as it stands."""
    return (
        f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {{"name": "{name}", '
        f'"arguments": {arguments}}}}}'
    )


def at_start(aria: Aria, code: str) -> None:
    """Has each process of the program run some code before anything else."""
    (aria.root / "site").mkdir()
    (aria.root / "site" / "sitecustomize.py").write_text(code)
    aria.env |= {"PYTHONPATH": f"{aria.root / 'site'}:{aria.environment()['PYTHONPATH']}"}


def talk(aria: Aria, *lines: str | bytes, answers: int) -> tuple[dict[Any, Any], Running, list[bytes]]:
    """Sends the lines, waits for so many answers, ends the input; answers by id, the process, every line it wrote."""
    import subprocess

    running = aria.start("mcp", stdin=subprocess.PIPE)
    process = running.process
    assert process.stdin and process.stdout
    written: list[bytes] = []
    found: dict[Any, Any] = {}
    watchdog = threading.Timer(30, running.process.kill)  # an answer that never comes is a failure, not a hang
    watchdog.start()
    try:
        for line in (json.dumps(HELLO), json.dumps(READY), *lines):
            process.stdin.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
            process.stdin.flush()
        while len(found) < answers + 1:
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            written.append(line)
            message = json.loads(line)
            if "method" not in message:
                found[message["id"]] = message
        process.stdin.close()
        assert process.wait(5) == 0  # the promise is 2 s; a busy machine gets some more
        written += process.stdout.readlines()
    finally:
        watchdog.cancel()
        end(process)
    return found, running, written


@pytest.mark.case("M01", "S08")
def test_surrogates_nan_and_broken_bytes_are_invalid_and_store_nothing(aria: Aria) -> None:
    found, _, written = talk(
        aria,
        tool(1, "aria_create_task", '{"title": "\\ud83d"}'),
        tool(2, "aria_store_briefing", '{"date": "2026-01-01", "content": "x", "data": {"n": NaN}}'),
        tool(3, "aria_capture_insight", '{"content": "nul \\u0000"}'),
        b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "caf\xe9"}}',
        tool(5, "aria_create_task", '{"title": "\\ud83d\\ude00 fine \\u2028 \\u001b[1m \\n x", "offline": true}'),
        answers=5,
    )
    for number in (1, 2, 3):
        assert found[number]["error"]["code"] == -32602, found
    assert found[None]["error"]["code"] == -32700
    assert found[5]["result"]["structuredContent"]["status"] == "queued"
    found, _, shown = talk(aria, tool(1, "aria_queue_status", "{}"), answers=1)
    payload = found[1]["result"]["structuredContent"]["items"][0]["payload"]
    assert json.loads(payload)["title"] == "😀 fine \u2028 \x1b[1m \n x"
    for line in written + shown:
        assert len(line.decode().rstrip("\n").splitlines()) == 1 and json.loads(line)["jsonrpc"] == "2.0"
    assert aria.waiting() == 1


@pytest.mark.case("M01")
def test_what_was_asked_before_the_end_of_input_is_answered(aria: Aria) -> None:
    # How long is waited for the last answers is another test's matter; here a busy machine gets the time that it needs.
    at_start(
        aria,
        "import aria_tui.mcp_server, aria_tui.mcp_stdio\n"
        "aria_tui.mcp_stdio.ANSWER_SECONDS, aria_tui.mcp_server.LAST_SECONDS = 40.0, 45.0\n",
    )
    calls = [tool(number, "aria_create_task", f'{{"title": "task {number}"}}') for number in range(1, 6)]
    lines = [json.dumps(HELLO), json.dumps(READY), *calls, tool(6, "aria_list_tasks", "{}")]
    done = aria("mcp", stdin="\n".join(lines).encode()).ok()
    answers = {message["id"]: message for message in map(json.loads, done.out.splitlines())}
    assert [answers[number]["result"]["structuredContent"]["status"] for number in range(1, 6)] == ["synced"] * 5
    assert "structuredContent" in answers[6]["result"]
    assert len(aria("task", "list", "--json").ok().json["tasks"]) == 5


@pytest.mark.case("M01")
def test_what_is_no_message_is_answered_and_the_server_goes_on(aria: Aria) -> None:
    wrong = (
        "[]", '[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', '"ping"', '{"jsonrpc": "2.0", "method": 7}',
        '{"jsonrpc": "2.0", "id": null, "method": "ping"}', '{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
        '{"jsonrpc": "2.0", "id": true, "method": "ping"}',
    )  # fmt: skip
    found, _, written = talk(aria, *wrong, '{"jsonrpc": "2.0", "id": 9, "method": "ping"}', answers=2)
    refused = [json.loads(line) for line in written if b"-32600" in line]
    assert [message["id"] for message in refused] == [None] * len(wrong) and found[9]["result"] == {}
    found, _, _ = talk(
        aria,
        '{"id": 1, "method": "ping"}',
        '{"jsonrpc": "1.0", "id": 2, "method": "ping"}',
        '{"jsonrpc": "2.0", "id": "three"}',
        '{"jsonrpc": "2.0", "method": "notifications/none"}',
        '{"jsonrpc": "2.0", "id": 99, "result": {}}',
        '{"jsonrpc": "2.0", "id": 123456789012345678901234567890, "method": "ping"}',
        answers=4,
    )
    assert [found[number]["error"]["code"] for number in (1, 2, "three")] == [-32600] * 3
    assert found[123456789012345678901234567890]["result"] == {}


@pytest.mark.case("M01")
def test_stray_output_and_warnings_stay_off_the_wire(aria: Aria) -> None:
    at_start(
        aria,
        "import aria_tui.outbox.ids as ids, os, sys\n"
        "made = ids.new_id\n"
        "def loud(*a, **k):\n    print('stray'); os.write(1, b'stray bytes\\n'); return made(*a, **k)\n"
        "ids.new_id = loud\n",
    )
    aria.env |= {"PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1"}
    found, _running, written = talk(
        aria, tool(1, "aria_create_task", '{"title": "x"}'), tool(2, "aria_queue_status", "{}"), answers=2
    )
    assert found[1]["result"]["isError"] is False and found[2]["result"]["isError"] is False
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in written)


@pytest.mark.case("M01")
def test_a_tool_that_breaks_gives_a_sentence_and_the_server_goes_on(aria: Aria) -> None:
    (aria.root / "site").mkdir()
    (aria.root / "site" / "sitecustomize.py").write_text(
        "import aria_tui.documents as d\ndef broken(*_): raise ZeroDivisionError('odd')\nd.queue = broken\n"
    )
    aria.env["PYTHONPATH"] = f"{aria.root / 'site'}:{aria.environment()['PYTHONPATH']}"
    found, _running, _ = talk(
        aria, tool(1, "aria_queue_status", "{}"), tool(2, "aria_create_task", '{"title": "x"}'), answers=2
    )
    words = found[1]["result"]["content"][0]["text"]
    assert found[1]["result"]["isError"] and words.startswith("unexpected error: ZeroDivisionError: odd;"), words
    assert found[2]["result"]["structuredContent"]["status"] == "synced"
    assert len(list((aria.home / "log").glob("*.log"))) == 1
