"""``aria queue`` and ``aria sync``: seeing what waits, mending it, sending it."""

from __future__ import annotations

import json
import stat

import pytest

from tests.cli.pty_run import on_a_terminal
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess


@pytest.fixture
def online(aria: Aria, hub: HubProcess) -> Aria:
    return aria.use(hub.url, hub.token)


ITEM = {"id", "operation", "payload", "created_at", "reason", "reason_code"}
ROW = ITEM | {"entity", "op_id", "attempts", "next_attempt_at", "origin", "target", "error"}


def refuse(aria: Aria, payload: str) -> int:
    """A stranger's row that the Hub will refuse; its number."""
    import sqlite3

    connection = sqlite3.connect(aria.queue_file, timeout=10)
    try:
        number = connection.execute(
            "INSERT INTO queue(operation, payload) VALUES ('create_task', ?)", (payload,)
        ).lastrowid
        connection.commit()
    finally:
        connection.close()
    assert number is not None
    return number


def test_the_shapes_of_what_waits(aria: Aria) -> None:
    for number in range(7):
        aria("task", "add", f"task {number}", "--offline").ok()
    status = aria("queue", "status", "--json").ok().json
    assert status.keys() == {
        "pending_total", "by_operation", "oldest", "items", "dead_letters", "conflicts", "paused", "held",
    }  # fmt: skip
    assert status == aria("queue", "--json").ok().json
    assert (status["pending_total"], status["by_operation"]) == (7, {"create_task": 7})
    assert [item["id"] for item in status["items"]] == [1, 2, 3, 4, 5] and status["items"][0].keys() == ITEM
    assert status["oldest"] == status["items"][0]["created_at"] and status["oldest"].endswith("Z")
    rows = aria("queue", "list", "--json").ok().json
    assert [row["id"] for row in rows] == list(range(1, 8)) and rows[0].keys() == ROW
    assert rows[0]["origin"] == "cli" and json.loads(rows[0]["payload"])["title"] == "task 0"
    assert aria("queue", "show", "3", "--json").ok().json == rows[2]
    assert aria("queue", "list", "--limit", "2", "--json").ok().json == rows[:2]
    shown = aria("queue", "list", "--limit", "2").ok().out
    assert "task 1" in shown and "task 2" not in shown and "more" in shown
    assert '"title":"task 2"' in aria("queue", "show", "3").ok().out
    assert aria("queue", "show", "99").status == 1


def test_sync_its_plan_and_its_statuses(online: Aria, hub: HubProcess) -> None:
    first = online("task", "add", "one", "--offline", "--json").ok().json["id"]
    online("task", "edit", first, "--title", "uno", "--offline").ok()
    doomed = online("task", "add", "nothing", "--offline", "--json").ok().json["id"]
    online("task", "rm", doomed, "--offline").ok()
    plan = online("sync", "--plan", "--json").ok().json
    assert plan.keys() == {"operations", "cancelled"} and plan["cancelled"] == [3, 4]
    assert [(op["operation"], op["from"]) for op in plan["operations"]] == [("create_task", [1, 2])]
    assert plan["operations"][0].keys() == {"op_id", "operation", "entity", "payload", "from"}
    assert "uno" in online("sync", "--plan").ok().out
    assert online.waiting() == 4

    hub.stop()
    away = online("sync", "--json")
    assert away.status == 3 and away.json.keys() == {
        "synced", "superseded", "failed", "remaining", "dead_letters", "conflicts", "hub",
    }, away  # fmt: skip
    assert away.json["hub"] == {"state": "offline"} and away.json["remaining"] > 0
    hub.start()
    text = online("sync").ok()
    assert text.out.count("\n") == 1 and not text.err, text
    assert [task["title"] for task in hub.all("tasks")] == ["uno"]
    journal = online("queue", "list", "--journal", "--json").ok().json
    assert {row["id"] for row in journal} >= {1, 3} and all(row["synced_at"] for row in journal)
    assert online("sync", "--json").ok().json["synced"] == 0


