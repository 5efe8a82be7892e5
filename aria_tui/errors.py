"""What can go wrong, as a small tree. The outermost layer (command line, screen, MCP) turns these into words.

Each class knows the exit status that the command line gives for it (0 done, 1 failure, 2 usage).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class FieldError(NamedTuple):
    """One field of a payload that can't be accepted, and why."""

    field: str
    message: str


class AriaError(Exception):
    """Base of every error that is meant for the user. ``str()`` of it is a whole English sentence part."""

    exit_status = 1


class InvalidInput(AriaError):
    """The caller's values can't be accepted; nothing was stored and nothing was sent."""

    exit_status = 2

    def __init__(self, errors: Sequence[FieldError] | str) -> None:
        if isinstance(errors, str):
            errors = [FieldError("", errors)]
        self.errors = list(errors)
        super().__init__("; ".join(f"{e.field}: {e.message}" if e.field else e.message for e in self.errors))


class UsageError(AriaError):
    """The command was called in a way that has no meaning."""

    exit_status = 2


class ConfigError(AriaError):
    """The configuration can't be used: which file, which line, what to write instead."""

    exit_status = 2

    def __init__(self, message: str, *, path: str = "", line: int | None = None, hint: str = "") -> None:
        self.path, self.line, self.hint = path, line, hint
        where = f"{path}:{line}: " if path and line else f"{path}: " if path else ""
        super().__init__(f"{where}{message}{f' ({hint})' if hint else ''}")


class NotFound(AriaError):
    """No task, insight or queue row has this name."""


class Ambiguous(AriaError):
    """The beginning of an id fits more than one thing."""

    exit_status = 2


class QueueUnavailable(AriaError):
    """The queue file can't be used at all: ``queue unavailable: PATH: REASON``."""

    def __init__(self, path: str, reason: str, *, hint: str = "") -> None:
        self.path, self.reason, self.hint = path, reason, hint
        super().__init__(f"queue unavailable: {path}: {reason}{f' ({hint})' if hint else ''}")


class NewerVersion(QueueUnavailable):
    """The file was made by a newer version of the program; it is not touched."""


class NotSaved(AriaError):
    """The row was not committed, so it was not sent either. ``text`` is what the user typed, to be given back."""

    def __init__(self, reason: str, *, path: str = "", text: str = "", hint: str = "") -> None:
        self.reason, self.path, self.text, self.hint = reason, path, text, hint
        where = f" ({path})" if path else ""
        super().__init__(f"not saved: {reason}{where}{f'; {hint}' if hint else ''}")


class QueueFull(NotSaved):
    """The limit on waiting rows is reached; nothing is ever evicted to make room."""


class HubUnavailable(AriaError):
    """Data was wanted from the Hub and could not be read now. ``state`` is one of the Hub states of models.py."""

    def __init__(self, state: str, reason: str, *, since: str | None = None) -> None:
        self.state, self.reason, self.since = state, reason, since
        super().__init__(f"Hub {state.replace('_', ' ')}: {reason}" if reason else f"Hub {state.replace('_', ' ')}")
