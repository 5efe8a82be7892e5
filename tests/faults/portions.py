"""The drain in small portions, so that a few rows go the ways that else only thousands go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from aria_tui.outbox import books, drain, lane

FIRST = 2


@contextmanager
def small_portions(wanted: bool = True) -> Iterator[None]:
    """Batches begin at ``FIRST`` operations, and results are written while the next batch is under way."""
    if not wanted:
        yield
        return
    with (
        mock.patch.object(drain, "FIRST_BATCH", FIRST),
        mock.patch.object(drain, "SMALLEST", 1),
        mock.patch.object(lane, "SMALLEST", 1),
        mock.patch.object(books, "MANY", 1),
    ):
        yield
