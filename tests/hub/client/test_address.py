"""Which addresses may be configured, and when a token may go over them."""

from __future__ import annotations

import pytest

from aria_tui.config import HubConfig
from aria_tui.errors import ConfigError
from aria_tui.hub.client import HubClient, check_url, is_this_machine


@pytest.mark.parametrize(
    "url",
    [
        "https://hub.example.com", "https://hub.example.com:8443/aria/", "https://[2001:db8::1]:8443", "https://192.0.2.1",
        "http://localhost:8000", "http://LOCALHOST.", "http://127.0.0.1", "http://127.255.0.3:1", "http://[::1]:8000",
        "HTTPS://Hub.Example.com", "",
    ],
)  # fmt: skip
def test_fine_with_a_token(url: str) -> None:
    check_url(HubConfig(url=url, token="t"))


@pytest.mark.parametrize(
    "url",
    [
        "hub.example.com", "ftp://hub.example.com", "file:///etc/passwd", "https://", "https:///x", "https://h:99999",
        "https://h:port", "https://[::1", "https://h/x?y=1", "https://h/#x", "https://h x", "https://h\n", "https://h\\x",
        "https://h:0", "javascript:alert(1)", "http://:80", "//h", "unix:///x",
    ],
)  # fmt: skip
def test_no_address_of_a_hub(url: str) -> None:
    with pytest.raises(ConfigError, match="the Hub's url"):
        check_url(HubConfig(url=url))


@pytest.mark.parametrize("url", ["https://me:pass-word@hub.example.com", "https://pass-word@hub.example.com"])
def test_a_password_in_the_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_url(HubConfig(url=url))
    assert "pass-word" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://hub.example.com", "http://192.168.1.2", "http://0.0.0.0", "http://[::]", "http://localhost.example.com",
        "http://127.0.0.1.example.com", "http://127.1", "http://2130706433", "http://0x7f000001", "http://[2001:db8::1]",
        "HTTP://hub.example.com",
    ],
)  # fmt: skip
def test_a_token_over_plain_http_stays_on_this_machine(url: str) -> None:
    for config in (
        HubConfig(url=url, token="t0ken"),
        HubConfig(url=url, token_command="pass show aria"),
        HubConfig(url=url, headers={"X-API-Key": "t0ken"}),
    ):
        with pytest.raises(ConfigError, match="over plain http") as raised:
            check_url(config)
        assert "t0ken" not in str(raised.value)
    with pytest.raises(ConfigError, match="over plain http"):
        check_url(HubConfig(url=url), "t0ken")
    with pytest.raises(ConfigError, match="over plain http"):
        HubClient(HubConfig(url=url), token="t0ken")
    check_url(HubConfig(url=url))
    check_url(HubConfig(url=url, token="t0ken", allow_http=True))


def test_no_address_and_no_embedded_hub() -> None:
    with pytest.raises(ConfigError, match="no address"):
        HubClient(HubConfig())


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True),
        ("LocalHost.", True),
        ("0.0.0.0", False), ("::", False), ("128.0.0.1", False), ("mylocalhost", False), ("", False), ("127.1", False),
    ],
)  # fmt: skip
def test_this_machine(host: str, here: bool) -> None:
    assert is_this_machine(host) is here
