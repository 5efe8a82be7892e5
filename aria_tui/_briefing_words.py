"""Reasons and alerts in the user's language. Data holds them in English; only what is shown is turned.

A source says its reason as one of these sentences, with its own words in the places in braces; ``{reason}`` is itself
one of them.
"""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from aria_tui.locale import N_, _, formats

_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def say(text: str, now: datetime | None = None) -> str:
    """An English reason or alert in the language in use; what isn't known here stays as it is. Parts joined by ``; ``
    are each turned, and what stands after a name and a colon. With ``now``, times in it are written on that clock."""
    parts = "; ".join(_say_one(part) for part in text.split("; "))
    return _TIME.sub(lambda found: formats.when(found[0], now), parts) if now is not None else parts


def _say_one(text: str) -> str:
    for sentence, pattern in _patterns():
        if found := pattern.fullmatch(text):
            return _(sentence).format(**{key: _say_place(key, value) for key, value in found.groupdict().items()})
    head, colon, tail = text.partition(": ")
    return f"{_(head) if head in _PARTS else head}: {_say_one(tail)}" if colon else text


def _say_place(key: str, value: str) -> str:
    """What stands in a sentence's place: a reason in the language, a share and money in the language's form."""
    if key == "reason":
        return _say_one(value)
    if key == "percent" and re.fullmatch(r"\d+(\.\d)?", value):
        return formats.number(Decimal(value), 1 if "." in value else 0)
    if key == "amount" and (found := re.fullmatch(r"(-?\d+\.\d+)(?: (\S+))?", value)):
        return formats.amount(found[1], found[2])
    return value


_PARTS = frozenset({N_("summary"), N_("budgets"), N_("recurring"), N_("bills"), N_("hledger"), N_("daily note")})

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
    N_("timed out"),
    N_("gave nothing"),
    N_("failed: {error}"),
    N_("too large to be stored whole"),
    N_("no answer"),
    N_("no answer: {reason}"),
    N_("connection refused"),
    N_("name not found"),
    N_("the connection was cut"),
    N_("the answer was cut short"),
    N_("the answer can't be decoded"),
    N_("the answer is over {n} MiB"),
    N_("the address can't be read"),
    N_("it redirects to another kind of address"),
    N_("sign-in needed (HTTP {status})"),
    N_("unexpected answer"),
    N_("unexpected answer (not JSON)"),
    N_("unexpected answer: {reason}"),
    N_("the secret's command failed with exit status {status}"),
    N_("the secret's command gave nothing"),
    N_("the secret's command gave no answer in {seconds} s"),
    N_("the secret's command can't be run: {why}"),
    N_("the secret's command is empty"),
    N_("No such file or directory"),
    N_("Permission denied"),
    N_("not a file"),
    # of git
    N_("{n} of {total} still being read"),
    N_("{n} of {total} timed out"),
    N_("no such folder"),
    N_("still being read"),
    N_("not trusted (owner)"),
    N_("there is no git program"),
    N_("the search for repositories timed out"),
    N_("core.worktree points outside: {path}"),
    # of docker
    N_("not running: {reason}"),
    N_("permission denied: {path}"),
    N_("unhealthy"),
    N_("restarting"),
    N_("dead"),
    N_("exited {code}"),
    # of the calendar
    N_("empty"),
    N_("not a calendar"),
    N_("not a calendar (a web page)"),
    N_("cut short"),
    N_("over 20 MiB"),
    N_("took too long to read"),
    N_("one of url and path must be set"),
    N_("the copy can't be kept: {why}"),
    N_("{n} unreadable"),
    N_("1 rule too large"),
    N_("{n} rules too large"),
    N_("until {time}"),
    N_("day {n} of {total}"),
    N_("zone?"),
    # of finance
    N_("{category} budget at {percent} %"),
    N_("{category}: {amount} spent without a budget"),
    N_("summary of {month}"),
    N_("several currencies ({names}): set [finance] currency"),
    N_("not added: {names}"),
    N_("no account named {missing} (there are: {names}): set [finance] income and expenses"),
    N_("there is no hledger program"),
    N_("hledger gave no answer in time"),
    N_("{amount} can be read in two ways (declare its commodity)"),
    N_("{amount} can be read in two ways (write 1000 or 1.00)"),
    # of reports
    N_("{n} failed"),
    N_("can't be read: {why}"),
    N_("is not JSON"),
    N_("is not a JSON object"),
    N_("has no usable {what}"),
    # how a source is configured
    N_("set {setting}"),
    # what a source's own data, program or address has wrong
    N_("the address must begin with http://, https:// or webcal://"),
    N_("a time can't be read"),
    N_("no start"),
    N_("over 20,000 files"),
    N_("over {n} MiB"),
    N_("can't be read"),
    N_("error"),
    N_("no engine's socket was found ({path} and others)"),
    N_("the current context {name} names no engine"),
    N_("the current context {name} can't be read"),
    N_("docker's config.json can't be read"),
    N_("{scheme} is not supported ({what})"),
    N_("{scheme} is not supported"),
    N_("not a list of containers"),
    N_("exited, code unknown"),
    N_("ended without an answer ({what})"),
    N_("gave more than 32 MiB"),
    N_("gave {what} where a section was wanted"),
    N_("gave a section that can't be read: {why}"),
    N_("gave a time that can't be read"),
    N_("gave data that {why}"),
    N_("gave an alert that {why}"),
    N_("git can't be run here: {why}"),
    N_("git gave more than 64 MiB"),
    N_("hledger can't be run: {why}"),
    N_("hledger's answer is over 32 MiB"),
    N_("hledger's answer has another form than expected"),
    N_("no income and no expenses in it"),
    N_("nothing in {what}"),
    N_("no list of upcoming payments"),
    N_("the summary is not an object"),
    N_("the budgets have no list of categories"),
    N_("a recurring payment is not an object"),
    N_("a budget is not an object"),
    N_("the answer holds {what}"),
    N_("month is missing (YYYY-MM)"),
    N_("month is not YYYY-MM: {what}"),
    N_("due is missing (a date, or a day of the month)"),
    N_("due is neither a date nor a day of the month: {what}"),
    N_("due is no day of a month: {what}"),
    N_("{what} is not UTF-8"),
    N_("is not UTF-8"),
    N_("is not TOML: {why}"),
    N_("{name} must be a list: {form}"),
    N_("{name} must be a table"),
    N_("unknown key {name} ({hint})"),
    N_("{name} is not a finite amount"),
    N_("{name} is not an amount with a decimal point: {what}"),
    N_("{name} is not an amount"),
    N_("{name} is missing"),
)


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((sentence, _pattern(sentence)) for sentence in _SENTENCES)


def _pattern(sentence: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", sentence)
    made = "".join(f"(?P<{part}>.+?)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    return re.compile(made, re.DOTALL)
