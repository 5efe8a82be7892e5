"""Targets, adopting, the embedded Hub, restored Hubs, export and import, the journal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aria_tui.assistant import Assistant
from aria_tui.config import Config, HubConfig, QueueConfig
from aria_tui.errors import InvalidInput, QueueFull
from aria_tui.models import SyncFinished
from tests.outbox.bench import URL, Bench, Home, rows


async def lines(bench: Bench, home: Home) -> list[str]:
    async def read() -> list[str]:
        return [line async for line in home.assistant.queue_export()]

    return await bench.run(read())


async def test_only_the_target_s_rows_are_sent_and_the_rest_is_held(bench: Bench, home: Home) -> None:
    await home.assistant.create_task("for anna", offline=True)
    await home.close()
    bert = await bench.home(account="bert")
    report = await bert.sync()
    assert report.synced == 0
    status = await bench.run(bert.assistant.queue_status())
    assert status.held == 1 and status.items[0].reason_code == "held_target" and "(anna)" in status.items[0].reason
    assert await bench.run(bert.assistant.queue_adopt()) == 1
    assert (await bert.sync()).synced == 1


async def test_the_same_hub_at_a_new_address_goes_on(bench: Bench, home: Home) -> None:
    await home.assistant.create_task("x", offline=True)
    await home.close()
    moved = await bench.home(url="http://127.0.0.1:2")
    assert (await moved.sync()).synced == 1


async def test_rows_accepted_before_the_hub_was_ever_seen_are_bound_at_the_first_answer(bench: Bench) -> None:
    home = await bench.home("fresh")
    home.weather.down = True
    await bench.run(home.assistant.create_task("early"))
    home.stranger("capture_insight", {"content": "theirs"})
    await bench.run(home.assistant.queue_status())
    assert all(row[0].startswith("addr:") for row in home.rows("SELECT target FROM queue"))
    home.weather.clear()
    bench.clock.advance(31)
    assert (await home.sync()).synced == 2
    assert {row[0].split(":")[0] for row in home.rows("SELECT target FROM queue")} == {"hub"}


@pytest.mark.parametrize(("fault", "moves"), [("unauthenticated", True), ("forbidden", False)])
async def test_what_waited_for_a_token_nobody_knew_goes_to_the_next_token(
    bench: Bench, fault: str, moves: bool
) -> None:
    first = await bench.home("fresh", account="anna")
    first.weather.every_read = fault
    await bench.run(first.assistant.create_task("x"))
    await first.sync()
    await first.close()
    second = await bench.home("fresh", account="bert")
    assert (await second.sync()).synced == (1 if moves else 0)


async def test_leaving_the_embedded_hub_drains_into_it_first(bench: Bench, tmp_path: Path) -> None:
    async with await Assistant.open(Config(), home=bench.folder / "home") as embedded:
        made = await embedded.create_task("local", offline=True)
    home = await bench.home()
    assert (await home.sync()).remaining == 0
    found = rows(bench.folder / "home" / "hub.db", "SELECT count(*) FROM entities WHERE kind = 'task'")
    assert found == [(1,)] and await bench.task(made.id) is None


async def test_the_embedded_hub_saves_at_once(tmp_path: Path) -> None:
    async with await Assistant.open(Config(), home=tmp_path) as assistant:
        made = await assistant.create_task("x")
        assert (made.status, made.message) == ("synced", "saved")
        assert (await assistant.hub_status()).state == "embedded"
        assert [t.title for t in (await assistant.list_tasks()).tasks] == ["x"]


# Restored from a backup


@pytest.mark.parametrize("new_epoch", [True, False])
async def test_a_restored_hub_gets_nothing_until_the_user_has_verified(
    bench: Bench, home: Home, new_epoch: bool
) -> None:
    kept = await bench.run(home.assistant.create_task("kept"))
    await bench.run(home.assistant.hub_status())
    backup = await bench.hub.backup()
    lost = await bench.run(home.assistant.create_task("lost"))
    await bench.run(home.assistant.create_task("lost too"))
    await bench.hub.restore(backup, new_epoch=new_epoch)
    await home.assistant.create_task("waiting", offline=True)
    applied = len(bench.log)
    report = await home.sync()
    assert (report.synced, len(bench.log)) == (0, applied) and "aria queue verify" in report.sentence
    item = (await home.waiting())[0]
    assert item.reason_code == "paused" and "restored from a backup" in item.reason
    assert "aria queue verify" in (await bench.run(home.assistant.hub_status())).reason
    found = await bench.run(home.assistant.queue_verify())
    assert (found["asked"], found["missing"]) == (3, [lost.queue_id, lost.queue_id + 1])  # type: ignore[operator]
    assert (await home.sync()).synced == 0, "asked, and not decided"
    assert (await bench.run(home.assistant.queue_verify(resend=True)))["resent"] == 2
    assert (await home.sync()).synced == 3
    assert await bench.task(lost.id) and await bench.task(kept.id)


@pytest.mark.parametrize("new_epoch", [True, False])
async def test_a_restored_hub_refuses_an_immediate_send_and_nothing_is_lost(
    bench: Bench, home: Home, new_epoch: bool
) -> None:
    backup = await bench.hub.backup()
    lost = await bench.run(home.assistant.create_task("lost"))
    await bench.hub.restore(backup, new_epoch=new_epoch)
    applied = len(bench.log)
    edit = await bench.run(home.assistant.update_task(lost.id, {"title": "edited"}))
    assert edit.status == "queued" and "restored" in edit.message, "no conflict for want of what the Hub lost"
    assert len(bench.log) == applied
    await bench.run(home.assistant.queue_verify(resend=True))
    await home.sync()
    assert (await bench.task(lost.id) or {})["title"] == "edited"


async def test_what_was_deleted_since_is_not_sent_again(
    bench: Bench, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aria_tui.hub.server.service import Hub

    monkeypatch.setattr(Hub, "features", ())  # of an older version, which can't refuse because it was restored
    await bench.run(home.assistant.hub_status())
    backup = await bench.hub.backup()
    made = await bench.run(home.assistant.create_task("once"))
    await bench.run(home.assistant.update_task(made.id, {"title": "twice"}))
    await bench.hub.restore(backup)
    assert (await bench.run(home.assistant.delete_task(made.id))).status == "synced"
    found = await bench.run(home.assistant.queue_verify(resend=True))
    assert (found["missing"], found["resent"]) == ([], 0)
    await home.sync()
    assert await bench.task(made.id) is None


async def test_the_waiver_lets_it_go_on(bench: Bench, home: Home) -> None:
    backup = await bench.hub.backup()
    await bench.run(home.assistant.create_task("lost"))
    await bench.hub.restore(backup)
    await home.assistant.create_task("x", offline=True)
    await home.sync()
    assert (await bench.run(home.assistant.queue_verify(waive=True)))["waived"]
    assert (await home.sync()).synced == 1


# Export and import


async def test_importing_twice_or_elsewhere_still_applies_each_once(bench: Bench, home: Home) -> None:
    first = await home.assistant.create_task("first", offline=True)
    home.stranger("create_task", {"title": ""})
    await home.assistant.update_task(first.id, {"title": "renamed"}, offline=True)
    home.weather.writes = ["cut"]
    home.weather.reads = ["", "refused"]
    bench.clock.advance(60)
    await home.sync()  # at the Hub, and here nobody knows
    exported = await lines(bench, home)
    other = await bench.home("other")
    assert await bench.run(other.assistant.queue_import(exported)) == {"imported": 2, "known": 0}
    assert await bench.run(other.assistant.queue_import(exported)) == {"imported": 0, "known": 2}
    assert await bench.run(home.assistant.queue_import(exported)) == {"imported": 0, "known": 2}
    bench.clock.advance(400)
    home.weather.clear()
    await other.sync()
    await home.sync()
    assert bench.applied(first.id) == ["create_task"] and len(bench.log) == 1
    assert all(row[0] == "import" for row in other.rows("SELECT origin FROM queue"))


async def test_an_exported_order_is_kept_parked_ones_too(bench: Bench, home: Home) -> None:
    thing = "018f0000-0000-7000-8000-000000000009"
    home.stranger("create_task", {"id": thing, "title": ""})
    await home.sync()
    await home.assistant.update_task(thing, {"title": "later"}, offline=True)
    other = await bench.home("other")
    await bench.run(other.assistant.queue_import(await lines(bench, home)))
    assert (await other.sync()).synced == 0
    assert (await other.waiting())[0].reason_code == "parked_ahead" and len(await other.dead()) == 1


@pytest.mark.parametrize(
    "line",
    ["not json", "{}", '{"aria_queue": 1}', '{"aria_queue": 1, "operation": "x", "payload": {}, "op_id": "k"}',
     '{"aria_queue": 1, "operation": "x", "payload": "\\ud83d", "op_id": "k"}',
     '{"aria_queue": 1, "operation": "x", "payload": "{}", "op_id": "a b"}',
     '{"aria_queue": 1, "operation": "x", "payload": "{}", "op_id": "k", "attempts": "many"}'],
)  # fmt: skip
async def test_a_bad_line_is_told_with_its_number_and_nothing_is_imported(bench: Bench, home: Home, line: str) -> None:
    await home.assistant.create_task("x", offline=True)
    other = await bench.home("other")
    with pytest.raises(InvalidInput, match="line 2"):
        await bench.run(other.assistant.queue_import([*await lines(bench, home), line]))
    assert not await other.waiting()


async def test_an_import_respects_the_limit(bench: Bench, home: Home) -> None:
    for n in range(4):
        await home.assistant.capture_insight(f"{n}", offline=True)
    small = await bench.home("small", config=Config(queue=QueueConfig(limit=3)))
    with pytest.raises(QueueFull):
        await bench.run(small.assistant.queue_import(await lines(bench, home)))
    assert not await small.waiting()


@pytest.mark.case("Q05")
async def test_no_token_is_in_files_or_export(bench: Bench, home: Home) -> None:
    home.weather.every_read = home.weather.every_write = "unauthenticated"
    await bench.run(home.assistant.create_task("x"))
    await home.sync()
    token = bench.tokens["anna"]
    assert token not in "".join(await lines(bench, home))
    for file in home.folder.rglob("*"):
        if file.is_file():
            assert token.encode() not in file.read_bytes(), file


# The journal


async def test_delivered_rows_stay_for_their_days_and_then_go_in_small_steps(bench: Bench, home: Home) -> None:
    for n in range(700):
        await home.assistant.capture_insight(f"{n}", offline=True)
    await home.sync()
    journal = await bench.run(home.assistant.queue_list("journal", limit=3))
    assert [item.id for item in journal] == [700, 699, 698] and journal[0].outcome == "applied"
    bench.clock.advance(31 * 86400)
    await bench.run(home.assistant.create_task("x"))
    await home.assistant.create_task("y", offline=True)
    await home.sync()
    assert home.rows("SELECT count(*) FROM queue") == [(202,)], "one step of 500"
    await home.assistant.create_task("z", offline=True)
    await home.sync()
    assert home.rows("SELECT count(*) FROM queue") == [(3,)]


async def test_the_configured_hub_of_a_second_program_is_followed(bench: Bench, home: Home) -> None:
    """A sync that finds the lock taken by something that was no drain drains afterwards itself."""
    await home.assistant.create_task("x", offline=True)
    second = await bench.home()
    lock = home.assistant._engine.lock
    assert lock.acquire()
    seen: list[SyncFinished] = []

    async def follow() -> None:
        seen.extend([event async for event in second.assistant.sync() if isinstance(event, SyncFinished)])

    task = asyncio.ensure_future(follow())
    await asyncio.sleep(0.05)
    lock.release()
    await bench.run(task)
    assert seen[0].own and seen[0].report.synced == 1


def test_an_address_with_a_token_is_told_from_the_same_with_another() -> None:
    from aria_tui.outbox import names

    assert names.address(URL, "a") != names.address(URL, "b") and names.digest("a") != "a"
    assert names.address("", "") == names.EMBEDDED == names.unbound(names.EMBEDDED)
    assert HubConfig().url == ""
