"""What ``aria doctor`` looks at on this machine: home, configuration, queue, lock, terminal. It changes nothing."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from aria_tui import config as configuration
from aria_tui import paths
from aria_tui.errors import AriaError, ConfigError
from aria_tui.locale import _, ngettext

Level = Literal["ok", "warning", "problem"]
ROOM = 50 * 1024 * 1024
"""Bytes of free disk under which saving may soon fail."""
WAL_FIXED = (3, 51, 3)
"""SQLite 3.7.0 to 3.51.2 may lose committed rows in WAL mode (queue.md, "Journal")."""


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line: what was looked at, how it stands, and the way out where it doesn't stand well."""

    name: str
    level: Level
    text: str
    way_out: str = ""


def ok(name: str, text: str) -> Check:
    return Check(name=name, level="ok", text=text)


def warning(name: str, text: str, way_out: str = "") -> Check:
    return Check(name=name, level="warning", text=text, way_out=way_out)


def problem(name: str, text: str, way_out: str = "") -> Check:
    return Check(name=name, level="problem", text=text, way_out=way_out)


def program() -> Check:
    """Versions of what it stands on."""
    from aria_tui import __version__

    return ok("program", f"aria {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")


def home() -> Iterator[Check]:
    """The home's folder: there or makeable, writable, private, on a local disk with room."""
    from aria_tui.outbox.faults import network_file_system

    try:
        folder = paths.home()
    except ConfigError as error:
        yield problem("home", str(error))
        return
    if not folder.exists():
        parent = next(parent for parent in folder.parents if parent.exists())
        fine = parent.is_dir() and os.access(parent, os.W_OK)
        yield (
            ok("home", f"{folder}: {_('will be made on first use')}")
            if fine
            else problem("home", f"{folder}: {_('can not be made')}", _("set ARIA_HOME to a folder of yours"))
        )
        return
    if not folder.is_dir():
        yield problem("home", f"{folder}: {_('is a file')}", _("move that file away, or set ARIA_HOME"))
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield problem("home", f"{folder}: {_('can not be written')}", _("make it yours, or set ARIA_HOME"))
    else:
        yield ok("home", str(folder))
    yield from _private(folder, 0o700)
    if network := network_file_system(folder):
        yield warning("home", f"{folder}: {network}", _("a network file system may lose locks: set ARIA_HOME"))
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        yield warning("home", _("{count} MiB free").format(count=free // 2**20), _("free some space"))


def can_look_inside() -> bool:
    """Whether it can be told what is in the home, which may also not be there yet; ``home`` says why not."""
    try:
        (paths.home() / "queue.db").stat()
    except FileNotFoundError:
        return True
    except (OSError, ConfigError):
        return False
    return True


def _private(file: Path, wanted: int) -> Iterator[Check]:
    mode = file.stat().st_mode & 0o777
    if mode & ~wanted:
        yield warning("permissions", f"{file}: {mode:03o}", f"chmod {wanted:03o} {file}")


def settings() -> tuple[configuration.Config | None, list[Check]]:
    """The configuration, or None where it can't be read, and what is to be said of it."""
    file = configuration.path()
    try:
        config = configuration.load()
    except ConfigError as error:
        return None, [problem("config", str(error), _("mend that line; aria config check tells when it is fine"))]
    text = str(file) if file.exists() else _("no file: all defaults")
    found = [ok("config", text), ok("token", configuration.token_source(config))]
    found += [warning("config", words) for words in configuration.warnings(config, file)]
    return config, found


def queue() -> Iterator[Check]:
    """The queue's file: sound, of this program's schema, private, its journal as it should be; what needs the user."""
    file = paths.home() / "queue.db"
    if not file.exists():
        yield ok("queue", _("empty: nothing was written yet"))
        return
    if not file.is_file():
        yield problem("queue", f"{file}: {_('can not be written')}", _("move that file away, or set ARIA_HOME"))
        return
    try:
        connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5)
    except sqlite3.Error as error:
        yield problem("queue", f"{file}: {error}", _("check its permissions, or set ARIA_HOME"))
        return
    try:
        yield from _sound(connection, file)
        yield from _private(file, 0o600)
    except sqlite3.Error as error:
        yield problem(
            "queue", f"{file}: {error}", _("any command that writes sets a damaged file aside and saves its rows")
        )
    finally:
        connection.close()


def _sound(connection: sqlite3.Connection, file: Path) -> Iterator[Check]:
    from aria_tui.outbox.schema import COLUMNS, MIGRATIONS, misfit

    version = connection.execute("PRAGMA user_version").fetchone()[0]
    known = len(list(MIGRATIONS.glob("[0-9]*.sql")))
    if version > known:
        words = _("{file}: made by a newer version (schema {version}, this program knows {known})")
        yield problem("queue", words.format(file=file, version=version, known=known), _("update this program"))
        return
    verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if verdict == "ok":
        verdict = misfit(version, [row[1] for row in connection.execute(COLUMNS)]) or verdict
    if verdict != "ok":
        yield problem("queue", f"{file}: {verdict}", _("any command that writes sets it aside and saves its rows"))
        return
    yield ok("queue", _("{file}: sound, schema {version}").format(file=file, version=version))
    yield from _journal(connection)
    if version:
        yield from _rows(connection)


def _journal(connection: sqlite3.Connection) -> Iterator[Check]:
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode == "wal" and sqlite3.sqlite_version_info < WAL_FIXED:
        yield warning(
            "journal", _("the queue is in WAL mode, which SQLite {version} may lose rows in").format(
                version=sqlite3.sqlite_version
            ), _("close the other programs on it; it is turned back when nobody else has it open"),
        )  # fmt: skip


def _rows(connection: sqlite3.Connection) -> Iterator[Check]:
    waiting = connection.execute("SELECT ifnull(sum(waiting), 0) FROM counters").fetchone()[0]
    oldest = connection.execute("SELECT created_at FROM queue WHERE synced_at IS NULL ORDER BY id LIMIT 1").fetchone()
    limit = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
    text = ngettext("{n} waiting", "{n} waiting", waiting).format(n=waiting)
    if oldest and str(oldest[0]).replace(" ", "T")[:19] < limit:
        yield warning("waiting", _("{text}, the oldest for over a day").format(text=text), "aria queue list")
    else:
        yield ok("waiting", text)
    parked = dict(connection.execute("SELECT kind, count(*) FROM parked GROUP BY kind").fetchall())
    if parked.get("dead"):
        yield warning("dead letters", str(parked["dead"]), "aria queue list --dead")
    if parked.get("conflict"):
        yield warning("conflicts", str(parked["conflict"]), "aria queue conflicts")
    foreign = connection.execute("SELECT value FROM state WHERE name = 'foreign_marks'").fetchone()
    marked = int(foreign[0]) if foreign and str(foreign[0]).isdecimal() else 0
    if marked:
        yield warning(
            "second drainer",
            ngettext(
                "another program marked {n} row as delivered", "another program marked {n} rows as delivered", marked
            ).format(n=marked),
            _("with two drainers a write may arrive twice (at least once); let only one of them send"),
        )  # fmt: skip


def lock() -> Check:
    """Who holds the drain lock."""
    from aria_tui.outbox.lock import DrainLock

    file = paths.home() / "queue.db"
    drain = DrainLock(file)
    if not drain.path.exists():
        return ok("drain lock", _("free"))
    try:
        if not drain.taken():
            return ok("drain lock", _("free"))
    except OSError as error:
        return problem("drain lock", f"{drain.path}: {error.strerror or error}", _("set ARIA_HOME to a local disk"))
    holder = _holder(drain.path)
    return ok("drain lock", _("held by {holder}: a sync runs").format(holder=holder or _("another process")))


def _holder(file: Path) -> str:
    """The process that holds a lock on the file, from /proc/locks (proc(5)); empty where that can't be told."""
    try:
        inode = str(file.stat().st_ino)
        for line in Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[5].rsplit(":", 1)[-1] == inode:
                name = Path(f"/proc/{fields[4]}/comm").read_text(encoding="utf-8", errors="replace").strip()
                return f"{name} ({fields[4]})"
    except OSError:
        return ""
    return ""


def terminal() -> Iterator[Check]:
    """Whether the screen can be drawn here."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield ok("terminal", _("not a terminal: the dashboard needs one, the other commands don't"))
        return
    size = shutil.get_terminal_size()
    kind = os.environ.get("TERM", "")
    text = f"{size.columns}×{size.lines}, {kind or '?'}, {sys.stdout.encoding}"
    if kind in ("", "dumb"):
        yield problem("terminal", text, _("set TERM to what your terminal is, such as xterm-256color"))
    elif (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        yield warning("terminal", text, _("use a UTF-8 locale, such as LANG=C.UTF-8"))
    elif size.columns < 60 or size.lines < 20:
        yield warning("terminal", text, _("60×20 is the least that the dashboard is made for"))
    else:
        yield ok("terminal", text)


def guarded(name: str, look: Callable[[], Check | Iterable[Check]]) -> list[Check]:
    """The checks of one look; one that can't be made is a problem of its own, and costs no other."""
    try:
        found = look()
        return [found] if isinstance(found, Check) else list(found)
    except (OSError, AriaError, sqlite3.Error) as error:
        return [problem(name, str(error))]
