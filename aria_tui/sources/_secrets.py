"""What must never be seen: the configuration's secrets, and a door that takes them out of any text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from aria_tui.config import CommandSecret, Config
from aria_tui.sources._process import run

HIDDEN = "***"
_LIMIT = 64 * 1024
_TELLING = re.compile(r"token|secret|passw|key|url|auth|credential", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^\s/@\"'<>]*@)?(?P<host>[^\s/?#\"'<>]+)(?P<rest>[^\s\"'<>]*)", re.I
)


class SecretError(Exception):
    """A secret's command did not give one; ``str()`` says why and holds neither the command's output nor the secret."""


def secrets_of(config: Config) -> list[str]:
    """Texts of the configuration that no output may hold, longest first."""
    found = {config.hub.token, config.finance.token, *config.hub.headers.values()}
    for source in config.calendar.sources:
        if isinstance(source.url, str):
            found |= _parts_of(source.url)
    for table in config.sources.values():
        found |= _telling(table)
    return sorted((text for text in found if len(text) >= 4), key=len, reverse=True)


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without those secrets, and with every address in it cut down to scheme and host."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return _ADDRESS.sub(_host_only, text)


async def resolve(secret: str | CommandSecret, timeout: float) -> str:
    """The secret itself, by running its command where it is one: its standard output's first line.

    Raises SecretError. The command's own error output is not repeated: it might hold what must not be shown.
    """
    if isinstance(secret, str):
        return secret
    try:
        if not (words := shlex.split(secret.command)):
            raise SecretError("the secret's command is empty")
        status, output, _ = await run(words, timeout)
    except TimeoutError:
        raise SecretError(f"the secret's command gave no answer in {timeout:.2g} s") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise SecretError(f"the secret's command can't be run: {why}") from None
    if status:
        raise SecretError(f"the secret's command failed with exit status {status}")
    text = output[:_LIMIT].decode("utf-8", "replace").strip()
    if not text:
        raise SecretError("the secret's command gave nothing")
    return text.splitlines()[0].strip()


def _host_only(found: re.Match[str]) -> str:
    rest = "/…" if found["rest"] not in ("", "/") else ""
    return f"{found['scheme']}://{found['host']}{rest}"


def _parts_of(url: str) -> set[str]:
    """An address, and its path and query, which libraries like to name apart from the host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return {url, url.rpartition("/")[2]}
    found = {url, parts.path, parts.query, parts.password or ""}
    found |= {f"{parts.path}?{parts.query}"} if parts.query else set()
    return {text for text in found if len(text) >= 8}


def _telling(table: Mapping[str, Any]) -> set[str]:
    """Values of a user's own source that its key marks as secret."""
    found: set[str] = set()
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _telling(value)
        elif isinstance(value, str) and _TELLING.search(key):
            found.add(value)
    return found
