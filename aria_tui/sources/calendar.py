"""The calendar: today's and tomorrow's events from addresses, files and folders.

Reading happens in processes of their own, one a calendar, killed at the deadline. An answer is kept for as long as the
calendar and the day are the same, so that a refresh costs a question and no reading.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from aria_tui.config import CalendarSourceConfig, Config
from aria_tui.hub.contract import write_time
from aria_tui.models import Section, SectionState
from aria_tui.sources import Moment, _child, _http
from aria_tui.sources._calendar_feed import BYTES, Cache, Copy, fetch
from aria_tui.sources._files import NotReadable, read_regular
from aria_tui.sources._secrets import SecretError, resolve

_READ = "aria_tui.sources._calendar_worker:run"
_SHARE, _FETCH_SHARE = 0.95, 0.6
"""Of the deadline, for all of it; and of that for the network, the rest being for reading."""
_KEPT = 32


class Unreadable(Exception):
    """A calendar could not be read; ``str()`` says why."""


@dataclass(frozen=True, slots=True)
class Feed:
    """One calendar's part: the two days' events, or ``problem``; ``as_of`` when they are of an earlier time."""

    name: str
    days: tuple[list[dict[str, Any]], ...] = ((), ())  # type: ignore[assignment]
    unreadable: int = 0
    too_large: int = 0
    problem: str = ""
    as_of: str | None = None
    note: str = ""

    @property
    def known(self) -> bool:
        return not self.problem or self.as_of is not None


@dataclass
class _Kept:
    """Answers by what was read, for which days and zone; the oldest goes first."""

    answers: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict)

    def put(self, key: tuple[Any, ...], answer: dict[str, Any]) -> None:
        self.answers.pop(key, None)
        self.answers[key] = answer
        while len(self.answers) > _KEPT:
            self.answers.pop(next(iter(self.answers)), None)


_kept = _Kept()


class CalendarSource:
    name = "calendar"

    def __init__(self, config: Config, *, home: Path, environ: Mapping[str, str] | None = None) -> None:
        self._sources, self._home = config.calendar.sources, home

    async def gather(self, when: Moment, deadline: float) -> Section:
        if not self._sources:
            reason = 'set [calendar] sources = [{ url = "https://…" }] or [{ path = "~/calendars" }]'
            return Section(name=self.name, state="not_configured", reason=reason)
        end = asyncio.get_running_loop().time() + deadline * _SHARE  # the rest is for putting together
        feeds = await asyncio.gather(*(self._feed(number, when, end) for number in range(len(self._sources))))
        return _joined(list(feeds), when)

    async def _feed(self, number: int, when: Moment, end: float) -> Feed:
        source = self._sources[number]
        name = source.name or f"calendar {number + 1}"
        try:
            if source.url is not None and source.path is None:
                return await self._from_address(name, source, when, end)
            if source.path is not None and source.url is None:
                return await self._from_path(name, source.path, when, end)
            return Feed(name, problem="one of url and path must be set")
        except Unreadable as error:
            return Feed(name, problem=str(error))

    async def _from_path(self, name: str, path: str, when: Moment, end: float) -> Feed:
        try:
            full = Path(path).expanduser()
            if full.is_dir():
                key = ("path", str(full), _stamp(full))
                async with _Reading(when, end) as reading:
                    answer = await reading.read(key, path=str(full))
                if problem := answer.get("problem"):
                    raise Unreadable(f"{path}: {problem}")
                return _feed(name, answer)
        except (OSError, RuntimeError) as error:
            raise Unreadable(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        cache = Cache(self._home, f"file://{full}")
        async with _Reading(when, end) as reading:
            try:
                new = Copy(read_regular(full, BYTES), write_time(datetime.now(UTC)))
            except NotReadable as error:
                return await _last_good(name, cache.load(), f"{path}: {error}", reading)
            return await _new_or_last(name, new, cache, cache.load(), reading, where=f"{path}: ")

    async def _from_address(self, name: str, source: CalendarSourceConfig, when: Moment, end: float) -> Feed:
        assert source.url is not None
        loop = asyncio.get_running_loop()
        limit = loop.time() + (end - loop.time()) * _FETCH_SHARE
        try:
            url = await resolve(source.url, limit - loop.time())
        except SecretError as error:
            raise Unreadable(str(error)) from None
        cache = Cache(self._home, url)
        copy = cache.load()
        warm = copy is None or not _Reading(when, end).known(_body_key(copy.body))
        async with _Reading(when, end, warm=warm) as reading:
            try:
                async with asyncio.timeout_at(limit):
                    fetched = await fetch(url, copy, max(0.1, limit - loop.time()))
            except TimeoutError:
                return await _last_good(name, copy, "no answer", reading)
            except _http.Unreachable as error:
                return await _last_good(name, copy, str(error), reading)
            now = write_time(datetime.now(UTC))
            if fetched.body is None and copy is not None:
                new = replace(copy, fetched_at=now)
            else:
                new = Copy(fetched.body or b"", now, fetched.etag, fetched.last_modified)
            return await _new_or_last(name, new, cache, copy, reading)


async def _new_or_last(
    name: str, new: Copy, cache: Cache, copy: Copy | None, reading: _Reading, where: str = ""
) -> Feed:
    """What was got, kept as the last good copy if it is a calendar; else that copy."""
    answer = await reading.read(_body_key(new.body), body=new.body)
    if problem := answer.get("problem"):
        return await _last_good(name, copy, where + problem, reading)
    try:
        cache.save(new, same=copy is not None and copy.body == new.body)
    except OSError as error:
        return _feed(name, answer, note=f"the copy can't be kept: {error.strerror}")
    return _feed(name, answer)


async def _last_good(name: str, copy: Copy | None, problem: str, reading: _Reading) -> Feed:
    """The last copy with its age, when the feed fails; with none, only why."""
    if copy is None:
        raise Unreadable(problem)
    answer = await reading.read(_body_key(copy.body), body=copy.body)
    if answer.get("problem"):
        raise Unreadable(problem)
    return _feed(name, answer, problem=problem, as_of=copy.fetched_at)


def _feed(name: str, answer: Mapping[str, Any], *, problem: str = "", as_of: str | None = None, note: str = "") -> Feed:
    return Feed(name, tuple(answer["days"]), answer["unreadable"], answer["too_large"], problem, as_of, note)


def _body_key(body: bytes) -> tuple[Any, ...]:
    return ("body", hashlib.sha256(body).hexdigest())


def _stamp(path: Path) -> tuple[Any, ...]:
    """Changes when a file, or anything in a folder, changes."""
    about = path.stat()
    stamps: list[tuple[Any, ...]] = [("", about.st_mtime_ns, about.st_size)]
    if path.is_dir():
        for place, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                found = (Path(place) / name).lstat()
                stamps.append((name, found.st_mtime_ns, found.st_size))
                if len(stamps) > 20_000:
                    return tuple(stamps)
    return tuple(stamps)


class _Reading:
    """Reads calendars for one moment, by ``end`` on the loop's clock; as an asynchronous context, which leaves no
    process behind. Entered with ``warm``, a process is got ready while the calendar is still on its way."""

    def __init__(self, when: Moment, end: float, *, warm: bool = False) -> None:
        today = when.now.date()
        self._days = [today.isoformat(), (today + timedelta(days=1)).isoformat()]
        self._zone, self._end = when.zone.key, end
        self._warm = warm
        self._stack = contextlib.AsyncExitStack()
        self._child: _child.Child | None = None

    async def __aenter__(self) -> _Reading:
        if self._warm:
            self._child = await self._stack.enter_async_context(_child.Child(_READ))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def known(self, key: tuple[Any, ...]) -> bool:
        """Whether that was read before, for the same days."""
        return self._full(key) in _kept.answers

    async def read(self, key: tuple[Any, ...], *, body: bytes | None = None, path: str | None = None) -> dict[str, Any]:
        """The worker's answer for a text, or for what is at a path. Raises Unreadable."""
        full = self._full(key)
        if full in _kept.answers:
            return _kept.answers[full]
        encoded = base64.b64encode(body).decode("ascii") if body is not None else None
        arguments = {"body": encoded, "path": path, "days": self._days, "zone": self._zone}
        left = max(0.1, self._end - asyncio.get_running_loop().time())
        child, self._child = self._child, None
        try:
            if child is not None:
                answer = await child.call(arguments, left)
            else:
                answer = await _child.call(_READ, arguments, left)
        except TimeoutError:
            raise Unreadable("took too long to read") from None
        except _child.ChildFailed as error:
            raise Unreadable(f"can't be read: {error}") from None
        if not isinstance(answer, dict):
            raise Unreadable("can't be read")
        _kept.put(full, answer)
        return answer

    def _full(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*key, *self._days, self._zone)


