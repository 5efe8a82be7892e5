"""Which engine: the first endpoint that is set, with no falling through when it is dead (briefing.md, "Docker")."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SOCKET = "/var/run/docker.sock"
PODMAN_SOCKET = "/run/podman/podman.sock"


class NoEndpoint(Exception):
    """There is no endpoint that could be asked; ``str()`` says why."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``url`` for httpx, ``socket`` the path for a Unix socket; ``shown`` names it with where it comes from."""

    url: str
    socket: str | None
    shown: str


def find(configured: str, environ: Mapping[str, str], *, socket: str = SOCKET) -> Endpoint:
    """The engine's endpoint. Raises NoEndpoint."""
    if configured:
        return _read(configured, "[docker] host")
    if host := environ.get("DOCKER_HOST"):
        return _read(host, "DOCKER_HOST")
    if context := _current_context(environ):
        return _read(_host_of(context, environ), f"context {context}")
    candidates = [socket]
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        candidates += [f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock"]
    for candidate in (*candidates, PODMAN_SOCKET):
        if _there(candidate):
            return _read(f"unix://{candidate}", "")
    raise NoEndpoint(f"not running: no engine's socket was found ({socket} and others)")


def _read(host: str, origin: str) -> Endpoint:
    scheme, separator, rest = host.partition("://")
    if not separator:
        scheme, rest = ("unix", host) if host.startswith("/") else ("tcp", host)
    named = f" ({origin})" if origin else ""
    match scheme:
        case "unix":
            path = rest if rest.startswith("/") else f"/{rest}"
            return Endpoint("http://engine", path, f"unix://{path}{named}")
        case "tcp" | "http":
            rest = rest.rstrip("/")
            return Endpoint(f"http://{rest}", None, f"{scheme}://{rest.rpartition('@')[2]}{named}")
    raise NoEndpoint(f"{scheme}:// is not supported{named}")


def _docker_folder(environ: Mapping[str, str]) -> Path:
    if folder := environ.get("DOCKER_CONFIG"):
        return Path(folder)
    return Path(environ.get("HOME") or "~").expanduser() / ".docker"


def _current_context(environ: Mapping[str, str]) -> str:
    """The context in use, or an empty text for docker's own default."""
    name = environ.get("DOCKER_CONTEXT")
    if not name:
        try:
            settings = json.loads((_docker_folder(environ) / "config.json").read_bytes())
            name = settings.get("currentContext") if isinstance(settings, dict) else None
        except FileNotFoundError:
            return ""
        except (OSError, ValueError, RecursionError) as error:
            if isinstance(error, OSError) and not isinstance(error, PermissionError):
                return ""
            raise NoEndpoint("docker's config.json can't be read") from None
    return name if isinstance(name, str) and name != "default" else ""


def _host_of(context: str, environ: Mapping[str, str]) -> str:
    digest = hashlib.sha256(context.encode("utf-8", "surrogateescape")).hexdigest()
    try:
        meta = json.loads((_docker_folder(environ) / "contexts" / "meta" / digest / "meta.json").read_bytes())
        host = meta["Endpoints"]["docker"]["Host"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise NoEndpoint(f"the current context {context} can't be read") from None
    if not isinstance(host, str) or not host:
        raise NoEndpoint(f"the current context {context} names no engine")
    return host


def _there(path: str) -> bool:
    """Whether there is something at ``path``; where we may not look, there is."""
    try:
        os.stat(path)  # noqa: PTH116 - Path.exists() hides a lack of permission
    except PermissionError:
        return True
    except OSError:
        return False
    return True
