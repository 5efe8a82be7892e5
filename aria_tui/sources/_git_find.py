"""Finds the repositories below the configured roots, without git and without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Found:
    """A repository's folder; ``bare`` when the folder is itself the repository."""

    path: Path
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Unread:
    """A folder that could not be searched, and why."""

    path: str
    reason: str


def find(root: str, depth: int, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Found | Unread]:
    """Repositories from ``root`` (depth 0) down to ``depth``, in the order of their names. A repository is not searched
    for others inside it (a submodule is part of its parent)."""
    try:
        start = Path(root).expanduser()
        start = start.resolve(strict=True)
    except FileNotFoundError:
        yield Unread(root, "no such folder")
        return
    except (OSError, RuntimeError) as error:
        yield Unread(root, getattr(error, "strerror", None) or str(error))
        return
    yield from _below(start, depth, root, cancelled)


def _below(folder: Path, depth: int, shown: str, cancelled: Callable[[], bool]) -> Iterator[Found | Unread]:
    try:
        with os.scandir(folder) as entries:
            names = {entry.name: entry for entry in entries}
    except OSError as error:
        yield Unread(shown, error.strerror or "can't be read")
        return
    if ".git" in names:
        yield Found(folder)
        return
    if _is_bare(folder, set(names)):
        yield Found(folder, bare=True)
        return
    if depth == 0 or cancelled():
        return
    for name in sorted(names):
        if _is_folder(names[name]):
            yield from _below(folder / name, depth - 1, str(folder / name), cancelled)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_bare(folder: Path, names: set[str]) -> bool:
    """A folder with git's own layout (gitrepository-layout(5)): HEAD, objects/ and refs/."""
    if not {"HEAD", "objects", "refs"} <= names:
        return False
    try:
        return all(stat.S_ISDIR((folder / name).lstat().st_mode) for name in ("objects", "refs"))
    except OSError:
        return False


def read_small(path: Path, limit: int = 64 * 1024) -> bytes | None:
    """The beginning of a regular file that is not a link, or None: never waits on a pipe or a device."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.read(descriptor, limit)
    except OSError:
        return None
    finally:
        os.close(descriptor)
