"""The Hub is lost, or the call given up, inside a running ``aria_sync``: an honest answer, and later all of it once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, is_write
from tests.helpers.waiting import until
from tests.mcp_server.client import call, connected

ROWS = 700
"""A first batch holds at most 500 operations (queue.md), so that these go in more than one."""
PATIENT = 60
"""Seconds after which an answer counts as never given."""


def configure(aria: Aria, url: str, token: str, *, timeout: int = 10) -> None:
    """Only ``aria_sync`` sends, and waits for an answer so many seconds."""
    aria.use(url, token)
    aria.home.mkdir()
    (aria.home / "config.toml").write_text(f"[hub]\ntimeout = {timeout}\n[sync]\nautomatic = false\n")
    aria("queue", "status").ok()


def fill(aria: Aria, rows: int) -> None:
    contents = [(json.dumps({"content": f"insight {number:03}"}),) for number in range(rows)]
    with sqlite3.connect(aria.queue_file, timeout=10) as db:
        db.executemany("INSERT INTO queue(operation, payload) VALUES ('capture_insight', ?)", contents)
    db.close()


def assert_each_once_and_in_order(hub: HubProcess, rows: int) -> None:
    contents = [insight["content"] for insight in reversed(hub.all("insights"))]
    assert contents == [f"insight {number:03}" for number in range(rows)]


@pytest.fixture
def torture(tmp_path: Path) -> Iterator[HubProcess]:
    """A Hub that holds back its answer to the second batch, ``before`` or ``after`` it was applied (set ``extra``)."""
    process = HubProcess(tmp_path)
    yield process
    process.close()


@pytest.mark.parametrize("when", ["before", "after"])
async def test_the_hub_is_killed_in_the_middle(aria: Aria, torture: HubProcess, tmp_path: Path, when: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'[[faults]]\nkind = "delay"\nwhen = "{when}"\nseconds = 600\npath = "/api/queue"\nafter = 1\n')
    torture.extra = ("--faults", str(plan))
    torture.start()
    configure(aria, torture.url, torture.token)
    fill(aria, ROWS)
    async with asyncio.timeout(PATIENT), connected(aria) as client:
        running = asyncio.create_task(call(client, "aria_sync"))
        first = await until(lambda: _answered_before_the_held_one(torture), 30, "the second batch is held")
        if when == "after":
            await until(lambda: torture.count("insights") > first, 30, "the second batch is applied")
        torture.kill()
        told = await running
        assert (told["synced"], told["remaining"], told["dead_letters"]) == (first, ROWS - first, 0), told
        assert told["hub"] == {"state": "offline"}
        queue = await call(client, "aria_queue_status")
        assert (queue["pending_total"], queue["dead_letters"]) == (ROWS - first, 0)
        torture.extra = ()
        torture.start()
        told = await call(client, "aria_sync")
        assert (told["synced"], told["remaining"]) == (ROWS - first, 0), told
    assert_each_once_and_in_order(torture, ROWS)


def _answered_before_the_held_one(torture: HubProcess) -> int:
    """How many operations the first batch held, once the second one is being held back."""
    batches = [one["keys"] for one in torture.get("/faults/log")["requests"] if one["path"] == "/api/queue"]
    return len(batches[0]) if len(batches) == 2 else 0


@pytest.mark.parametrize("silent", ["all", "writes"])
async def test_a_hub_that_never_answers(aria: Aria, hub: HubProcess, proxy: FaultProxy, silent: str) -> None:
    configure(aria, proxy.url, hub.token, timeout=2)
    fill(aria, 1)
    proxy.add("blackhole", when=is_write if silent == "writes" else lambda _request: True)
    async with asyncio.timeout(PATIENT), connected(aria) as client:
        told = await call(client, "aria_sync")
        assert (told["synced"], told["remaining"], told["dead_letters"]) == (0, 1, 0), told
        assert silent == "writes" or (told["failed"], told["hub"]) == (0, {"state": "offline"}), told
        proxy.clear()
        told = await call(client, "aria_sync")
        assert (told["synced"], told["remaining"]) == (1, 0), told
    assert_each_once_and_in_order(hub, 1)


async def test_the_client_gives_the_call_up(aria: Aria, hub: HubProcess, proxy: FaultProxy) -> None:
    """The drain ends with the call; what was on its way is in doubt, and goes again under its own key."""
    configure(aria, proxy.url, hub.token, timeout=600)  # nothing but the call's end ends the waiting
    fill(aria, ROWS)
    proxy.add("blackhole", when=lambda request: request.write and len(proxy.writes) > 1)
    async with asyncio.timeout(PATIENT), connected(aria) as client:
        running = asyncio.create_task(client.call_tool("aria_sync", {}))
        await until(lambda: len(proxy.writes) == 2, 30, "the second batch is on its way")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        proxy.clear()
        told = await call(client, "aria_sync")
        assert (told["failed"], told["remaining"], told["dead_letters"]) == (0, 0, 0), told
        assert (await call(client, "aria_queue_status"))["pending_total"] == 0
    assert_each_once_and_in_order(hub, ROWS)
