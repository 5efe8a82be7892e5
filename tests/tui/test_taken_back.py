"""Taking back: one action after another, over a delivered delete too, and one whose outcome isn't known yet."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from aria_tui.tui.wallclock import local_now
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, is_write
from tests.tui.conftest import configured, until


async def only_task(running: Any) -> Any:
    (task,) = (await running.assistant.list_tasks()).tasks
    return task


async def test_actions_before_a_delete_are_taken_back_from_what_took_its_place(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.assistant.create_task("Pay the rent", due="2026-01-01", tags=["home"])
        running.app.live.ask("tasks")
        await running.sees("1 open", "Pay the rent")
        old = await only_task(running)
        tomorrow = (local_now().date() + timedelta(days=1)).isoformat()
        await running.keys("2", "a")
        for key, field, value in (("p", "due_date", tomorrow), ("x", "status", "DONE")):
            await running.keys(key)
            await until(lambda f=field, v=value: [getattr(t, f) for t in running.app.live.tasks.tasks] == [v], field)
        await running.keys("d")
        await until(lambda: running.app.live.tasks.tasks == (), "the delete")
        for label in ("deleted", "done", "postponed"):
            await running.keys("u")
            await running.told(f"taken back: {label}: Pay the rent")
        back = await only_task(running)
        assert back.id != old.id
        assert (back.title, back.status, back.due_date, back.tags) == ("Pay the rent", "TODO", "2026-01-01", ("home",))
        status = await running.assistant.queue_status()
        assert (status.pending_total, status.conflicts, status.dead_letters) == (0, 0, 0)
        await running.keys("u")
        await running.told("nothing to take back")


async def test_an_insight_that_was_edited_and_deleted_comes_back_as_it_was(dashboard: Any) -> None:
    async with dashboard() as running:
        made = await running.assistant.capture_insight("first words", tags=["a"])
        await running.keys("v")
        await running.sees("first words")
        await running.keys("enter")
        await until(lambda: running.app.screen.query("#content"))
        running.app.screen.query_one("#content").text = "other words"
        await running.keys("ctrl+s")
        await running.sees("other words", "1 insight")
        await running.keys("d")
        await running.sees("0 insights")
        await running.keys("u")
        await running.told("taken back: deleted insight")
        await running.keys("u")
        await running.told("taken back: edited insight")
        (back,) = (await running.assistant.list_insights()).insights
        assert (back.content, back.tags) == ("first words", ("a",))
        assert back.id != made.id


async def test_a_captured_insight_is_taken_back_before_the_action_before_it(dashboard: Any) -> None:
    async with dashboard() as running:
        await running.assistant.create_task("stays done")
        running.app.live.ask("tasks")
        await running.sees("1 open")
        await running.keys("2", "x")
        await running.sees("0 open")
        await running.keys("i")
        await until(lambda: running.app.screen.query("#content") and running.app.focused)
        await running.text("by mistake")
        await running.keys("enter")
        await until(lambda: running.app.screen is running.app.screen_stack[0])
        await running.keys("u")
        await running.told("taken back: new insight")
        assert not (await running.assistant.list_insights()).insights
        assert (await only_task(running)).status == "DONE"


async def test_what_is_still_under_way_is_taken_back_first(dashboard: Any, hub: HubProcess, proxy: FaultProxy) -> None:
    """The Hub takes its time over the delete: the key takes that back, and not the action before."""
    config = configured(hub=msgspec.structs.replace(configured().hub, url=proxy.url, token=hub.token, timeout=20.0))
    async with dashboard(config=config) as running:
        await running.assistant.create_task("one", due="2026-01-01")
        running.app.live.ask("tasks")
        await running.sees("1 open", "one")
        await running.keys("2", "p")
        await running.told("saved to Hub")
        due = (await only_task(running)).due_date
        proxy.add("latency", when=is_write, seconds=1.0)
        await running.keys("d", "u")
        await running.told("taken back: deleted: one")
        assert (await only_task(running)).due_date == due != "2026-01-01"


async def test_toasts_leave_the_screen_to_the_panes(dashboard: Any) -> None:
    """One line each, the same words once, and of mere news the newest few."""
    async with dashboard() as running:
        for number in range(6):
            await running.assistant.create_task(f"task {number}")
        running.app.live.ask("tasks")
        await running.sees("6 open")
        await running.keys("2")
        for number in range(5):
            await running.keys("x", "down")
            await running.sees(f"{5 - number} open")
        await running.told("saved to Hub")
        assert running.toasts == ["saved to Hub"]
        for number in range(5):
            running.app.toast(f"news {number}")
        running.app.toast("a fault", "error")
        running.app.toast("news 5")
        await until(lambda: running.toasts == ["news 3", "news 4", "a fault", "news 5"], "the newest toasts")
        await running.pilot.pause()
        from textual.widgets._toast import Toast

        assert {toast.size.height for toast in running.app.screen.query(Toast)} == {1}
