"""Reads a file of the user's: a regular one only, and no more of it than is sensible."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class NotReadable(Exception):
    """The file could not be read; ``str()`` says why, without its name."""


def read_regular(path: Path, limit: int) -> bytes:
    """The whole content, at most ``limit`` bytes. A pipe or a device is refused, not waited for. Raises NotReadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotReadable("not a file")
            raw = file.read(limit + 1)
    except OSError as error:
        raise NotReadable(error.strerror or "can't be read") from None
    if len(raw) > limit:
        raise NotReadable(f"over {limit // (1024 * 1024)} MiB")
    return raw