def test_progress_is_drawn_on_a_terminal_only(online: Aria) -> None:
    for number in range(3):
        online("insight", "add", "--offline", f"insight {number}").ok()
    status, stream = on_a_terminal(online, "sync")
    assert status == 0 and b"\r" in stream and "━".encode() in stream, stream
    online("insight", "add", "--offline", "more").ok()
    done = online("sync").ok()
    assert "━" not in done.out + done.err and "\x1b" not in done.out + done.err
    online("insight", "add", "--offline", "quiet").ok()
    assert online("sync", "--quiet").ok().out == ""


@pytest.mark.case("Q04")
def test_a_dead_letter_is_seen_edited_retried_discarded(online: Aria, hub: HubProcess) -> None:
    online("task", "add", "fine", "--offline").ok()
    bad = refuse(online, json.dumps({"title": "x" * 600}))
    worse = refuse(online, json.dumps({"title": "y" * 600}))
    done = online("sync", "--json")
    assert done.status == 3 and (done.json["synced"], done.json["dead_letters"], done.json["remaining"]) == (1, 2, 0)
    quiet = online("sync", "--quiet")
    assert quiet.status == 0, quiet
    dead = online("queue", "list", "--dead", "--json").ok().json
    assert [row["id"] for row in dead] == [bad, worse] and "title" in dead[0]["reason"] + str(dead[0]["error"])
    assert "needs attention: 2" in online("queue").ok().out

    assert online("queue", "retry", str(bad), "--json").ok().json == {"retried": 1}
    assert online("sync", "--json").status == 3
    edited = online("queue", "edit", str(bad), "--set", "title=short", "--set", 'tags=["a"]', "--json").ok().json
    assert json.loads(edited["payload"])["title"] == "short"
    asked = online("queue", "discard", str(worse))
    assert asked.status == 2 and "--yes" in asked.err, asked
    assert "discarded" in online("queue", "discard", str(worse), "--yes").ok().out
    online("sync").ok()
    assert {(t["title"], tuple(t["tags"])) for t in hub.all("tasks")} == {("fine", ()), ("short", ("a",))}
    assert online.queue()["dead_letters"] == 0


def test_the_editor_and_the_questions_of_a_terminal(online: Aria) -> None:
    online("task", "add", "one", "--offline").ok()
    editor = online.root / "editor.py"
    editor.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[1])\np.write_text(p.read_text().replace('one', 'two'))\n"
    )
    import sys

    online.env["EDITOR"] = f"{sys.executable} {editor}"
    status, stream = on_a_terminal(online, "queue", "edit", "1")
    assert status == 0, stream
    assert json.loads(online("queue", "show", "1", "--json").ok().json["payload"])["title"] == "two"
    assert online("queue", "edit", "1").status == 2
    online.env["EDITOR"] = "true"
    key = online("queue", "show", "1", "--json").ok().json["op_id"]
    status, stream = on_a_terminal(online, "queue", "edit", "1")
    assert status == 0 and b"#1 is as it was" in stream, stream
    assert online("queue", "show", "1", "--json").ok().json["op_id"] == key
    status, stream = on_a_terminal(online, "queue", "discard", "1", typed=b"y\nn\n")
    assert status == 1 and b"Discard #1?" in stream and online.waiting() == 1, stream
    status, stream = on_a_terminal(online, "queue", "discard", "1", typed=b"y\ny\n")
    assert status == 0 and online.waiting() == 0, stream


