"""Operation ids: UUID version 7 (RFC 9562, section 5.7), which is also the idempotency key."""

from __future__ import annotations

import os
import time

_last = 0
_VARIANT = {f"{n:x}": "89ab"[n & 3] for n in range(16)}
"""A random hexadecimal digit → one whose two high bits are 10."""


def new_id() -> str:
    """A fresh UUIDv7 as text. Ids of one process sort in the order in which they were made.

    The 12 bits after the milliseconds hold their fraction (RFC 9562, section 6.2, method 3), raised by one where
    the clock did not move or went back.
    """
    global _last
    millis, nanos = divmod(time.time_ns(), 1_000_000)
    _last = stamp = max(millis << 12 | nanos * 4096 // 1_000_000, _last + 1)
    head, tail = f"{stamp & (1 << 60) - 1:015x}", os.urandom(8).hex()
    return f"{head[:8]}-{head[8:12]}-7{head[12:]}-{_VARIANT[tail[0]]}{tail[1:4]}-{tail[4:]}"
