"""Which proxy, if any, leads to the Hub: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY (or the system's settings)."""

from __future__ import annotations

import contextlib
import ipaddress
from urllib.parse import SplitResult, urlsplit

from aria_tui.hub import _reasons as reasons
from aria_tui.hub._address import is_this_machine


class ProxyProblem(Exception):
    """The environment names a proxy that can't be used; ``str()`` is the reason. Never holds its password."""


def choose(hub: SplitResult) -> str:
    """The proxy's URL for this Hub, or empty for a direct connection. This machine is always reached directly.

    Raises ProxyProblem: silently going round a proxy would send the token a way that the user did not mean.
    """
    import urllib.request

    host = hub.hostname or ""
    if is_this_machine(host):
        return ""
    proxies = urllib.request.getproxies()
    url = proxies.get(hub.scheme) or proxies.get("all") or ""
    port = hub.port or (443 if hub.scheme == "https" else 80)
    if not url or excepted(host, port, proxies.get("no", "")) or _system_bypass(host):
        return ""
    return _checked(url if "://" in url else f"http://{url}")


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        fine = bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        raise ProxyProblem(reasons.PROXY_ADDRESS)
    if parts.scheme in ("socks5", "socks5h"):
        import importlib.util

        if importlib.util.find_spec("socksio") is None:
            raise ProxyProblem(reasons.PROXY_SOCKS)
    elif parts.scheme not in ("http", "https"):
        raise ProxyProblem(reasons.PROXY_SCHEME.format(scheme=parts.scheme[:20]))
    return url


def excepted(host: str, port: int, no_proxy: str) -> bool:
    """Whether NO_PROXY names the host: ``*``, a name (with its subdomains), an address, a network, any with a port.

    An entry that makes no sense names nothing.
    """
    host = host.removesuffix(".").lower()
    return any(_names(entry.strip().lower(), host, port) for entry in no_proxy.split(",") if entry.strip())


def _names(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    with contextlib.suppress(ValueError):  # one of the two is a name
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdecimal() and (":" not in name or name.startswith("[")):
        return int(wanted) == port and _names(name, host, port)
    suffix = entry.removeprefix("*").strip(".")
    return bool(suffix) and (host == suffix or host.endswith(f".{suffix}"))


def _system_bypass(host: str) -> bool:
    """macOS and Windows keep exceptions of their own; elsewhere this looks at NO_PROXY once more."""
    import sys
    import urllib.request

    if sys.platform not in ("darwin", "win32"):
        return False
    return bool(urllib.request.proxy_bypass(host))
