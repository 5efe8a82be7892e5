"""Runs git in repositories that are not trusted: nothing that they hold may run, nothing in them is written.

The guards are those of briefing.md ("Git projects"), each against a way in which a repository's own files make git
start a program: fsmonitor, hooks, signature checks, bare repositories inside a work tree, filters, remote helpers.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import selectors
import shutil
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

OUTPUT_BYTES = 64 * 1024 * 1024
_GUARDS = (
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false",
    "-c", "safe.bareRepository=explicit",
    "-c", "protocol.allow=never",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}


class GitFailed(Exception):
    """git ended with an error; ``str()`` is the first line of what it said, ``status`` its exit status, if any."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(reason)


class GitTimeout(Exception):
    """git did not end in time, and was killed."""


class GitMissing(Exception):
    """There is no git program."""


class Git:
    """The git program under guards. Every process it starts is killed by ``stop``, and reaped."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {k: v for k, v in environ.items() if not k.startswith("GIT_")} | _ENVIRONMENT
        self._program = shutil.which("git", path=self._environ.get("PATH"))
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        _all.add(self)

    def run(
        self,
        folder: Path,
        arguments: Sequence[str],
        *,
        end: float,
        overrides: Mapping[str, str] | None = None,
        git_dir: Path | None = None,
    ) -> bytes:
        """Standard output of one command in ``folder``, which must end by ``end`` (``time.monotonic()``).

        ``overrides``: configuration laid over the repository's, in the environment because a name may hold ``=``.
        Raises GitFailed, GitTimeout, GitMissing.
        """
        if self._program is None:
            raise GitMissing("there is no git program")
        command = [self._program, *_GUARDS, "--no-pager"]
        if git_dir is not None:
            command.append(f"--git-dir={git_dir}")
        if self._stopped or time.monotonic() >= end:
            raise GitTimeout
        process = self._start([*command, *arguments], folder, overrides or {})
        try:
            output, errors = _read(process, end)
            status = _wait(process, end)
        except (TimeoutError, subprocess.TimeoutExpired):
            raise GitTimeout from None
        finally:
            self._end(process)
        if status:
            lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
            raise GitFailed(lines[0] if lines else f"git ended with exit status {status}", status)
        return output

    def stop(self) -> None:
        """Kills what runs and starts nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill(process)

    def _start(self, command: list[str], folder: Path, overrides: Mapping[str, str]) -> subprocess.Popen[bytes]:
        environ = dict(self._environ)
        if overrides:
            environ["GIT_CONFIG_COUNT"] = str(len(overrides))
            for number, (key, value) in enumerate(overrides.items()):
                environ[f"GIT_CONFIG_KEY_{number}"] = key
                environ[f"GIT_CONFIG_VALUE_{number}"] = value
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise GitFailed(f"git can't be run here: {error.strerror}") from None
        # Not under the lock while it is started: lanes that wait for one another there halve the rate.
        with self._lock:
            self._running.add(process)
            if self._stopped:
                _kill(process)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if process.returncode is None:
            _kill(process)
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        with self._lock:
            self._running.discard(process)


def _read(process: subprocess.Popen[bytes], end: float) -> tuple[bytes, bytes]:
    """Both outputs to their ends; raises TimeoutError at ``end``, or GitFailed when there is too much."""
    parts: dict[int, list[bytes]] = {}
    size = 0
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ)
            parts[pipe.fileno()] = []
        while selector.get_map():
            ready = selector.select(max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                part = os.read(key.fd, 256 * 1024)
                if not part:
                    selector.unregister(key.fileobj)
                size += len(part)
                if size > OUTPUT_BYTES:
                    raise GitFailed("git gave more than 64 MiB")
                parts[key.fd].append(part)
    output, errors = parts.values()
    return b"".join(output), b"".join(errors)


def _wait(process: subprocess.Popen[bytes], end: float) -> int:
    """The exit status of a process that has closed its outputs. Raises TimeoutExpired at ``end``."""
    left = max(0.0, end - time.monotonic())
    if not hasattr(os, "pidfd_open"):
        return process.wait(left)
    descriptor = os.pidfd_open(process.pid)  # Popen.wait() with a timeout sleeps and looks again
    try:
        select.select([descriptor], [], [], left)
    finally:
        os.close(descriptor)
    return process.wait(0.001)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


_all: weakref.WeakSet[Git] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """A program that ends in the middle of a scan leaves no git behind: the lanes are not waited for."""
    for git in tuple(_all):
        git.stop()
