"""Where the token comes from, and the headers that carry it. Nothing here ever shows it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal

from aria_tui.config import HubConfig
from aria_tui.errors import ConfigError

TOKEN_COMMAND_SECONDS = 15.0
KEYRING_SERVICE = "aria-tui"
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, section 5.6.2
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
_OURS = {
    "host", "content-length", "transfer-encoding", "connection", "content-type", "accept-encoding",
    "idempotency-key",
}  # fmt: skip


class TokenUnavailable(ConfigError):
    """The token can't be had: ``token_command`` failed, took too long or gave nothing."""


def auth_headers(config: HubConfig, token: str) -> dict[str, str]:
    """The configured headers and the token's. Raises ConfigError, without its text, for a token or value that can't
    stand in a header, and for a header that belongs to the protocol."""
    headers: dict[str, str] = {}
    for name, value in config.headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise ConfigError(f"[hub.headers]: {name[:60]!r} can't be used as a header's name")
        if value and not _VALUE.fullmatch(value):
            raise ConfigError(f"[hub.headers] {name[:60]}: the value must be plain ASCII on one line")
        headers[name.lower()] = value
    if not _NAME.fullmatch(config.token_header) or config.token_header.lower() in _OURS:
        raise ConfigError(f"[hub] token_header: {config.token_header[:60]!r} can't be used as a header's name")
    if token:
        if not re.fullmatch(r"[\x21-\x7e]+", token):
            raise ConfigError("the Hub's token holds a character that can't stand in a header", hint="copy it again")
        bearer = config.token_header.lower() == "authorization"
        headers[config.token_header.lower()] = f"Bearer {token}" if bearer else token
    return headers


async def resolve_token(config: HubConfig) -> str:
    """The token: the configured one, else the first line that ``token_command`` prints (within 15 s), else the
    keyring's entry for the address where the package ``keyring`` is installed, else empty.

    Raises TokenUnavailable.
    """
    if config.token.strip():
        return config.token.strip()
    if config.token_command:
        return await _from_command(config.token_command)
    return await _from_keyring(config.url) if config.url else ""


async def _from_command(command: str) -> str:
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(TOKEN_COMMAND_SECONDS):
            out, errors = await process.communicate()
    except TimeoutError:
        raise TokenUnavailable(f"token_command gave nothing in {TOKEN_COMMAND_SECONDS:g} s") from None
    finally:
        await _end(process)
    if process.returncode:
        words = errors.decode(errors="replace").strip().splitlines()
        why = re.sub(r"[^\x20-\x7e\u00a0-\uffff]", "?", words[-1])[:200] if words else ""
        raise TokenUnavailable(f"token_command failed (exit {process.returncode}){f': {why}' if why else ''}")
    lines = out.decode(errors="replace").strip().splitlines()
    if not lines:
        raise TokenUnavailable("token_command printed nothing")
    return lines[0].strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the command with all that it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _from_keyring(url: str) -> str:
    """A keyring may ask its user something, or hang: it gets as long as a command."""
    from importlib.util import find_spec

    if find_spec("keyring") is None:
        return ""
    from aria_tui.hub import _background

    try:
        async with asyncio.timeout(TOKEN_COMMAND_SECONDS):
            return (await _background.call(lambda: _read_keyring(url))) or ""
    except TimeoutError:
        raise TokenUnavailable(f"the keyring didn't answer in {TOKEN_COMMAND_SECONDS:g} s") from None


def _read_keyring(url: str) -> str | None:
    import keyring
    import keyring.errors

    try:
        return keyring.get_password(KEYRING_SERVICE, url.rstrip("/"))
    except keyring.errors.NoKeyringError:
        return None
    except keyring.errors.KeyringError as error:
        raise TokenUnavailable(f"the keyring can't be read ({type(error).__name__})") from None
