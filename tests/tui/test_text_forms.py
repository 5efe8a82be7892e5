"""Text from outside under a cursor: drawn harmlessly, and as it was where nobody changed it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.document._document import Document

from aria_tui.tui.widgets.block_input import BlockInput, _Kept
from aria_tui.tui.widgets.inputs import LineInput
from tests.tui.conftest import until

ODD = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\r\nh\ri\tj\nk\x1b[2Jl "
TAGS = ["two words", "a,b", "#x", "plain"]


@pytest.mark.case("T02")
async def test_what_is_not_changed_in_a_form_stays_as_it_was(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.assistant.create_task("title ", project="[/x] \x1b[2J", description=ODD, tags=TAGS)
        await running.assistant.capture_insight(ODD, tags=TAGS)
        running.app.live.ask("tasks")
        await running.sees("1 open")
        await running.keys("2", "enter")
        await until(lambda: running.app.screen.query("#title"))
        await running.text("!")
        await running.keys("ctrl+s")
        await running.told("saved")
        (task,) = (await running.assistant.list_tasks()).tasks
        assert (task.title, task.project_name, task.description) == ("title !", "[/x] \x1b[2J", ODD)
        assert sorted(task.tags) == sorted(TAGS)
        await running.keys("v")
        await running.sees("1 insight")
        await running.keys("enter")
        await until(lambda: running.app.screen.query("#content"))
        running.app.screen.query_one("#tags", LineInput).focus()
        await running.text(" new")
        await running.keys("ctrl+s")
        await until(lambda: not running.app.screen.query("#content"))
        found = await running.assistant.list_insights()
        assert found.insights[0].content == ODD
        assert {"two words", "new"} < set(found.insights[0].tags)


@pytest.mark.case("T02")
async def test_what_is_typed_behind_text_that_has_no_width_of_its_own_is_seen(dashboard: Any) -> None:
    async with dashboard(size=(80, 24)) as running:
        await running.assistant.create_task("\x1b" * 200, description="\x1b" * 150)
        running.app.live.ask("tasks")
        await running.sees("1 open")
        await running.keys("2", "enter")
        await until(lambda: running.app.screen.query("#title"))
        title = running.app.screen.query_one("#title", LineInput)
        await running.text("typed")
        await running.sees("␛typed")
        title.cursor_position = 0
        await running.pilot.pause()
        await running.pilot.click(title, offset=(5, 0))
        assert title.cursor_position == 5
        notes = running.app.screen.query_one("#description", BlockInput)
        assert running.screen_text.count("␛") >= 150 + 40
        notes.focus()
        notes.move_cursor((0, 150))
        await running.text("typed")
        await running.sees("␛typed")


PIECES = st.text(st.sampled_from("ab\n\n\r\t\x0c\x85\u2028日\u0301"), max_size=12)


@settings(max_examples=300, deadline=None)
@given(PIECES, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), PIECES), max_size=4))
def test_the_kept_text_is_edited_as_a_text_is(text: str, edits: list[tuple[int, int, str]]) -> None:
    """Every edit by places gives what slicing gives, and is undone by what it said that it replaced."""
    document: Document = _Kept(text)
    for first, last, new in edits:
        first, last = sorted((min(first, len(text)), min(last, len(text))))
        places = document.get_location_from_index(first), document.get_location_from_index(last)
        done = document.replace_range(*places, new)
        assert (document.text, done.replaced_text) == (text[:first] + new + text[last:], text[first:last])
        assert document.get_index_from_location(done.end_location) == first + len(new)
        document.replace_range(places[0], done.end_location, done.replaced_text)
        assert document.text == text
        document.replace_range(*places, new)
        text = document.text
        assert all(line.isprintable() or "\u0301" in line for line in document.lines)
