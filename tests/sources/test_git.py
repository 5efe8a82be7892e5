"""What is said of repositories of every shape, and that looking at one runs nothing of it and changes nothing in it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aria_tui.config import parse
from aria_tui.models import Section
from aria_tui.sources import Moment
from aria_tui.sources._contain import contained
from aria_tui.sources._git_find import Found
from aria_tui.sources._git_read import _parse_status, blank
from aria_tui.sources.git import GitSource
from tests.helpers.fuzz import EXAMPLES
from tests.sources.repos import git, make

PLACE = ZoneInfo("America/Fortaleza")
NOW = datetime(2026, 11, 30, 8, 0, tzinfo=PLACE)


def source(root: Path, environ: dict[str, str] | None = None, more: str = "") -> GitSource:
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", **(environ or {})}
    return GitSource(parse(f'[projects]\nroots = ["{root}"]\n{more}'), home=home, environ=environ)


async def sections(made: GitSource, kind: Any = "morning", deadline: float = 5.0) -> AsyncIterator[Section]:
    async for section in contained(made, Moment(now=NOW, zone=PLACE, kind=kind), deadline):
        yield section


async def scan(root: Path, environ: dict[str, str] | None = None, *, kind: Any = "morning", more: str = "") -> Section:
    return [section async for section in sections(source(root, environ, more), kind)][-1]


async def rows(root: Path, environ: dict[str, str] | None = None) -> dict[str, dict[str, Any]]:
    section = await scan(root, environ)
    json.dumps(section.data)
    return {project["name"]: project for project in section.data["projects"]}


# -- G01: a repository that wants to run programs


def trap(folder: Path) -> str:
    """A command that leaves a marker, wherever it is run from."""
    script = folder.parent / f"trap-{folder.name}.sh"
    script.write_text(f"#!/bin/sh\ntouch {folder.parent}/marker-{folder.name}\ncat\n")
    script.chmod(0o755)
    return str(script)


def _fsmonitor(folder: Path, command: str) -> None:
    git(folder, "config", "core.fsmonitor", command)


def _hooks(folder: Path, command: str) -> None:
    hook = folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{command} </dev/null\n")
    hook.chmod(0o755)


def _hooks_path(folder: Path, command: str) -> None:
    (folder / "ours").mkdir()
    hook = folder / "ours" / "post-index-change"
    hook.write_text(f"#!/bin/sh\n{command} </dev/null\n")
    hook.chmod(0o755)
    git(folder, "config", "core.hooksPath", "ours")


def _filter(folder: Path, command: str) -> None:
    git(folder, "config", "filter.evil.clean", command)
    git(folder, "config", "filter.evil.required", "true")
    (folder / ".git" / "info" / "attributes").write_text("* filter=evil\n")


def _filter_with_equals(folder: Path, command: str) -> None:
    git(folder, "config", "filter.a=b.process", command)
    git(folder, "config", "filter.a=b.clean", command)
    (folder / ".git" / "info" / "attributes").write_text("* filter=a=b\n")


def _filter_included(folder: Path, command: str) -> None:
    (folder / ".git" / "more").write_text(f'[filter "evil"]\n\tclean = {command}\n')
    git(folder, "config", "include.path", "more")
    (folder / ".git" / "info" / "attributes").write_text("* filter=evil\n")


def _filter_in_worktree_config(folder: Path, command: str) -> None:
    git(folder, "config", "extensions.worktreeConfig", "true")
    (folder / ".git" / "config.worktree").write_text(f'[filter "evil"]\n\tclean = {command}\n')
    (folder / ".git" / "info" / "attributes").write_text("* filter=evil\n")


def _filter_odd_case(folder: Path, command: str) -> None:
    with (folder / ".git" / "config").open("a") as config:
        config.write(f'[FILTER "Evil"]\n\tCLEAN = {command}\n')
    (folder / ".git" / "info" / "attributes").write_text("* filter=Evil\n")


TRAPS: dict[str, Callable[[Path, str], None]] = {
    "fsmonitor": _fsmonitor,
    "hooks": _hooks,
    "hooks-path": _hooks_path,
    "filter": _filter,
    "filter-equals": _filter_with_equals,
    "filter-included": _filter_included,
    "filter-worktree": _filter_in_worktree_config,
    "odd-case": _filter_odd_case,
}


def _touch(folder: Path) -> None:
    """Makes git look at the file's content again: the same size, another time."""
    os.utime(folder / "file", (time.time() - 5, time.time() - 5))


