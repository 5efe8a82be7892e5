"""``Aria-If-Reached``: a Hub that was restored refuses to write before anything is applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.hub.server.conftest import HubUnderTest

A = "0190f3c0-0000-7000-8000-00000000000a"


async def where(client: httpx.AsyncClient) -> tuple[str, int]:
    meta = (await client.get("/api/meta")).json()
    assert "if-reached" in meta["features"]
    return meta["epoch"], meta["seq"]


async def write(client: httpx.AsyncClient, key: str, headers: Mapping[str, str], *, batch: bool) -> httpx.Response:
    payload: dict[str, Any] = {"id": A, "title": key}
    if batch:
        op = {"op_id": key, "operation": "create_task", "payload": payload}
        return await client.post("/api/queue", json={"client_id": "test", "ops": [op]}, headers=headers)
    return await client.post("/api/tasks", json=payload, headers={**headers, "Idempotency-Key": key})


@pytest.mark.parametrize("batch", [True, False])
async def test_a_hub_that_is_where_it_was_or_further_takes_it(client: httpx.AsyncClient, batch: bool) -> None:
    epoch, seq = await where(client)
    for number in range(2):  # the second is a replay, and the Hub is further by then
        answer = await write(client, "k", {"Aria-If-Reached": f"{epoch}.{seq}"}, batch=batch)
        assert answer.is_success, (number, answer.text)
    assert (await where(client))[1] == seq + 1


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("wrong", ["seq", "epoch"])
async def test_one_that_was_restored_applies_nothing_and_replays_nothing(
    client: httpx.AsyncClient, batch: bool, wrong: str
) -> None:
    await write(client, "known", {}, batch=batch)
    epoch, seq = await where(client)
    seen = f"{epoch}.{seq + 1}" if wrong == "seq" else f"{'0' * 8}{epoch[8:]}.{seq}"
    for key in ("known", "new"):
        answer = await write(client, key, {"Aria-If-Reached": seen}, batch=batch)
        assert (answer.status_code, answer.json()["type"]) == (412, "/problems/restored")
        assert answer.headers["Aria-Hub-Epoch"] == epoch
    assert await where(client) == (epoch, seq)
    assert (await client.get("/api/queue/ops/new")).status_code == 404


@pytest.mark.parametrize("given", ["", "x", "1", "a.b", ".1", "epoch.-1"])
async def test_what_is_no_place_is_a_clear_error(client: httpx.AsyncClient, given: str) -> None:
    answer = await write(client, "k", {"Aria-If-Reached": given}, batch=True)
    assert answer.status_code == 400 and "Aria-If-Reached" in answer.json()["detail"]


async def test_each_account_has_a_place_of_its_own(hub: HubUnderTest) -> None:
    anna = await hub.connect(await hub.make_token("anna"))
    bert = await hub.connect(await hub.make_token("bert"))
    await write(anna, "k", {}, batch=True)
    epoch, seq = await where(bert)
    assert (await write(bert, "k", {"Aria-If-Reached": f"{epoch}.{seq}"}, batch=True)).is_success
    assert (await write(bert, "k2", {"Aria-If-Reached": f"{epoch}.{seq + 2}"}, batch=True)).status_code == 412
