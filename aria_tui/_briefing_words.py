"""Reasons and alerts in the user's language. Data holds them in English; only what is shown is turned.

A source says its reason as one of these sentences, with its own words in the places in braces.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

from aria_tui.locale import _, formats

_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def sentences() -> tuple[str, ...]:
    """Every sentence that a reason or an alert can be, in English; most telling first."""
    return _SENTENCES


def say(text: str, now: datetime | None = None) -> str:
    """An English reason or alert in the language in use; what isn't known here stays as it is. Parts joined by ``; ``
    are each turned. With ``now``, times in it are written on that clock."""
    parts = "; ".join(_say_one(part) for part in text.split("; "))
    return _TIME.sub(lambda found: formats.when(found[0], now), parts) if now is not None else parts


def _say_one(text: str) -> str:
    for sentence, pattern in _patterns():
        if found := pattern.fullmatch(text):
            return _(sentence).format(**{key: _inner(value) for key, value in found.groupdict().items()})
    return text


def _inner(text: str) -> str:
    """A part of a sentence may be a sentence: ``Work: HTTP 404``."""
    return _say_one(text) if len(text) < 500 else text


def N_(message: str) -> str:
    """Marks a text for the catalogues."""
    return message


_SENTENCES: tuple[str, ...] = (
    # of the Hub and the queue
    N_("Hub offline — task list unavailable"),
    N_("Hub sign-in needed — task list unavailable"),
    N_("Hub gave an unexpected answer — task list unavailable"),
    N_("Hub offline — history unavailable"),
    N_("Hub sign-in needed — history unavailable"),
    N_("Hub gave an unexpected answer — history unavailable"),
    N_("Hub offline — insights unavailable"),
    N_("Hub sign-in needed — insights unavailable"),
    N_("Hub gave an unexpected answer — insights unavailable"),
    N_("{reason} — task list unavailable"),
    N_("{reason} — history unavailable"),
    N_("{reason} — insights unavailable"),
    N_("Hub offline since {time}"),
    N_("Hub sign-in needed since {time}"),
    N_("Hub gave an unexpected answer (login page?) since {time}"),
    N_("Hub offline"),
    N_("Hub sign-in needed"),
    N_("Hub gave an unexpected answer (login page?)"),
    N_("the oldest waits for {span}"),
    N_("1 dead letter"),
    N_("{n} dead letters"),
    N_("1 conflict"),
    N_("{n} conflicts"),
    N_("[briefing] timezone: no such zone: {zone}"),
    # of any source
    N_("timed out after {seconds} s"),
    N_("gave nothing"),
    N_("failed: {error}"),
    N_("too large to be stored whole"),
    # of git
    N_("{n} of {total} still being read"),
    N_("{n} of {total} timed out"),
    N_("{path}: no such folder"),
    N_("timed out"),
    N_("still being read"),
    N_("not trusted (owner)"),
    N_("there is no git program"),
    # of docker
    N_("not running: {what}"),
    N_("permission denied: {path}"),
    N_("no answer: {what}"),
    N_("unexpected answer: {what}"),
    N_("{name}: unhealthy"),
    N_("{name}: restarting"),
    N_("{name}: dead"),
    N_("{name}: exited {code}"),
    # of reports
    N_("{name}: {n} failed"),
)


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((sentence, _pattern(sentence)) for sentence in _SENTENCES)


def _pattern(sentence: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", sentence)
    made = "".join(f"(?P<{part}>.+?)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    return re.compile(made, re.DOTALL)
