"""Every read (hub-api.md, "Endpoints"). Documents go out as they are stored, without being decoded."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import msgspec
from starlette.responses import Response

from aria_tui.errors import FieldError
from aria_tui.hub import contract
from aria_tui.hub.server import entities, problems
from aria_tui.hub.server.storage.base import Page, Row
from aria_tui.hub.server.web import Call, json_response

LIMIT, MOST = 100, 500
_CHANGES_AT_ONCE = 500
_PAGE_CURSOR = re.compile(r"(-?\d{1,18})\|([^\x00]+)\Z", re.DOTALL)
_CHANGES_CURSOR = re.compile(r"([0-9a-f-]{1,64})\.(\d{1,18})\Z", re.ASCII)


async def meta(call: Call) -> Response:
    """GET /api/meta"""
    call.query(())
    hub = call.hub
    await hub.identify(afresh=True)
    answer = contract.Meta(
        hub_id=hub.hub_id,
        epoch=hub.epoch,
        seq=await hub.storage.seq(call.account),
        account=call.account,
        api=contract.API_VERSION,
        operations=contract.OPERATIONS,
        limits=contract.Limits(),
        retention=contract.Retention(key_days=hub.options.key_days, delta_days=hub.options.delta_days),
        server_time=hub.now_text(),
        features=hub.features,
    )
    return json_response(answer)


async def tasks(call: Call) -> Response:
    """GET /api/tasks"""
    query = call.query(("status", "project", "priority", "cursor", "limit"))
    _one_of(query, "status", contract.STATUSES)
    _one_of(query, "priority", contract.PRIORITIES)
    page = Page(
        kind="task", status=query.get("status"), project=query.get("project"), priority=query.get("priority"),
        before=_page_cursor(query), limit=_limit(query),
    )  # fmt: skip
    return await _list(call, "tasks", page)


async def task(call: Call) -> Response:
    """GET /api/tasks/{id}"""
    call.query(())
    row = await _living(call, f"task:{call.path('id')}")
    return json_response({"task": _raw(row.doc)}, headers={"ETag": f'"{row.version}"'})


async def insights(call: Call) -> Response:
    """GET /api/insights"""
    query = call.query(("since", "project", "q", "cursor", "limit"))
    text = entities.fold(query["q"]) if query.get("q") else None
    page = Page(
        kind="insight", project=query.get("project"), since=_since(query), text=text,
        before=_page_cursor(query), limit=_limit(query),
    )  # fmt: skip
    return await _list(call, "insights", page)


async def briefings(call: Call) -> Response:
    """GET /api/briefings"""
    query = call.query(("before", "limit"))
    until = entities.day(_date(query, "before")) if "before" in query else None
    rows = await call.hub.storage.page(call.account, Page(kind="briefing", until=until, limit=_limit(query)))
    return json_response({"briefings": [_raw(row.doc) for row in rows]})


async def briefing(call: Call) -> Response:
    """GET /api/briefings/{date}: with all that it was before, and all that came late, newest capture first."""
    call.query(())
    entity = f"briefing:{call.path('date')}"
    row = await _living(call, entity)
    current = entities.decode(row)
    kept = [msgspec.json.decode(doc) for doc in await call.hub.storage.revisions(call.account, entity)]
    kept.sort(key=lambda old: (entities.moment(old["captured_at"]), old["version"]), reverse=True)
    answer = {"briefing": current, "revisions": kept}
    return json_response(answer, headers={"ETag": f'"{row.version}"'})


async def activity(call: Call) -> Response:
    """GET /api/activity"""
    query = call.query(("since", "project"))
    since = entities.day(_date(query, "since")) if "since" in query else None
    page = Page(kind="activity", project=query.get("project"), since=since, limit=10_000)
    rows = await call.hub.storage.page(call.account, page)
    return json_response({"activity": [_raw(row.doc) for row in rows]})


async def summary(call: Call) -> Response:
    """GET /api/summary: ``open`` counts TODO and IN_PROGRESS; a task without a project counts under ""."""
    zone = _zone(call.query(("tz",)))
    now = datetime.fromtimestamp(call.hub.clock() / 1000, UTC)
    today = now.astimezone(zone).date()
    start, end = (_midnight(day, zone) for day in (today, today + timedelta(days=1)))
    groups, done = await call.hub.storage.summary(call.account, today.isoformat(), start, end)
    by_project: dict[str, int] = {}
    by_priority = dict.fromkeys(contract.PRIORITIES, 0)
    for _, priority, project, count, _, _ in groups:
        by_project[project or ""] = by_project.get(project or "", 0) + count
        by_priority[priority] += count
    return json_response(
        {
            "open": sum(group[3] for group in groups),
            "in_progress": sum(group[3] for group in groups if group[0] == "IN_PROGRESS"),
            "overdue": sum(group[4] for group in groups),
            "due_today": sum(group[5] for group in groups),
            "done_today": done,
            "by_project": dict(sorted(by_project.items())),
            "by_priority": by_priority,
            "as_of": contract.write_time(now),
        }
    )


async def changes(call: Call) -> Response:
    """GET /api/changes: what changed after the cursor, each entity once, in the order of its last change."""
    query = call.query(("since",))
    await call.hub.identify()
    since = _since_change(call, query.get("since", ""))
    last, rows = await call.hub.storage.changes(call.account, since, _CHANGES_AT_ONCE + 1)
    if since > last:
        raise problems.cursor_expired()
    more, rows = len(rows) > _CHANGES_AT_ONCE, rows[:_CHANGES_AT_ONCE]
    reached = rows[-1].seq if more else max([last, *(row.seq for row in rows)])
    return json_response(
        {
            "changes": [_change(row) for row in rows],
            "cursor": changes_cursor(call.hub.epoch, reached),
            "has_more": more,
        }
    )


def changes_cursor(epoch: str, seq: int) -> str:
    """A place among the account's changes. Of another epoch it means nothing: the Hub was restored since."""
    return _encode(f"{epoch}.{seq}")