@pytest.mark.case("G01")
@pytest.mark.parametrize("name", TRAPS)
async def test_a_trap_does_not_spring_and_would_have(tmp_path: Path, name: str) -> None:
    root = tmp_path / "projects"
    folder = make(root / name)
    TRAPS[name](folder, trap(folder))
    marker = root / f"marker-{name}"
    marker.unlink(missing_ok=True)
    _touch(folder)
    found = await rows(root)
    assert (found[name]["branch"], found[name]["state"]) == ("main", "ok")
    assert not marker.exists()
    _touch(folder)
    subprocess.run(["git", "status"], cwd=folder, capture_output=True, timeout=30, env={"PATH": os.environ["PATH"]})
    assert marker.exists(), "the control: plain git springs this trap"


@pytest.mark.case("G01")
async def test_signatures_pager_aliases_diff_and_credentials_run_nothing(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    folder = make(root / "many")
    command = trap(folder)
    settings_ = {
        "log.showSignature": "true", "gpg.program": command, "core.pager": command, "pager.status": command,
        "diff.external": command, "credential.helper": command, "alias.status": f"!{command}",
        "alias.log": f"!{command}", "core.editor": command, "core.sshCommand": command, "core.askPass": command,
        "status.submoduleSummary": "true", "diff.evil.textconv": command, "core.alternateRefsCommand": command,
    }  # fmt: skip
    for key, value in settings_.items():
        git(folder, "config", key, value)
    marker = root / "marker-many"
    marker.unlink(missing_ok=True)
    found = await rows(root)
    assert found["many"]["last_commit"]["subject"] == "Commit 0"
    assert not marker.exists()


SAYS_ALL = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], dict(os.environ), os.read(0, 1).decode()]) + chr(10))
os.execv({git!r}, ["git", *sys.argv[1:]])
"""


async def test_every_guard_is_up_for_every_command(tmp_path: Path) -> None:
    """Some stand behind others and would not be missed by a trap."""
    root = tmp_path / "projects"
    git(make(root / "one"), "config", "filter.x.clean", "cat")
    git(root, "clone", "-q", "--bare", str(root / "one"), str(root / "bare.git"))
    tools, log = tmp_path / "bin", tmp_path / "log"
    tools.mkdir()
    where = subprocess.run(["which", "git"], capture_output=True, check=True, text=True).stdout.strip()
    (tools / "git").write_text(SAYS_ALL.format(python=sys.executable, log=str(log), git=where))
    (tools / "git").chmod(0o755)
    inherited = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "GIT_DIR": "/elsewhere",
        "GIT_EXTERNAL_DIFF": "x",
        "LC_ALL": "pt",
    }
    found = await rows(root, inherited)
    assert {name: project["state"] for name, project in found.items()} == {"one": "ok", "bare.git": "bare"}
    commands = [json.loads(line) for line in log.read_text().splitlines()]
    known = {"config", "status", "log", "for-each-ref"}
    assert {word for words, _, _ in commands for word in words} & known == known
    for words, environ, read_ in commands:
        guards = {words[index + 1] for index, word in enumerate(words) if word == "-c"}
        assert guards == {
            "core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showSignature=false",
            "safe.bareRepository=explicit", "protocol.allow=never",
        }  # fmt: skip
        own = {key: value for key, value in environ.items() if key.startswith(("GIT_", "LC_ALL"))}
        own = {key: value for key, value in own.items() if not key.startswith("GIT_CONFIG_")}
        assert own == {
            "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1",
            "LC_ALL": "C",
        }  # fmt: skip
        assert read_ == ""
        assert "fetch" not in words


@pytest.mark.case("G01")
async def test_a_bare_repository_inside_the_work_tree_runs_nothing(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    outer = make(root / "outer")
    inner = outer / "inner"
    git(outer, "init", "-q", "--bare", str(inner))
    git(inner, "config", "core.bare", "false")
    git(inner, "config", "core.worktree", str(inner))
    git(inner, "config", "core.fsmonitor", trap(inner))
    found = await rows(root)
    assert list(found) == ["outer"]
    assert not (outer / "marker-inner").exists()


async def test_a_lazy_fetch_is_not_made(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    folder = make(root / "partial", commits=2)
    marker = root / "marker-partial"
    git(folder, "config", "extensions.partialClone", "origin")
    git(folder, "config", "core.repositoryFormatVersion", "1")
    git(folder, "config", "remote.origin.url", f"ext::touch {marker}")
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "protocol.ext.allow", "always")
    head = git(folder, "rev-parse", "HEAD^{tree}").strip()
    (folder / ".git" / "objects" / head[:2] / head[2:]).unlink()
    await rows(root)
    assert not marker.exists()
    subprocess.run(["git", "status"], cwd=folder, capture_output=True, timeout=30, env={"PATH": os.environ["PATH"]})
    assert marker.exists(), "the control: plain git asks the remote"


async def test_the_users_own_filters_go_on_working(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    folder = make(root / "large")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[filter "mine"]\n\tclean = tr a-z A-Z\n\tsmudge = cat\n\trequired = true\n')
    (folder / ".gitattributes").write_text("*.big filter=mine\n")
    (folder / "a.big").write_text("abc\n")
    git(folder, "add", ".", HOME=str(home))
    git(folder, "commit", "-q", "-m", "Large", HOME=str(home))
    git(folder, "config", "filter.mine.clean", "tr a-z A-Z")  # as git lfs install --local writes it
    os.utime(folder / "a.big", (1, 1))
    large = (await rows(root))["large"]
    assert (large["state"], large["unstaged"]) == ("ok", 0)


async def test_a_work_tree_elsewhere_is_reported_and_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    folder = make(root / "away")
    (tmp_path / "elsewhere").mkdir()
    git(folder, "config", "core.worktree", str(tmp_path / "elsewhere"))
    found = await rows(root)
    assert found["away"]["state"] == "error"
    assert found["away"]["problem"] == f"core.worktree points outside: {tmp_path}/elsewhere"


# -- G03: all shapes


@pytest.mark.case("G03")
async def test_all_shapes_of_repository(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    main = make(root / "main", commits=2)
    git(main, "worktree", "add", "-q", "-b", "side", str(root / "linked"))
    part = make(tmp_path / "part")
    git(main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part), "sub")
    git(main, "commit", "-q", "-m", "With a part")
    git(root, "init", "-q", "--bare", str(root / "bare.git"))
    git(root, "clone", "-q", "--bare", str(main), str(root / "full.git"))
    (root / "unborn").mkdir()
    git(root / "unborn", "init", "-q", "-b", "trunk")
    detached = make(root / "detached", commits=2)
    git(detached, "checkout", "-q", "HEAD~1")
    rebasing = make(root / "rebasing", commits=1)
    git(rebasing, "checkout", "-q", "-b", "topic")
    (rebasing / "file").write_text("topic\n")
    git(rebasing, "commit", "-q", "-am", "topic")
    git(rebasing, "checkout", "-q", "main")
    (rebasing / "file").write_text("main\n")
    git(rebasing, "commit", "-q", "-am", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(rebasing, "rebase", "main", "topic")
    found = await rows(root)
    assert sorted(found) == ["bare.git", "detached", "full.git", "linked", "main", "rebasing", "unborn"]
    assert (found["main"]["branch"], found["linked"]["branch"]) == ("main", "side")
    assert (found["bare.git"]["state"], found["bare.git"]["last_commit"]) == ("bare", None)
    assert (found["full.git"]["state"], found["full.git"]["last_commit"]["subject"]) == ("bare", "With a part")
    assert (found["unborn"]["state"], found["unborn"]["branch"]) == ("no commits", "trunk")
    assert found["unborn"]["last_commit"] is None
    assert found["detached"]["state"] == "detached"
    assert found["detached"]["branch"] == git(detached, "rev-parse", "--short=7", "HEAD").strip()
    assert (found["rebasing"]["state"], found["rebasing"]["branch"]) == ("rebasing", "topic")
    assert found["rebasing"]["conflicts"] == 1
    assert [p["problem"] for p in found.values() if "problem" in p] == []


@pytest.mark.case("G03")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
async def test_another_owners_repository_is_not_trusted_and_stays_so(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    tmp_path.chmod(0o755)
    make(root / "mine")
    for name in ("theirs", "bare.git"):
        folder = root / name
        if name == "theirs":
            make(folder)
        else:
            git(root, "init", "-q", "--bare", str(folder))
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65534, 65534)
    home = tmp_path / "home"
    home.mkdir()
    settings_ = home / ".gitconfig"
    settings_.write_text("[user]\n\tname = Ana\n")
    found = await rows(root)
    for name in ("theirs", "bare.git"):
        assert (found[name]["state"], found[name]["problem"]) == ("not trusted (owner)", "not trusted (owner)")
    assert found["mine"]["state"] == "ok"
    assert settings_.read_text() == "[user]\n\tname = Ana\n"


async def test_changes_ahead_behind_and_stash(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    upstream = make(tmp_path / "upstream", commits=2)
    root.mkdir()
    git(root, "clone", "-q", str(upstream), "work")
    work = root / "work"
    git(work, "reset", "-q", "--hard", "HEAD~1")
    (work / "mine").write_text("x")
    git(work, "add", "mine")
    git(work, "commit", "-q", "-m", "Mine")
    (work / "file").write_text("stashed")
    git(work, "stash")
    (work / "file").write_text("changed")
    (work / "staged").write_text("x")
    git(work, "add", "staged")
    git(work, "mv", "mine", "renamed")
    (work / "new").write_text("x")
    project = (await rows(root))["work"]
    counts = {key: project[key] for key in ("staged", "unstaged", "untracked", "stash", "ahead", "behind", "conflicts")}
    assert counts == {
        "staged": 2, "unstaged": 1, "untracked": 1, "stash": 1, "ahead": 1, "behind": 1, "conflicts": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("at", "freshness"),
    [
        ("2026-11-28T08:00:01-03:00", "fresh"),
        ("2026-11-28T08:00:00-03:00", "quiet"),
        ("2026-11-23T08:00:00-03:00", "quiet"),
        ("2026-11-23T07:59:59-03:00", "stale"),
    ],
)
async def test_fresh_quiet_stale(tmp_path: Path, at: str, freshness: str) -> None:
    make(tmp_path / "projects" / "one", at=at)
    section = await scan(tmp_path / "projects")
    assert section.data["projects"][0]["freshness"] == freshness
    assert section.data["stale"] == (freshness == "stale")


async def test_the_position_comes_from_the_planning_file(tmp_path: Path) -> None:
    folder = make(tmp_path / "projects" / "one")
    (folder / ".planning").mkdir()
    text = "# State\n\n## Current Position\n\n**Phase:** 2 of 5 (Auth)\nPlan: 1 of 3\n\n## Next\nnothing\n"
    (folder / ".planning" / "STATE.md").write_text(text)
    assert (await rows(tmp_path / "projects"))["one"]["position"] == "Phase: 2 of 5 (Auth) · Plan: 1 of 3"


async def test_the_depth_is_kept_and_links_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    for path in ("one", "a/two", "a/b/three", "a/b/c/four"):
        make(root / path)
    outside = make(tmp_path / "outside")
    (root / "link").symlink_to(outside)
    make(root / "one" / "nested")
    assert sorted(await rows(root)) == ["one", "three", "two"]
    assert [p["name"] for p in (await scan(root, more="depth = 1")).data["projects"]] == ["one"]
    assert [p["name"] for p in (await scan(root / "one")).data["projects"]] == ["one"]


async def test_a_root_that_is_not_there_is_said(tmp_path: Path) -> None:
    section = await scan(tmp_path / "none")
    assert (section.state, section.reason) == ("unavailable", f"{tmp_path}/none: no such folder")


# -- G04: the user's lock


@pytest.mark.case("G04")
async def test_the_index_is_never_written_and_a_stale_lock_stays(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    folder = make(root / "one")
    _touch(folder)
    before = (folder / ".git" / "index").stat().st_mtime_ns
    lock = folder / ".git" / "index.lock"
    lock.write_text("")
    assert (await rows(root))["one"]["state"] == "ok"
    assert lock.exists()
    assert (folder / ".git" / "index").stat().st_mtime_ns == before


@pytest.mark.case("G04")
async def test_scanning_never_stands_in_the_way_of_a_commit(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    folder = make(root / "one")
    stop = asyncio.Event()

    async def scans() -> int:
        count = 0
        while not stop.is_set():
            await scan(root)
            count += 1
        return count

    scanning = asyncio.create_task(scans())
    for number in range(30):
        (folder / "file").write_text(f"again {number}\n")
        await asyncio.to_thread(git, folder, "commit", "-q", "-am", f"again {number}")
    stop.set()
    assert await scanning > 0
    assert (await rows(root))["one"]["last_commit"]["subject"] == "again 29"


# -- G05: bytes


@pytest.mark.case("G05")
async def test_names_and_authors_that_are_not_utf_8(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    folder = make(root / "one")
    for name in (b"caf\xe9.txt", b"new\nline.txt", b"tab\t\x1b[31m.txt"):
        with open(os.path.join(os.fsencode(folder), name), "w") as file:
            file.write("x")
    raw = b"tree " + git(folder, "rev-parse", "HEAD^{tree}").strip().encode()
    person = b"Jo\xe3o <j@example.org> 1796000000 +0000"
    raw += b"\nauthor " + person + b"\ncommitter " + person + b"\n\nOl\xe1\n"
    commit = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"], cwd=folder, input=raw, capture_output=True, check=True
    )
    git(folder, "reset", "-q", commit.stdout.decode().strip())
    os.mkdir(os.path.join(os.fsencode(root), b"caf\xe9"))
    git(Path(os.fsdecode(os.path.join(os.fsencode(root), b"caf\xe9"))), "init", "-q", "-b", "main")
    found = await rows(root, {"LANG": "C"})
    assert found["one"]["untracked"] == 3
    assert found["one"]["last_commit"]["author"] == "João"
    assert found["one"]["last_commit"]["subject"] == "Olá"
    assert found["caf\\xe9"]["state"] == "no commits"


@given(st.binary(max_size=200))
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_answer_of_git_is_read(raw: bytes) -> None:
    project = blank(Found(Path("/x")))
    _parse_status(raw, project)
    json.dumps(project).encode()


# -- G06: one slow repository


SLOW_GIT = """#!{python}
import os, sys, time
log = os.path.join({log!r}, str(os.getpid()))
open(log, "w").write(os.getcwd())
if os.path.basename(os.getcwd()) == "slow":
    time.sleep(60)
