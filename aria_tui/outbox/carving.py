"""Rows out of the pages of a file whose tables SQLite can't find any more (sqlite.org/fileformat2.html, 1.6 and 2.1).

Each leaf page of a table says itself what is on it, so that a broken first page, schema or inner page costs nothing of
what the leaves hold. What a cell holds is believed only if it has the shape of a row of ours.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

_LEAF = 0x0D
_REACHES = 8
"""A page's header, before the places of its cells."""
_FIRST = 100
"""Bytes of the file's own header, on its first page."""
_NUMBERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_KINDS = ("dead", "conflict")


def carve(data: bytes, size: int) -> Iterator[tuple[str, list[Any]]]:
    """Rows that pages of ``size`` bytes hold: the table (``queue``, ``parked``), the values of its first columns."""
    for start in range(0, len(data) - size + 1, size):
        head = start + (0 if start else _FIRST)
        if data[head] != _LEAF:
            continue
        count = struct.unpack_from(">H", data, head + 3)[0]
        for number in range(min(count, size // 4)):
            try:
                at = start + struct.unpack_from(">H", data, head + _REACHES + 2 * number)[0]
                rowid, record = _cell(data, at, size)
                values = _values(record)
            except (IndexError, ValueError, struct.error):
                continue  # a broken cell costs itself
            if table := _table(values):
                yield table, [rowid, *values[1:]]


def _table(values: list[Any]) -> str:
    """Whose row it is, if it is one of ours: the number stands beside the record, and so the first value is NULL. By
    damage a text may have become bytes that are none."""
    if len(values) < 6 or values[0] is not None or not all(isinstance(text, str | bytes) for text in values[1:4]):
        return ""
    if values[1] in _KINDS:
        return "parked"
    return "queue" if values[1] and values[2][:1] in ("{", b"{") else ""


def _cell(data: bytes, at: int, size: int) -> tuple[int, bytes]:
    """The number and the record of a row, gathered from the pages that it flows over to."""
    length, at = _varint(data, at)
    rowid, at = _varint(data, at)
    if not 0 < rowid < 2**53 or length > len(data):
        raise ValueError("no row")
    most, least = size - 35, (size - 12) * 32 // 255 - 23
    if length <= most:
        return rowid, data[at : at + length]
    here = least + (length - least) % (size - 4)
    here = here if here <= most else least
    record, (following,) = data[at : at + here], struct.unpack_from(">I", data, at + here)
    while len(record) < length:
        page = (following - 1) * size
        if page <= 0:
            raise ValueError("no page")
        (following,) = struct.unpack_from(">I", data, page)
        record += data[page + 4 : page + 4 + min(size - 4, length - len(record))]
    return rowid, record


def _values(record: bytes) -> list[Any]:
    end, at = _varint(record, 0)
    if end > len(record):
        raise ValueError("no record")
    found: list[Any] = []
    place = end
    while at < end:
        kind, at = _varint(record, at)
        width = _NUMBERS.get(kind, (kind - 12) // 2 if kind >= 12 else 8 if kind == 7 else 0)
        raw = record[place : place + width]
        if len(raw) < width:
            raise ValueError("no value")
        found.append(_value(kind, raw))
        place += width
    return found


def _value(kind: int, raw: bytes) -> Any:
    if kind == 0:
        return None
    if kind in _NUMBERS:
        return int.from_bytes(raw, signed=True)
    if kind == 7:
        return struct.unpack(">d", raw)[0]
    if kind in (8, 9):
        return kind - 8
    if kind >= 13 and kind % 2:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw
    if kind >= 12:
        return raw
    raise ValueError("no kind of value")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and the place behind it."""
    value = 0
    for _ in range(8):
        value = value << 7 | data[at] & 0x7F
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    return value << 8 | data[at], at + 1
