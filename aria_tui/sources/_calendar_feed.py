"""A calendar by its address: asked for only if it changed, with the last good copy kept beside the queue.

The address is a secret. The copy's name is made from a digest of it, its mode is 0600.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from aria_tui.hub.contract import read_time, write_time
from aria_tui.sources import _http

BYTES = 20 * 1024 * 1024
_REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Copy:
    """The last good copy: its text, when it was fetched, and what to ask with whether it changed."""

    body: bytes
    fetched_at: str
    etag: str = ""
    last_modified: str = ""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A new text (not yet known to be a calendar), or, with ``body`` None, the word that the copy is current."""

    body: bytes | None
    etag: str = ""
    last_modified: str = ""


class Cache:
    """The last good copy of one address."""

    def __init__(self, home: Path, url: str) -> None:
        name = f"calendar-{hashlib.sha256(url.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}"
        self._folder = home / "cache"
        self._body, self._about = self._folder / f"{name}.ics", self._folder / f"{name}.json"

    def load(self) -> Copy | None:
        """The copy, or None when there is none that can be read."""
        try:
            body = self._body.read_bytes()
        except OSError:
            return None
        about: dict[str, str] = {}
        with contextlib.suppress(OSError, ValueError, RecursionError):
            given = json.loads(self._about.read_bytes())
            if isinstance(given, dict):
                about = {key: value for key, value in given.items() if isinstance(value, str)}
        try:
            fetched = write_time(read_time(about["fetched_at"]))
        except (KeyError, ValueError, OverflowError):
            with contextlib.suppress(OSError):
                fetched = write_time(datetime.fromtimestamp(int(self._body.stat().st_mtime), UTC))
                return Copy(body, fetched)
            return None
        return Copy(body, fetched, about.get("etag", ""), about.get("last_modified", ""))

    def save(self, copy: Copy, *, same: bool = False) -> None:
        """Keeps the copy; the text before what is known about it, so that they can't be mistaken for one another after
        a crash. ``same``: the text is there already and was found current. Raises OSError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = {"fetched_at": copy.fetched_at, "etag": copy.etag, "last_modified": copy.last_modified}
        if not same:
            with contextlib.suppress(FileNotFoundError):
                self._about.unlink()
            _write(self._body, copy.body)
        _write(self._about, json.dumps(about).encode())


def address(url: str) -> str:
    """``webcal://`` is https by another name."""
    scheme, separator, rest = url.strip().partition("://")
    return f"https://{rest}" if separator and scheme.lower() in ("webcal", "webcals") else url.strip()


async def fetch(url: str, copy: Copy | None, timeout: float) -> Fetched:
    """Asks for the calendar. Raises Unreachable, TimeoutError; neither holds the address."""
    headers = {"Accept": "text/calendar, */*;q=0.5"}
    if copy is not None and copy.etag:
        headers["If-None-Match"] = copy.etag
    elif copy is not None and copy.last_modified:
        headers["If-Modified-Since"] = copy.last_modified
    url = address(url)
    if not url.lower().startswith(("http://", "https://")):
        raise _http.Unreachable("the address must begin with http://, https:// or webcal://")
    async with _http.client(timeout, url=url) as client:
        answer = await _http.get(client, url, headers=headers, limit=BYTES, redirects=_REDIRECTS)
    if answer.status == 304 and copy is not None:
        return Fetched(None)
    if answer.status != 200:
        raise _http.Unreachable(f"HTTP {answer.status}")
    return Fetched(answer.body, answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", ""))


def _write(path: Path, body: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
