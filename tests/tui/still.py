"""A dashboard that stands still: data, clock and sync of one moment, so that its frame is always the same."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from aria_tui.models import (
    Alert,
    BriefingDoc,
    HubStatus,
    QueueItem,
    QueueStatus,
    Section,
    SyncProgress,
    TaskList,
    TaskView,
)  # fmt: skip
from aria_tui.tui.pages import Pages
from aria_tui.tui.wallclock import WallClock

MOMENT = datetime(2026, 11, 30, 8, 4, tzinfo=ZoneInfo("America/Fortaleza"))
HUB = HubStatus(
    state="online", since="2026-11-30T11:02:00Z", url="https://hub.example.com", latency_ms=42.0, account="me", api=1,
    last_sync="2026-11-30T11:03:00Z", uptime_7d=0.992,
    latencies_ms=(38.0, 39.0, 44.0, 38.0, 52.0, 41.0, 40.0, 47.0, None, None, 70.0, 41.0, 42.0),
)  # fmt: skip
TASKS = TaskList(
    tasks=(
        TaskView(id="1", title="Restore test of the backups", project_name="infra", due_date="2026-11-28"),
        TaskView(id="2", title="Pagar DAS", project_name="finance", due_date="2026-11-30", priority="URGENT"),
        TaskView(
            id="3", title="Rascunho do contrato", project_name="menthos", due_date="2026-12-04", priority="HIGH",
            waiting=True, mark="new",
        ),
        TaskView(id="4", title="Reunião 日本語 [/x]", project_name="lab", status="IN_PROGRESS", due_date="2026-12-01"),
        TaskView(id="5", title="Old spike", project_name="lab", priority="LOW", waiting=True, mark="deleted"),
        TaskView(id="6", title="Better Auth upgrade", project_name="menthos", waiting=True, mark="edited"),
    )
)  # fmt: skip
ROWS = (
    QueueItem(
        id=41, operation="capture_insight", payload='{"content": "Better Auth needs the cookie prefix"}',
        created_at="2026-11-30T10:50:00Z", reason="being sent", reason_code="sending",
    ),
    QueueItem(
        id=42, operation="create_task", payload='{"title": "Rascunho do contrato"}',
        created_at="2026-11-30T10:55:00Z", reason="next", reason_code="next",
    ),
    QueueItem(
        id=43, operation="store_briefing", payload='{"date": "2026-02-21"}', created_at="2026-11-29T11:00:00Z",
        reason="", reason_code="backoff", attempts=3, next_attempt_at="2026-11-30T11:05:00Z",
    ),
)  # fmt: skip
QUEUE = QueueStatus(
    pending_total=3,
    by_operation={"capture_insight": 1, "create_task": 1, "store_briefing": 1},
    oldest="2026-11-30T10:50:00Z",
    items=ROWS,
    dead_letters=1,
)
SYNC = SyncProgress(
    done=214, total=300, synced=212, failed=1, current="insight Better Auth needs", rate=71.0, seconds_left=2.0
)
BUDGET = Alert(level="warning", source="finance", text="Software budget at 82 %")
SECTIONS = (
    Section(name="context", state="ok", data={"period": "morning", "time": "08:04"}),
    Section(
        name="calendar", state="ok",
        data={
            "today": [
                {"start": "2026-11-30T08:00:00-03:00", "summary": "Stand-up", "now": True},
                {"start": "2026-11-30T08:24:00-03:00", "summary": "Client call"},
            ],
            "tomorrow": [{"start": "2026-12-01T10:30:00-03:00", "summary": "Deploy window"}],
        },
    ),
    Section(name="tasks", state="ok", data={"open_total": 5}),
    Section(
        name="yesterday", state="ok", data={"open_then": 3, "open_now": 5, "new": 3, "done": 1, "date": "2026-11-29"}
    ),
    Section(
        name="projects", state="partial", reason="timed out after 5 s",
        data={
            "stale": 2,
            "projects": [
                {"name": "menthos", "branch": "main", "freshness": "fresh", "unstaged": 3, "ahead": 1,
                 "last_commit": {"at": "2026-11-30T09:00:00Z"}},
                {"name": "aria-tui", "branch": "dev", "freshness": "fresh",
                 "last_commit": {"at": "2026-11-29T10:00:00Z"}},
                {"name": "old one", "freshness": "stale"}, {"name": "older one", "freshness": "stale"},
            ],
        },
    ),
    Section(
        name="docker", state="stale", as_of="2026-11-30T10:00:00Z",
        data={"running": 7, "total": 9, "problems": [{"name": "redis", "problem": "unhealthy"}]},
    ),
    Section(
        name="finance", state="ok", alerts=(BUDGET,),
        data={
            "currency": "BRL", "income": "3200", "expenses": "1100.5", "balance": "2099.5",
            "budgets": [{"category": "Software", "percent": 82, "level": "warning"}],
            "due": [{"description": "Neon DB", "amount": "19", "currency": "USD", "due": "2026-12-03"}],
        },
    ),
    Section(name="queue", state="ok", data={}),
)  # fmt: skip
DOC = BriefingDoc(
    date="2026-11-30", kind="morning", generated_at="2026-11-30T11:04:00Z", timezone="America/Fortaleza",
    alerts=(BUDGET,), sections=SECTIONS,
)  # fmt: skip


async def stand_still(running: Any) -> None:
    """Puts the moment on the screen; nothing that runs beside it changes it any more."""
    app, live, screen = running.app, running.app.live, running.app.screen
    app.workers.cancel_all()
    await asyncio.wait({worker._task for worker in app.workers if worker._task is not None})
    live.look_at_hub = live.forget_silent_sync = lambda: None
    screen._read_rows = screen.start_briefing = lambda **_kind: None
    live.hub, live.tasks, live.queue, live.sync = HUB, TASKS, QUEUE, SYNC
    screen.wall = WallClock(lambda: MOMENT, lambda: 0.0)
    screen._doc, screen._sections, screen._gathering = DOC, {section.name: section for section in SECTIONS}, False
    pages = screen._pages = Pages()
    pages.put(0, 0, ROWS)
    screen._revision += 1
    for draw in screen.draw_header, screen.draw_hub, screen.draw_tasks, screen.draw_queue, screen.draw_briefing:
        draw()
    screen.draw_sync()
    await running.keys("4")
    await running.sees("214/300")
    await running.keys("1", "home")
