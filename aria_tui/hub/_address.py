"""The Hub's address: what may be written in ``[hub] url``, and what counts as this machine."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from aria_tui.config import HubConfig
from aria_tui.errors import ConfigError

_SECRET_HEADERS = {"authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token"}


def check_url(config: HubConfig, token: str = "") -> None:
    """Raises ConfigError for an address that can't be used, and for a secret that would go over plain http.

    ``token`` is the resolved one; without it the configured ones are looked at. An empty address is the embedded Hub's
    and always fine.
    """
    if not config.url:
        return
    parts = parse(config.url)
    secret = token or config.token or config.token_command or any(n.lower() in _SECRET_HEADERS for n in config.headers)
    if parts.scheme == "http" and secret and not config.allow_http and not is_this_machine(parts.hostname or ""):
        raise ConfigError(
            f"the Hub's token would go over plain http to {parts.hostname}",
            hint="use https, or set allow_http = true in [hub] if the network is yours",
        )


def parse(url: str) -> SplitResult:
    """The address in parts. Raises ConfigError, which never quotes a password."""
    if re.search(r"[\x00-\x20\x7f\\]", url):
        raise ConfigError("the Hub's url holds a space, a backslash or a control character")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigError("the Hub's url can't be read", hint="write it as https://hub.example.com") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigError("the Hub's url holds a user name or password", hint="use [hub] token or token_command")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigError(f"the Hub's url {url[:100]!r} is not http:// or https:// with a host")
    if parts.query or parts.fragment:
        raise ConfigError("the Hub's url must have no ? or #", hint="write it as https://hub.example.com")
    return parts


def is_this_machine(host: str) -> bool:
    """localhost, 127.0.0.0/8 and ::1; other spellings of them are taken for another machine."""
    host = host.strip("[]").removesuffix(".").lower()
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown_target(location: str, base: str) -> str:
    """Where a redirect points, for a sentence: scheme, host and path; no user name, password, query, or odd
    character; at most 200 characters. Empty if it can't be read."""
    from urllib.parse import urljoin

    try:
        parts = urlsplit(urljoin(base, location.strip()))
        host = parts.hostname or ""
        if ":" in host:
            host = f"[{host}]"
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    if not parts.scheme or not host:
        return ""
    target = f"{parts.scheme}://{host}{port}{parts.path}"
    return re.sub(r"[^\x21-\x7e]", "?", target)[:200]
