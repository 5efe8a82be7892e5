"""The log in ``$ARIA_HOME/log``: rotated, without secrets, written by a thread of its own."""

from __future__ import annotations

import logging
import logging.handlers
import queue
import sys
from collections.abc import Iterable
from pathlib import Path

NAME = "aria.log"
SIZE, BACKUPS = 512 * 1024, 3


class _NoSecrets(logging.Formatter):
    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = [secret for secret in secrets if len(secret) >= 4]

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _note(found: sys.UnraisableHookArgs) -> None:
    """An error that nobody can catch, as where a process's pipes are forgotten at the end: no trace on the screen."""
    told = (type(found.exc_value), found.exc_value, found.exc_traceback) if found.exc_value is not None else None
    logging.getLogger(__name__).warning("%s %r", found.err_msg or "ignored in", found.object, exc_info=told)


def _nobody_hears(_: sys.UnraisableHookArgs) -> None:
    """The log is closed, and the terminal is the user's again."""


class Log:
    """Takes the root logger for the time the dashboard runs. Records from any thread; no caller waits for the disk."""

    def __init__(self, home: Path, secrets: Iterable[str]) -> None:
        self.path = home / "log" / NAME
        self._records: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
        self._entry = logging.handlers.QueueHandler(self._records)
        self._entry.setLevel(logging.INFO)
        # The formatter runs in the caller's thread (QueueHandler.prepare), so what is queued holds no secret.
        self._entry.setFormatter(_NoSecrets(secrets))
        self._listener: logging.handlers.QueueListener | None = None

    def start(self) -> None:
        """Opens the file; where that can't be done the program goes on without a log."""
        sys.unraisablehook = _note
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = logging.handlers.RotatingFileHandler(
                self.path, maxBytes=SIZE, backupCount=BACKUPS, encoding="utf-8", errors="backslashreplace"
            )
            self.path.chmod(0o600)
        except OSError:
            logging.getLogger().addHandler(logging.NullHandler())
            return
        self._listener = logging.handlers.QueueListener(self._records, file)
        self._listener.start()
        root = logging.getLogger()
        root.addHandler(self._entry)
        root.setLevel(logging.INFO)
        for noisy in ("httpx", "httpcore", "asyncio", "aiosqlite"):
            logging.getLogger(noisy).setLevel(logging.WARNING)

    def stop(self) -> None:
        """Writes what is left and gives the root logger back."""
        sys.unraisablehook = _nobody_hears
        logging.getLogger().removeHandler(self._entry)
        if self._listener is not None:
            self._listener.stop()
            for handler in self._listener.handlers:
                handler.close()
            self._listener = None
