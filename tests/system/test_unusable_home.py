"""S05: a home that a normal user can't write, or whose file system is not local: told, and nothing is sent."""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from tests.helpers import needs
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess
from tests.helpers.tmux import Tmux

NOBODY = 65534
CONFIG = '[finance]\nkind = "file"\npath = "{path}"\n'
FINANCE = 'currency = "BRL"\n[summary]\nincome = 3200\nexpenses = 1100\nbalance = 2100\nmonth = "2026-11"\n'


def as_normal_user(aria: Aria, *wrap: str) -> Aria:
    """The same program without root's power to write everywhere, where the tests run as root; within ``wrap``."""
    drop: tuple[str, ...] = ()
    if os.getuid() == 0:
        drop = (needs.program("setpriv", "util-linux"), "--bounding-set=-all", "--inh-caps=-all")
    return replace(aria, command=(*drop, *wrap, *aria.command))


def only_root(why: str) -> None:
    if os.getuid() != 0:
        pytest.skip(f"only root may {why}")


@dataclass(frozen=True)
class Home:
    """A home that can't be used, the program over it, and the reason that its user is told."""

    aria: Aria
    reason: str

    @property
    def words(self) -> str:
        return f"queue unavailable: {self.aria.queue_file}: {self.reason}"


@contextlib.contextmanager
def somebody_else_s(aria: Aria, mode: int) -> Iterator[Home]:
    only_root("give a folder away")
    aria.home.mkdir(mode=mode)
    os.chown(aria.home, NOBODY, NOBODY)
    yield Home(as_normal_user(aria), "permission denied")


@contextlib.contextmanager
def mounted(aria: Aria, *, rows: bool) -> Iterator[Home]:
    """A read-only mount, empty or with all that a home has."""
    only_root("mount")
    aria.home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0700", "aria-test", str(aria.home)], check=True)
    try:
        if rows:
            aria("task", "add", "delivered").ok()
            aria("task", "add", "early", "--offline").ok()
            (aria.home / "finance.toml").write_text(FINANCE)
            (aria.home / "config.toml").write_text(CONFIG.format(path=aria.home / "finance.toml"))
        subprocess.run(["mount", "-o", "remount,ro", str(aria.home)], check=True)
        yield Home(as_normal_user(aria), "the file system is read-only")
    finally:
        subprocess.run(["umount", "-l", str(aria.home)], check=True)


@contextlib.contextmanager
def without_locks(aria: Aria) -> Iterator[Home]:
    """As on a network file system whose lock service is away."""
    aria.home.mkdir(mode=0o700)
    files = [aria.home / name for name in ("queue.db", "queue.db-journal", "queue.db.lock", "queue.db.trial")]
    quiet = (needs.program("strace"), "-f", "-qqq", "-o", "/dev/null", "-e", "trace=fcntl,flock")
    ours = [word for file in files for word in ("-P", str(file))]
    wrapped = as_normal_user(aria, *quiet, *ours, "-e", "inject=fcntl,flock:error=ENOLCK")
    yield Home(wrapped, "the file system does not lock files")


@contextlib.contextmanager
def a_file(aria: Aria) -> Iterator[Home]:
    aria.home.write_text("not a folder")
    yield Home(as_normal_user(aria), "its folder is a file")
    assert aria.home.read_text() == "not a folder"


HOMES: dict[str, Callable[[Aria], contextlib.AbstractContextManager[Home]]] = {
    "somebody else's": lambda aria: somebody_else_s(aria, 0o755),
    "somebody else's and shut": lambda aria: somebody_else_s(aria, 0o700),
    "an empty read-only mount": lambda aria: mounted(aria, rows=False),
    "a read-only mount": lambda aria: mounted(aria, rows=True),
    "no locks": without_locks,
    "a file": a_file,
}


@pytest.mark.case("S05")
@pytest.mark.parametrize("kind", HOMES)
def test_a_write_says_not_saved_with_the_way_out_and_sends_nothing(aria: Aria, hub: HubProcess, kind: str) -> None:
    aria.use(hub.url, hub.token)
    with HOMES[kind](aria) as home:
        for words in (("task", "add"), ("insight", "add"), ("task", "add", "--json"), ("task", "add", "--offline")):
            done = home.aria(*words, "words worth keeping")
            assert (done.status, done.out) == (1, ""), done
            assert f"not saved: {home.reason} ({aria.queue_file}); " in done.err, done
            assert "ARIA_HOME" in done.err and "words worth keeping\n" in done.err, done
        for words in (("queue",), ("status", "--json"), ("sync",)):
            assert home.words in home.aria(*words).err, words
        assert home.aria("sync").status == 1
        short = home.aria("status", "--short")
        assert (short.status, short.out) == (1, "⚠\n") and str(aria.queue_file) in short.err, short
        doctor = home.aria("doctor")
        assert doctor.status == 1 and str(aria.home) in doctor.out, doctor
    assert "words worth keeping" not in str(hub.all("tasks") + hub.all("insights")), (
        "what was not saved was not sent either"
    )