def test_a_conflict_is_shown_and_resolved_by_field(online: Aria, hub: HubProcess, make_aria) -> None:  # type: ignore[no-untyped-def]
    number = online("task", "add", "both", "--json").ok().json["id"]
    online("task", "list").ok()
    other = make_aria("other").use(hub.url, hub.token)
    other("task", "edit", number, "--title", "theirs", "--priority", "low").ok()
    online("task", "edit", number, "--title", "mine", "--priority", "high", "--offline").ok()
    done = online("sync", "--json")
    assert done.status == 3 and done.json["conflicts"] == 1, done
    conflict = online("queue", "conflicts", "--json").ok().json[0]
    assert (conflict["mine"]["title"], conflict["theirs"]["title"]) == ("mine", "theirs")
    why = online("queue", "list", "--conflicts", "--json").ok().json[0]["reason"]
    assert why.startswith("changed on both sides: ") and "title" in why, why
    assert why.count("changed on both sides") == 1 and "title: title" not in why, why
    assert "changed on both sides: title, priority" in online("queue", "list", "--conflicts").ok().out
    online.env["LANG"] = "pt_BR.UTF-8"
    listed = online("queue", "list", "--conflicts").ok().out
    assert "mudou dos dois lados: título, prioridade" in listed and "Hub" not in listed, listed
    online.env["LANG"] = "C.UTF-8"
    text = online("queue", "conflicts").ok().out
    assert "mine" in text and "theirs" in text and "both" in text
    wrong = online("queue", "resolve", str(conflict["id"]), "--field", "title=neither")
    assert wrong.status == 2, wrong
    resolved = online(
        "queue", "resolve", str(conflict["id"]), "--field", "title=theirs", "--field", "priority=mine", "--json"
    ).ok()  # fmt: skip
    assert resolved.json["status"] in ("synced", "queued"), resolved
    online("sync").ok()
    task = hub.all("tasks")[0]
    assert (task["title"], task["priority"]) == ("theirs", "HIGH")


def test_export_and_import_apply_each_once(online: Aria, hub: HubProcess, make_aria) -> None:  # type: ignore[no-untyped-def]
    for title in ("eins", "zwei \u2028 \x85"):
        online("task", "add", title, "--offline").ok()
    lines = online("queue", "export").ok().out
    assert len(lines.splitlines()) == 2 and all(json.loads(line) for line in lines.split("\n")[:-1])
    file = online.root / "queue.jsonl"
    online("queue", "export", "-o", str(file)).ok()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = make_aria("other").use(hub.url, hub.token)
    assert other("queue", "import", str(file), "--json").ok().json["imported"] == 2
    assert other("queue", "import", "-", stdin=file.read_bytes()).ok().out.startswith("0 taken in, 2 known")
    other("sync").ok()
    online("sync").ok()
    assert sorted(task["title"] for task in hub.all("tasks")) == ["eins", "zwei \u2028 \x85"]
    assert other("queue", "import", "/nonexistent").status == 2


def test_what_is_meant_for_another_hub_is_held_until_it_is_adopted(online: Aria, hub: HubProcess) -> None:
    online("task", "add", "for here", "--offline").ok()
    online("status").ok()
    online.use()
    assert online.queue()["held"] == 1
    refused = online("queue", "adopt")
    assert refused.status == 2 and "--yes" in refused.err, refused
    assert online("queue", "adopt", "--yes", "--json").ok().json == {"adopted": 1}
    online("sync").ok()
    assert online("task", "list", "--json").ok().json["tasks"][0]["title"] == "for here"
    assert hub.all("tasks") == []
    assert online("queue", "verify", "--json").status in (0, 1)


def test_damage_that_is_met_in_the_middle_of_a_command_is_told_by_it(aria: Aria) -> None:
    """That nothing waits is never shown without the banner, not even by the command that finds it out (S04)."""
    import sqlite3

    aria("insight", "add", "x", "--offline").ok()
    connection = sqlite3.connect(aria.queue_file)
    connection.execute("DROP TABLE queue")
    connection.close()
    looked = aria("doctor")
    assert looked.status == 1 and "its table of rows is gone" in looked.out
    for _ in range(2):
        done = aria("queue").ok()
        assert done.out.startswith("QUEUE: 0 waiting") and done.err.count("The queue file was damaged") == 1, done
