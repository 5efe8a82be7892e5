"""The other screens: conflict, insights, connecting, settings, first run, sizes, themes, what is remembered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from aria_tui.assistant import Assistant
from aria_tui.tui.config_file import save, with_keys
from tests.helpers.hub import HubProcess
from tests.tui.conftest import AWAY, Running, configured, until

SIZES = [(60, 20), (80, 24), (120, 40), (200, 60)]


def kind(running: Running) -> str:
    return type(running.app.screen).__name__


def at(hub: HubProcess) -> Any:
    url = msgspec.structs.replace(configured().hub, url=hub.url, token=hub.token)
    return configured(hub=url)


async def test_a_conflict_is_shown_side_by_side_and_settled_field_by_field(
    dashboard: Any, hub: HubProcess, tmp_path: Any
) -> None:
    by_hand = msgspec.structs.replace(at(hub), sync=msgspec.structs.replace(at(hub).sync, automatic=False))
    async with dashboard(config=by_hand) as running:
        made = await running.assistant.create_task("ours", priority="LOW", project="p")
        await running.assistant.list_tasks()
        async with await Assistant.open(at(hub), home=tmp_path / "other") as other:
            await other.list_tasks()
            await running.assistant.update_task(made.id, {"title": "mine", "priority": "URGENT"}, offline=True)
            await other.update_task(made.id, {"title": "theirs", "priority": "HIGH"})
        await running.keys("s")
        await running.sees("1 conflict")
        await running.keys("4", "right", "right")
        await until(lambda: running.app.screen.queue_pane.item())
        await running.keys("enter")
        shown = await running.sees("before", "mine", "theirs", "ours", "URGENT", "HIGH")
        assert "Conflict #" in shown
        await running.keys("h")
        await running.keys("ctrl+s")
        await until(lambda: kind(running) == "DashboardScreen")
        await running.sees("0 waiting")
        (task,) = [t for t in hub.all("tasks") if t["id"] == made.id]
        assert (task["title"], task["priority"]) in (("theirs", "URGENT"), ("mine", "HIGH"))


async def test_insights_are_searched_edited_deleted_and_brought_back(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.assistant.capture_insight("Better Auth needs a cookie", project="menthos", tags=["auth"])
        await running.assistant.capture_insight("Drizzle adapter is fine", project="lab", tags=["db"])
        await running.keys("v")
        await running.sees("Better Auth", "Drizzle", "2 insights", "#auth")
        await running.keys("slash")
        await running.text("drizz")
        await running.sees("1 of 2 insights")
        assert "Better Auth" not in running.screen_text
        await running.keys("escape", "p")
        await running.sees("lab", "1 of 2 insights")
        await running.keys("p", "p", "enter")
        await until(lambda: kind(running) == "InsightForm")
        await running.text("!")
        await running.keys("ctrl+s")
        await until(lambda: kind(running) == "InsightsScreen")
        await running.sees("!", "2 insights")
        await running.keys("d")
        await until(lambda: "1 insight" in running.screen_text or "✗" in running.screen_text)
        await running.keys("u")
        await running.told("taken back: deleted insight")
        await running.sees("2 insights")
        await running.keys("escape")
        assert kind(running) == "DashboardScreen"


@pytest.mark.case("T05")
async def test_lines_of_an_insight_are_kept(dashboard: Any) -> None:
    from textual import events

    async with dashboard() as running:
        await running.keys("i")
        await until(lambda: kind(running) == "InsightForm")
        running.app.post_message(events.Paste("one\ntwo\r\n\tthree"))
        await running.sees("one", "two", "three")
        await running.keys("ctrl+j")
        await running.text("four")
        await running.keys("enter")
        await until(lambda: kind(running) == "DashboardScreen")
        (insight,) = (await running.assistant.list_insights()).insights
        assert insight.content.splitlines() == ["one", "two", "\tthree", "four"]


@pytest.mark.case("T05")
async def test_a_paste_before_the_form_listens_comes_once(dashboard: Any) -> None:
    from textual import events

    async with dashboard() as running:
        await running.keys("i")
        await until(lambda: kind(running) == "InsightForm")
        form = running.app.screen
        await until(lambda: form._listening and form.focused is not None)
        form._listening = False  # as in the moment in which it is drawn for the first time
        running.app.post_message(events.Paste("one\ntwo"))
        await running.sees("one", "two")
        form._listen()
        await running.pilot.pause()
        assert form.values()["content"] == "one\ntwo"
        await running.keys("ctrl+r")


@pytest.mark.case("T06")
@pytest.mark.parametrize("command", ["do_help", "do_insight", "do_insights", "do_settings", "do_connect", "do_palette"])
async def test_leaving_while_a_screen_is_just_being_made(dashboard: Any, command: str) -> None:
    """It is finished first; else it would look for its own parts in vain."""
    async with dashboard() as running:
        getattr(running.app, command)()
        running.app.exit(0)
        await until(lambda: running.app._exit, "the end")
        assert running.app.screen.is_mounted


async def test_a_hub_is_tested_before_it_is_saved(dashboard: Any, hub: HubProcess, tmp_path: Any) -> None:
    file = tmp_path / "home" / "config.toml"
    async with dashboard() as running:
        await running.keys("c")
        await until(lambda: kind(running) == "ConnectForm")
        await running.text(hub.url)
        await running.keys("tab")
        await running.text("wrong-token")
        await running.keys("ctrl+s")
        await running.sees("not saved: token refused")
        assert not file.exists()
        running.app.screen.query_one("#token").value = hub.token
        await running.keys("ctrl+s")
        await until(lambda: running.app.new_config is not None)
        assert running.app.new_config.hub.url == hub.url
        assert file.stat().st_mode & 0o777 == 0o600
        assert hub.token not in (tmp_path / "home" / "drafts.json").read_text()


def test_keys_are_written_into_a_configuration_without_touching_the_rest(tmp_path: Any) -> None:
    before = (
        '# mine\n[ui]\nlanguage = "en"  # stays\n\n[hub]\nurl = "http://127.0.0.1:1"\n\n[sync]\nautomatic = false\n'
    )
    after = with_keys(before, "hub", {"url": "https://hub.example.com", "token": 'a"b'})
    assert "# mine" in after and "# stays" in after and after.count("url =") == 1
    file = tmp_path / "config.toml"
    file.write_text(before)
    config = save(file, "hub", {"url": "https://hub.example.com", "token": "abc"})
    assert (config.hub.url, config.hub.token, config.sync.automatic) == ("https://hub.example.com", "abc", False)


async def test_a_hub_that_is_not_there_is_not_saved(dashboard: Any, tmp_path: Any) -> None:
    async with dashboard() as running:
        await running.keys("c")
        await until(lambda: kind(running) == "ConnectForm")
        wrong = "the address begins with https://"
        for address, words in ((AWAY, "not saved"), ("not an address", wrong), ("ftp://127.0.0.1", wrong)):
            running.app.screen.query_one("#url").value = address
            await running.keys("ctrl+s")
            await running.sees(words)
            assert not (tmp_path / "home" / "config.toml").exists() and running.app.new_config is None
            assert kind(running) == "ConnectForm"
            running.app.screen.show_error("")


async def test_settings_show_each_source_and_no_secret(dashboard: Any) -> None:
    async with dashboard(config=configured(away=True)) as running:
        await running.keys("comma")
        shown = await running.sees("Settings", "Calendar", "[calendar] sources", "Finance", "token")
        assert "a-test-token" not in shown
        await running.keys("enter")
        assert running.app.theme == "aria-light"
        await running.keys("escape")
        assert kind(running) == "DashboardScreen"


async def test_the_first_run_panel_comes_once_and_takes_no_keys(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.sees("embedded Hub on this machine", "connect to a Hub", "see the demo")
        await running.keys("t")
        await until(lambda: kind(running) == "TaskForm")
        await running.keys("escape", "U")
        await until(lambda: "see the demo" not in running.screen_text)
    async with dashboard() as again:
        assert "see the demo" not in again.screen_text


async def test_the_session_is_remembered(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.keys("2", "slash")
        await running.text("kept")
        await running.keys("enter", "T", "3", "2", "O", "g")
        await running.keys("1", "home", "space", "4")
    async with dashboard() as again:
        assert again.app.theme == "aria-light"
        assert again.app.screen._active == "queue"
        assert (again.app.screen._choice.sort, again.app.screen._choice.grouped) == ("priority", True)
        assert again.app.screen._choice.filter == "kept"
        await again.sees("/kept")
        assert again.app.screen._folded


@pytest.mark.parametrize("size", SIZES)
async def test_every_pane_is_usable_at_every_size(dashboard: Any, size: tuple[int, int]) -> None:
    async with dashboard(size=size) as running:
        await running.assistant.create_task("visible task")
        running.app.live.ask("tasks")
        for key, text in (("1", "Briefing"), ("2", "visible task"), ("3", "embedded"), ("4", "Sync ]")):
            await running.keys(key)
            await running.sees(text)
        await running.keys("2", "z")
        shown = await running.sees("visible task")
        assert "Journal" not in shown
        await running.keys("z", "tab")


@pytest.mark.case("T04")
async def test_too_small_is_said_plainly_and_nothing_is_lost(dashboard: Any) -> None:
    async with dashboard(size=(80, 24)) as running:
        await running.keys("t")
        await running.text("kept")
        before = await running.sees("kept")
        for width, height in ((1, 1), (20, 5), (59, 24), (300, 80), (60, 19)):
            await running.pilot.resize_terminal(width, height)
            await running.pilot.pause()
            if width < 60 or height < 20:
                assert "too" in running.screen_text or width < 3
        await running.pilot.resize_terminal(80, 24)
        await running.pilot.pause()
        assert running.screen_text.splitlines()[1:] == before.splitlines()[1:], "all but the clock"


async def test_the_palette_stays_calm_on_a_screen_without_room(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.keys("ctrl+p")
        await running.sees("Find a command", "Send what waits")
        for width, height in ((1, 1), (2, 8), (20, 5)):
            await running.pilot.resize_terminal(width, height)
            await running.keys("pagedown", "down", "pageup", "up")
            assert running.app.is_running and running.app.failure is None
        await running.pilot.resize_terminal(120, 40)
        await running.text("dark")
        await running.sees("Change between dark and light")
        await running.keys("escape")
        assert kind(running) == "DashboardScreen"


async def test_no_color_means_no_colour_at_all(dashboard: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with dashboard() as running:
        await running.sees("embedded Hub")
        for strip in running.app.screen._compositor.render_strips():
            for segment in strip.apply_filter(running.app._filters[-1], running.app.screen.background_colors[0]):
                style = segment.style
                for color in (style.color, style.bgcolor) if style else ():
                    assert color is None or color.is_default, segment


async def test_an_unexpected_error_is_a_toast_and_a_trace_in_the_log(
    dashboard: Any, caplog: Any, monkeypatch: Any
) -> None:
    async with dashboard() as running:

        async def broken() -> None:
            raise RuntimeError("[/x] broken on purpose")

        monkeypatch.setattr(running.app.screen, "do_queue_plan", broken)
        await running.keys("4", "P")
        await running.told("unexpected error: RuntimeError('[/x] broken on purpose')")
        assert "Traceback" in caplog.text and running.app.is_running


async def test_s_syncs_from_every_screen(dashboard: Any, hub: HubProcess) -> None:
    by_hand = msgspec.structs.replace(at(hub), sync=msgspec.structs.replace(at(hub).sync, automatic=False))
    async with dashboard(config=by_hand) as running:
        for number, key in enumerate(("v", "comma", "question_mark"), 1):
            await running.assistant.capture_insight(f"insight {number}", offline=True)
            await running.keys(key)
            await until(lambda: kind(running) != "DashboardScreen")
            await running.keys("s")
            await until(lambda expected=number: hub.count("insights") == expected, "the row to arrive")
            await running.keys("escape")
            await until(lambda: kind(running) == "DashboardScreen")
