"""Queue rows in pages, as far as they are known: a list of 100,000 costs what is looked at.

A page is the rows after one id (keyset paging); its end is where the next page begins, so rows that were delivered
meanwhile only make a page shorter. Pages out of sight lose their rows again and keep their length.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from aria_tui.models import QueueItem

PAGE = 100
KEPT_AROUND = 4


@dataclass
class _Page:
    after: int
    length: int
    rows: tuple[QueueItem, ...] | None


class Pages:
    """Rows by number; a row whose page isn't there is None until it was fetched."""

    def __init__(self, *, newest_first: bool = False) -> None:
        self._newest_first = newest_first
        self._pages: list[_Page] = []
        self._starts: list[int] = []
        self._total = 0
        self.complete = False
        """Whether the last page is known."""

    def __len__(self) -> int:
        return self._total

    def row(self, number: int) -> QueueItem | None:
        """The row with this number, or None while its page is not there."""
        page = self._page_of(number)
        if page is None:
            return None
        rows = self._pages[page].rows
        offset = number - self._starts[page]
        return rows[offset] if rows is not None and offset < len(rows) else None

    def find(self, row_id: int) -> int | None:
        """The number of the row with this id, among the pages that are there."""
        for start, page in zip(self._starts, self._pages, strict=True):
            if page.rows and min(page.rows[0].id, page.rows[-1].id) <= row_id <= max(page.rows[0].id, page.rows[-1].id):
                return next((start + n for n, row in enumerate(page.rows) if row.id == row_id), None)
        return None

    def _page_of(self, number: int) -> int | None:
        if not 0 <= number < self._total:
            return None
        return bisect_right(self._starts, number) - 1

    def wanted(self, first: int, last: int, *, again: bool = False) -> list[tuple[int, int]]:
        """(page number, ``after``) of the pages to fetch so that the rows can be seen, the one after them included.

        ``again``: also those that are there, because something changed.
        """
        if not self._pages:
            return [(0, 0)]
        low = self._page_of(max(0, min(first, self._total - 1))) or 0
        high = self._page_of(max(0, min(last, self._total - 1)))
        high = len(self._pages) - 1 if high is None else high
        found = [(n, self._pages[n].after) for n in range(low, high + 1) if again or self._pages[n].rows is None]
        if not self.complete and last + PAGE // 2 >= self._total and (end := self._pages[-1]).rows:
            found.append((len(self._pages), end.rows[-1].id))
        for number, page in enumerate(self._pages):
            if not low - KEPT_AROUND <= number <= high + KEPT_AROUND:
                page.rows = None
        return found

    def put(self, number: int, after: int, rows: Sequence[QueueItem], limit: int = PAGE) -> None:
        """Takes what was read for a page."""
        if number > len(self._pages):
            return
        if number == len(self._pages):
            if number and after != self._end_of(number - 1):
                return
            self._pages.append(_Page(after, 0, ()))
        page = self._pages[number]
        if page.after != after:
            return
        last = number == len(self._pages) - 1
        if not last:
            border = self._pages[number + 1].after
            if self._newest_first and len(rows) == limit and rows[-1].id > border:
                del self._pages[number + 1 :]  # more came at the top than a page holds: the rest is read anew
                self.complete = False
            elif self._newest_first:
                rows = [row for row in rows if row.id >= border]
            else:
                rows = [row for row in rows if row.id <= border]
        page.rows, page.length = tuple(rows), len(rows)
        if last:
            self.complete = len(rows) < limit
            if number and not rows:
                self._pages.pop()
        self._count()

    def _end_of(self, number: int) -> int | None:
        rows = self._pages[number].rows
        return rows[-1].id if rows else None

    def _count(self) -> None:
        self._starts, total = [], 0
        for page in self._pages:
            self._starts.append(total)
            total += page.length
        self._total = total
