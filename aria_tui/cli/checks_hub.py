"""What ``aria doctor`` looks at outside: the Hub from name to contract, and each source of the briefing."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aria_tui import paths
from aria_tui.cli.checks import Check, ok, problem, warning
from aria_tui.errors import AriaError
from aria_tui.locale import _
from aria_tui.wording import why

if TYPE_CHECKING:
    from aria_tui.config import Config, HubConfig
    from aria_tui.hub.contract import Meta
    from aria_tui.models import SectionState

PATIENCE = 5.0
SKEW = 120
"""Seconds that this machine's clock and the Hub's may differ without a word."""


async def hub(config: Config) -> AsyncIterator[Check]:
    """The Hub: its name, the way there, who answers, the token, the clocks, the contract."""
    if not config.hub.url:
        yield await _embedded()
        return
    from aria_tui.hub.client import HubClient, resolve_token

    try:
        token = await resolve_token(config.hub)
        client = HubClient(config.hub, token=token)
    except AriaError as error:
        yield problem("hub", str(error))
        return
    async for check in _way(config.hub):
        yield check
    try:
        found = await client.probe(PATIENCE)
    finally:
        await client.aclose()
    pace = f" {found.latency_ms:.0f} ms" if found.latency_ms is not None else ""
    if found.state in ("online", "slow"):
        yield ok("hub", f"{config.hub.url}: {found.state}{pace}")
    else:
        state = found.state.replace("_", " ")
        yield problem("hub", f"{config.hub.url}: {state}: {why(found.reason)}", _ways_out(found.state))
    if found.may_send and found.meta is not None:
        for check in _contract(found.meta):
            yield check
    elif found.may_send:
        yield ok("contract", _("a plain Hub: one write at a time, keys on your word"))


def _ways_out(state: str) -> str:
    return {
        "refused": _("make a token at the Hub (aria hub token create) and put it into the configuration"),
        "not_the_hub": _("is this the Hub's address? a login page of a network answers so too"),
        "offline": _("what is written waits in the queue until it is back"),
    }.get(state, "")


async def _embedded() -> Check:
    """The embedded Hub's file; it is not made for this."""
    import sqlite3

    file = paths.home() / "hub.db"
    if not file.exists():
        return ok("hub", _("embedded, on this machine; nothing in it yet"))

    def look() -> str:
        connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            return str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
        finally:
            connection.close()

    try:
        verdict = await asyncio.to_thread(look)
    except sqlite3.Error as error:
        verdict = str(error)
    if verdict == "ok":
        return ok("hub", _("embedded: {file}, sound").format(file=file))
    return problem("hub", f"{file}: {verdict}", _("restore it from a copy: aria hub restore"))


async def _way(config: HubConfig) -> AsyncIterator[Check]:
    """Proxy and name, which a single "can't connect" would not tell apart."""
    from aria_tui.hub import _proxy

    parts = urlsplit(config.url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        proxy = _proxy.choose(parts)
    except _proxy.ProxyProblem as error:
        yield problem("proxy", str(error), _("set NO_PROXY for the Hub's host, or mend the proxy's address"))
        return
    if proxy:
        way = urlsplit(proxy)
        yield ok(
            "proxy", _("through {proxy}").format(proxy=f"{way.scheme}://{way.hostname}:{way.port or ''}".rstrip(":"))
        )
        return
    try:
        async with asyncio.timeout(PATIENCE):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        yield problem("name", f"{host}: {error}", _("is the name right, and is this machine on the network?"))
    except TimeoutError:
        yield problem("name", _("{host}: no answer").format(host=host), _("is this machine on the network?"))
    else:
        yield ok("name", f"{host}: {', '.join(dict.fromkeys(str(entry[4][0]) for entry in found))}")


def _contract(meta: Meta) -> list[Check]:
    from aria_tui.hub.contract import OPERATIONS, read_time

    found = [ok("token", _("accepted, account {account}").format(account=meta.account))]
    unknown = [name for name, version in OPERATIONS.items() if meta.operations.get(name, 0) < version]
    if unknown:
        words = _("the Hub does not know: {names}").format(names=", ".join(unknown))
        found.append(warning("contract", words, _("those writes are held until it is updated")))
    else:
        found.append(ok("contract", f"v{meta.api}"))
    try:
        skew = (datetime.now(UTC) - read_time(meta.server_time)).total_seconds()
    except (ValueError, OverflowError):
        return found
    if abs(skew) > SKEW:
        words = _("this machine's clock is {seconds:.0f} s {way} the Hub's").format(
            seconds=abs(skew), way=_("ahead of") if skew > 0 else _("behind")
        )
        found.append(warning("clock", words, _("set the clock, best by NTP")))
    else:
        found.append(ok("clock", _("within {seconds} s of the Hub's").format(seconds=max(1, round(abs(skew))))))
    return found


async def sources(config: Config) -> list[Check]:
    """Each source of the briefing, all at once, under its guards."""
    from aria_tui.sources import check_sources

    return [_source(*found, config) for found in await check_sources(config, paths.home())]


def _source(name: str, state: SectionState, text: str, config: Config) -> Check:
    match state:
        case "ok":
            return ok(f"source {name}", text)
        case "not_configured":
            how = text.removeprefix("not configured").lstrip(": ")
            return ok(f"source {name}", _("not configured: {how}").format(how=how) if how else _("not configured"))
        case "unavailable" if name == "docker" and not (config.docker.host or os.environ.get("DOCKER_HOST")):
            return warning(f"source {name}", text, _("without one: [docker] enabled = false"))
        case "unavailable":
            return problem(f"source {name}", text, _("the other sections go on without it"))
        case _:
            return warning(f"source {name}", f"{state}: {text}")
