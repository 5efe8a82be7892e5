"""A batch holds every field that hub-api.md asks for, whatever its value: another Hub may insist on them."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.outbox.bench import Bench, Home


class Bodies(httpx.AsyncBaseTransport):
    """Notes the body of every batch and passes it on."""

    def __init__(self, home: Home) -> None:
        self.inner = home.network.inner
        self.batches: list[dict[str, Any]] = []
        home.network.inner = self

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/queue":
            self.batches.append(json.loads(request.content))
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
