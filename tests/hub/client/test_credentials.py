"""Tokens: where they come from, the headers that carry them, and that nobody prints them."""

from __future__ import annotations

import asyncio
import logging
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from aria_tui.config import HubConfig
from aria_tui.errors import ConfigError
from aria_tui.hub import _credentials
from aria_tui.hub.client import HubClient, TokenUnavailable, resolve_token
from tests.hub.client.conftest import TOKEN, Connect
from tests.hub.client.servers import hub, serving

URL = "https://hub.example.com"


@pytest.mark.parametrize("header", ["Authorization", "authorization", "AUTHORIZATION"])
async def test_bearer(connect: Connect, header: str) -> None:
    async with serving(hub) as server:
        await connect(server.url, token_header=header).probe(5)
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


async def test_another_header_carries_the_bare_token_and_extra_headers_go_along(connect: Connect) -> None:
    async with serving(hub) as server:
        client = connect(server.url, token_header="X-API-Key", headers={"X-Team": "me", "Authorization": "Basic eDp5"})
        await client.probe(5)
        await client.send_one("create_task", "op-1", b"{}", timeout=5)
    for got in server.requests:
        assert got.headers["x-api-key"] == TOKEN
        assert got.headers["x-team"] == "me"
        assert got.headers["authorization"] == "Basic eDp5"


async def test_the_token_wins_over_a_header_of_its_name(connect: Connect) -> None:
    async with serving(hub) as server:
        await connect(server.url, headers={"authorization": "Basic eDp5"}).probe(5)
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


async def test_without_a_token_there_is_no_header(connect: Connect) -> None:
    async with serving(hub) as server:
        await connect(server.url, token="").probe(5)
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    "token", ["sécret", "sec ret", "secret\n", "sec\r\nX: y", "secret\x00", "sec\u200bret", "\tsecret"]
)
@pytest.mark.parametrize("header", ["Authorization", "X-API-Key"])
def test_a_token_that_can_be_no_header(token: str, header: str) -> None:
    with pytest.raises(ConfigError) as raised:
        HubClient(HubConfig(url=URL, token_header=header), token=token)
    assert "token" in str(raised.value)
    assert "sec" not in str(raised.value)


@pytest.mark.parametrize(
    "config",
    [
        {"headers": {"X-A": "sec\nret"}}, {"headers": {"X-A": "sécret"}}, {"headers": {"X A": "value"}},
        {"headers": {"": "value"}}, {"headers": {"X-A:": "value"}}, {"headers": {"Content-Length": "0"}},
        {"headers": {"Idempotency-Key": "value"}}, {"headers": {"transfer-encoding": "chunked"}},
        {"headers": {"Host": "value"}}, {"token_header": "X Key"}, {"token_header": ""},
        {"token_header": "Content-Type"},
    ],
)  # fmt: skip
def test_headers_that_can_not_be(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as raised:
        HubClient(HubConfig(url=URL, **config), token="t")
    assert "sec" not in str(raised.value)


async def test_no_log_line_holds_the_token(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(hub) as server:
        client = connect(server.url)
        await client.probe(5)
        await client.send_one("create_task", "op-1", b"{}", timeout=5)
    await connect("http://127.0.0.1:1").probe(5)
    assert caplog.records
    assert TOKEN not in caplog.text


# Where it comes from


async def test_the_configured_one() -> None:
    assert await resolve_token(HubConfig(url=URL, token=" abc\n", token_command="exit 1")) == "abc"


@pytest.mark.parametrize(
    ("command", "token"),
    [
        ("echo abc", "abc"),
        ("printf abc", "abc"),
        ("printf '\\n abc \\r\\nlogin: me\\n'", "abc"),
        ("echo noise >&2; echo abc | cat", "abc"),
        ("cat; echo abc", "abc"),
    ],
)
async def test_the_commands_first_line(command: str, token: str) -> None:
    assert await resolve_token(HubConfig(url=URL, token_command=command)) == token


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("exit 3", "exit 3"),
        ("echo no such entry >&2; exit 1", "no such entry"),
        ("printf '\\033[2Jbad' >&2; exit 1", r"\?\[2Jbad"),
        ("no-such-command-at-all", "exit 127"),
        ("true", "printed nothing"),
        ("echo; echo", "printed nothing"),
        ("echo secret; exit 1", "exit 1"),
    ],
)
async def test_a_command_that_fails(command: str, words: str) -> None:
    with pytest.raises(TokenUnavailable, match=words) as raised:
        await resolve_token(HubConfig(url=URL, token_command=command))
    assert "secret" not in str(raised.value)
    assert isinstance(raised.value, ConfigError)


async def test_a_command_that_hangs_is_ended_with_its_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_credentials, "TOKEN_COMMAND_SECONDS", 1.0)
    child = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(600)"
    command = shlex.join([sys.executable, "-c", child, str(tmp_path / "pid")]) + " & wait"
    with pytest.raises(TokenUnavailable, match="in 1 s"):
        await resolve_token(HubConfig(url=URL, token_command=command))
    stat = Path("/proc") / (tmp_path / "pid").read_text() / "stat"

    def ended() -> bool:
        """Gone, or not yet collected by its new parent."""
        try:
            return ") Z" in stat.read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True

    async with asyncio.timeout(10):
        while not ended():
            await asyncio.sleep(0.01)


async def test_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    from keyring.backend import KeyringBackend

    class Memory(KeyringBackend):
        priority = 1  # type: ignore[assignment]
        kept = {("aria-tui", URL): "from the keyring"}

        def get_password(self, service: str, username: str) -> str | None:
            return self.kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            raise NotImplementedError

        def delete_password(self, service: str, username: str) -> None:
            raise NotImplementedError

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        assert await resolve_token(HubConfig(url=f"{URL}/")) == "from the keyring"
        assert await resolve_token(HubConfig(url="https://elsewhere.example.com")) == ""
    finally:
        keyring.set_keyring(before)


async def test_a_keyring_that_can_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    errors = pytest.importorskip("keyring.errors")

    def locked(*_: str) -> str:
        raise errors.KeyringLocked("secret")

    monkeypatch.setattr(keyring, "get_password", locked)
    with pytest.raises(TokenUnavailable, match="KeyringLocked") as raised:
        await resolve_token(HubConfig(url=URL))
    assert "secret" not in str(raised.value)


async def test_no_keyring_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    errors = pytest.importorskip("keyring.errors")

    def none(*_: str) -> str:
        raise errors.NoKeyringError("none")

    monkeypatch.setattr(keyring, "get_password", none)
    assert await resolve_token(HubConfig(url=URL)) == ""


async def test_the_embedded_hub_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await resolve_token(HubConfig()) == ""
