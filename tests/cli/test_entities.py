"""Tasks, insights and activity by the command line, against a real Hub that comes and goes."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta

import pytest

from tests.cli.pty_run import on_a_terminal
from tests.helpers.aria import Aria, today
from tests.helpers.hub import HubProcess


@pytest.fixture
def online(aria: Aria, hub: HubProcess) -> Aria:
    return aria.use(hub.url, hub.token)


def test_a_task_from_first_word_to_last(online: Aria, hub: HubProcess) -> None:
    added = online(
        "task", "add", "Pagar DAS", "-p", "finance", "--due", "+3d", "--priority", "high",
        "--tag", "tax", "--tag", "br", "--description", "by *app*", "--json",
    ).ok().json  # fmt: skip
    assert added.keys() >= {"status", "destination", "id", "message"}
    assert (added["status"], added["destination"]) == ("synced", "hub")
    task = hub.all("tasks")[0]
    assert {k: task[k] for k in ("id", "title", "project_name", "priority", "tags", "description", "due_date")} == {
        "id": added["id"], "title": "Pagar DAS", "project_name": "finance", "priority": "HIGH", "tags": ["tax", "br"],
        "description": "by *app*", "due_date": (today() + timedelta(days=3)).isoformat(),
    }  # fmt: skip
    listed = online("task", "list", "--json").ok().json
    assert listed.keys() == {"tasks", "as_of", "source"} and listed["source"] == "hub"
    assert listed["tasks"] == [{**task, "waiting": False}]

    beginning = added["id"][:13]
    online("task", "edit", beginning, "--title", "Pagar DAS e INSS", "--due", "", "--tag", "", "-p", "").ok()
    shown = online("task", "show", beginning, "--json").ok().json["task"]
    assert (shown["title"], shown["due_date"], shown["tags"], shown["project_name"]) == (
        "Pagar DAS e INSS", None, [], None,
    )  # fmt: skip
    assert "Pagar DAS e INSS" in online("task", "show", beginning).ok().out

    online("task", "done", beginning).ok()
    assert hub.all("tasks")[0]["status"] == "DONE"
    assert "1 done or cancelled" in online("task", "list").ok().out
    assert "Pagar DAS e INSS" in online("task", "list", "--all").ok().out
    assert online("task", "list", "--status", "done", "--json").ok().json["tasks"][0]["id"] == added["id"]
    assert online("task", "list", "--status", "todo", "--json").ok().json["tasks"] == []
    online("task", "rm", beginning).ok()
    assert hub.all("tasks") == []


def test_a_task_while_the_hub_is_away(online: Aria, hub: HubProcess) -> None:
    known = online("task", "add", "Known", "--json").ok().json["id"]
    online("task", "list").ok()
    hub.stop()
    queued = online("task", "add", "Later", "--json").ok().json
    assert (queued["status"], queued["destination"]) == ("queued", "local") and queued["queue_id"] > 0
    assert f"queued (#{queued['queue_id'] + 1})" in online("task", "done", known[:14]).ok().out
    online("task", "edit", queued["id"], "--priority", "low").ok()
    rows = online("queue", "list").ok().out.splitlines()
    assert "complete_task  Known" in rows[1] and "update_task    Later" in rows[2], rows

    away = online("task", "list")
    assert (away.status, away.out) == (1, ""), away
    assert "Hub offline — task list unavailable" in away.err and "Later" in away.err
    (online.home / "config.toml").write_text('[ui]\nofflinetasks = "last-seen"\n')
    wrong = online("task", "list")
    assert wrong.status == 2 and "config.toml:2" in wrong.err and "'offline_tasks'" in wrong.err, wrong
    (online.home / "config.toml").write_text('[ui]\noffline_tasks = "last-seen"\n')
    seen = online("task", "list", "--json").ok().json
    assert seen["source"] == "last-seen" and {t["title"]: t["waiting"] for t in seen["tasks"]}["Known"]

    hub.start()
    assert online("sync", "--json").ok().json["remaining"] == 0
    tasks = {task["title"]: task for task in hub.all("tasks")}
    assert tasks["Known"]["status"] == "DONE" and tasks["Later"]["priority"] == "LOW"


def test_ids_that_are_no_one_or_more_than_one(online: Aria) -> None:
    for title in ("one", "two"):
        online("task", "add", title).ok()
    none = online("task", "done", "ffffffff")
    assert none.status == 1 and "ffffffff" in none.err, none
    both = online("task", "done", "0")
    assert both.status == 2 and both.out == "", both


def test_insights(online: Aria, hub: HubProcess) -> None:
    online("insight", "add", "Better Auth needs a pool", "-p", "menthos", "--tag", "auth").ok()
    online("insight", "add", "-", stdin="Zwei Zeilen\nmit Ümläuten\n".encode()).ok()
    assert {i["content"] for i in hub.all("insights")} == {"Better Auth needs a pool", "Zwei Zeilen\nmit Ümläuten"}
    found = online("insight", "list", "-q", "pool", "--json").ok().json
    assert [i["content"] for i in found["insights"]] == ["Better Auth needs a pool"]
    assert found["insights"][0]["waiting"] is False and found["insights"][0]["tags"] == ["auth"]
    listed = online("insight", "list").ok().out
    assert len(listed.splitlines()) == 2 and "Zwei Zeilen mit Ümläuten" in listed
    number = found["insights"][0]["id"]
    online("insight", "edit", number[:13], "Better Auth pools by itself", "--tag", "").ok()
    assert online("insight", "list", "-q", "itself", "--json").ok().json["insights"][0]["tags"] == []
    online("insight", "rm", number).ok()
    assert len(hub.all("insights")) == 1


def test_activity(online: Aria) -> None:
    online("activity", "add", "menthos", "--notes", "Auth is done", "--commits", "4").ok()
    assert online("activity", "add", "menthos").status == 2
    day = online("activity", "list", "--json").ok().json["activity"][0]
    assert (day["project"], day["notes"], day["commits"]) == ("menthos", "Auth is done", 4)
    assert "Auth is done" in online("activity", "list", "-p", "menthos").ok().out


def test_bad_values_are_refused_and_nothing_is_stored(aria: Aria) -> None:
    for args, word in (
        (("task", "add", ""), "title"),
        (("task", "add", "x" * 501), "too long"),
        (("insight", "add", "x", *(["--tag", "t"] * 21)), "tags"),
        (("insight", "add", "-"), "content"),
    ):
        done = aria(*args)
        assert done.status == 2 and word in done.err, done
    assert aria.waiting() == 0


def test_a_queue_that_is_no_file_says_so_and_gives_the_text_back(aria: Aria) -> None:
    aria.home.write_text("a file where the home should be")
    done = aria("insight", "add", "-", stdin=b"two\nlines \x1b[1m")
    assert done.status == 1 and done.out == "", done
    assert "not saved" in done.err and done.err.endswith("\ntwo\nlines \x1b[1m\n"), done
    made_by_newer = aria.root / "newer"
    made_by_newer.mkdir()
    connection = sqlite3.connect(made_by_newer / "queue.db")
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    before = (made_by_newer / "queue.db").read_bytes()
    done = aria("--home", str(made_by_newer), "task", "add", "important")
    assert done.status == 1 and "made by a newer version" in done.err and "not saved" in done.err, done
    assert (made_by_newer / "queue.db").read_bytes() == before


def test_flags_go_over_the_environment_and_that_over_the_file(online: Aria, hub: HubProcess) -> None:
    (online.home).mkdir(exist_ok=True)
    (online.home / "config.toml").write_text('[hub]\nurl = "http://127.0.0.1:1"\ntoken = "file"\n')
    assert online("status", "--json").ok().json["hub"]["url"] == hub.url
    other = online("--hub-url", "http://127.0.0.1:9", "status", "--json").ok().json["hub"]
    assert (other["url"], other["state"]) == ("http://127.0.0.1:9", "offline")
    token = online.root / "token"
    token.write_text(f"{hub.token}\n")
    online.use()
    by_flags = online("status", "--json", "--hub-url", hub.url, "--hub-token-file", str(token)).ok().json["hub"]
    assert by_flags["state"] in ("online", "slow")
    assert by_flags["latency_ms"] > 0


@pytest.mark.case("T03")
def test_columns_stay_straight_whatever_the_titles_hold(online: Aria) -> None:
    for title in ("Reunião 👩‍👩‍👧 日本語 ❤️ e\u0301", "plain", "日" * 100):
        online("task", "add", title, "-p", "p").ok()
    status, stream = on_a_terminal(online, "task", "list")
    assert status == 0
    from aria_tui.clean import cell_width

    lines = stream.decode().replace("\r", "").splitlines()
    columns = {cell_width(line[: line.index(" MEDIUM")]) for line in lines}
    assert len(columns) == 1 and max(map(cell_width, lines)) <= 100, lines


def test_status_has_the_shape_that_is_promised(online: Aria) -> None:
    document = online("status", "--json").ok().json
    assert document.keys() == {"hub", "queue"}
    assert document["hub"].keys() == {"state", "since", "url", "latency_ms"}
    assert document["queue"].keys() == {
        "pending_total", "by_operation", "oldest", "dead_letters", "conflicts", "paused", "held",
    }  # fmt: skip
    text = online("status").ok().out
    assert text.startswith("Hub online") and "QUEUE: 0 waiting" in text
    assert json.dumps(document)


def test_what_a_briefing_waits_for_stands_on_the_terminal_alone(aria: Aria) -> None:
    aria.home.mkdir()
    (aria.home / "config.toml").write_text("[docker]\nenabled = false\n")
    status, stream = on_a_terminal(aria, "briefing", "--no-store")
    drawn, cleared, rest = stream.decode().rpartition("\r\x1b[K")
    assert status == 0 and cleared and drawn.startswith("\rwaiting for: Calendar, Tasks"), stream
    assert "waiting for" not in rest and "0 open" in rest, stream
    done = aria("briefing", "--no-store").ok()
    assert "waiting for" not in done.out and not done.err, done
