"""The SQL that both engines share, written with ``?`` and numbered by the PostgreSQL engine."""

from __future__ import annotations

from typing import Any

from aria_tui.hub.server.storage.base import Page, Record, Revision, Row, Token

ROW = Row.__struct_fields__
RECORD = Record.__struct_fields__
REVISION = Revision.__struct_fields__
TOKEN = Token.__struct_fields__

SELECT_ROW = f"SELECT {', '.join(ROW)} FROM entities WHERE account = ?"  # noqa: S608 - our own column names
SELECT_RECORD = f"SELECT {', '.join(RECORD)} FROM operations WHERE account = ?"  # noqa: S608
SELECT_TOKEN = f"SELECT {', '.join(TOKEN)} FROM tokens"  # noqa: S608
ONE_ROW = f"{SELECT_ROW} AND entity = ?"
ONE_TOKEN = f"{SELECT_TOKEN} WHERE account = ? AND digest = ?"
ALL_TOKENS = f"{SELECT_TOKEN} ORDER BY account, created_at"
ONE_REVISION = "SELECT doc FROM revisions WHERE account = ? AND entity = ? AND revision = ?"
REVISIONS = "SELECT doc FROM revisions WHERE account = ? AND entity = ? ORDER BY made_at DESC, revision DESC"
CHANGES = f"{SELECT_ROW} AND seq > ? ORDER BY seq LIMIT ?"
SEQ = "SELECT seq FROM accounts WHERE account = ?"
SET_SEQ = "UPDATE accounts SET seq = ? WHERE account = ?"
IDENTITY = "SELECT name, value FROM settings WHERE account = '*' AND name IN ('hub_id', 'epoch')"
SET_EPOCH = "UPDATE settings SET value = ? WHERE account = '*' AND name = 'epoch'"
ADD_SETTING = "INSERT INTO settings (account, name, value) VALUES ('*', ?, ?) ON CONFLICT (account, name) DO NOTHING"
ADD_ACCOUNT = "INSERT INTO accounts (account, seq, created_at) VALUES (?, 0, ?) ON CONFLICT (account) DO NOTHING"
ACCOUNTS = "SELECT account FROM accounts ORDER BY account"
ADD_TOKEN = f"INSERT INTO tokens ({', '.join(TOKEN)}) VALUES ({', '.join('?' * len(TOKEN))})"  # noqa: S608
REVOKE = "UPDATE tokens SET revoked_at = ? WHERE account = ? AND digest = ? AND revoked_at IS NULL"
TOUCH_TOKEN = "UPDATE tokens SET last_used_at = ? WHERE account = ? AND digest = ?"  # noqa: S105
SUMMARY = """
SELECT status, priority, project, COUNT(*),
       SUM(CASE WHEN due_date < ? THEN 1 ELSE 0 END), SUM(CASE WHEN due_date = ? THEN 1 ELSE 0 END)
FROM entities
WHERE account = ? AND deleted_at IS NULL AND status IN ('TODO', 'IN_PROGRESS')
GROUP BY status, priority, project
"""
DONE_BETWEEN = """
SELECT COUNT(*) FROM entities
WHERE account = ? AND deleted_at IS NULL AND completed_at >= ? AND completed_at < ? AND status = 'DONE'
"""
NEXT_KEYS = """
SELECT COUNT(*), MAX(op_id) FROM (
    SELECT op_id FROM operations WHERE account = ? AND op_id > ? ORDER BY op_id LIMIT ?
) AS step
"""
DROP_KEYS = "DELETE FROM operations WHERE account = ? AND op_id > ? AND op_id <= ? AND recorded_at < ?"
EXPIRED_REVISIONS = """
SELECT entity, revision FROM revisions WHERE account = ? AND made_at < ? AND entity LIKE 'task:%' LIMIT ?
"""
DROP_REVISION = "DELETE FROM revisions WHERE account = ? AND entity = ? AND revision = ?"


def page(account: str, wanted: Page) -> tuple[str, list[Any]]:
    """The query for one page of a list, and its values."""
    where = ["kind = ?", "deleted_at IS NULL"]
    values: list[Any] = [account, wanted.kind]
    filters: list[tuple[str, Any]] = [
        ("status = ?", wanted.status),
        ("project = ?", wanted.project),
        ("priority = ?", wanted.priority),
        ("sort_at >= ?", wanted.since),
        ("sort_at < ?", wanted.until),
    ]
    for condition, value in filters:
        if value is not None:
            where.append(condition)
            values.append(value)
    if wanted.text is not None:
        where.append("folded LIKE ? ESCAPE '!'")
        values.append(f"%{like(wanted.text)}%")
    if wanted.before is not None:
        where.append("(sort_at, entity) < (?, ?)")
        values += wanted.before
    return f"{SELECT_ROW} AND {' AND '.join(where)} ORDER BY sort_at DESC, entity DESC LIMIT ?", [
        *values,
        wanted.limit,
    ]


def like(text: str) -> str:
    """A text to be found as it stands by LIKE, with ``!`` as the escape character."""
    for sign in "!%_":
        text = text.replace(sign, f"!{sign}")
    return text


def values(thing: Row | Record | Revision | Token) -> tuple[Any, ...]:
    return tuple(getattr(thing, name) for name in thing.__struct_fields__)
