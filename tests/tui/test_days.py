"""The briefing on the screen by day: morning and evening, days that were stored, two of them compared, copied."""

from __future__ import annotations

import base64
import re
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from aria_tui.briefing import render_markdown
from aria_tui.locale import formats
from aria_tui.tui.screens import briefing_commands
from aria_tui.tui.wallclock import local_now
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.tui.conftest import configured, until
from tests.tui.test_terminal import Pty


async def test_days_are_walked_and_two_of_them_compared(dashboard: Any) -> None:
    today = local_now().date()
    near, far, plain = (today - timedelta(days=days) for days in (3, 9, 12))
    async with dashboard() as running:
        screen = running.app.screen
        doc = await until(lambda: screen._doc, "the briefing")
        for day in near, far:
            await running.assistant.save_briefing(replace(doc, date=day.isoformat()))
        await running.assistant.store_briefing(plain.isoformat(), "words of another program [/x]\nsecond line")
        await running.assistant.create_task("came later", priority="HIGH")
        await running.keys("1", "r")
        await running.sees("Tasks  1 open")

        await running.keys("C")
        await running.sees(
            f"{formats.short_day(near)} → {formats.short_day(today)}", "0 open then, 1 now: 1 new, 0 done"
        )
        await running.keys("C")
        await until(lambda: " → " not in running.screen_text)

        for day in near, far:
            await running.keys("left_square_bracket")
            await running.sees(f" {formats.short_day(day, today)} ─╮")
        await running.keys("left_square_bracket")
        await running.sees("words of another program [/x]", "second line")
        await running.keys("left_square_bracket")
        await running.told("there is no earlier briefing")
        await running.keys("right_square_bracket")
        await running.sees(f" {formats.short_day(far, today)} ─╮")
        await running.keys("right_square_bracket", "right_square_bracket")
        await running.sees(" today ─╮", "Tasks  1 open")
        await running.keys("right_square_bracket")
        await running.told("this is today's briefing")


