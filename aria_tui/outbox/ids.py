"""Operation ids: UUID version 7 (RFC 9562, section 5.7), which is also the idempotency key."""

from __future__ import annotations

import os
import time

_last = 0


def new_id() -> str:
    """A fresh UUIDv7 as text. Ids of one process sort in the order in which they were made.

    The 12 bits after the milliseconds hold their fraction (RFC 9562, section 6.2, method 3), raised by one where
    the clock did not move or went back.
    """
    global _last
    stamp = time.time_ns() // 1_000_000 << 12 | (time.time_ns() % 1_000_000) * 4096 // 1_000_000
    _last = stamp = max(stamp, _last + 1)
    millis, fraction = stamp >> 12, stamp & 0xFFF
    tail = int.from_bytes(os.urandom(8)) & (1 << 62) - 1
    value = (millis & (1 << 48) - 1) << 80 | 7 << 76 | fraction << 64 | 2 << 62 | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
