"""A repository whose configuration would run a program runs none when it is looked at."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.helpers import needs
from tests.helpers.aria import Aria


def git(folder: Path, *args: str, config: dict[str, str] | None = None) -> str:
    env = {
        "PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.net",
        "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.net",
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-C", str(folder), *args], env=env, capture_output=True, text=True, timeout=30
    )  # fmt: skip
    return done.stdout + done.stderr


def repository(folder: Path) -> Path:
    needs.program("git")
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def hostile(folder: Path, marker: Path) -> Path:
    """A repository that would run ``marker``'s script by each way that git knows while it is only looked at."""
    folder.parent.mkdir(parents=True)
    script = folder.parent / "run.sh"
    script.write_text(f"#!/bin/sh\necho $0 $* >> {marker}\ncat\n")
    script.chmod(0o755)
    repository(folder)
    (folder / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    git(folder, "add", ".gitattributes")
    git(folder, "commit", "-q", "-m", "attributes")
    hooks = folder.parent / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction", "post-checkout"):
        (hooks / hook).write_bytes(script.read_bytes())
        (hooks / hook).chmod(0o755)
    for key, value in {
        "core.fsmonitor": str(script), "core.hooksPath": str(hooks), "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script), "filter.evil.process": str(script), "diff.external": str(script),
        "diff.evil.command": str(script), "diff.evil.textconv": str(script), "core.pager": str(script),
        "core.sshCommand": str(script), "gpg.program": str(script), "gpg.ssh.program": str(script),
        "log.showSignature": "true", "commit.gpgSign": "true", "credential.helper": f"!{script}",
        "core.askPass": str(script), "core.editor": str(script), "alias.status": f"!{script}",
        "alias.log": f"!{script}",
        "core.alternateRefsCommand": str(script), "uploadpack.packObjectsHook": str(script),
    }.items():  # fmt: skip
        git(folder, "config", key, value)
    (folder / "a.txt").write_text("changed, so that filters are asked\n")
    os.utime(folder / "a.txt", (1, 1))
    return folder


@pytest.mark.case("G01")
@pytest.mark.parametrize("embedded", [False, True], ids=["plain", "with a bare repository inside"])
def test_looking_at_a_hostile_repository_runs_nothing(aria: Aria, tmp_path: Path, embedded: bool) -> None:
    roots, marker = tmp_path / "projects", tmp_path / "MARKER"
    folder = hostile(roots / "evil", marker)
    if embedded:
        bare = folder / "vendor"
        bare.mkdir()
        git(bare, "init", "-q", "--bare", ".")
        git(bare, "config", "core.fsmonitor", str(roots / "run.sh"))
        git(bare, "config", "core.worktree", str(folder))
        git(bare, "config", "core.bare", "false")
        (folder / "STATE.md").write_text("Current Position: Phase 2/5\n")
    repository(roots / "kind")
    marker.unlink(missing_ok=True)
    aria.home.mkdir()
    (aria.home / "config.toml").write_text(
        f"[projects]\nroots = [{json.dumps(str(roots))}]\n[docker]\nenabled = false\n"
    )
    shown = aria("projects")
    assert shown.status == 0 and "evil" in shown.out and "kind" in shown.out and "trunk" in shown.out, shown
    told = aria("briefing", "--format", "json", "--no-store", timeout=60).ok()
    assert "evil" in told.out
    assert not marker.exists(), marker.read_text()
    git(folder, "status")
    assert marker.exists(), "the control: plain git status runs it"
