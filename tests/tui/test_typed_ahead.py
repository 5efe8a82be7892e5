"""Keys that come in one go, as over a slow line or from a text expander, act in the order in which they were typed."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key

from tests.tui.conftest import Running, until

NAMES = {"tab": "\t", "enter": "\r"}


def burst(running: Running, *typed: str) -> None:
    """All keys at once, none waited for: a name of more than one letter in angle brackets is a key, else a text."""
    for part in typed:
        for key in [part[1:-1]] if part.startswith("<") else list(part):
            named = _character_to_key(key) if len(key) == 1 else key
            running.app.post_message(events.Key(named, NAMES.get(key, key if len(key) == 1 else None)))


async def open_form(running: Running, key: str, field: str) -> Any:
    await running.keys(key)
    await until(lambda: running.app.screen.query(f"#{field}") and running.app.focused is not None, field)
    await running.pilot.pause()
    return running.app.screen


async def test_each_text_stands_in_the_field_it_was_typed_for(dashboard: Any) -> None:
    async with dashboard() as running:
        form = await open_form(running, "t", "title")
        burst(running, "Pai", "<backspace>", "y", "<tab>", "fin", "<tab>", "fri", "<tab>", "<right>", "<tab>", "a, b")
        burst(running, "<tab>", "one", "<left>", "<left>", "-", "<shift+tab>", ", c", "<shift+tab>", "<left>")
        burst(running, "<right>", "<tab>")
        wanted = {
            "title": "Pay", "project": "fin", "due": "fri", "priority": "HIGH", "tags": "a, b, c",
            "description": "o-ne",
        }  # fmt: skip
        with contextlib.suppress(AssertionError):
            await until(lambda: form.values() == wanted and form.focused.id == "tags")
        assert form.values() == wanted


@pytest.mark.parametrize("save", ["<enter>", "<ctrl+s>"])
async def test_what_is_typed_after_saving_is_not_in_it(dashboard: Any, save: str) -> None:
    """It is meant for what comes next: here the key that opens the next form, and that form's text."""
    async with dashboard() as running:
        await open_form(running, "t", "title")
        burst(running, "first", save, "t", "second", save, "z")
        await until(lambda: running.app.screen.has_class("-zoom"), "z for the dashboard")
        await until(lambda: len(running.app.live.shown_tasks()) == 2, "two tasks")
        assert sorted(task.title for task in running.app.live.shown_tasks()) == ["first", "second"]


@pytest.mark.parametrize("field", ["priority", "description"])
async def test_enter_saves_from_every_field(dashboard: Any, field: str) -> None:
    async with dashboard() as running:
        form = await open_form(running, "t", "title")
        await running.text("from anywhere")
        form.set_focus(form.query_one(f"#{field}"))
        await running.keys("enter")
        await until(lambda: [task.title for task in running.app.live.shown_tasks()] == ["from anywhere"])


async def test_a_filter_and_a_search_end_where_enter_or_escape_was_typed(dashboard: Any) -> None:
    async with dashboard() as running:
        for number in range(3):
            await running.assistant.create_task(f"task {number}")
            await running.assistant.capture_insight(f"insight {number}")
        running.app.live.ask("tasks")
        await running.sees("3 open")
        burst(running, "/", "task 2", "<enter>", "z")
        await until(lambda: running.app.screen.has_class("-zoom"), "z for the dashboard")
        assert running.app.screen._choice.filter == "task 2"
        burst(running, "/", "x", "<escape>", "z")
        await until(lambda: not running.app.screen.has_class("-zoom"), "z once more")
        await until(lambda: not running.app.screen._choice.filter, "the filter to be gone")
        await running.keys("v")
        await running.sees("3 insights")
        burst(running, "/", "insight 1", "<enter>", "d")
        await running.sees("/insight 1", "saved to Hub")
        assert running.app.screen.query_one("#search").value == "insight 1"


async def test_a_payload_takes_enter_as_a_new_line(dashboard: Any) -> None:
    from tests.tui.conftest import configured

    async with dashboard(config=configured(away=True)) as running:
        await running.assistant.create_task("a row")
        running.app.live.ask("queue")
        await running.keys("4")
        await running.sees("1 waiting", "a row")
        form = await open_form(running, "e", "payload")
        before = form.values()["payload"]
        burst(running, "a", "<enter>", "b")
        await until(lambda: form.values()["payload"] == f"a\nb{before}", form.values()["payload"])