def _joined(feeds: list[Feed], when: Moment) -> Section:
    """All calendars as one section, which is no better than the worst of them."""
    known = [feed for feed in feeds if feed.known]
    several = len(feeds) > 1
    said = ((feed.name, feed.problem or feed.note) for feed in feeds)
    reasons = [f"{name}: {words}" if several else words for name, words in said if words]
    if not known:
        return Section(name="calendar", state="unavailable", reason="; ".join(reasons))
    unreadable, too_large = sum(f.unreadable for f in known), sum(f.too_large for f in known)
    if unreadable:
        reasons.append(f"{unreadable} unreadable")
    if too_large:
        reasons.append("1 rule too large" if too_large == 1 else f"{too_large} rules too large")
    today, tomorrow = (sorted((e for f in known for e in f.days[index]), key=_order) for index in (0, 1))
    data = {
        "today": [_event(event, when) for event in today],
        "tomorrow": [_event(event, when) for event in tomorrow],
        "unreadable": unreadable,
        "too_large": too_large,
    }
    old = [feed.as_of for feed in known if feed.as_of is not None]
    state: SectionState = "ok"
    if old:
        state = "stale"
    elif len(known) < len(feeds) or unreadable or too_large:
        state = "partial"
    return Section(name="calendar", state=state, reason="; ".join(reasons), as_of=min(old) if old else None, data=data)


def _order(event: Mapping[str, Any]) -> tuple[Any, ...]:
    if event["all_day"]:
        return (False, "", event["summary"])
    return (True, datetime.fromisoformat(event["start"]).astimezone(UTC).isoformat(), event["summary"])


def _event(event: Mapping[str, Any], when: Moment) -> dict[str, Any]:
    """As data: times in UTC, whole days as dates; whether it is on now."""
    shown: dict[str, Any] = {"start": event["start"], "end": event["end"], "all_day": event["all_day"]}
    now = False
    if event["all_day"]:
        shown["end"] = date.fromisoformat(event["end"]).isoformat()
    else:
        start, end = (datetime.fromisoformat(event[key]) for key in ("start", "end"))
        now = start <= when.now < end
        shown |= {"start": write_time(start), "end": write_time(end)}
    shown |= {"summary": event["summary"], "now": now}
    if "note" in event:
        shown["note"] = event["note"]
    return shown
