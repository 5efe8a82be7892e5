"""Clients that are closed after each test, and certificates of every kind."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from aria_tui.config import HubConfig
from aria_tui.hub.client import HubClient
from tests.hub.client.servers import HUB_ID

TOKEN = "secret-token-0123456789abcdef"
Connect = Callable[..., HubClient]


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Makes a client for an address, which expects the Hub ``hub-a`` unless told otherwise."""
    made: list[HubClient] = []

    def make(
        url: str, *, expected: str | None = HUB_ID, plain: bool = False, token: str = TOKEN, **config: Any
    ) -> HubClient:
        client = HubClient(HubConfig(url=url, **config), token=token)
        client.expected_hub_id, client.plain = (None if plain else expected), plain
        made.append(client)
        return client

    yield make
    for client in made:
        await client.aclose()


class Certificates:
    """A certificate authority and servers' contexts: good, of another name, expired, self-signed."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self.authority = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(self.authority)
        self._folder = folder

    def good(self, *names: str) -> ssl.SSLContext:
        return self._context(self._ca.issue_cert(*(names or ("127.0.0.1", "localhost"))))

    def expired(self) -> ssl.SSLContext:
        then = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
        return self._context(
            self._ca.issue_cert("127.0.0.1", "localhost", not_before=then, not_after=then + datetime.timedelta(days=9))
        )

    def not_yet(self) -> ssl.SSLContext:
        then = datetime.datetime(2090, 1, 1, tzinfo=datetime.UTC)
        return self._context(
            self._ca.issue_cert("127.0.0.1", "localhost", not_before=then, not_after=then + datetime.timedelta(days=9))
        )

    def unknown_issuer(self) -> ssl.SSLContext:
        return self._context(trustme.CA().issue_cert("127.0.0.1", "localhost"))

    def self_signed(self) -> ssl.SSLContext:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
        now = datetime.datetime.now(datetime.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(key, hashes.SHA256())
        )
        pem = self._folder / "self.pem"
        pem.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + made.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context

    @staticmethod
    def _context(certificate: trustme.LeafCert) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        return context


@pytest.fixture
def certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Certificates]:
    """The authority is trusted the way a user would do it: SSL_CERT_FILE."""
    made = Certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    yield made
