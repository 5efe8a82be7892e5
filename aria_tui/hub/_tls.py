"""Which certificates are trusted, and what is wrong with one in words."""

from __future__ import annotations

import ssl
from pathlib import Path

from aria_tui.hub import _reasons as reasons

# X509_V_ERR_… of OpenSSL's x509_vfy.h
_WORDS = {
    9: reasons.TLS_NOT_YET,
    10: reasons.TLS_EXPIRED,
    18: reasons.TLS_SELF_SIGNED,
    19: reasons.TLS_SELF_SIGNED_ROOT,  # a whole chain was sent, but its root is nobody that is trusted here
    20: reasons.TLS_UNKNOWN_ISSUER,
    21: reasons.TLS_UNKNOWN_ISSUER,
    62: reasons.TLS_OTHER_NAME,
    64: reasons.TLS_OTHER_NAME,  # an IP address that the certificate doesn't name
}


def context(scheme: str) -> ssl.SSLContext:
    """For https: the system's authorities (or those of SSL_CERT_FILE, SSL_CERT_DIR), else the bundled ones.

    For http an empty one, which trusts nobody: loading the authorities costs some 40 ms.
    """
    if scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made = ssl.create_default_context()
    found = ssl.get_default_verify_paths()
    if not found.cafile and not (found.capath and any(Path(found.capath).iterdir())):
        import certifi

        made.load_verify_locations(certifi.where())
    return made


def in_words(error: ssl.SSLError) -> str:
    """The reason for a failed handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _WORDS.get(error.verify_code) or reasons.TLS_OTHER.format(detail=error.verify_message)
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE"):
        return reasons.TLS_NONE
    return reasons.TLS_OTHER.format(detail=(error.reason or "handshake failed").replace("_", " ").lower())
