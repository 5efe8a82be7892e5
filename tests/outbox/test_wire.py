"""What is sent, and told of it: a batch holds every field that hub-api.md asks for, whatever its value."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from aria_tui.errors import HubUnavailable
from aria_tui.outbox import connecting
from tests.outbox.bench import Bench, Home


class Bodies(httpx.AsyncBaseTransport):
    """Notes the body of every batch and passes it on."""

    def __init__(self, home: Home) -> None:
        self.inner = home.network.inner
        self.batches: list[dict[str, Any]] = []
        self.meanwhile: Callable[[], object] = lambda: None
        home.network.inner = self

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/queue":
            self.batches.append(json.loads(request.content))
            self.meanwhile()
        return await self.inner.handle_async_request(request)


async def test_an_operation_bears_every_field_of_the_contract(bench: Bench, home: Home) -> None:
    made = await home.assistant.create_task("made", offline=True)
    home.stranger("capture_insight", {"content": "from another program"})
    bodies = Bodies(home)
    await home.sync()
    await home.assistant.update_task(made.id, {"title": "changed"}, offline=True)
    await home.sync()
    assert all(set(batch) == {"client_id", "ops"} and batch["client_id"] for batch in bodies.batches)
    ops = [op for batch in bodies.batches for op in batch["ops"]]
    needed = {"op_id", "operation", "occurred_at", "schema_version", "payload"}
    assert [op["operation"] for op in ops] == ["create_task", "capture_insight", "update_task"]
    assert all(needed <= set(op) <= needed | {"entity", "base_version", "base"} for op in ops)
    assert [op["schema_version"] for op in ops] == [1, 1, 1]
    assert ops[2]["base"] == {"title": "made"} and ops[2]["base_version"] == 1


async def test_a_row_that_is_saved_is_never_told_as_not_saved(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program takes the file's lock while the Hub has the row: it is committed, so it is queued."""
    monkeypatch.setattr(connecting, "PATIENCE", 0.3)
    await home.assistant.capture_insight("first", offline=True)
    other = sqlite3.connect(home.file, isolation_level=None)
    bodies = Bodies(home)
    bodies.meanwhile = lambda: other.execute("BEGIN IMMEDIATE")
    result = await home.assistant.capture_insight("second")
    other.close()
    assert (result.status, result.queue_id) == ("queued", 2)
    assert "the queue's lock" in result.message and "not saved" not in result.message


@pytest.mark.parametrize("cursor", ["same", ""])
async def test_a_list_of_changes_that_never_gets_on_is_not_read_for_ever(home: Home, cursor: str) -> None:
    await home.assistant.create_task("seen")
    await home.assistant.list_tasks()
    bodies = Bodies(home)
    asked = 0

    async def stuck(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        answer = await Bodies.handle_async_request(bodies, request)
        if request.url.path != "/api/changes":
            return answer
        asked += 1
        assert asked < 10
        own = {name: value for name, value in answer.headers.items() if name.startswith("aria-hub")}
        return httpx.Response(200, headers=own, json={"changes": [], "cursor": cursor, "has_more": True})

    bodies.handle_async_request = stuck  # type: ignore[method-assign]
    with pytest.raises(HubUnavailable, match="unexpected answer"):
        await home.assistant.list_tasks()
    assert 0 < asked < 10


async def test_a_lock_file_that_can_t_be_had_is_told_in_words(home: Home) -> None:
    (home.folder / "queue.db.lock").unlink(missing_ok=True)
    (home.folder / "queue.db.lock").mkdir()
    result = await home.assistant.capture_insight("first")
    assert result.status == "queued" and "Errno" not in result.message
    assert result.message.endswith("queue.db.lock: a folder stands in its place")
