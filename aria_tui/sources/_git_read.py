"""Reads one repository: its state as briefing.md's ``projects`` data wants it. Every git command goes through Git."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aria_tui.hub.contract import write_time
from aria_tui.sources import Moment
from aria_tui.sources._git_find import Found, read_small
from aria_tui.sources._git_run import Git, GitFailed, GitMissing, GitTimeout

SECONDS = 5.0
FRESH_DAYS = 2
_CONFIG_BYTES = 256 * 1024
_STATUS = (
    "status", "--porcelain=v2", "--branch", "--show-stash", "-z",
    "--ignore-submodules=dirty", "--untracked-files=normal", "--ahead-behind",
)  # fmt: skip
_LOG_FORMAT = "--format=%H%x00%ct%x00%an%x00%s%x00"
_LOG = ("log", "-s", "--no-show-signature", "--encoding=UTF-8", _LOG_FORMAT)
_WATCHED = r"^(filter\.|core\.worktree$)"
_BRANCH = re.compile(r"ref: refs/heads/(.+)")
_UNDER_WAY = (
    ("rebase-merge", "rebasing"),
    ("rebase-apply", "rebasing"),
    ("MERGE_HEAD", "merging"),
    ("CHERRY_PICK_HEAD", "cherry-picking"),
    ("REVERT_HEAD", "reverting"),
    ("BISECT_LOG", "bisecting"),
)


class NotRead(Exception):
    """The repository can't be read; ``state`` is the word for it, ``str()`` the reason."""

    def __init__(self, state: str, reason: str) -> None:
        self.state = state
        super().__init__(reason)


def text_of(raw: bytes) -> str:
    """Git's bytes as text: UTF-8, else Latin-1, which every byte is."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def blank(found: Found) -> dict[str, Any]:
    """A project of which nothing is known yet."""
    name = os.fsencode(found.path.name or str(found.path))
    return {
        "path": os.fsencode(found.path).decode("utf-8", "backslashreplace"),
        "name": name.decode("utf-8", "backslashreplace"),
        "state": "unread",
        "branch": None,
        "staged": 0,
        "unstaged": 0,
        "untracked": 0,
        "conflicts": 0,
        "stash": 0,
        "ahead": None,
        "behind": None,
        "last_commit": None,
        "freshness": None,
    }


def read(git: Git, found: Found, when: Moment, stale_days: int, end: float) -> dict[str, Any]:
    """One project's data; what can't be read is said in ``state`` and ``problem``. With an evening's moment also
    ``today``, the day's commits. Raises GitMissing alone."""
    project = blank(found)
    end = min(end, time.monotonic() + SECONDS)
    try:
        if found.bare:
            _read_bare(git, found.path, project, end)
        else:
            _read_tree(git, found.path, project, end)
        overrides = project.pop("_overrides", {})
        git_dir = found.path if found.bare else None
        if project["state"] != "no commits" and project.pop("_commits", True):
            _read_log(git, found.path, project, when, end, overrides, git_dir)
    except GitTimeout:
        _failed(project, "timed out", "timed out")
    except NotRead as error:
        _failed(project, error.state, str(error))
    except GitFailed as error:
        _failed(project, *_meaning(str(error)))
    project.pop("_overrides", None)
    project.pop("_commits", None)
    project["freshness"] = freshness(project["last_commit"], when, stale_days)
    if position := _position(found.path):
        project["position"] = position
    return project


def freshness(commit: Mapping[str, Any] | None, when: Moment, stale_days: int) -> str | None:
    """``fresh`` under 2 days, ``quiet`` up to ``stale_days``, ``stale`` after; None without a commit."""
    if commit is None:
        return None
    days = (when.now - datetime.fromisoformat(commit["at"])).total_seconds() / 86400
    return "stale" if days > stale_days else "fresh" if days < FRESH_DAYS else "quiet"


def _failed(project: dict[str, Any], state: str, problem: str) -> None:
    project["state"], project["problem"] = state, problem


def _meaning(said: str) -> tuple[str, str]:
    said = said.removeprefix("fatal: ").removeprefix("error: ")
    if "dubious ownership" in said:
        return "not trusted (owner)", "not trusted (owner)"
    return "error", said[:300]


def _read_tree(git: Git, folder: Path, project: dict[str, Any], end: float) -> None:
    git_dir = _git_dir(folder)
    overrides = _overrides(git, folder, git_dir, end)
    project["_overrides"] = overrides
    _parse_status(git.run(folder, _STATUS, end=end, overrides=overrides), project)
    for name, state in _UNDER_WAY:
        if (git_dir / name).exists():
            project["state"] = state
            if head := read_small(git_dir / name / "head-name"):
                project["branch"] = text_of(head).strip().removeprefix("refs/heads/")
            break


def _read_bare(git: Git, folder: Path, project: dict[str, Any], end: float) -> None:
    """With its folder named, git reads a bare repository without looking at its owner, so that is done here."""
    project["state"] = "bare"
    owner = folder.stat().st_uid
    if owner != os.geteuid() and str(owner) != os.environ.get("SUDO_UID", ""):
        raise NotRead("not trusted (owner)", "not trusted (owner)")
    head = text_of(read_small(folder / "HEAD") or b"").strip()
    project["branch"] = found[1] if (found := _BRANCH.match(head)) else head[:7] or None
    refs = git.run(folder, ("for-each-ref", "--count=1", "--format=%(objectname)"), end=end, git_dir=folder)
    project["_commits"] = bool(refs.strip())