os.execv({git!r}, ["git", *sys.argv[1:]])
"""


@pytest.mark.case("G06")
async def test_one_slow_repository_costs_its_own_row(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    for number in range(19):
        make(root / f"p{number:02}")
    make(root / "slow")
    tools, log = tmp_path / "bin", tmp_path / "log"
    tools.mkdir()
    log.mkdir()
    where = subprocess.run(["which", "git"], capture_output=True, check=True, text=True).stdout.strip()
    (tools / "git").write_text(SLOW_GIT.format(python=sys.executable, log=str(log), git=where))
    (tools / "git").chmod(0o755)
    made = source(root, {"PATH": f"{tools}:{os.environ['PATH']}"})
    early: Section | None = None
    last: Section | None = None
    async for section in sections(made, deadline=3.0):
        last = section
        states = {project["name"]: project["state"] for project in section.data["projects"]}
        if early is None and sum(state == "ok" for state in states.values()) == 19:
            early = section
            assert states["slow"] == "unread"
    assert early is not None and last is not None
    assert early.state == "partial" and early.reason == "1 of 20 still being read"
    slow = next(project for project in last.data["projects"] if project["name"] == "slow")
    assert (slow["state"], slow["problem"]) == ("timed out", "timed out")
    assert (last.state, last.reason) == ("partial", "1 of 20 timed out")
    assert not running_in(root / "slow")


@pytest.mark.case("G06")
async def test_closing_early_leaves_no_process(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    make(root / "slow")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\nsleep 60 &\nwait\n")
    (tools / "git").chmod(0o755)
    given_ = sections(source(root, {"PATH": f"{tools}:{os.environ['PATH']}"}))
    first = await anext(given_)
    assert first.state == "partial"
    assert running_in(root / "slow")
    await given_.aclose()  # type: ignore[attr-defined]
    end = time.monotonic() + 3  # less than the five seconds after which it would be killed anyway
    while running_in(root / "slow") and time.monotonic() < end:
        await asyncio.sleep(0.02)
    assert not running_in(root / "slow")


QUITS = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo
from aria_tui.config import parse
from aria_tui.sources import Moment
from aria_tui.sources._contain import contained
from aria_tui.sources.git import GitSource

async def main():
    source = GitSource(parse(f'[projects]\\nroots = ["{sys.argv[1]}"]'), home=Path("/nonexistent"))
    zone = ZoneInfo("UTC")
    global kept
    kept = contained(source, Moment(now=datetime.now(UTC).astimezone(zone), zone=zone), 60)
    await anext(kept)
    print("reading", flush=True)

loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""


@pytest.mark.case("G06")
async def test_a_program_that_ends_in_the_middle_leaves_no_process(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    make(root / "slow")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\nsleep 60 &\nwait\n")
    (tools / "git").chmod(0o755)
    environ = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", QUITS, str(root)],
        env=environ,
        timeout=30,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "reading\n", done.stderr
    assert not running_in(root / "slow")


def running_in(folder: Path) -> list[int]:
    """Processes whose working folder is that one."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def test_no_git_program(tmp_path: Path) -> None:
    make(tmp_path / "projects" / "one")
    section = await scan(tmp_path / "projects", {"PATH": str(tmp_path)})
    assert (section.state, section.reason) == ("unavailable", "there is no git program")


async def test_the_days_commits_of_every_branch_in_the_evening(tmp_path: Path) -> None:
    root = tmp_path / "projects"
    folder = make(root / "one", at="2026-11-29T23:59:59-03:00")
    for name, at in (("Early", "2026-11-30T00:00:00-03:00"), ("Later", "2026-11-30T07:00:00-03:00")):
        git(folder, "commit", "-q", "--allow-empty", "-m", name, at=at)
    git(folder, "checkout", "-q", "-b", "side", "HEAD~2")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Side", at="2026-11-30T08:00:00-03:00")
    moment = Moment(now=NOW.replace(microsecond=500_000), zone=PLACE, kind="evening")  # the second of the last commit
    section = [section async for section in contained(source(root), moment, 5.0)][-1]
    assert {commit["subject"] for commit in section.data["projects"][0]["today"]} == {"Early", "Later", "Side"}
