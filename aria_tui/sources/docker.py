"""Docker: what runs and what is wrong, by the engine's HTTP API over its socket; read only."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aria_tui.config import Config
from aria_tui.models import Alert, Section
from aria_tui.sources import Moment, _http
from aria_tui.sources._docker_endpoint import Endpoint, NoEndpoint, find

if TYPE_CHECKING:
    import httpx

ANSWER_SECONDS = 2.5
_EXIT_CODE = re.compile(r"Exited \((-?\d+)\)")
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}\Z", re.ASCII)


class EngineUnavailable(Exception):
    """The engine gave no list of containers; ``str()`` says why."""


class DockerSource:
    name = "docker"

    def __init__(self, config: Config, *, home: Path, environ: Mapping[str, str] | None = None) -> None:
        self._config = config.docker
        self._environ = os.environ if environ is None else environ

    async def gather(self, when: Moment, deadline: float) -> Section:
        if not self._config.enabled:
            return Section(name=self.name, state="not_configured", reason="set [docker] enabled = true")
        try:
            endpoint, containers = await self._list(deadline)
        except EngineUnavailable as error:
            return Section(name=self.name, state="unavailable", reason=str(error))
        problems = [{"name": c["name"], "problem": c["problem"]} for c in containers if c["problem"]]
        return Section(
            name=self.name,
            state="ok",
            data={
                "engine": endpoint.shown,
                "running": sum(c["state"] == "running" for c in containers),
                "problems": problems,
                "total": len(containers),
            },
            alerts=tuple(_alert(problem) for problem in problems),
        )

    async def containers(self, deadline: float = ANSWER_SECONDS) -> dict[str, Any]:
        """Every container with its id, name, image, state, status text and problem, and the engine's name.

        Raises EngineUnavailable.
        """
        endpoint, containers = await self._list(deadline)
        return {"engine": endpoint.shown, "containers": containers}

    async def _list(self, deadline: float) -> tuple[Endpoint, list[dict[str, Any]]]:
        try:
            endpoint = find(self._config.host, self._environ)
        except NoEndpoint as error:
            raise EngineUnavailable(str(error)) from None
        wait = min(deadline, ANSWER_SECONDS)
        try:
            async with asyncio.timeout(wait):
                return endpoint, await self._ask(endpoint, wait)
        except TimeoutError:
            raise EngineUnavailable(f"no answer: {endpoint.shown}") from None
        except _http.Unreachable as error:
            raise EngineUnavailable(f"unexpected answer: {endpoint.shown}: {error}") from None

    async def _ask(self, endpoint: Endpoint, wait: float) -> list[dict[str, Any]]:
        import httpx

        transport = None
        if endpoint.socket is not None:
            await _check_socket(endpoint.socket)
            transport = httpx.AsyncHTTPTransport(uds=endpoint.socket, trust_env=False, verify=False)
        async with _http.client(wait, url=endpoint.url, transport=transport, trust_env=False) as client:
            try:
                ping = await _http.get(client, f"{endpoint.url}/_ping", limit=64 * 1024)
            except _http.Unreachable as error:
                if endpoint.socket is None:
                    raise EngineUnavailable(f"not running: {endpoint.shown}: {error}") from None
                raise
            if ping.status != 200:
                raise _http.Unreachable(f"HTTP {ping.status}")
            return await _containers(client, endpoint.url, ping.headers)


def _alert(problem: Mapping[str, str]) -> Alert:
    return Alert(level="warning", source="docker", text=f"{problem['name']}: {problem['problem']}")


async def _check_socket(path: str) -> None:
    """Connects once, for the operating system's own words: they tell a missing socket from a forbidden one."""
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except PermissionError:
        raise EngineUnavailable(f"permission denied: {path}") from None
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        raise EngineUnavailable(f"not running: {path}") from None
    except OSError as error:
        reason = "not a socket" if error.errno in (errno.ENOTSOCK, errno.EPROTOTYPE) else error.strerror or str(error)
        raise EngineUnavailable(f"not running: {path}: {reason}") from None
    writer.close()


async def _containers(client: httpx.AsyncClient, url: str, ping: Mapping[str, str]) -> list[dict[str, Any]]:
    version = ping.get("Api-Version", "")
    base = f"{url}/v{version}" if _VERSION.match(version) else url
    try:
        listed = await _http.get_json(client, f"{base}/containers/json?all=1")
    except _http.Unreachable as error:
        if base == url or str(error) != "HTTP 404":
            raise
        base = url  # what forwards a socket may know no versions
        listed = await _http.get_json(client, f"{base}/containers/json?all=1")
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise _http.Unreachable("not a list of containers")
    unhealthy: frozenset[str] = frozenset()
    if _is_podman(ping) and not any(_health(item) for item in listed):
        # Podman's list bears no health, but it can be asked for those that are unhealthy.
        query = "filters=%7B%22health%22%3A%5B%22unhealthy%22%5D%7D"
        asked = await _http.get_json(client, f"{base}/containers/json?all=1&{query}")
        if isinstance(asked, list):
            unhealthy = frozenset(str(item.get("Id")) for item in asked if isinstance(item, dict))
    return [_container(item, unhealthy) for item in listed]


def _is_podman(ping: Mapping[str, str]) -> bool:
    return "Libpod-API-Version" in ping or "libpod" in ping.get("Server", "").lower()


def _text(value: Any) -> str:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else ""


def _health(item: Mapping[str, Any]) -> str:
    """``healthy``, ``unhealthy``, ``starting`` or an empty text: by ``Health.Status`` (API 1.52 on), else by the words
    in the status text."""
    health = item.get("Health")
    if isinstance(health, dict) and (status := _text(health.get("Status"))):
        return "" if status == "none" else status
    status = _text(item.get("Status"))
    for words, meaning in (("(healthy)", "healthy"), ("(unhealthy)", "unhealthy"), ("(health: starting)", "starting")):
        if words in status:
            return meaning
    return ""


def _container(item: Mapping[str, Any], unhealthy: frozenset[str]) -> dict[str, Any]:
    identity = _text(item.get("Id"))
    names = item.get("Names")
    first = next(filter(None, map(_text, names)), "") if isinstance(names, list) else ""
    status = _text(item.get("Status"))
    state = _text(item.get("State")).lower() or _state_from(status)
    health = "unhealthy" if identity in unhealthy and state == "running" else _health(item)
    return {
        "id": identity[:12],
        "name": first.removeprefix("/") or identity[:12] or "?",
        "image": _text(item.get("Image")),
        "state": state,
        "status": status,
        "problem": _problem(state, status, health),
    }


def _state_from(status: str) -> str:
    """The state where an old engine's list has the status text alone."""
    first = status.partition(" ")[0].lower()
    if first == "up":
        return "paused" if "(paused)" in status.lower() else "running"
    return first


def _problem(state: str, status: str, health: str) -> str | None:
    if state == "running":
        return "unhealthy" if health == "unhealthy" else None
    if state in ("restarting", "dead"):
        return state
    if state in ("exited", "stopped"):
        if code := _EXIT_CODE.match(status):
            return f"exited {int(code[1])}" if int(code[1]) else None
        return "exited, code unknown"
    return None
