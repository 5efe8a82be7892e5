"""What is known of a Hub while several answers of it come at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import Config
from aria_tui.outbox import known, state
from aria_tui.outbox.known import Made
from aria_tui.outbox.store import Store
from tests.outbox.bench import Bench, Home


async def test_a_gate_that_is_opened_while_its_shutting_is_written_stays_open(tmp_path: Path) -> None:
    """A read finds the Hub away and a probe finds it there, both within one write to the file."""
    hub = msgspec.structs.replace(Config().hub, url="http://127.0.0.1:9", token="a-test-token")
    async with await Assistant.open(msgspec.structs.replace(Config(), hub=hub), home=tmp_path) as assistant:
        await assistant.hub_status()
        link = assistant._engine._link
        assert link is not None and link.gate is not None
        await asyncio.gather(link.away("offline", "connection refused"), link.open_gate())
        assert link.gate is None


async def test_a_new_epoch_outlives_a_look_while_it_is_written(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.run(home.assistant.hub_status())
    link, put = await home.assistant._engine.link(), state.put

    async def slowly(store: Store, name: str, value: Any) -> None:
        await link.load()
        await put(store, name, value)

    monkeypatch.setattr(state, "put", slowly)
    assert await link.note_epoch("another")
    assert "restored" in link.restored
    await link.load()
    assert "restored" in link.restored


async def test_an_old_answer_of_a_probe_takes_nothing_back(bench: Bench, home: Home) -> None:
    """Things are made while it is under way, and what the file said before is read once more."""
    await bench.run(home.assistant.create_task("one"))
    link = await home.assistant._engine.link()
    before, meta = link.known, (await link.client.probe(5)).meta
    assert before is not None and meta is not None
    made = Made(link.target, before, 20)
    link.note_changes(made)
    await link.load()
    writing = asyncio.create_task(link.store.write(lambda connection: known.raise_in(connection, made)))
    await asyncio.sleep(0)
    await link._remember(msgspec.structs.replace(meta, seq=before.seq + 1), before)
    await writing
    await link.load()
    assert link.known is not None and link.known.seq == before.seq + 20
