"""What is known of a Hub while several answers of it come at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from aria_tui.assistant import Assistant
from aria_tui.config import Config


async def test_a_gate_that_is_opened_while_its_shutting_is_written_stays_open(tmp_path: Path) -> None:
    """A read finds the Hub away and a probe finds it there, both within one write to the file."""
    hub = msgspec.structs.replace(Config().hub, url="http://127.0.0.1:9", token="a-test-token")
    async with await Assistant.open(msgspec.structs.replace(Config(), hub=hub), home=tmp_path) as assistant:
        await assistant.hub_status()
        link = assistant._engine._link
        assert link is not None and link.gate is not None
        await asyncio.gather(link.away("offline", "connection refused"), link.open_gate())
        assert link.gate is None
