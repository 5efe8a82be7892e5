"""Copies of an SQLite Hub by SQLite's backup API: the daily one (7 are kept), one on demand, and back again."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from aria_tui.errors import AriaError
from aria_tui.hub.server.storage import migrations

KEPT = 7
_DAILY = re.compile(r".+-(\d{4}-\d\d-\d\d)\.db\Z", re.ASCII)
_PAGES = 1024


def folder(path: Path) -> Path:
    """Where the daily copies of a Hub's file are."""
    return path.parent / "backups"


def is_due(path: Path, day: str | None = None) -> bool:
    """Whether there is no copy of today (UTC) yet. One look at the file system."""
    return path.exists() and not _daily(path, day or _today()).exists()


def make_daily(path: Path, day: str | None = None) -> Path:
    """Makes today's copy and lets go of the oldest beyond the newest 7. Raises AriaError."""
    made = copy(path, _daily(path, day or _today()))
    days = sorted(found for found in folder(path).glob(f"{path.stem}-*.db") if _DAILY.match(found.name))
    for old in days[:-KEPT]:
        old.unlink(missing_ok=True)
    return made


def _daily(path: Path, day: str) -> Path:
    return folder(path) / f"{path.stem}-{day}.db"


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def copy(source: Path, target: Path) -> Path:
    """A whole copy of a database that may be in use, checked before it takes its name (0600). Raises AriaError."""
    if not source.exists():
        raise AriaError(f"{source} is not there")
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600))
        _transfer(source, part)
        part.replace(target)
    except (OSError, sqlite3.Error) as error:
        raise AriaError(f"can't copy {source} to {target}: {error}") from None
    finally:
        part.unlink(missing_ok=True)
    return target


def restore(copied: Path, path: Path) -> Path | None:
    """Puts a copy's contents in the place of the database's, in one transaction of SQLite's.

    Gives where the contents that were there are kept now, None when there were none. The caller gives a new epoch.
    Raises AriaError, NewerSchema.
    """
    if not copied.exists():
        raise AriaError(f"{copied} is not there")
    with contextlib.closing(_open(copied)) as database:
        try:
            applied = dict(database.execute(migrations.APPLIED).fetchall())
            broken = database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok"
        except sqlite3.Error as error:
            raise AriaError(f"{copied} is no Hub's copy: {error}") from None
    if broken:
        raise AriaError(f"{copied} is damaged")
    migrations.pending(applied, where=str(copied))
    kept = None
    if path.exists() and path.stat().st_size:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        kept = copy(path, path.with_name(f"{path.name}.before-restore-{stamp}"))
    else:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    try:
        _transfer(copied, path)
    except sqlite3.Error as error:
        raise AriaError(f"can't restore {path}: {error}") from None
    return kept


def _transfer(source: Path, target: Path) -> None:
    with contextlib.closing(_open(source)) as here, contextlib.closing(sqlite3.connect(target, timeout=10)) as there:
        here.backup(there, pages=_PAGES)
        if there.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("the copy is damaged")


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
