"""The demo's sample data: a Hub with tasks, insights and yesterday's briefing; projects, a calendar and a ledger."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.request
import uuid
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from aria_tui.config import (
    CalendarConfig,
    CalendarSourceConfig,
    Config,
    DockerConfig,
    FinanceConfig,
    HubConfig,
    ProjectsConfig,
)
from aria_tui.hub.contract import write_time

_TASKS: tuple[dict[str, Any], ...] = (
    {"title": "Pagar DAS", "project_name": "finance", "priority": "URGENT", "due": 0},
    {"title": "Contract draft for the client", "project_name": "menthos", "priority": "HIGH", "due": 3},
    {"title": "Better Auth upgrade", "project_name": "menthos", "status": "IN_PROGRESS", "tags": ["auth"]},
    {"title": "Restore test of the backups", "project_name": "infra", "priority": "HIGH", "due": -1},
    {"title": "Answer the conference about the talk", "priority": "LOW", "due": 6},
    {"title": "Old spike on edge functions", "project_name": "lab", "priority": "LOW"},
    {"title": "Write the release notes", "project_name": "aria-tui", "due": 1, "tags": ["docs", "release"]},
)
_INSIGHTS = (
    ("Better Auth needs its own connection pool: the shared one starves under load", "menthos", ["auth"]),
    ("Drizzle's adapter quotes reserved words since 0.40; the work-around can go", "menthos", ["drizzle"]),
    ("A queue that can be seen is trusted; one that can't be seen is suspected", "aria-tui", ["design"]),
)
_BUDGETS = (("Software", "600.00", "492.00"), ("Groceries", "1400.00", "610.00"), ("Transport", "300.00", "120.50"))
_COMMITS = (
    ("menthos", 2, "feat: sign in by passkey"),
    ("aria-tui", 20, "docs: how the queue drains"),
    ("lab", 260, "wip"),
)
"""Project, hours since its last commit, and that commit's subject."""


def fill_hub(url: str, token: str) -> None:
    """Sends the sample operations to the Hub, as one batch (hub-api.md)."""
    operations = [*_task_operations(), *_insight_operations(), _yesterday(), _activity()]
    body = {"client_id": "demo", "ops": [_operation(name, payload) for name, payload in operations]}
    request = urllib.request.Request(  # noqa: S310 - a loopback address of our own
        f"{url}/api/queue",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=20) as answer:
        results = json.load(answer)["results"]
    failed = [result for result in results if result["status"] != "applied"]
    if failed:
        raise RuntimeError(f"the Hub refused sample data: {failed[0]}")


def configuration(home: Path, url: str, token: str) -> Config:
    """The demo's configuration, with its local sources made below ``home``."""
    return Config(
        hub=HubConfig(url=url, token=token),
        projects=ProjectsConfig(roots=[str(_repositories(home / "projects"))]),
        docker=DockerConfig(enabled=False),
        calendar=CalendarConfig(sources=[CalendarSourceConfig(path=str(_calendar(home)), name="demo")]),
        finance=FinanceConfig(kind="file", path=str(_finance(home)), currency="BRL"),
    )