def _since_change(call: Call, cursor: str) -> int:
    if not cursor:
        return 0
    found = _CHANGES_CURSOR.match(_decode(cursor))
    if found is None or found[1] != call.hub.epoch:
        raise problems.cursor_expired()
    return int(found[2])


def _change(row: Row) -> dict[str, Any]:
    change: dict[str, Any] = {"entity": row.entity, "version": row.version, "deleted": row.deleted_at is not None}
    if row.doc:
        change[row.kind] = _raw(row.doc)
    return change


async def _list(call: Call, name: str, page: Page) -> Response:
    wanted = page.limit
    page.limit += 1
    rows = await call.hub.storage.page(call.account, page)
    more, rows = len(rows) > wanted, rows[:wanted]
    cursor = _encode(f"{rows[-1].sort_at}|{rows[-1].entity}") if more else None
    return json_response({name: [_raw(row.doc) for row in rows], "next_cursor": cursor})


async def _living(call: Call, entity: str) -> Row:
    if contract.text_problem(entity):
        raise problems.not_found(entity)
    row = await call.hub.storage.row(call.account, entity)
    if row is None or row.deleted_at is not None:
        raise problems.not_found(entity)
    return row


def _raw(doc: str) -> msgspec.Raw:
    return msgspec.Raw(doc.encode())


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        return ""


def _page_cursor(query: Mapping[str, str]) -> tuple[int, str] | None:
    if not query.get("cursor"):
        return None
    if (found := _PAGE_CURSOR.match(_decode(query["cursor"]))) is None:
        raise problems.invalid([FieldError("cursor", "is not a cursor of this list")])
    return int(found[1]), found[2]


def _limit(query: Mapping[str, str]) -> int:
    given = query.get("limit", str(LIMIT))
    if not re.fullmatch(r"\d{1,9}", given, re.ASCII) or not 1 <= int(given) <= MOST:
        raise problems.invalid([FieldError("limit", f"must be a whole number from 1 to {MOST}")])
    return int(given)


def _one_of(query: Mapping[str, str], name: str, words: tuple[str, ...]) -> None:
    if name in query and query[name] not in words:
        raise problems.invalid([FieldError(name, f"must be one of {', '.join(words)}")])


def _date(query: Mapping[str, str], name: str) -> str:
    try:
        if len(query[name]) == 10:
            return date.fromisoformat(query[name]).isoformat()
    except ValueError:
        pass
    raise problems.invalid([FieldError(name, "must be a date, YYYY-MM-DD")])


def _since(query: Mapping[str, str]) -> int | None:
    """A time, or a date for its midnight in UTC."""
    if "since" not in query:
        return None
    try:
        given = query["since"]
        return entities.day(given) if len(given) == 10 else entities.moment(given)
    except (ValueError, OverflowError):
        raise problems.invalid([FieldError("since", "must be a time, RFC 3339 in UTC, or a date")]) from None


def _zone(query: Mapping[str, str]) -> Any:
    if not query.get("tz"):
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(query["tz"])
    except (KeyError, ValueError, OSError):
        raise problems.invalid([FieldError("tz", "is not a time zone's name, such as America/Fortaleza")]) from None


def _midnight(day: date, zone: Any) -> int:
    return round(datetime.combine(day, time(), zone).timestamp() * 1000)