async def test_a_morning_without_the_hub_is_queued_once_and_replaces_none_with_it(
    dashboard: Any, hub: HubProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(briefing_commands, "STORE_AFTER", 0.0)
    monkeypatch.setattr(briefing_commands, "QUEUE_AFTER", 0.0)
    config = configured(hub=replace(configured().hub, url=hub.url, token=hub.token))
    today = local_now().date().isoformat()

    async def kinds(running: Any) -> dict[str, int]:
        return dict((await running.assistant.queue_status()).by_operation)

    hub.stop()
    async with dashboard(config=config) as running:
        await running.sees("QUEUE: 1 waiting")
        doc = await until(lambda: running.app.screen._doc, "the briefing")
        await running.app.screen.store(doc, queue=True)
        assert await kinds(running) == {"store_briefing": 1}
        hub.start()
        await until(lambda: running.app.session.get("stored") == today, "the whole one to be stored")
        stored = await running.assistant.stored_briefing(today)
        assert {section.name: section.state for section in stored.sections}["tasks"] == "ok"
        await running.sees("nothing waits")
    hub.stop()
    async with dashboard(config=config) as again:
        doc = await until(lambda: again.app.screen._doc, "the briefing")
        await until(lambda: again.app.live.hub.state == "offline", "the Hub to be away")
        await again.app.screen.store(doc, queue=True)
        assert await kinds(again) == {}


async def test_a_stored_day_is_shown_as_it_was(dashboard: Any) -> None:
    """What is due and open today never shines through the page of another day."""
    day = local_now().date() - timedelta(days=2)
    async with dashboard() as running:
        doc = await until(lambda: running.app.screen._doc, "the briefing")
        await running.assistant.save_briefing(replace(doc, date=day.isoformat()))
        await running.assistant.create_task("not there then")
        running.app.live.ask("tasks")
        await running.sees("Tasks  1 open")
        await running.keys("1", "left_square_bracket")
        await running.sees("Tasks  0 open")
        running.app.live.ask("tasks")
        await running.pilot.pause()
        assert "Tasks  0 open" in running.screen_text


async def test_the_evening_lists_what_was_done_and_what_is_due(dashboard: Any) -> None:
    tomorrow = (local_now().date() + timedelta(days=1)).isoformat()
    async with dashboard() as running:
        done = await running.assistant.create_task("Finish the report")
        await running.assistant.complete_task(done.id)
        await running.assistant.create_task("Call the bank", due=tomorrow)
        await running.assistant.capture_insight("Queues are trusted when seen")
        await running.keys("1", "e")
        shown = await running.sees(
            "╭─ Evening", "Done today", "Finish the report", "Queues are trusted", "Due tomorrow", "Call the bank",
            "e morning",
        )  # fmt: skip
        assert "Since yesterday" not in shown
        await running.keys("e")
        await running.sees("╭─ Briefing", "Since yesterday", "e evening")


async def test_sections_fold_and_alerts_lead_to_what_they_are_about(dashboard: Any) -> None:
    from aria_tui.models import Alert

    async with dashboard() as running:
        screen = running.app.screen
        await until(lambda: screen._doc, "the briefing")
        await running.assistant.create_task("in the list")
        running.app.live.ask("tasks")
        await running.sees("Tasks  1 open", "[MEDIUM]")
        await running.keys("1")
        screen.briefing_pane.rows.select("tasks")
        await running.keys("space")
        await running.sees("▸ Tasks  1 open")
        assert "[MEDIUM]" not in running.screen_text
        await running.keys("space")
        await running.sees("[MEDIUM]")
        screen._doc = replace(screen._doc, alerts=(Alert(level="warning", source="hub", text="Hub is odd"),))
        screen.draw_briefing()
        await running.keys("home")
        assert screen.briefing_pane.rows.cursor_key == "alerts:0"
        await running.keys("enter")
        assert screen._active == "hub"


async def test_a_copy_is_markdown_and_told(dashboard: Any) -> None:
    async with dashboard() as running:
        doc = await until(lambda: running.app.screen._doc, "the briefing")
        await running.keys("1", "y")
        await running.told("sent to clipboard")
        assert running.app.clipboard == render_markdown(doc)
        assert running.app.clipboard.startswith("# ")


def test_a_copy_reaches_the_terminal_as_osc_52(aria: Aria) -> None:
    terminal = Pty(aria)
    try:
        terminal.wait_for(" fold")
        found: list[bytes] = []
        for _ in range(40):  # while it is still being gathered the key says so
            terminal.send("y")
            for _again in range(20):
                terminal.read()
            if found := re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07", terminal.seen):
                break
        terminal.wait_for("ipboard")  # the toast may come in pieces
        text = base64.b64decode(found[0]).decode()
        assert text.startswith("# ") and "\x1b" not in text
        terminal.send("q")
        assert terminal.wait_end() == 0
    finally:
        terminal.close()


@pytest.mark.parametrize("way", ["key", "mouse"])
async def test_the_first_run_panel_s_choices(dashboard: Any, tmp_path: Any, way: str) -> None:
    async with dashboard() as running:
        await running.sees("U use this", "c connect to a Hub", "D see the demo")
        lines = running.screen_text.splitlines()
        (row,) = (number for number, line in enumerate(lines) if "U use this" in line)

        async def choose(key: str, words: str) -> None:
            if way == "key":
                await running.keys(key)
            else:
                await running.pilot.click(offset=(lines[row].index(words) + 1, row))
                await running.pilot.pause()

        await choose("c", "connect to a Hub")
        await until(lambda: type(running.app.screen).__name__ == "ConnectForm")
        await running.keys("escape")
        await until(lambda: type(running.app.screen).__name__ == "DashboardScreen")
        await choose("U", "use this")
        await until(lambda: "see the demo" not in running.screen_text)
    (tmp_path / "home" / "session.json").unlink()
    async with dashboard() as running:
        await choose("D", "see the demo")
        await until(lambda: running.app.after_exit == "demo", "the demo to be next")