def _operation(name: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {
        "op_id": str(uuid.uuid4()), "operation": name, "occurred_at": write_time(datetime.now(UTC)),
        "schema_version": 1, "payload": payload,
    }  # fmt: skip


def _tasks() -> list[dict[str, Any]]:
    """The tasks' payloads, with due dates around today; the same ids in every call of one run."""
    today = date.today()
    found = []
    for number, sample in enumerate(_TASKS):
        task = {"id": str(uuid.uuid5(_SPACE, f"task {number}")), **sample}
        if (days := task.pop("due", None)) is not None:
            task["due_date"] = (today + timedelta(days=days)).isoformat()
        found.append(task)
    return found


_SPACE = uuid.uuid4()


def _task_operations() -> list[tuple[str, dict[str, Any]]]:
    made = datetime.now(UTC) - timedelta(days=2)
    return [("create_task", {**task, "created_at": write_time(made)}) for task in _tasks()]


def _insight_operations() -> list[tuple[str, dict[str, Any]]]:
    moments = (datetime.now(UTC) - timedelta(hours=hours) for hours in (3, 20, 70))
    return [
        ("capture_insight", {"content": text, "project": project, "tags": tags, "captured_at": write_time(moment)})
        for (text, project, tags), moment in zip(_INSIGHTS, moments, strict=True)
    ]


def _yesterday() -> tuple[str, dict[str, Any]]:
    """Yesterday's briefing, with two tasks fewer and one more than today, for "Since yesterday"."""
    day = date.today() - timedelta(days=1)
    known = [{"priority": "MEDIUM", "status": "TODO", "project_name": None, "due_date": None, **task}
             for task in _tasks()[:-2]]  # fmt: skip
    done = {**known[-1], "id": str(uuid.uuid5(_SPACE, "done")), "title": "Renew the domain"}
    made = datetime.now(UTC) - timedelta(days=1)
    data = {
        "date": day.isoformat(), "kind": "morning", "generated_at": write_time(made), "timezone": "UTC", "alerts": [],
        "sections": {"tasks": {"state": "ok", "data": {
            "open_total": len(known) + 1, "overdue": [], "due_today": [], "in_progress": [], "other": [*known, done],
            "waiting": [],
        }}},
    }  # fmt: skip
    text = f"# {day.isoformat()}\n\n{len(known) + 1} open tasks.\n"
    return "store_briefing", {"date": day.isoformat(), "content": text, "data": data, "captured_at": write_time(made)}


def _activity() -> tuple[str, dict[str, Any]]:
    day = (date.today() - timedelta(days=1)).isoformat()
    return "record_activity", {"project": "menthos", "date": day, "commits": 4, "summary": "Passkeys work end to end"}


def _calendar(home: Path) -> Path:
    """Today and tomorrow as iCalendar (RFC 5545), in floating local times."""
    today = date.today()
    events = (
        (today, "090000", "093000", "Stand-up"),
        (today, "140000", "150000", "Client call"),
        (today, "233000", "235500", "Backup window"),
        (today + timedelta(days=1), "103000", "110000", "Deploy window"),
    )
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//aria//demo//EN"]
    for number, (day, start, end, summary) in enumerate(events):
        lines += [
            "BEGIN:VEVENT", f"UID:demo-{number}", f"DTSTAMP:{today:%Y%m%d}T000000Z", f"DTSTART:{day:%Y%m%d}T{start}",
            f"DTEND:{day:%Y%m%d}T{end}", f"SUMMARY:{summary}", "END:VEVENT",
        ]  # fmt: skip
    file = home / "calendar.ics"
    file.write_text("\r\n".join([*lines, "END:VCALENDAR", ""]), encoding="utf-8", newline="")
    return file


def _finance(home: Path) -> Path:
    """A ledger by hand: budgets, and two payments that come soon."""
    soon = date.today() + timedelta(days=3)
    lines = ['currency = "BRL"', ""]
    for category, limit, spent in _BUDGETS:
        lines += ["[[budgets]]", f'category = "{category}"', f'limit = "{limit}"', f'spent = "{spent}"', ""]
    for text, amount, currency in (("Neon DB", "19.00", "USD"), ("Internet", "129.90", "BRL")):
        lines += [
            "[[recurring]]", f'desc = "{text}"', f'amount = "{amount}"', f'currency = "{currency}"',
            f'due = "{soon.isoformat()}"', "",
        ]  # fmt: skip
    file = home / "finance.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def _repositories(root: Path) -> Path:
    """Small git repositories with commits of different ages; none where there is no git."""
    root.mkdir()
    if shutil.which("git") is None:
        return root
    for name, hours, subject in _COMMITS:
        folder = root / name
        folder.mkdir()
        (folder / "README.md").write_text(f"# {name}\n", encoding="utf-8")
        moment = write_time(datetime.now(UTC) - timedelta(hours=hours))
        identity = {"GIT_AUTHOR_NAME": "Demo", "GIT_AUTHOR_EMAIL": "demo@localhost"}
        identity |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in identity.items()}
        environment = {
            "PATH": _path(), "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_DATE": moment, **identity,
        }  # fmt: skip
        for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", subject]):
            subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)
    (root / "menthos" / "notes.md").write_text("to do\n", encoding="utf-8")
    return root


def _path() -> str:
    import os

    return os.environ.get("PATH", os.defpath)
