"""The client against the reference Hub, in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from aria_tui.config import HubConfig
from aria_tui.errors import HubUnavailable, InvalidInput, NotFound
from aria_tui.hub.client import CursorExpired, HubClient
from aria_tui.hub.embedded import open_embedded
from aria_tui.hub.server import auth
from aria_tui.hub.server.app import create_app
from aria_tui.hub.server.service import Hub, now_ms
from aria_tui.hub.server.storage.sqlite import SqliteStorage

KEYS = [f"0193d2c4-0000-7000-8000-00000000000{n}" for n in range(10)]
WHEN = "2026-11-30T08:00:00Z"


def op(n: int, operation: str, payload: dict[str, Any], **more: Any) -> bytes:
    return json.dumps(
        {"op_id": KEYS[n], "operation": operation, "occurred_at": WHEN, "schema_version": 1, "payload": payload, **more}
    ).encode()


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[HubClient]:
    transport, close = await open_embedded(tmp_path)
    client = HubClient(HubConfig(), transport=transport, embedded=True)
    yield client
    await client.aclose()
    await close()


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[SqliteStorage]:
    made = await SqliteStorage.open(tmp_path / "server.db")
    await made.migrate()
    await made.ensure_account("me", now_ms())
    yield made
    await made.close()


async def test_embedded(embedded: HubClient) -> None:
    probe = await embedded.probe(5)
    assert (probe.state, probe.may_send, probe.plain) == ("embedded", True, False)
    assert probe.meta is not None
    assert embedded.expected_hub_id == probe.meta.hub_id
    assert await embedded.ready(5) is True


async def test_a_batch(embedded: HubClient) -> None:
    ops = [
        op(1, "create_task", {"id": KEYS[1], "title": "Pagar DAS"}),
        op(2, "create_task", {"title": ""}),
        op(3, "store_briefing", {"date": "2026-11-30", "content": "x", "captured_at": WHEN}),
        op(4, "do_something_new", {}),
    ]
    outcome = await embedded.send_batch(ops, KEYS[1:5], client_id="me", timeout=5)
    assert (outcome.kind, outcome.state) == ("answered", "embedded")
    assert [(r.op_id, r.status) for r in outcome.results] == [
        (KEYS[1], "applied"), (KEYS[2], "rejected"), (KEYS[3], "applied"), (KEYS[4], "rejected"),
    ]  # fmt: skip
    assert outcome.results[1].problem is not None
    assert outcome.results[1].problem.word == "validation"
    assert outcome.results[3].problem is not None
    assert outcome.results[3].problem.word == "unknown-operation"
    again = await embedded.send_batch(ops[:1], KEYS[1:2], client_id="me", timeout=5)
    assert [r.status for r in again.results] == ["duplicate"]
    recorded = await embedded.op_outcome(KEYS[1], 5)
    assert recorded is not None
    assert recorded["op_id"] == KEYS[1]
    assert await embedded.op_outcome(KEYS[9], 5) is None


async def test_single_writes(embedded: HubClient) -> None:
    payload = json.dumps({"id": KEYS[1], "title": "Pagar DAS"}).encode()
    outcome = await embedded.send_one("create_task", KEYS[1], payload, timeout=5)
    assert [(r.op_id, r.status) for r in outcome.results] == [(KEYS[1], "applied")]
    replay = await embedded.send_one("create_task", KEYS[1], payload, timeout=5)
    assert (replay.kind, replay.replayed) == ("answered", True)
    reused = await embedded.send_one("create_task", KEYS[1], b'{"title":"other"}', timeout=5)
    assert reused.kind == "refused"
    assert reused.problem is not None
    assert reused.problem.word == "key-reused"
    bad = await embedded.send_one("create_task", KEYS[2], b'{"title":""}', timeout=5)
    assert bad.problem is not None
    assert bad.problem.errors[0]["field"] == "title"
    unknown = await embedded.send_one("do_something_new", KEYS[3], b"{}", timeout=5)
    assert (unknown.kind, unknown.problem and unknown.problem.word) == ("refused", "unknown-operation")


async def test_reads(embedded: HubClient) -> None:
    await embedded.send_one("create_task", KEYS[1], b'{"title":"Pagar DAS"}', timeout=5)
    assert [t["title"] for t in (await embedded.get("/api/tasks", {"status": "TODO"}, timeout=5))["tasks"]] == [
        "Pagar DAS"
    ]
    with pytest.raises(NotFound):
        await embedded.get(f"/api/tasks/{KEYS[9]}", timeout=5)
    with pytest.raises(InvalidInput):
        await embedded.get("/api/tasks", {"limit": "many"}, timeout=5)
    with pytest.raises((CursorExpired, InvalidInput)):
        await embedded.get("/api/changes", {"since": "nonsense"}, timeout=5)


async def test_too_large(embedded: HubClient) -> None:
    outcome = await embedded.send_batch(
        [op(1, "capture_insight", {"content": "x" * 2_000_000})], KEYS[1:2], client_id="me", timeout=10
    )
    assert (outcome.kind, outcome.problem and outcome.problem.word) == ("too_large", "too-large")


async def test_tokens(storage: SqliteStorage) -> None:
    transport = httpx.ASGITransport(app=await create_app(Hub(storage)))
    good, row = auth.mint("me", "laptop", "write", now_ms())
    await storage.add_token(row)
    reader, row = auth.mint("me", "panel", "read", now_ms())
    await storage.add_token(row)
    stranger, _ = auth.mint("me", "nobody", "write", now_ms())

    def client(token: str) -> HubClient:
        return HubClient(HubConfig(url="https://hub.example.com"), transport=transport, token=token)

    assert (await client(good).probe(5)).state == "online"
    for token in ("", "junk", stranger):
        assert (await client(token).probe(5)).state == "refused"
        outcome = await client(token).send_one("create_task", KEYS[1], b'{"title":"x"}', timeout=5)
        assert (outcome.kind, outcome.state) == ("paused", "refused")
        with pytest.raises(HubUnavailable) as raised:
            await client(token).get("/api/tasks", timeout=5)
        assert raised.value.state == "refused"
    outcome = await client(reader).send_one("create_task", KEYS[1], b'{"title":"x"}', timeout=5)
    assert (outcome.kind, outcome.status) == ("paused", 403)
    outcome = await client(good).send_one("create_task", KEYS[1], b'{"title":"x"}', timeout=5)
    assert outcome.kind == "answered"


async def test_another_hub_takes_its_place(embedded: HubClient, storage: SqliteStorage) -> None:
    await embedded.probe(5)
    other = HubClient(
        HubConfig(url="https://hub.example.com"), transport=httpx.ASGITransport(app=await create_app(Hub(storage)))
    )
    other.expected_hub_id = embedded.expected_hub_id
    outcome = await other.send_batch([op(1, "create_task", {"title": "x"})], KEYS[1:2], client_id="me", timeout=5)
    assert (outcome.kind, outcome.state) == ("unreachable", "not_the_hub")
