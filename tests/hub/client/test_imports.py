"""What loading the client costs, seen from outside."""

from __future__ import annotations

import subprocess
import sys


def loaded(program: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_httpx_waits_for_the_first_request() -> None:
    program = """
import aria_tui.hub.client as client
from aria_tui.config import HubConfig
client.HubClient(HubConfig(url="https://hub.example.com"), token="t")
"""
    assert not loaded(program) & {"httpx", "httpcore", "h11", "anyio", "certifi", "keyring", "textual", "rich"}


def test_a_request_loads_no_screen_and_no_server() -> None:
    program = """
import asyncio
from aria_tui.config import HubConfig
from aria_tui.hub.client import HubClient
asyncio.run(HubClient(HubConfig(url="http://127.0.0.1:1")).probe(5))
"""
    modules = loaded(program)
    assert "httpx" in modules
    assert not modules & {
        "rich",
        "click",
        "pygments",
        "textual",
        "starlette",
        "uvicorn",
        "aria_tui.hub.server",
    }


def test_httpx_is_whole_after_it() -> None:
    program = """
from aria_tui.hub import _httpx
_httpx.load()
_httpx.load()
import httpx
assert callable(httpx.main)
import httpx._main
"""
    assert "httpx._main" in loaded(program)
