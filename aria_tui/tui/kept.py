"""Small things kept in the home between runs: the session and the drafts. Written off the event loop, whole or not.

A change is on the disk within about a third of a second, so that not even ``kill -9`` costs more than the last word.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
DEBOUNCE = 0.3


class KeptFile:
    """A JSON object in a file of mode 0600. A file that can't be read counts as empty, and is logged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._values: dict[str, Any] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="kept")
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            self._values = found if isinstance(found, dict) else {}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s can't be read: %s", path, error)

    def get(self, key: str, default: Any = None) -> Any:
        """The value kept under a key. The caller checks its shape: a person may have edited the file."""
        return self._values.get(key, default)

    def keys(self) -> list[str]:
        """All keys."""
        return list(self._values)

    def put(self, key: str, value: Any) -> None:
        """Keeps a JSON value; None forgets it. The file follows shortly."""
        if self._values.get(key) == value:
            return
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DEBOUNCE, self._write_later)

    def _write_later(self) -> None:
        self._timer = None
        self._writer.submit(self._write, json.dumps(self._values, ensure_ascii=True, indent=1))

    async def close(self) -> None:
        """Writes what is still to be written and ends the writer."""
        if self._timer is not None:
            self._timer.cancel()
            self._write_later()
        await asyncio.get_running_loop().run_in_executor(None, self._writer.shutdown)

    def _write(self, text: str) -> None:
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            part.replace(self.path)
        except OSError as error:
            log.warning("%s can't be written: %s", self.path, error)