def _git_dir(folder: Path) -> Path:
    """Where the repository is kept: ``.git``, or what a ``.git`` file names (gitrepository-layout(5))."""
    dot_git = folder / ".git"
    if dot_git.is_dir():
        return dot_git
    named = text_of(read_small(dot_git) or b"")
    if not named.startswith("gitdir:"):
        return dot_git
    return (folder / named.removeprefix("gitdir:").strip("\r\n").strip()).resolve()


def _overrides(git: Git, folder: Path, git_dir: Path, end: float) -> dict[str, str]:
    """Configuration that takes the repository's own filters away, and leaves the user's.

    Only where the repository's configuration can hold any: a text without the words ``filter``, ``include`` and
    ``worktree`` can't. Raises NotRead for a work tree that lies elsewhere.
    """
    common = git_dir
    if named := read_small(git_dir / "commondir"):
        common = git_dir / text_of(named).strip()
    text = read_small(common / "config", _CONFIG_BYTES)
    if text is not None and len(text) < _CONFIG_BYTES and not re.search(rb"filter|include|worktree", text, re.I):
        return {}
    command = ("config", "--show-scope", "--includes", "-z", "--get-regexp", _WATCHED)
    try:
        listed = git.run(folder, command, end=end)
    except GitFailed as error:
        if error.status == 1:
            return {}  # nothing is set (git-config(1))
        raise
    own: dict[str, str] = {}
    users: dict[str, str] = {}
    fields = [text_of(field) for field in listed.split(b"\0")]
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if key == "core.worktree" and scope in ("local", "worktree"):
            _check_worktree(folder, git_dir, value)
        elif scope in ("local", "worktree"):
            own[key] = value
        elif key.startswith("filter."):
            users[key] = value
    return {key: users.get(key, "false" if key.endswith(".required") else "") for key in own}


def _check_worktree(folder: Path, git_dir: Path, value: str) -> None:
    try:
        tree = (git_dir / value).resolve()
    except (OSError, ValueError, RuntimeError):
        tree = None
    if tree is None or not tree.is_relative_to(folder.resolve()):
        raise NotRead("error", f"core.worktree points outside: {value[:200]}")


def _parse_status(output: bytes, project: dict[str, Any]) -> None:
    """``git status --porcelain=v2 -z`` (git-status(1)): ``#`` begins a header; a rename has its old name after it."""
    project["state"] = "ok"
    oid = head = ""
    entries = iter(output.split(b"\0"))
    for entry in entries:
        kind = entry[:2]
        if kind == b"# ":
            name, _, value = text_of(entry[2:]).partition(" ")
            if name == "branch.oid":
                oid = value
            elif name == "branch.head":
                head = value
            elif name == "stash" and value.isdecimal():
                project["stash"] = int(value)
            elif name == "branch.ab" and (pair := re.match(r"\+(\d+) -(\d+)\Z", value)):
                project["ahead"], project["behind"] = int(pair[1]), int(pair[2])
        elif kind in (b"1 ", b"2 "):
            project["staged"] += entry[2:3] != b"."
            project["unstaged"] += entry[3:4] != b"."
            if kind == b"2 ":
                next(entries, None)
        elif kind == b"u ":
            project["conflicts"] += 1
        elif kind == b"? ":
            project["untracked"] += 1
    project["branch"] = head or None
    if oid == "(initial)":
        project["state"] = "no commits"
    elif head == "(detached)":
        project["state"], project["branch"] = "detached", oid[:7]


def _read_log(
    git: Git, folder: Path, project: dict[str, Any], when: Moment, end: float,
    overrides: Mapping[str, str], git_dir: Path | None,
) -> None:  # fmt: skip
    heads = ("--branches",) if git_dir else ("HEAD",)
    commits = _commits(git.run(folder, (*_LOG, "-1", *heads), end=end, overrides=overrides, git_dir=git_dir))
    if commits:
        project["last_commit"] = commits[0]
    if when.kind != "evening":
        return
    midnight = when.now.replace(hour=0, minute=0, second=0, microsecond=0)
    since = f"--since={int(midnight.timestamp())}"
    both = ("--branches",) if git_dir else ("--branches", "HEAD")
    today = git.run(folder, (*_LOG, "-1000", since, *both), end=end, overrides=overrides, git_dir=git_dir)
    limit = write_time(when.now.replace(microsecond=0))  # git counts in seconds; as text 10Z comes after 10.5Z
    project["today"] = [commit for commit in _commits(today) if commit["at"] <= limit]


def _commits(output: bytes) -> list[dict[str, str]]:
    """Four fields a commit, each ended by NUL, and a line feed between commits."""
    fields = output.split(b"\0")
    commits = []
    for index in range(0, len(fields) - 3, 4):
        _, at, author, subject = fields[index : index + 4]
        try:
            moment = datetime.fromtimestamp(int(at), UTC)
        except (ValueError, OverflowError, OSError):
            continue
        commits.append({"at": write_time(moment), "subject": text_of(subject), "author": text_of(author)})
    return commits


def _position(folder: Path) -> str | None:
    """The part under "Current Position" of ``.planning/STATE.md``, as one line."""
    raw = read_small(folder / ".planning" / "STATE.md")
    if raw is None:
        return None
    parts: list[str] = []
    inside = False
    for line in raw.decode("utf-8", "replace").splitlines():
        text = re.sub(r"\*{1,3}|`", "", line).strip().lstrip("-> ")
        if line.lstrip().startswith("#"):
            if inside:
                break
            inside = "current position" in line.lower()
        elif inside and text:
            parts.append(text)
        elif not inside and text.lower().startswith("current position:"):
            return text.partition(":")[2].strip()[:200] or None
    return " · ".join(parts[:3])[:200] or None


__all__ = ["GitMissing", "NotRead", "blank", "freshness", "read", "text_of"]
