"""Holds a source in: whatever it does, the briefing goes on and the section says what happened.

A source works in a thread of its own with an event loop of its own, so that one that blocks its loop blocks nobody
else. At its deadline it is cancelled and no longer waited for. What it gives is looked at before it is believed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from aria_tui.hub.contract import data_problem, read_time, text_problem
from aria_tui.models import Alert, Section
from aria_tui.sources import Moment, Source
from aria_tui.sources._secrets import redact

GRACE = 0.25
"""Seconds after the deadline in which a source that keeps its own deadline may still answer."""


class Garbage(Exception):
    """What a source gave is not a section."""


async def contained(
    source: Source, when: Moment, deadline: float, secrets: Sequence[str] = ()
) -> AsyncIterator[Section]:
    """The sections of one source, each replacing the one before; the last is the one that counts.

    Ends by itself within ``deadline`` seconds and a moment. Never raises for anything the source does.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline + GRACE
    name = source.name
    runner = _Runner(source, when, deadline, loop)
    runner.start()
    last: Section | None = None
    try:
        while True:
            async with asyncio.timeout_at(end):
                given = await runner.given.get()
            if given is _DONE:
                break
            last = _believed(name, given, secrets)
            yield last
        if last is None:
            yield unavailable(name, "gave nothing")
    except TimeoutError:
        yield _timed_out(name, last, deadline)
    finally:
        runner.cancel()


def unavailable(name: str, reason: str) -> Section:
    return Section(name=name, state="unavailable", reason=reason)


def checked(name: str, given: Any) -> Section:
    """``given`` as the section ``name``. Raises Garbage when it is none, or can't be written as JSON."""
    if not isinstance(given, Section):
        raise Garbage(f"gave {type(given).__name__} where a section was wanted")
    try:
        section = msgspec.convert(msgspec.to_builtins(given), Section)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Garbage(f"gave a section that can't be read: {error}") from None
    if why := data_problem(section.data) or text_problem(section.reason):
        raise Garbage(f"gave data that {why}")
    for alert in section.alerts:
        if why := text_problem(alert.text) or text_problem(alert.source):
            raise Garbage(f"gave an alert that {why}")
    try:
        read_time(section.as_of or "1970-01-01T00:00:00Z")
    except (ValueError, OverflowError):
        raise Garbage("gave a time that can't be read") from None
    return msgspec.structs.replace(section, name=name)


class _Runner:
    """One thread with one loop; what the source gives comes out of ``given`` on the caller's loop."""

    def __init__(self, source: Source, when: Moment, deadline: float, loop: asyncio.AbstractEventLoop) -> None:
        self.given: asyncio.Queue[Any] = asyncio.Queue()
        self._source, self._when, self._deadline = source, when, deadline
        self._outside = loop
        self._inside: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._lock = threading.Lock()
        self._cancelled = False

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"source {self._source.name}", daemon=True).start()

    def cancel(self) -> None:
        """Asks the source to end; doesn't wait for it."""
        with self._lock:
            self._cancelled = True
            if self._inside is not None and self._task is not None:
                with contextlib.suppress(RuntimeError):  # its loop has ended in between
                    self._inside.call_soon_threadsafe(self._task.cancel)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:  # noqa: BLE001 - SystemExit of a source is no more than its failure
            self._give(_Failure(error))
        self._give(_DONE)

    async def _main(self) -> None:
        with self._lock:
            self._inside, self._task = asyncio.get_running_loop(), asyncio.current_task()
            if self._cancelled:
                return
        work = self._source.gather(self._when, self._deadline)
        try:
            if hasattr(work, "__aiter__"):
                async with contextlib.aclosing(work) as sections:  # type: ignore[type-var]
                    async for section in sections:
                        self._give(section)
            else:
                self._give(await work)
        finally:
            with self._lock:
                self._inside = self._task = None

    def _give(self, what: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the caller's loop has ended: nobody asks any more
            self._outside.call_soon_threadsafe(self.given.put_nowait, what)


_DONE = object()


class _Failure:
    """What the source raised, on its way to the caller."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _believed(name: str, given: Any, secrets: Sequence[str]) -> Section:
    if type(given) is _Failure:
        return unavailable(name, _failure(given.error, secrets))
    try:
        section = checked(name, given)
    except Garbage as error:
        return unavailable(name, redact(str(error), secrets))
    except Exception as error:  # noqa: BLE001 - a value may do anything while it is looked at
        return unavailable(name, _failure(error, secrets))
    return _without(section, secrets)


def _failure(error: BaseException, secrets: Sequence[str]) -> str:
    kind = type(error).__name__
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - an exception's own text may fail
        text = ""
    text = text.encode("utf-8", "replace").decode().splitlines()[0] if text else ""
    return redact(f"failed: {kind}: {text[:200]}" if text else f"failed: {kind}", secrets)


def _without(section: Section, secrets: Sequence[str]) -> Section:
    """The section without secrets in the words that are shown."""
    alerts = tuple(Alert(level=a.level, source=a.source, text=redact(a.text, secrets)) for a in section.alerts)
    return msgspec.structs.replace(section, reason=redact(section.reason, secrets), alerts=alerts)


def _timed_out(name: str, last: Section | None, deadline: float) -> Section:
    reason = f"timed out after {deadline:g} s"
    if last is None or last.state == "unavailable":
        return unavailable(name, reason)
    return msgspec.structs.replace(last, state="partial", reason=reason)
