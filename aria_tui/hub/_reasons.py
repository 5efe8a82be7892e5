"""Every reason that the client gives for a Hub that can't be used, as sentences; said in the user's language later.

Reasons travel in JSON, logs and the queue file, so they are made in English. A screen passes one through
``in_words`` when it draws it.
"""

from __future__ import annotations

from aria_tui.locale import N_
from aria_tui.locale.made import said

REFUSED = N_("connection refused")
NO_ROUTE = N_("no route to the host")
RESET = N_("connection lost")
CLOSED = N_("the connection was closed without an answer")
NO_NAME = N_("name not found")
NO_RESOLVER = N_("name not found (no name server answers)")
SILENT = N_("no answer in {seconds} s")
GAVE_UP = N_("no answer")
NOT_HTTP = N_("unexpected answer (not HTTP)")
NETWORK = N_("network error: {detail}")
EMBEDDED_FAILED = N_("the embedded Hub failed ({detail})")
BAD_ADDRESS = N_("the address can't be used")

TLS_SELF_SIGNED = N_("TLS: self-signed certificate")
TLS_SELF_SIGNED_ROOT = N_("TLS: self-signed certificate at the root of the chain")
TLS_OTHER_NAME = N_("TLS: certificate is for another name")
TLS_EXPIRED = N_("TLS: certificate expired")
TLS_NOT_YET = N_("TLS: certificate is not valid yet")
TLS_UNKNOWN_ISSUER = N_("TLS: certificate by an unknown authority")
TLS_NONE = N_("TLS: the server doesn't speak it")
TLS_OTHER = N_("TLS: {detail}")

PROXY_SCHEME = N_("proxy: the kind {scheme} isn't supported")
PROXY_SOCKS = N_("proxy: SOCKS needs the package socksio")
PROXY_ADDRESS = N_("proxy: its address can't be read")
PROXY_FAILED = N_("proxy: {detail}")
PROXY_SIGN_IN = N_("proxy: asks for a sign-in (HTTP 407)")

LOGIN_PAGE = N_("unexpected answer (login page?)")
LOGIN_PAGE_STATUS = N_("unexpected answer (login page?), HTTP {status}")
OTHER_HUB = N_("another Hub answers at this address")
REDIRECTED = N_("redirected to {target}")
GATEWAY = N_("a proxy says that the Hub is away (HTTP {status})")
UNAVAILABLE = N_("the Hub asks to wait (HTTP {status})")
SERVER_ERROR = N_("server error (HTTP {status})")
TOKEN_REFUSED = N_("token refused")
TOKEN_LACKS = N_("the token lacks the right for this")
RESTORED = N_("the Hub was restored from a backup")
TOO_LARGE = N_("too large for the Hub")
BAD_KEY = N_("the operation's key can't be sent")
NO_ENDPOINT = N_("the Hub has no such endpoint")
CUT_SHORT = N_("the answer was cut short")
TOO_LONG = N_("the answer is too long")
UNREADABLE = N_("the answer can't be unpacked")
GARBLED = N_("the answer can't be read")
OTHER_API = N_("the Hub speaks version {version} of its interface, this program version 1")
PLAIN_NEEDS_CONSENT = N_('this is a plain Hub: set kind = "plain" in [hub] to use it')
WAS_OURS = N_("the Hub's /api/meta is gone (HTTP {status})")

_TEMPLATES = tuple(value for name, value in list(globals().items()) if name.isupper() and isinstance(value, str))


def in_words(reason: str) -> str:
    """A reason in the user's language; one that isn't of this list (the Hub's own words) comes back as it is."""
    return said(reason, _TEMPLATES, lambda _name, value: in_words(value))
