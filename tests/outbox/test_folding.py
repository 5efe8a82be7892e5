"""Folding: what is sent is less, what the Hub has in the end is the same, and nothing that was sent is touched."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aria_tui.hub.contract import entity_of
from aria_tui.outbox.folding import fold, may_fold
from aria_tui.outbox.rows import Row
from tests.outbox.bench import Bench, Home

T1, T2 = "018f0000-0000-7000-8000-00000000000a", "018f0000-0000-7000-8000-00000000000b"


async def offline(home: Home, *steps: tuple[str, Any]) -> None:
    """Makes operations that wait."""
    for name, value in steps:
        match name:
            case "create":
                await home.assistant.create_task(value, id=T1, description="long", offline=True)
            case "update":
                await home.assistant.update_task(T1, value, offline=True)
            case "complete":
                await home.assistant.complete_task(T1, offline=True)
            case "delete":
                await home.assistant.delete_task(T1, offline=True)
            case "briefing":
                await home.assistant.store_briefing("2026-11-30", value, offline=True)


@pytest.mark.parametrize(
    ("steps", "sent", "final"),
    [
        ([("create", "a"), ("update", {"title": "b"})], ["create_task"], {"title": "b", "status": "TODO"}),
        ([("create", "a"), ("complete", None)], ["create_task"], {"title": "a", "status": "DONE"}),
        ([("create", "a"), ("delete", None)], [], None),
        ([("create", "a"), ("update", {"title": "b"}), ("delete", None)], [], None),
        ([("create", "a"), ("update", {"description": None})], ["create_task"], {"description": None}),
        (
            [("create", "a"), ("complete", None), ("update", {"status": "TODO"})],
            ["create_task"],
            {"status": "TODO", "completed_at": None},
        ),
    ],
)
async def test_the_survivor_keeps_number_key_and_place(
    bench: Bench, home: Home, steps: list[tuple[str, Any]], sent: list[str], final: dict[str, Any] | None
) -> None:
    await offline(home, *steps)
    first = (await home.waiting())[0]
    plan = await bench.run(home.assistant.queue_plan())
    await home.sync()
    assert [operation for _, operation, _ in bench.sent] == sent == [o["operation"] for o in plan["operations"]]
    task = await bench.task(T1)
    if final is None:
        assert task is None and plan["cancelled"] == list(range(1, len(steps) + 1))
        assert {row[0] for row in home.rows("SELECT outcome FROM queue")} <= {"cancelled", "folded"}
    else:
        assert task is not None and {name: task.get(name) for name in final} == final
        assert plan["operations"][0]["from"] == list(range(1, len(steps) + 1))
        assert bench.sent[0][0] == first.op_id and first.id == 1
    assert not await home.waiting()


async def test_a_completed_create_keeps_when_it_was_completed(bench: Bench, home: Home) -> None:
    await offline(home, ("create", "a"))
    bench.clock.advance(600)
    done = bench.clock.now().isoformat().replace("+00:00", "Z")
    await offline(home, ("complete", None))
    await home.sync()
    assert (await bench.task(T1) or {})["completed_at"] == done


async def test_two_updates_are_one_with_the_base_of_the_first_to_touch_each_field(bench: Bench, home: Home) -> None:
    await offline(home, ("create", "a"))
    await home.sync()
    await offline(home, ("update", {"title": "b"}), ("update", {"title": "c", "priority": "HIGH"}))
    await home.sync()
    operation, payload = bench.sent[-1][1], bench.sent[-1][2]
    assert operation == "update_task" and payload["changes"] == {"title": "c", "priority": "HIGH"}
    base = json.loads(home.rows("SELECT base FROM queue WHERE id = 2")[0][0])
    assert base == {"title": "a", "priority": "MEDIUM"}
    assert (await bench.task(T1) or {})["title"] == "c"


def test_a_base_that_the_first_edit_did_not_know_is_not_a_later_one_s() -> None:
    update = ("update_task", {"title": "x"})
    first, second = (row(number, (T1, *update), False) for number in (1, 2))
    second = msgspec.structs.replace(second, base='{"title": "from the first", "priority": "LOW"}')
    folded = fold([first, second]).survivors[0][0]
    assert folded.base is not None and json.loads(folded.base) == {"priority": "LOW"}


async def test_the_last_briefing_of_a_date_is_the_one_that_is_sent(bench: Bench, home: Home) -> None:
    await offline(home, ("briefing", "one"), ("briefing", "two"))
    await home.sync()
    assert len(bench.sent) == 1 and bench.sent[0][2]["content"] == "two"


async def test_what_was_sent_is_never_folded(bench: Bench, home: Home) -> None:
    home.weather.writes, home.weather.reads = ["cut"], ["refused"]
    await bench.run(home.assistant.create_task("a", id=T1))
    await offline(home, ("delete", None))
    home.weather.clear()
    bench.clock.advance(400)
    await home.sync()
    assert bench.applied(T1) == ["create_task", "delete_task"] and await bench.task(T1) is None


async def test_a_strangers_row_is_never_folded(bench: Bench, home: Home) -> None:
    home.stranger("create_task", {"id": T1, "title": "theirs"})
    await bench.run(home.assistant.queue_status())
    await offline(home, ("delete", None))
    await home.sync()
    assert bench.applied(T1) == ["create_task", "delete_task"]


async def test_folding_is_off_once_a_stranger_marked_a_row(bench: Bench, home: Home) -> None:
    number = home.stranger("capture_insight", {"content": "x"})
    await bench.run(home.assistant.queue_status())
    from tests.outbox.test_strangers import execute

    execute(home, "UPDATE queue SET synced_at = datetime('now') WHERE id = ?", number)
    await offline(home, ("create", "a"), ("delete", None))
    await home.sync()
    assert bench.applied(T1) == ["create_task", "delete_task"], "a second drainer may have sent the create already"


# Whatever the operations: the same end with and without folding

_FIELDS = st.dictionaries(
    st.sampled_from(["title", "priority", "description", "status", "project_name"]),
    st.sampled_from(["HIGH", "LOW"]),
    min_size=1,
    max_size=3,
).map(
    lambda chosen: {
        name: {"status": "DONE" if value == "HIGH" else "TODO", "priority": value}.get(name, f"{name} {value}")
        for name, value in chosen.items()
    }
)
_STEP = st.tuples(
    st.sampled_from([T1, T2]), st.sampled_from(["create_task", "update_task", "complete_task", "delete_task"]), _FIELDS
)
_HISTORY = st.lists(st.tuples(_STEP, st.booleans()), max_size=9)


def row(number: int, step: tuple[str, str, dict[str, Any]], sent: bool) -> Row:
    thing, operation, fields = step
    payload: dict[str, Any] = {"id": thing}
    if operation == "create_task":
        payload |= {"title": f"made {number}", "created_at": "2026-11-30T11:00:00Z"} | {
            k: v for k, v in fields.items() if k != "title"
        }
    elif operation == "update_task":
        payload["changes"] = fields
    elif operation == "complete_task":
        payload["completed_at"] = f"2026-11-30T11:00:{number:02}Z"
    key = f"key-{number}"
    return Row(
        number, operation, json.dumps(payload), "2026-11-30T11:00:00Z", key, entity_of(operation, payload, key), "cli",
        "hub", None, None, 1, "2026-11-30T11:00:00Z" if sent else None, 0, 0, None, None, None, None, None,
    )  # fmt: skip


async def _state_after(rows: list[Row]) -> list[dict[str, Any] | None]:
    """What the real Hub has after these operations, each sent alone."""
    async with Bench() as bench:
        import httpx

        async with httpx.AsyncClient(transport=bench.hub.transport, base_url="http://hub") as client:
            headers = {"Authorization": f"Bearer {bench.tokens['anna']}"}
            for one in rows:
                op = {"op_id": one.op_id, "operation": one.operation, "payload": json.loads(one.payload)}
                answer = await client.post("/api/queue", json={"client_id": "t", "ops": [op]}, headers=headers)
                assert answer.status_code == 200
        found = [await bench.task(thing) for thing in (T1, T2)]
        ignored = ("version", "updated_at", "completed_at", "created_at")
        return [task and {k: v for k, v in task.items() if k not in ignored} for task in found]


def _plausible(history: list[tuple[tuple[str, str, dict[str, Any]], bool]]) -> list[tuple[Any, bool]]:
    """What a user can do: create first, once; nothing after a delete. What was sent stands before what was not."""
    state: dict[str, str] = {}
    kept = []
    for step, sent in history:
        thing, operation, _ = step
        before = state.get(thing, "")
        if (operation == "create_task") != (before == "") or before == "gone":
            continue
        state[thing] = "gone" if operation == "delete_task" else "there"
        kept.append((step, sent))
    unsent: set[str] = set()
    whole = []
    for step, sent in kept:
        if not sent:
            unsent.add(step[0])
        whole.append((step, sent and step[0] not in unsent))
    return whole


@settings(max_examples=150, deadline=None, derandomize=True)
@given(_HISTORY)
def test_folding_never_changes_the_end_and_never_touches_what_was_sent(
    history: list[tuple[tuple[str, str, dict[str, Any]], bool]],
) -> None:
    before = [row(number, step, sent) for number, (step, sent) in enumerate(_plausible(history), 1)]
    folded = fold(before)
    survivors = [one for one, _ in folded.survivors]
    untouched = {one.id: one for one in before if not may_fold(one)}
    for one, numbers in folded.survivors:
        assert one.id == min(numbers) and one.op_id == f"key-{one.id}"
        if one.id in untouched:
            assert one == untouched[one.id] and numbers == (one.id,)
    went = [number for _, numbers in folded.survivors for number in numbers] + list(folded.cancelled)
    assert sorted(went) == [one.id for one in before], "every row is accounted for, once"
    assert not set(folded.cancelled) & untouched.keys()
    assert [one.id for one in survivors] == sorted(one.id for one in survivors)
    if len(survivors) != len(before) or any(len(numbers) > 1 for _, numbers in folded.survivors):
        assert asyncio.run(_state_after(survivors)) == asyncio.run(_state_after(before))
