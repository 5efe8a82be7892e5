"""The briefing comes, whatever fails, and every section of it says the truth."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from aria_tui import briefing, locale
from aria_tui.config import Config, parse
from aria_tui.errors import HubUnavailable, NotSaved
from aria_tui.hub.contract import Briefing, validate
from aria_tui.locale import formats
from aria_tui.models import (
    Alert,
    BriefingDoc,
    HubStatus,
    InsightList,
    InsightView,
    QueueItem,
    QueueStatus,
    Section,
    TaskList,
    TaskView,
)
from aria_tui.sources import Moment
from tests.sources.hub import Readings
from tests.sources.repos import git, make
from tests.sources.service import Service

CONFIG = parse('[briefing]\ntimezone = "America/Fortaleza"\n[docker]\nenabled = false\n')
MORNING = datetime(2026, 11, 30, 11, 4, tzinfo=UTC)  # 08:04 there
OFFLINE = HubUnavailable("offline", "connection refused", since="2026-11-30T00:40:00Z")
DOWN = HubStatus(state="offline", since="2026-11-30T00:40:00Z", reason="connection refused")
WAITING = QueueStatus(
    pending_total=3,
    by_operation={"store_briefing": 1, "capture_insight": 2},
    oldest="2026-11-30T10:14:22Z",
    items=(
        QueueItem(
            id=41, operation="capture_insight", payload='{"content":"x"}', created_at="2026-11-30T10:14:22Z",
            reason="Hub offline", reason_code="offline",
        ),
    ),
)  # fmt: skip


def task(name: str, due: str | None = None, **more: Any) -> TaskView:
    return TaskView(id=f"id-{name}", title=name, due_date=due, **more)


class Made:
    def __init__(self, name: str, given: Section | None = None, seconds: float = 0.0) -> None:
        self.name, self._given, self._seconds = name, given, seconds

    async def gather(self, when: Moment, deadline: float) -> Section:
        await asyncio.sleep(self._seconds)
        return self._given or Section(name=self.name, state="ok", data={"lines": ["fine"]})


async def gathered(
    hub: Readings,
    *,
    kind: Any = "morning",
    config: Config = CONFIG,
    at: datetime = MORNING,
    sources: Sequence[Any] = (),
    home: Path = Path("/nonexistent"),
) -> BriefingDoc:
    last = None
    async for part in briefing.gather(kind, config=config, home=home, hub=hub, clock=lambda: at, sources=sources):
        last = part
    assert isinstance(last, BriefingDoc)
    json.dumps(briefing.as_data(last))
    return last


def of(doc: BriefingDoc, name: str) -> Section:
    return next(section for section in doc.sections if section.name == name)


# -- the Hub is up


async def test_a_morning() -> None:
    tasks = (
        task("Late", "2026-11-29", priority="LOW", project_name="lab"),
        task("Pay", "2026-11-30", priority="URGENT", project_name="finance"),
        task("Doing", status="IN_PROGRESS", priority="LOW"),
        task("Low", priority="LOW"),
        task("High", priority="HIGH", waiting=True, mark="new"),
        task("Soon", "2026-12-01", priority="MEDIUM"),
        task("Done", status="DONE"),
        task("Off", status="CANCELLED"),
        task("Gone", mark="deleted", waiting=True),
    )
    doc = await gathered(Readings(tasks=TaskList(tasks=tasks)))
    assert (doc.date, doc.kind, doc.generated_at, doc.timezone) == (
        "2026-11-30", "morning", "2026-11-30T11:04:00Z", "America/Fortaleza",
    )  # fmt: skip
    assert doc.alerts == ()
    context = of(doc, "context").data
    assert context == {
        "weekday": "Monday", "time": "08:04", "period": "morning",
        "hub": {"state": "online", "since": "2026-11-30T11:00:00Z"}, "queue": {"pending_total": 0, "oldest": None},
    }  # fmt: skip
    data = of(doc, "tasks").data
    assert data["open_total"] == 6
    groups = {name: [item["title"] for item in data[name]] for name in ("overdue", "due_today", "in_progress", "other")}
    assert groups == {
        "overdue": ["Late"], "due_today": ["Pay"], "in_progress": ["Doing"], "other": ["High", "Soon", "Low"],
    }  # fmt: skip
    assert [item["title"] for item in data["waiting"]] == ["High", "Gone"]
    text = briefing.render_text(doc)
    assert text.startswith("Good morning · Monday 30 November 2026 · 08:04 · America/Fortaleza · morning\nHub online\n")
    for line in (
        "Late — lab [LOW] (1 day late)", "Pay — finance [URGENT] (today)", "⇡ High [HIGH]",
        "Soon [MEDIUM] (tomorrow)", "6 open",
    ):  # fmt: skip
        assert line in text
    assert "QUEUE" not in text


@pytest.mark.parametrize(
    ("at", "period", "greeting"),
    [
        ("04:59", "evening", "Good evening"),
        ("05:00", "morning", "Good morning"),
        ("11:59", "morning", "Good morning"),
        ("12:00", "afternoon", "Good afternoon"),
        ("18:00", "evening", "Good evening"),
    ],
)
async def test_the_period_of_the_day(at: str, period: str, greeting: str) -> None:
    local = datetime.fromisoformat(f"2026-11-30T{at}:00-03:00")
    doc = await gathered(Readings(), at=local)
    assert of(doc, "context").data["period"] == period
    assert briefing.render_text(doc).startswith(greeting)


@pytest.mark.case("Z01")
@pytest.mark.parametrize(
    ("at", "group", "words"),
    [
        ("2026-11-30T22:30", "other", "(tomorrow)"),
        ("2026-12-01T00:00", "due_today", "(today)"),
        ("2026-12-01T23:59", "due_today", "(today)"),
        ("2026-12-02T00:00", "overdue", "(1 day late)"),
    ],
)
async def test_due_today_is_the_users_day(at: str, group: str, words: str) -> None:
    hub = Readings(tasks=TaskList(tasks=(task("Pay", "2026-12-01"),)))
    doc = await gathered(hub, at=datetime.fromisoformat(f"{at}:00-03:00"))
    assert doc.date == at[:10]
    assert [item["title"] for item in of(doc, "tasks").data[group]] == ["Pay"]
    assert words in briefing.render_text(doc)


async def test_another_zone_makes_another_day_and_due_dates_do_not_move() -> None:
    hub = Readings(tasks=TaskList(tasks=(task("Pay", "2026-12-01"),)))
    at = datetime(2026, 12, 1, 0, 30, tzinfo=UTC)
    here = await gathered(hub, at=at)
    there = await gathered(hub, at=at, config=parse('[briefing]\ntimezone = "Europe/Lisbon"'))
    assert (here.date, there.date) == ("2026-11-30", "2026-12-01")
    assert of(here, "tasks").data["other"][0]["due_date"] == of(there, "tasks").data["due_today"][0]["due_date"]


async def test_a_zone_that_is_none_is_said() -> None:
    doc = await gathered(Readings(), config=parse('[briefing]\ntimezone = "Mars/Olympus"'))
    context = of(doc, "context")
    assert (context.state, context.reason) == ("partial", "[briefing] timezone: no such zone: Mars/Olympus")
    assert "no such zone: Mars/Olympus" in briefing.render_text(doc)


# -- the degraded form


async def test_the_hub_is_down_word_for_word() -> None:
    waiting = TaskList(tasks=(task("Queued", waiting=True, mark="new"),))
    yesterday = stored("2026-11-29", ["a"])
    hub = Readings(status=DOWN, down=OFFLINE, queue=WAITING, waiting=waiting, briefings=[yesterday])
    local = Section(name="docker", state="ok", data={"engine": "e", "running": 7, "problems": [], "total": 9})
    doc = await gathered(hub, sources=[Made("docker", local)])
    assert [section.name for section in doc.sections] == ["context", "tasks", "docker", "queue"]
    tasks = of(doc, "tasks")
    assert (tasks.state, tasks.reason) == ("unavailable", "Hub offline — task list unavailable")
    assert list(tasks.data) == ["waiting"]
    lines = briefing.render_text(doc).splitlines()
    assert "Hub offline since Sun 29 Nov 21:40 · 3 waiting" in lines
    assert "  Hub offline — task list unavailable" in lines
    assert "    ⇡ Queued [MEDIUM]" in lines
    assert "  7 running of 9" in lines
    assert not any("yesterday" in line.lower() for line in lines)
    assert doc.alerts == (Alert(level="warning", source="hub", text="Hub offline since 2026-11-30T00:40:00Z"),)


async def test_the_queue_line_word_for_word() -> None:
    since = HubStatus(state="offline", since="2026-11-30T00:40:00Z")
    doc = await gathered(
        Readings(status=since, down=OFFLINE, queue=WAITING), at=datetime(2026, 11, 30, 1, 0, tzinfo=UTC)
    )
    wanted = "QUEUE: 3 waiting (Hub offline since 21:40) · 2× capture_insight, 1× store_briefing · press s to sync"
    assert wanted in briefing.render_text(doc).splitlines()
    assert briefing.render_text(doc).splitlines()[-1] == wanted
    up = await gathered(Readings(queue=WAITING))
    assert briefing.render_text(up).splitlines()[-1].startswith("QUEUE: 3 waiting (Hub online) · 2× capture_insight")


async def test_the_last_list_seen_is_shown_only_when_wanted_and_as_old() -> None:
    seen = TaskList(tasks=(task("Old", "2026-11-30"),), source="last-seen", as_of="2026-11-30T00:30:00Z")
    hub = Readings(status=DOWN, down=OFFLINE, last_seen=seen)
    assert of(await gathered(hub), "tasks").state == "unavailable"
    shown = parse('[briefing]\ntimezone = "America/Fortaleza"\n[ui]\noffline_tasks = "last-seen"')
    doc = await gathered(hub, config=shown)
    tasks = of(doc, "tasks")
    assert (tasks.state, tasks.as_of, tasks.reason) == ("stale", "2026-11-30T00:30:00Z", "Hub offline")
    assert "yesterday" not in [section.name for section in doc.sections]
    assert "as of Sun 29 Nov 21:30 · Hub offline" in briefing.render_text(doc)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("refused", "Hub sign-in needed — task list unavailable"),
        ("not_the_hub", "Hub gave an unexpected answer — task list unavailable"),
        ("unknown", "Hub unknown — task list unavailable"),
    ],
)
async def test_other_ways_to_be_away(state: str, reason: str) -> None:
    hub = Readings(status=HubStatus(state=state), down=HubUnavailable(state, "x"))  # type: ignore[arg-type]
    assert of(await gathered(hub), "tasks").reason == reason


async def test_a_hub_that_never_answers_or_breaks_costs_its_sections() -> None:
    quick = parse('[briefing]\ntimezone = "UTC"\ntimeout = 0.2')
    doc = await gathered(Readings(slow=30), config=quick, sources=[Made("calendar")])
    assert of(doc, "tasks").reason == "timed out after 0.2 s — task list unavailable"
    assert of(doc, "context").data["hub"] == {"state": "unknown", "since": None}
    assert of(doc, "calendar").state == "ok"
    doc = await gathered(Readings(broken=RuntimeError("x")), sources=[Made("calendar")])
    assert of(doc, "tasks").reason == "failed: RuntimeError — task list unavailable"
    assert (of(doc, "queue").state, of(doc, "queue").reason) == ("unavailable", "failed: RuntimeError")
    assert of(doc, "context").data["queue"] == {"pending_total": None, "oldest": None}
    assert doc.alerts[0].source == "queue"


# -- since yesterday


def stored(day: str, titles: Sequence[str], *, state: str = "ok", data: Any = ...) -> Briefing:
    items = [{"id": f"id-{title}", "title": title} for title in titles]
    tasks = {"open_total": len(items), "overdue": items[:1], "due_today": [], "in_progress": [], "other": items[1:]}
    made = {"sections": {"tasks": {"state": state, "data": tasks}}} if data is ... else data
    return Briefing(date=day, content="", data=made, captured_at=f"{day}T11:00:00Z", version=1)


async def test_since_yesterday_names_the_day_it_compares_with() -> None:
    now = TaskList(tasks=tuple(task(name) for name in ("b", "c", "d", "e", "f")))
    briefings = [
        stored("2026-11-30", ["x"]),
        stored("2026-11-29", ["y"], state="unavailable"),
        stored("2026-11-28", [], data={"other": "program"}),
        stored("2026-11-27", [], data=None),
        stored("2026-11-26", ["a", "b", "c"]),
        stored("2026-11-25", ["z"]),
    ]
    doc = await gathered(Readings(tasks=now, briefings=briefings))
    assert of(doc, "yesterday").data == {"date": "2026-11-26", "open_then": 3, "open_now": 5, "new": 3, "done": 1}
    assert "Thu 26 Nov: 3 open then, 5 now: 3 new, 1 done" in briefing.render_text(doc)


async def test_the_first_day_has_nothing_to_compare_with() -> None:
    doc = await gathered(Readings())
    assert of(doc, "yesterday").data["date"] is None
    assert "no earlier briefing to compare with" in briefing.render_text(doc)


# -- alerts


async def test_a_failed_report_comes_before_everything() -> None:
    def warns(name: str, level: Any, text: str) -> Made:
        return Made(name, Section(name=name, state="ok", alerts=(Alert(level=level, source=name, text=text),)))

    sources = [warns("docker", "critical", "a"), warns("finance", "info", "b"), warns("reports", "critical", "night")]
    old = QueueStatus(pending_total=1, oldest="2026-11-29T11:03:59Z", dead_letters=2, conflicts=1)
    doc = await gathered(Readings(status=DOWN, down=OFFLINE, queue=old), sources=sources)
    assert [alert.text for alert in doc.alerts] == [
        "night", "a", "Hub offline since 2026-11-30T00:40:00Z", "the oldest waits for 24 h",
        "2 dead letters", "1 conflict", "b",
    ]  # fmt: skip


async def test_a_queue_of_just_a_day_is_no_alert() -> None:
    doc = await gathered(Readings(queue=QueueStatus(pending_total=1, oldest="2026-11-29T11:04:00Z")))
    assert doc.alerts == ()


# -- gathering


async def test_sections_come_as_they_are_ready_and_end_in_order() -> None:
    own = Made("weather", seconds=0.05)
    slow = Made("calendar", Section(name="calendar", state="not_configured"), seconds=0.3)
    sources = [slow, own, Made("docker")]
    parts = briefing.gather("morning", config=CONFIG, home=Path("/nonexistent"), hub=Readings(), sources=sources)
    given = [part async for part in parts]
    names = [part.name for part in given if isinstance(part, Section)]
    assert isinstance(given[-1], BriefingDoc)
    assert names.index("docker") < names.index("weather") < names.index("calendar")
    assert [section.name for section in given[-1].sections] == [
        "context", "calendar", "tasks", "yesterday", "docker", "weather", "queue",
    ]  # fmt: skip


async def test_closing_the_briefing_ends_what_runs() -> None:
    started, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    class Long(Made):
        async def gather(self, when: Moment, deadline: float) -> Section:
            loop.call_soon_threadsafe(started.set)
            try:
                await asyncio.sleep(3600)
            finally:
                loop.call_soon_threadsafe(ended.set)
            raise AssertionError

    parts = briefing.gather(
        "morning", config=CONFIG, home=Path("/nonexistent"), hub=Readings(), sources=[Long("calendar")]
    )
    await anext(parts)
    await asyncio.wait_for(started.wait(), 10)
    await parts.aclose()  # type: ignore[attr-defined]
    await asyncio.wait_for(ended.wait(), 3)  # less than its deadline


BREAKS: dict[str, str] = {
    "calendar": '[calendar]\nsources = [{ path = "/nonexistent/a.ics" }]',
    "projects": '[projects]\nroots = ["/nonexistent/projects"]',
    "docker": '[docker]\nhost = "unix:///nonexistent/e.sock"',
    "finance": '[finance]\nkind = "http"\nurl = "http://127.0.0.1:1"\ntoken = "s3cr3t-token"',
    "reports": '[briefing]\ntimezone = "America/Fortaleza"\nreports = ["/nonexistent/night.json"]',
}


@pytest.mark.case("D01")
@pytest.mark.parametrize("name", [*BREAKS, "all"])
async def test_each_source_broken_and_all_at_once(name: str, tmp_path: Path) -> None:
    broken = [name] if name in BREAKS else list(BREAKS)
    parts = [BREAKS[n] for n in broken]
    if "reports" not in broken:
        parts.append('[briefing]\ntimezone = "America/Fortaleza"')
    if "docker" not in broken:
        parts.append("[docker]\nenabled = false")
    config = parse("\n".join(parts))
    hub = Readings(status=DOWN, down=OFFLINE, queue=WAITING) if name == "all" else Readings()
    last: Any = None
    async for part in briefing.gather("morning", config=config, home=tmp_path, hub=hub, clock=lambda: MORNING):
        last = part
    states = {section.name: section.state for section in last.sections}
    assert {n: states[n] for n in broken} == dict.fromkeys(broken, "unavailable")
    assert all(of(last, n).reason and not of(last, n).data.get("today") for n in broken)
    others = set(states) - set(broken) - {"tasks"}
    assert all(states[n] in ("ok", "not_configured") for n in others)
    text = briefing.render_text(last) + briefing.render_markdown(last) + json.dumps(briefing.as_data(last))
    assert "s3cr3t-token" not in text
    for n in broken:
        assert f"{n.capitalize()} unavailable" in text


async def test_everything_hangs_at_once(tmp_path: Path) -> None:
    """Each ends at its own deadline; nothing waits for another."""
    tcp = await Service(hang=True).start()
    unix = await Service(hang=True).start(socket_path=str(tmp_path / "e.sock"))
    make(tmp_path / "projects" / "one")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nsleep 60\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    os.mkfifo(tmp_path / "night.json")
    config = parse(
        f'[briefing]\ntimezone = "UTC"\ntimeout = 1.0\nreports = ["{tmp_path}/night.json"]\n'
        f'[calendar]\nsources = [{{ url = "{tcp.url}/a.ics" }}]\n[finance]\nkind = "http"\nurl = "{tcp.url}"\n'
        f'[docker]\nhost = "unix://{tmp_path}/e.sock"\n[projects]\nroots = ["{tmp_path}/projects"]\n'
    )
    environ = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}
    last: Any = None
    async with asyncio.timeout(30):
        async for part in briefing.gather(
            "morning", config=config, home=tmp_path, hub=Readings(slow=60), environ=environ
        ):
            last = part
    await tcp.close()
    await unix.close()
    assert isinstance(last, BriefingDoc)
    said = {section.name: (section.state, section.reason) for section in last.sections}
    assert said == {
        "context": ("ok", ""),
        "calendar": ("unavailable", "no answer"),
        "tasks": ("unavailable", "timed out after 1 s — task list unavailable"),
        "projects": ("partial", "1 of 1 timed out"),
        "docker": ("unavailable", f"no answer: unix://{tmp_path}/e.sock ([docker] host)"),
        "finance": ("unavailable", "summary: no answer; budgets: no answer; recurring: no answer"),
        "reports": ("unavailable", f"{tmp_path}/night.json: can't be read: not a file"),
        "queue": ("ok", ""),
    }


# -- as data, stored, walked


async def test_as_data_and_back() -> None:
    events = {"today": [], "tomorrow": [], "unreadable": 0, "too_large": 0}
    old = Section(name="calendar", state="stale", reason="HTTP 404", as_of="2026-11-29T11:00:00Z", data=events)
    doc = await gathered(Readings(queue=WAITING), sources=[Made("calendar", old)])
    data = briefing.as_data(doc)
    assert list(data) == ["date", "kind", "generated_at", "timezone", "alerts", "sections"]
    assert list(data["sections"]) == ["context", "calendar", "tasks", "yesterday", "queue"]
    assert list(data["sections"]["calendar"]) == ["state", "reason", "as_of", "data"]
    assert list(data["sections"]["tasks"]) == ["state", "data"]
    assert list(data["sections"]["queue"]["data"]) == [
        "pending_total", "by_operation", "oldest", "items", "dead_letters", "conflicts", "paused", "held",
    ]  # fmt: skip
    assert list(data["sections"]["queue"]["data"]["items"][0]) == [
        "id", "operation", "payload", "created_at", "reason", "reason_code",
    ]  # fmt: skip
    again = briefing.from_data(json.loads(json.dumps(data)))
    assert briefing.as_data(again) == data
    assert briefing.render_text(again) == briefing.render_text(doc)


HALF = {"date": "2026-11-30", "kind": "noon", "generated_at": "", "timezone": "", "sections": {}}


@pytest.mark.parametrize("data", [None, 7, [], {}, {"date": "x"}, {"date": "2026-11-30", "sections": {"a": 1}}, HALF])
def test_what_is_no_briefing_is_refused(data: Any) -> None:
    with pytest.raises(briefing.NotABriefing):
        briefing.from_data(data)


async def test_a_stored_briefing_does_not_grow_from_day_to_day_and_holds_no_address() -> None:
    item = WAITING.items[0]
    long = QueueItem(**{f: getattr(item, f) for f in item.__struct_fields__} | {"payload": "x" * 10_000})
    queue = QueueStatus(pending_total=1, items=(long,))
    reason = "GET https://ana:pw@feed.example.org/private-1/basic.ics?k=2 failed"
    away = Made("calendar", Section(name="calendar", state="unavailable", reason=reason))
    doc = await gathered(Readings(queue=queue), sources=[away])
    kept = json.dumps(briefing.without_secrets(briefing.as_data(doc)))
    assert "xxxx" not in kept and "private-1" not in kept and "pw" not in kept
    assert "xxxx" in json.dumps(briefing.as_data(doc)), "the data itself is not changed"


@pytest.mark.parametrize("count", [3_000, 30_000])
async def test_a_briefing_of_any_size_can_be_stored(count: int) -> None:
    tasks = TaskList(tasks=tuple(task(f"{n:05} {'x' * 100}") for n in range(count)))
    doc = await gathered(Readings(tasks=tasks))
    data = briefing.without_secrets(briefing.as_data(doc))
    content = briefing.render_markdown(doc)
    validate("store_briefing", {"date": doc.date, "content": content, "data": data})
    assert len(json.dumps(data)) + len(content.encode()) < 1024 * 1024
    assert data["sections"]["tasks"]["data"]["open_total"] == count


async def test_two_days_compared() -> None:
    def projects(subject: str) -> Section:
        commit = {"at": "2026-11-29T10:00:00Z", "subject": subject, "author": "Ana"}
        project = {
            "path": "/p",
            "name": "p",
            "state": "ok",
            "branch": "main",
            "freshness": "fresh",
            "last_commit": commit,
        }
        return Section(name="projects", state="ok", data={"projects": [project], "stale": 0})

    def docker(state: Any, problem: str) -> Section:
        data = {"engine": "e", "running": 2, "total": 3, "problems": [{"name": problem, "problem": "dead"}]}
        return Section(name="docker", state=state, data=data)

    then = await gathered(
        Readings(tasks=TaskList(tasks=(task("a"), task("b")))), at=MORNING - timedelta(days=1),
        sources=[Made("projects", projects("One")), Made("docker", docker("ok", "redis"))],
    )  # fmt: skip
    now = await gathered(
        Readings(tasks=TaskList(tasks=(task("b"), task("c")))),
        sources=[Made("projects", projects("Two")), Made("docker", docker("stale", "web"))],
    )
    found = briefing.compare(then, now)
    assert (found["from"], found["to"]) == ("2026-11-29", "2026-11-30")
    assert found["tasks"] == {"open_then": 2, "open_now": 2, "new": ["c"], "done": ["a"]}
    assert [p["name"] for p in found["projects"]] == ["p"]
    assert (found["docker"], found["unknown"]) == (None, ["docker"])
    text = briefing.render_compare(found)
    assert text.startswith("Sun 29 Nov → Mon 30 Nov\n")
    assert "p: main · ok · One → main · ok · Two" in text
    assert "not known on both days: Docker" in text


# -- as text


async def test_nothing_from_outside_disturbs_the_terminal() -> None:
    bad = "\x1b]52;c;aGk=\x07 \x9b31m\u202e[red]x[/] *a* #b\r\n- c"
    alert = Alert(level="info", source="x", text=bad)
    made = Section(name="mine", state="partial", reason=bad, data={"lines": [bad]}, alerts=(alert,))
    doc = await gathered(Readings(tasks=TaskList(tasks=(task(bad, project_name=bad),))), sources=[Made("mine", made)])
    for text in (briefing.render_text(doc), briefing.render_text(doc, 40), briefing.render_markdown(doc)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "[red]x[/] *a* #b" in briefing.render_text(doc)
    assert r"\[red\]x\[/\] \*a\*" in briefing.render_markdown(doc)
    assert json.loads(json.dumps(briefing.as_data(doc)))["sections"]["mine"]["reason"] == bad


async def test_text_keeps_its_width() -> None:
    from rich.cells import cell_len

    doc = await gathered(Readings(tasks=TaskList(tasks=(task("日本語 " * 30, project_name="x" * 90),)), queue=WAITING))
    for width in (20, 40, 80):
        assert max(cell_len(line) for line in briefing.render_text(doc, width).splitlines()) <= width


async def test_in_portuguese_the_words_change_and_the_data_does_not() -> None:
    hub = Readings(status=DOWN, down=OFFLINE, queue=WAITING)
    english = await gathered(hub)
    locale.use("pt_BR")
    try:
        doc = await gathered(hub)
        assert briefing.as_data(doc) == briefing.as_data(english)
        assert "segunda-feira, 30 de novembro" in briefing.render_text(doc)
    finally:
        locale.use("en")


@pytest.mark.parametrize(
    ("english", "portuguese"),
    [
        ("Rent budget at 99.9 %", "Orçamento de Rent em 99,9 %"),
        ("Software budget at 82 %", "Orçamento de Software em 82 %"),
        ("Zero: 1234.50 BRL spent without a budget", "Zero: R$ 1.234,50 gastos sem orçamento"),
        ("Zero: 5.50 spent without a budget", "Zero: 5,50 gastos sem orçamento"),
    ],
)
def test_numbers_in_an_alert_have_the_languages_form(english: str, portuguese: str) -> None:
    locale.use("pt_BR")
    try:
        assert briefing.say(english) == portuguese
    finally:
        locale.use("en")


async def test_in_portuguese_counts_and_the_first_line_are_grammatical() -> None:
    many = Readings(tasks=TaskList(tasks=(task("One"), task("Two"))), queue=WAITING)
    locale.use("pt_BR")
    try:
        text = briefing.render_text(await gathered(many))
        assert "segunda-feira, 30 de novembro de 2026" in text and "2 abertas" in text
        assert formats.long_day(date(2026, 12, 1), year=True) == "terça-feira, 1º de dezembro de 2026"
    finally:
        locale.use("en")


@pytest.mark.parametrize(("state", "said"), [("ok", True), ("partial", False)])
async def test_no_events_is_only_said_of_a_calendar_that_was_read_whole(state: Any, said: bool) -> None:
    data = {"today": [], "tomorrow": [], "unreadable": 0, "too_large": 0}
    reason = "" if said else "Work: HTTP 404"
    made = Made("calendar", Section(name="calendar", state=state, reason=reason, data=data))
    doc = await gathered(Readings(), sources=[made])
    text = briefing.render_text(doc)
    assert ("No events today" in text, "No events tomorrow" in text, "HTTP 404" in text) == (said, said, not said)
    assert briefing.as_data(doc)["sections"]["calendar"]["data"] == data


async def test_data_of_another_form_is_said_and_breaks_nothing() -> None:
    names = ("calendar", "projects", "docker", "finance")
    odd = [Made(name, Section(name=name, state="ok", data={"odd": 1})) for name in names]
    text = briefing.render_text(await gathered(Readings(), sources=odd))
    assert text.count("can't be shown: the data has another form") == 4


# -- the evening


async def evening(tmp_path: Path) -> BriefingDoc:
    root = tmp_path / "projects"
    folder = make(root / "menthos", at="2026-11-30T09:00:00-03:00")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Second [x]", at="2026-11-30T10:00:00-03:00")
    make(root / "quiet", at="2026-11-29T10:00:00-03:00")
    config = parse(
        f'[briefing]\ntimezone = "America/Fortaleza"\n[projects]\nroots = ["{root}"]\n[docker]\nenabled = false'
    )
    tasks = (
        task("Finished", status="DONE", completed_at="2026-12-01T01:00:00Z", project_name="menthos"),
        task("Alone", status="DONE", completed_at="2026-11-30T12:00:00Z"),
        task("Elsewhere", status="DONE", completed_at="2026-11-30T12:00:00Z", project_name="lab"),
        task("Before", status="DONE", completed_at="2026-11-30T02:59:59Z"),
        task("Pay", "2026-12-01"),
        task("Later", "2026-12-02"),
    )
    insights = InsightList(
        insights=(
            InsightView(id="1", content="Better Auth\nneeds", project="menthos", captured_at="2026-11-30T14:00:00Z"),
            InsightView(id="2", content="old", captured_at="2026-11-29T14:00:00Z"),
        )
    )
    hub = Readings(tasks=TaskList(tasks=tasks), insights=insights)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    last: Any = None
    at = datetime(2026, 12, 1, 1, 30, tzinfo=UTC)
    async for part in briefing.gather(
        "evening", config=config, home=tmp_path, hub=hub, clock=lambda: at, environ=environ
    ):
        last = part
    assert isinstance(last, BriefingDoc)
    return last


async def test_an_evening(tmp_path: Path) -> None:
    doc = await evening(tmp_path)
    assert (doc.date, doc.kind) == ("2026-11-30", "evening")
    assert [section.name for section in doc.sections] == [
        "context", "done", "insights", "commits", "finance", "tomorrow", "queue",
    ]  # fmt: skip
    assert [item["title"] for item in of(doc, "done").data["tasks"]] == ["Finished", "Alone", "Elsewhere"]
    assert [item["content"] for item in of(doc, "insights").data["insights"]] == ["Better Auth\nneeds"]
    commits = of(doc, "commits").data
    assert (commits["total"], [entry["project"] for entry in commits["projects"]]) == (2, ["menthos"])
    assert [item["title"] for item in of(doc, "tomorrow").data["tasks"]] == ["Pay"]
    activities = briefing.evening_activities(doc)
    assert activities == [
        {"project": "lab", "date": "2026-11-30", "commits": 0, "summary": "done: Elsewhere"},
        {"project": "menthos", "date": "2026-11-30", "commits": 2, "summary": "Second [x]\nCommit 0\ndone: Finished"},
    ]
    for activity in activities:
        validate("record_activity", activity)


async def test_the_daily_note_is_appended_and_never_overwritten(tmp_path: Path) -> None:
    doc = await evening(tmp_path)
    template = str(tmp_path / "MMnotes" / "YYYY-MM-DD.md")
    path = briefing.append_daily_note(template, doc)
    assert path == tmp_path / "MMnotes" / "2026-11-30.md"
    once = path.read_text()
    assert once == briefing.render_markdown(doc)
    briefing.append_daily_note(template, doc)
    assert path.read_text() == once
    path.write_text("My own words, with no end of line")
    briefing.append_daily_note(template, doc)
    assert path.read_text() == "My own words, with no end of line\n\n" + once
    briefing.append_daily_note(str(tmp_path / "YYYYMMDD.md"), doc)
    assert (tmp_path / "20261130.md").exists()
    os.mkfifo(tmp_path / "pipe.md")
    for bad in (tmp_path, path / "x.md", tmp_path / "pipe.md"):
        with pytest.raises(NotSaved, match="daily note"):
            briefing.append_daily_note(str(bad), doc)
