"""Real git repositories, made by the tests with their own identity and no configuration of the machine's user."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ENVIRON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ana",
    "GIT_AUTHOR_EMAIL": "ana@example.org",
    "GIT_COMMITTER_NAME": "Ana",
    "GIT_COMMITTER_EMAIL": "ana@example.org",
    "GIT_ALLOW_PROTOCOL": "file",
    "LC_ALL": "C",
}


def git(folder: Path, *words: str | bytes, at: str = "2026-11-30T06:00:00-03:00", **more: str) -> str:
    """One plain git command, as a user would run it."""
    environ: Mapping[str, str] = {
        **ENVIRON, "HOME": str(folder), "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at, **more,
    }  # fmt: skip
    done = subprocess.run(["git", *words], cwd=folder, env=environ, capture_output=True, check=True, timeout=30)
    return done.stdout.decode("utf-8", "replace")


def make(folder: Path, *, commits: int = 1, at: str = "2026-11-30T06:00:00-03:00") -> Path:
    """A repository with one file and that many commits."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for number in range(commits):
        (folder / "file").write_text(f"{number}\n")
        git(folder, "add", "file")
        git(folder, "commit", "-q", "-m", f"Commit {number}", at=at)
    return folder
