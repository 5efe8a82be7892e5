"""Keys of the insights and of a conflict."""

from __future__ import annotations

from aria_tui.assistant import Assistant
from tests.tui.conftest import until
from tests.tui.keys.queue import on_row
from tests.tui.keys.stage import Stage, checks


async def two_insights(stage: Stage) -> None:
    if stage.kind != "InsightsScreen":
        await stage.press("v")
        await stage.opened("InsightsScreen")
    for text, project in ("red words", "red"), ("blue words", "blue"):
        if not any(insight.content == text for insight in (await stage.assistant.list_insights()).insights):
            await stage.assistant.capture_insight(text, project=project, tags=[project[:1]])
    stage.live.ask("insights")
    await stage.running.sees("red words", "blue words", "2 insights")
    rows = stage.app.screen.query_one("RowList")
    insight = next(i for i in stage.live.insights.insights if i.content == "red words")
    await until(lambda: rows.select(insight.id))


@checks("insights.edit")
async def edit_insight(stage: Stage, key: str) -> None:
    await two_insights(stage)
    await stage.press(key)
    form = await stage.opened("InsightForm")
    form.query_one("#content").text = "red words and more"
    await stage.press("ctrl+s")
    await stage.opened("InsightsScreen")
    await stage.running.sees("red words and more")
    texts = [insight.content for insight in (await stage.assistant.list_insights()).insights]
    assert sorted(texts) == ["blue words", "red words and more"]
    await stage.press("u")
    await stage.told("taken back: edited insight")
    await until(lambda: "and more" not in stage.running.screen_text)


@checks("insights.delete")
async def delete_insight(stage: Stage, key: str) -> None:
    await two_insights(stage)
    await stage.press(key)
    await stage.running.sees("1 insight")
    assert [insight.content for insight in (await stage.assistant.list_insights()).insights] == ["blue words"]


@checks("insights.search")
async def search(stage: Stage, key: str) -> None:
    await two_insights(stage)
    await stage.press(key)
    await stage.running.text("blu")
    await stage.running.sees("/blu · 1 of 2 insights")
    assert "red words" not in stage.running.screen_text
    await stage.press("escape")
    await stage.running.sees("2 insights")


@checks("insights.project")
async def by_project(stage: Stage, key: str) -> None:
    await two_insights(stage)
    for words, other in ("blue · 1 of 2", "red words"), ("red · 1 of 2", "blue words"):
        await stage.press(key)
        await stage.running.sees(words)
        assert other not in stage.running.screen_text
    await stage.press(key)
    await stage.running.sees("─ 2 insights")


@checks("insights.tag")
async def by_tag(stage: Stage, key: str) -> None:
    await two_insights(stage)
    for words, other in ("#b · 1 of 2", "red words"), ("#r · 1 of 2", "blue words"):
        await stage.press(key)
        await stage.running.sees(words)
        assert other not in stage.running.screen_text
    await stage.press(key)
    await stage.running.sees("─ 2 insights")


async def conflict(stage: Stage) -> tuple[str, int]:
    """A task that was changed on both sides, on its screen; gives its id and its number."""
    assert stage.hub is not None
    made = await stage.assistant.create_task("before", priority="LOW")
    await stage.assistant.list_tasks()
    async with await Assistant.open(stage.app.config, home=stage.app.home / "other") as other:
        await other.list_tasks()
        await stage.assistant.update_task(made.id, {"title": "mine", "priority": "HIGH"}, offline=True)
        await other.update_task(made.id, {"title": "theirs", "priority": "URGENT"})
    async for _event in stage.assistant.sync():
        pass
    number = await on_row(stage, "conflicts", made.id)
    await stage.press("enter")
    await stage.opened("ConflictScreen")
    await stage.running.sees("● mine", "  theirs", "● HIGH", "  URGENT")
    return str(made.id), number


async def settled(stage: Stage, made: str, *tasks: str) -> None:
    """The conflict's screen is gone, and the Hub has these tasks; they are taken away for the next check."""
    assert stage.hub is not None
    await until(lambda: stage.kind == "DashboardScreen", "the screen to go")

    def known() -> list[str]:
        return sorted(f"{task['title']} {task['priority']}" for task in stage.hub.all("tasks"))  # type: ignore[union-attr]

    async for _event in stage.assistant.sync():
        pass
    await until(lambda: known() == sorted(tasks), f"{tasks}, not {known()}")
    for task in stage.hub.all("tasks"):
        await stage.assistant.delete_task(task["id"])
    assert (await stage.assistant.queue_status()).conflicts == 0


@checks("conflict.mine", "conflict.theirs")
async def one_field(stage: Stage, key: str) -> None:
    """Only the field under the cursor; nothing is sent by it."""
    made, number = await conflict(stage)
    await stage.press("h", key)
    await stage.running.sees("● mine" if key == "m" else "● theirs", "● HIGH")
    assert [found.id for found in await stage.assistant.conflicts()] == [number]
    await stage.press("escape")
    await stage.assistant.resolve_conflict(number, "theirs")
    await settled(stage, made, "theirs URGENT")


@checks("conflict.save")
async def save_fields(stage: Stage, key: str) -> None:
    made, _number = await conflict(stage)
    await stage.press("h")
    await stage.running.sees("● theirs", "● HIGH")
    await stage.press(key)
    await settled(stage, made, "theirs HIGH")


@checks("conflict.all_mine", "conflict.all_theirs", "conflict.both")
async def whole(stage: Stage, key: str) -> None:
    made, _number = await conflict(stage)
    await stage.press(key)
    wanted = {"M": ["mine HIGH"], "H": ["theirs URGENT"], "b": ["mine (conflicted copy) HIGH", "theirs URGENT"]}
    await settled(stage, made, *wanted[key])


@checks("conflict.close")
async def leave(stage: Stage, key: str) -> None:
    made, number = await conflict(stage)
    await stage.press(key)
    await until(lambda: stage.kind == "DashboardScreen")
    assert [found.id for found in await stage.assistant.conflicts()] == [number]
    await stage.assistant.resolve_conflict(number, "theirs")
    await settled(stage, made, "theirs URGENT")
