"""A restored Hub that acknowledged more before anybody noticed: what it lost never overwrites what is newer."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from aria_tui.hub.server import service
from aria_tui.outbox.restoring import WHOLE, decided, left_of
from tests.outbox.bench import Bench, Home

DATE = "2026-11-30"
TASK = "0197f0a0-0000-7000-8000-00000000000a"


Did = tuple[str, dict[str, Any]]


@pytest.fixture(autouse=True)
def _a_hub_of_an_older_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that can't be asked to refuse when it was restored, so that it acknowledges more before anybody notices."""
    monkeypatch.setattr(service.Hub, "features", ())


async def unnoticed(bench: Bench, home: Home, before: list[Did], lost: list[Did], later: list[Did]) -> dict[str, Any]:
    """The Hub loses what it did since its backup, and acknowledges more before that is noticed; then all is verified.
    Gives what the verification said."""
    for one in before:
        await do(bench, home, *one)
    backup = await bench.hub.backup()
    for one in lost:
        await do(bench, home, *one)
    await bench.hub.restore(backup, new_epoch=False)
    for one in later:
        await do(bench, home, *one)
    found = await bench.run(home.assistant.queue_verify(resend=True))
    await home.sync()
    assert not await home.waiting() and not await home.dead()
    assert not await bench.run(home.assistant.conflicts())
    return found


async def do(bench: Bench, home: Home, operation: str, payload: dict[str, Any]) -> None:
    """Accepted and acknowledged at once, with no read in between that would notice anything."""
    assistant = home.assistant
    match operation:
        case "create":
            work = assistant.create_task(payload["title"], id=TASK)
        case "update":
            work = assistant.update_task(TASK, payload)
        case "complete":
            work = assistant.complete_task(TASK)
        case "delete":
            work = assistant.delete_task(TASK)
        case "briefing":
            work = assistant.store_briefing(DATE, payload["content"])
        case _:
            work = assistant.record_activity("aria", DATE, **payload)
    assert (await bench.run(work)).status == "synced"


CREATE: Did = ("create", {"title": "a"})
BACK_AND_FORTH: list[Did] = [("update", {"title": "b"}), ("update", {"title": "a"})]


@pytest.mark.parametrize(
    ("before", "lost", "later", "resent", "end"),
    [
        ([CREATE], BACK_AND_FORTH, [("update", {"title": "c"})], [], {"title": "c"}),
        (
            [CREATE],
            [("update", {"title": "b", "priority": "HIGH"}), ("update", {"title": "a"})],
            [("update", {"title": "c"})],
            [0],
            {"title": "c", "priority": "HIGH"},
        ),
        ([CREATE], [("complete", {}), ("update", {"status": "TODO"})], [("complete", {})], [], {"status": "DONE"}),
        (
            [CREATE],
            [("complete", {}), ("update", {"status": "TODO"})],
            [("update", {"status": "IN_PROGRESS"})],
            [],
            {"status": "IN_PROGRESS"},
        ),
        ([CREATE], [("complete", {})], [("update", {"title": "c"})], [0], {"title": "c", "status": "DONE"}),
        ([CREATE], [("update", {"title": "b"})], [("complete", {})], [0], {"title": "b", "status": "DONE"}),
        ([CREATE], [("delete", {})], [("update", {"title": "c"})], [], {"title": "c"}),
        ([CREATE], BACK_AND_FORTH, [("delete", {})], [], None),
        ([], [CREATE, ("update", {"title": "b"})], [("delete", {})], [], None),
        ([], [CREATE, *BACK_AND_FORTH], [], [0, 1, 2], {"title": "a"}),
        ([CREATE], [*BACK_AND_FORTH, ("delete", {})], [], [0, 1, 2], None),
    ],
)
async def test_what_was_acknowledged_later_keeps_the_last_word(
    bench: Bench, home: Home, before: list[Did], lost: list[Did], later: list[Did], resent: list[int], end: Any
) -> None:
    found = await unnoticed(bench, home, before, lost, later)
    assert found["missing"] == [len(before) + 1 + n for n in resent] and found["resent"] == len(resent)
    task = await bench.task(TASK)
    assert task == end if end is None else (task or {}) | end == task


async def test_a_payload_that_lost_a_field_has_a_new_key_linked_to_the_old(bench: Bench, home: Home) -> None:
    both: Did = ("update", {"title": "b", "priority": "HIGH"})
    await unnoticed(bench, home, [CREATE], [both, ("update", {"title": "a"})], [("update", {"title": "c"})])
    (edit,) = home.rows("SELECT op_id, edited_from, payload, outcome FROM queue WHERE id = 2")
    assert edit[1] and edit[0] != edit[1] and '"title"' not in edit[2] and edit[3] == "applied"
    first, *_, last = [(key, sent["changes"]) for key, _, sent in bench.sent if "priority" in sent.get("changes", {})]
    assert (first, last) == ((edit[1], both[1]), (edit[0], {"priority": "HIGH"}))


async def test_an_older_briefing_does_not_come_back_over_a_newer_one(bench: Bench, home: Home) -> None:
    old, new = ("briefing", {"content": "old"}), ("briefing", {"content": "new"})
    assert (await unnoticed(bench, home, [], [old], [new]))["missing"] == []
    assert (await bench.hub.get(f"briefing:{DATE}", "anna") or {})["content"] == "new"


