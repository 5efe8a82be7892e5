"""Three-way merge by field: the Hub's value, the sender's base, the sender's new value (hub-api.md, "Batch")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aria_tui.hub import contract
from aria_tui.hub.server import problems

_TIMES = ("completed_at", "created_at", "updated_at", "captured_at")


def changed(
    current: Mapping[str, Any],
    changes: Mapping[str, Any],
    *,
    version: int,
    touched: Mapping[str, int],
    base_version: int | None,
    base: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The changes that are still to be made to ``current``, which is at ``version``.

    A field conflicts only if the Hub's value differs from both its base and the new one. Where no base is given for
    it, it conflicts if it was touched after ``base_version``; with neither, the last writer wins.
    Raises Refusal (conflict) that names the fields and holds the Hub's copy.
    """
    new = {name: value for name, value in changes.items() if not same(name, current.get(name), value)}
    if base_version == version:
        return new
    both = [name for name in new if _moved(name, current.get(name), touched.get(name, 1), base_version, base)]
    if both:
        raise problems.conflict(f"changed on both sides: {', '.join(both)}", fields=both, current=dict(current))
    return new


def _moved(name: str, value: Any, at: int, base_version: int | None, base: Mapping[str, Any] | None) -> bool:
    if base is not None and name in base:
        return not same(name, value, base[name])
    return base_version is not None and at > base_version


def changed_since(
    current: Mapping[str, Any], *, version: int, base_version: int | None, base: Mapping[str, Any] | None
) -> list[str] | None:
    """The fields that changed since the base of a delete, or None when it may go on.

    The version decides where it is equal, else the base's values; a base_version alone that differs is a change,
    of fields that aren't known.
    """
    if base_version == version:
        return None
    if base:
        fields = [name for name, value in base.items() if name in current and not same(name, current[name], value)]
        return fields or None
    return None if base_version is None else []


def same(name: str, one: Any, other: Any) -> bool:
    """Whether two values of a field are equal; times as moments, whatever their form."""
    if one == other:
        return True
    if name in _TIMES and isinstance(one, str) and isinstance(other, str):
        try:
            return contract.read_time(one) == contract.read_time(other)
        except (ValueError, OverflowError):
            return False
    return False