@pytest.mark.case("S05")
@pytest.mark.parametrize("kind", ["somebody else's and shut", "a read-only mount", "no locks"])
def test_the_screen_loads_says_so_and_saves_and_sends_nothing(
    aria: Aria, hub: HubProcess, terminal: Callable[..., Tmux], kind: str
) -> None:
    aria.use(hub.url, hub.token)
    with HOMES[kind](aria) as home:
        screen = terminal(240, 50).run(home.aria)
        # Of the sources that need neither queue nor Hub two are always there; the rows of a file that can be read are.
        screen.wait_for(f"⚠ {home.words}", "Briefing", "Today", "Docker", "online")
        if kind == "a read-only mount":
            screen.wait_for("Finance", "3,200", "early", "1 waiting")
        screen.keys("t")
        screen.wait_for("New task")
        screen.type("words worth keeping")
        screen.keys("C-s")
        shown = screen.wait_for(f"not saved: {home.reason}", "words worth keeping")
        assert f"⚠ {home.words}" in shown and "queued" not in shown and "Traceback" not in shown
        screen.keys("Escape")
        screen.wait_gone("New task")
        screen.keys("q")
        assert "Traceback" not in screen.wait_for("exit-status=0")
    assert "words worth keeping" not in str(hub.all("tasks")) and hub.count("briefings") == 0, (
        "what was not saved was not sent either"
    )


@pytest.mark.case("S05")
def test_a_part_of_the_home_that_is_shut_is_named_and_no_riddle(aria: Aria) -> None:
    with somebody_else_s(aria, 0o700) as home:
        for words in (("config", "path", "--json"), ("config", "init"), ("hub", "backup"), ("hub", "restored")):
            done = home.aria(*words)
            assert done.status == 1 and "unexpected" not in done.err, done
            assert f"{aria.home}/" in done.err and "Permission denied" in done.err, done
        done = home.aria("config", "check")
        assert done.status == 2 and "config.toml: can't be read: Permission denied" in done.err, done


@pytest.mark.case("S05")
def test_a_configuration_that_is_shut_in_a_home_of_the_user_s_is_an_error_and_not_the_defaults(aria: Aria) -> None:
    only_root("give a file away")
    aria.home.mkdir(mode=0o700)
    (aria.home / "config.toml").write_text("")
    (aria.home / "config.toml").chmod(0o600)
    os.chown(aria.home / "config.toml", NOBODY, NOBODY)
    done = as_normal_user(aria)("task", "add", "x")
    assert done.status == 2 and "config.toml: can't be read: Permission denied" in done.err, done


@pytest.mark.case("S05")
@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a device", "a link to nowhere"])
def test_something_else_at_the_file_s_place_is_told_at_once(aria: Aria, kind: str) -> None:
    aria.home.mkdir(mode=0o700)
    match kind:
        case "a folder":
            aria.queue_file.mkdir()
        case "a pipe":
            os.mkfifo(aria.queue_file)
        case "a device":
            aria.queue_file.symlink_to("/dev/null")
        case _:
            aria.queue_file.symlink_to(aria.root / "nowhere" / "queue.db")
    reason = "No such file or directory" if kind == "a link to nowhere" else "it is no file"
    done = aria("task", "add", "words worth keeping", "--offline")
    assert (done.status, done.out) == (1, ""), done
    assert f"not saved: {reason} ({aria.queue_file}); " in done.err and "words worth keeping\n" in done.err, done
    done = aria("queue")
    assert done.status == 1 and f"queue unavailable: {aria.queue_file}: {reason}" in done.err, done
    short = aria("status", "--short")
    assert (short.status, short.out) == (1, "⚠\n") and reason in short.err, short
    if kind != "a link to nowhere":
        assert f"{aria.queue_file}: can not be written" in aria("doctor").out


def on_network(aria: Aria) -> Aria:
    """The program where the system's table of mounts says that all of it is a network file system."""
    only_root("mount")
    table = aria.root / "mounts"
    table.write_text("server:/export / nfs4 rw 0 0\n")
    script = f'mount --bind {shlex.quote(str(table))} "/proc/$$/mounts" && exec "$@"'
    return replace(aria, command=(needs.program("unshare", "util-linux"), "-m", "sh", "-c", script, "-", *aria.command))


def journal(aria: Aria, mode: str = "") -> str:
    with contextlib.closing(sqlite3.connect(aria.queue_file)) as db:
        return str(db.execute(f"PRAGMA journal_mode{f' = {mode}' if mode else ''}").fetchone()[0])


@pytest.mark.case("S05")
def test_on_a_network_file_system_wal_is_not_used_and_where_it_must_be_the_queue_is_refused(aria: Aria) -> None:
    aria.home.mkdir(mode=0o700)
    (aria.home / "config.toml").write_text('[queue]\njournal = "wal"\n')
    aria("task", "add", "local", "--offline").ok()
    assert journal(aria) == "wal", "asked for, and on a local disk"
    away = on_network(aria)
    away("task", "add", "away", "--offline").ok()
    assert journal(aria) == "delete"
    assert "nfs4" in away("doctor").out
    with contextlib.closing(sqlite3.connect(aria.queue_file)) as other:
        other.execute("PRAGMA journal_mode = wal")
        other.execute("BEGIN").execute("SELECT count(*) FROM queue").fetchall()  # it can't be turned back now
        done = away("task", "add", "kept")
        assert done.status == 1 and "not saved" in done.err and "kept\n" in done.err, done
        assert "nfs4" in done.err and "WAL" in done.err and "ARIA_HOME" in done.err, done
    away("task", "add", "kept", "--offline").ok()
    assert journal(aria) == "delete" and aria.waiting() == 3