async def test_what_the_hub_did_and_could_not_say_decides_too(bench: Bench, home: Home) -> None:
    backup = await bench.hub.backup()
    await do(bench, home, "briefing", {"content": "old"})
    await bench.hub.restore(backup, new_epoch=False)
    home.weather.writes = ["cut"]
    assert (await bench.run(home.assistant.store_briefing(DATE, "new"))).status == "queued"
    assert (await bench.run(home.assistant.queue_verify(resend=True)))["missing"] == []
    await home.sync()
    assert (await bench.hub.get(f"briefing:{DATE}", "anna") or {})["content"] == "new"


async def test_of_a_day_s_activity_only_what_is_not_newer_there_comes_back(bench: Bench, home: Home) -> None:
    day: Did = ("activity", {"commits": 1, "summary": "one"})
    assert (await unnoticed(bench, home, [], [day], [("activity", {"commits": 2})]))["missing"] == [1]
    found = await bench.hub.get(f"activity:aria:{DATE}", "anna") or {}
    assert (found["commits"], found["summary"]) == (2, "one")


@pytest.mark.parametrize("when", ["lost", "waiting", "later"])
async def test_an_equal_version_of_another_past_is_no_proof_that_nothing_changed(
    bench: Bench, home: Home, when: str
) -> None:
    await do(bench, home, *CREATE)
    backup = await bench.hub.backup()
    await do(bench, home, "update", {"priority": "HIGH"})
    mine = {"title": "mine"}
    if when == "lost":
        await do(bench, home, "update", mine)
    elif when == "waiting":
        await bench.run(home.assistant.update_task(TASK, mine, offline=True))
    await bench.hub.restore(backup)
    other = await bench.home("other")
    theirs = await bench.run(other.assistant.update_task(TASK, {"title": "theirs", "priority": "HIGH"}))
    assert theirs.status == "synced"
    await bench.run(home.assistant.hub_status())
    await bench.run(home.assistant.queue_verify(resend=when != "later", waive=when == "later"))
    if when == "later":
        await bench.run(home.assistant.update_task(TASK, mine, offline=True))
    await home.sync()
    (conflict,) = await bench.run(home.assistant.conflicts())
    assert ((conflict.mine or {})["title"], (conflict.theirs or {})["title"]) == ("mine", "theirs")
    assert (await bench.task(TASK) or {})["title"] == "theirs"


async def test_a_conflict_from_before_rests_on_values_and_not_on_an_equal_version(bench: Bench, home: Home) -> None:
    await do(bench, home, *CREATE)
    backup = await bench.hub.backup()
    other = await bench.home("other")
    await bench.run(other.assistant.update_task(TASK, {"title": "lost"}))
    await bench.run(home.assistant.update_task(TASK, {"title": "mine"}))
    (conflict,) = await bench.run(home.assistant.conflicts())
    await bench.hub.restore(backup)
    later = await bench.home("later")
    await bench.run(later.assistant.update_task(TASK, {"title": "later"}))
    await bench.run(home.assistant.hub_status())
    await bench.run(home.assistant.queue_verify(waive=True))
    await bench.run(home.assistant.resolve_conflict(conflict.id, "mine"))
    await home.sync()
    (again,) = await bench.run(home.assistant.conflicts())
    assert (again.theirs or {})["title"] == "later" == (await bench.task(TASK) or {})["title"]


async def test_a_payload_that_a_stranger_wrote_over_does_not_stop_the_verification(bench: Bench, home: Home) -> None:
    await do(bench, home, *CREATE)
    stranger = sqlite3.connect(home.file)
    stranger.execute("UPDATE queue SET payload = 'no JSON'")
    stranger.commit()
    stranger.close()
    assert (await bench.run(home.assistant.queue_verify()))["asked"] == 1


@pytest.mark.parametrize(
    ("operation", "payload", "later", "left"),
    [
        ("complete_task", {"id": "t"}, {"title"}, {"id": "t"}),
        ("complete_task", {"id": "t"}, {"status", "completed_at"}, None),
        ("delete_insight", {"id": "i"}, {"tags"}, None),
        ("update_insight", {"id": "i", "changes": {"tags": [], "content": "c"}}, {"tags"},
         {"id": "i", "changes": {"content": "c"}}),
        ("create_task", {"id": "t", "title": "a"}, {"title"}, {"id": "t", "title": "a"}),
        ("create_task", {"id": "t", "title": "a"}, {WHOLE}, None),
        ("record_activity", {"project": "p", "date": "d", "commits": 1}, {"commits"}, None),
    ],
)  # fmt: skip
def test_what_is_left_of_an_operation(operation: str, payload: Any, later: set[str], left: Any) -> None:
    assert left_of(operation, payload, later) == left


def test_a_status_decides_when_it_was_completed_too() -> None:
    assert decided("update_task", {"id": "t", "changes": {"status": "TODO"}}) == {"status", "completed_at"}
    assert decided("update_task", {"id": "t", "changes": {"title": "x"}}) == {"title"}
