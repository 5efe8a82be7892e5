"""``config.toml`` and the environment, typed. Flag over environment over file.

An unknown key or a bad value is an error with file, line and a suggestion. Nothing here prints a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from aria_tui import paths
from aria_tui.errors import ConfigError


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every table: a key that isn't known is an error."""


Seconds = Annotated[float, Meta(gt=0, le=3600)]


class HubConfig(_Table, frozen=True, kw_only=True):
    url: str = ""
    """Empty: the embedded Hub."""
    token: str = ""
    token_command: str = ""
    """A command whose standard output is the token, e.g. ``pass show aria``."""
    token_header: str = "Authorization"  # noqa: S105 - a header's name
    """A plain Hub may want another header; anything but Authorization carries the bare token."""
    headers: dict[str, str] = {}
    kind: Literal["auto", "plain"] = "auto"
    allow_http: bool = False
    timeout: Seconds = 10.0
    """How long a request of the drain may take."""
    budget: Seconds = 3.0
    """How long an immediate send, or a drain before a read, may keep the caller."""


class QueueConfig(_Table, frozen=True, kw_only=True):
    journal: Literal["delete", "wal"] = "delete"
    max_attempts: Annotated[int, Meta(ge=1, le=1000)] = 8
    limit: Annotated[int, Meta(ge=1)] = 100_000
    journal_days: Annotated[int, Meta(ge=0)] = 30


class SyncConfig(_Table, frozen=True, kw_only=True):
    conflicts: Literal["ask", "mine", "theirs"] = "ask"
    automatic: bool = True


class UiConfig(_Table, frozen=True, kw_only=True):
    language: Literal["", "en", "pt_BR"] = ""
    """Empty: from the locale."""
    theme: str = ""
    offline_tasks: Literal["hide", "last-seen"] = "hide"
    animation: bool = False
    keys: dict[str, str] = {}
    """Command id → keys, comma separated: ``sync = "s,f5"``."""


class BriefingConfig(_Table, frozen=True, kw_only=True):
    timezone: str = ""
    reports: list[str] = []
    daily_note: str = ""
    timeout: Seconds = 5.0


class ProjectsConfig(_Table, frozen=True, kw_only=True):
    roots: list[str] = []
    depth: Annotated[int, Meta(ge=0, le=3)] = 3
    stale_days: Annotated[int, Meta(ge=1)] = 7


class DockerConfig(_Table, frozen=True, kw_only=True):
    enabled: bool = True
    host: str = ""


class CommandSecret(_Table, frozen=True, kw_only=True):
    command: str


class CalendarSourceConfig(_Table, frozen=True, kw_only=True):
    url: str | CommandSecret | None = None
    path: str | None = None
    name: str = ""


class CalendarConfig(_Table, frozen=True, kw_only=True):
    sources: list[CalendarSourceConfig] = []


class FinanceConfig(_Table, frozen=True, kw_only=True):
    kind: Literal["", "http", "file", "hledger", "firefly"] = ""
    url: str = ""
    token: str = ""
    token_command: str = ""
    path: str = ""
    currency: str = ""
    budget_warning: Annotated[float, Meta(gt=0)] = 80
    due_days: Annotated[int, Meta(ge=0, le=366)] = 5
    summary_path: str = "/api/summary"
    budget_path: str = "/api/budget"
    recurring_path: str = "/api/recurring?days={days}"
    income: str = "income"
    expenses: str = "expenses"


class Config(_Table, frozen=True, kw_only=True):
    hub: HubConfig = HubConfig()
    queue: QueueConfig = QueueConfig()
    sync: SyncConfig = SyncConfig()
    ui: UiConfig = UiConfig()
    briefing: BriefingConfig = BriefingConfig()
    projects: ProjectsConfig = ProjectsConfig()
    docker: DockerConfig = DockerConfig()
    calendar: CalendarConfig = CalendarConfig()
    finance: FinanceConfig = FinanceConfig()
    sources: dict[str, dict[str, Any]] = {}
    """Tables of a user's own sources: ``[sources.NAME]``."""


def path() -> Path:
    """``$ARIA_HOME/config.toml``, there or not."""
    return paths.home() / "config.toml"


def load(file: Path | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Reads the file (a missing one is an empty one) and lays the environment over it.

    Raises ConfigError with file, line and a suggestion.
    """
    file = file or path()
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        text = ""
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8", path=str(file), hint="save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", path=str(file)) from None
    return _with_environment(parse(text, str(file)), os.environ if environ is None else environ)


def load_if_ours() -> Config:
    """The same of the home's file, but the defaults where the home is not the user's (root's, say) and keeps the file
    to itself: nothing can be saved there, so nothing is sent, and the program goes on with what needs no queue.

    Raises ConfigError as ``load`` does.
    """
    try:
        return load()
    except ConfigError:
        file = path()
        if os.access(file, os.R_OK) or os.access(file.parent, os.W_OK | os.X_OK):
            raise
    return _with_environment(Config(), os.environ)


def parse(text: str, name: str = "config.toml") -> Config:
    """Config from TOML text; ``name`` is the file's, for errors."""
    if not text:
        return Config()
    import tomllib  # most homes have no such file

    try:
        found = msgspec.convert(tomllib.loads(text), Config)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+)", str(error))
        line = int(at[1]) if at else len(text.splitlines())  # else: "at end of document"
        raise ConfigError(f"is not TOML: {error}", path=name, line=line) from None
    except msgspec.ValidationError as error:
        raise _explain(str(error), text, name) from None
    if found.hub.url and not re.match(r"https?://", found.hub.url, re.I):
        line_of_url = line_of(["hub", "url"], text)
        raise ConfigError("hub.url: must begin with https:// or http://", path=name, line=line_of_url)
    return found


def with_flags(config: Config, *, url: str | None = None, token_file: str | None = None) -> Config:
    """Lays the command line's flags over file and environment.

    Raises ConfigError for a token file that can't be read or is empty.
    """
    changes: dict[str, str] = {}
    if url is not None:
        changes = {"url": url}
    if token_file is not None:
        changes |= {"token": _read_token(token_file), "token_command": ""}
    return msgspec.structs.replace(config, hub=msgspec.structs.replace(config.hub, **changes)) if changes else config


def _read_token(file: str) -> str:
    try:
        token = Path(file).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise ConfigError(f"can't be read: {reason}", path=file) from None
    if not token:
        raise ConfigError("holds no token", path=file)
    return token


def token_source(config: Config, *, token_file: str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """Where the Hub's token is kept, in words; never the token."""
    if token_file:
        return f"in the file {token_file}"
    if environ.get("ARIA_HUB_TOKEN"):
        return "in the environment (ARIA_HUB_TOKEN)"
    if config.hub.token:
        return "in config.toml ([hub] token)"
    if config.hub.token_command:
        return "from [hub] token_command"
    return "the keyring's, if it has one for this address" if config.hub.url else "not needed"


def warnings(config: Config, file: Path) -> list[str]:
    """What is allowed but not wise: a secret in a file that others can read, a token over plain http.

    Raises ConfigError for a file that can't be read.
    """
    found = []
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    if mode & 0o077 and _holds_secret(load(file, {})):
        found.append(f"{file} holds a secret and others can read it (mode {mode:03o}): chmod 600 {file}")
    if config.hub.allow_http and config.hub.url.startswith("http://"):
        found.append("[hub] allow_http: the token is sent over plain http")
    return found


def _holds_secret(config: Config) -> bool:
    """A calendar's address is one, too: who knows it can read the calendar."""
    return bool(
        config.hub.token or config.finance.token or any(isinstance(s.url, str) for s in config.calendar.sources)
    )


def json_schema() -> dict[str, Any]:
    """The file's JSON Schema (2020-12), for editors. What a key means is its attribute's docstring."""
    document: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "ARIA TUI"}
    document |= msgspec.json.schema(Config)
    for name, words in _attribute_words().items():
        for key, text in words.items():
            document["$defs"][name]["properties"][key]["description"] = text
    return document


def _attribute_words() -> dict[str, dict[str, str]]:
    """Class → key → the docstring below its attribute; Python itself keeps none of them."""
    import ast

    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            words = found.setdefault(node.name, {})
            for before, after in zip(node.body, node.body[1:], strict=False):
                match before, after:
                    case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(text))):
                        words[key] = " ".join(text.replace("``", "").split())
    return {name: words for name, words in found.items() if words}


def _with_environment(config: Config, environ: Mapping[str, str]) -> Config:
    changes = {
        field: environ[variable]
        for field, variable in (
            ("url", "ARIA_HUB_URL"),
            ("token", "ARIA_HUB_TOKEN"),
            ("kind", "ARIA_HUB_KIND"),
        )
        if environ.get(variable)
    }
    if not changes:
        return config
    if changes.get("kind", "plain") not in ("auto", "plain"):
        raise ConfigError(f"ARIA_HUB_KIND is {changes['kind']!r}", hint='use "plain" or "auto"')
    return msgspec.structs.replace(config, hub=msgspec.structs.replace(config.hub, **changes))


def _explain(message: str, text: str, name: str) -> ConfigError:
    """Turns msgspec's message into file, line and a suggestion."""
    import difflib

    where = re.search(r" - at `\$\.?([^`]*)`", message)
    steps = re.findall(r"[A-Za-z_][\w-]*", where[1]) if where else []
    what = message[: where.start()] if where else message
    hint = ""
    if unknown := re.search(r"unknown field `([^`]*)`", what):
        key = unknown[1]
        table = _table_at(steps)
        close = difflib.get_close_matches(key, table, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(table)}"
        what = f"unknown key {key!r}{f' in [{steps[0]}]' if steps else ''}"
        steps = [*steps, key]
    else:
        if wrong := re.search(r"[Ii]nvalid enum value '(.*)'", what):
            what, hint = f"{wrong[1]!r} is not known", _choice_hint(wrong[1], steps)
        what = f"{'.'.join(steps) or 'the file'}: {what[0].lower()}{what[1:]}"
    return ConfigError(what, path=name, line=line_of(steps, text), hint=hint)


def _choice_hint(wrong: str, steps: list[str]) -> str:
    """The words that a key takes; the one that was meant, where that can be told."""
    import difflib
    import typing

    kind: Any = Config
    for step in steps:
        kind = typing.get_type_hints(kind).get(step)
    words = [word for word in typing.get_args(kind) if word]
    close = difflib.get_close_matches(wrong.lower(), words, 1)
    return f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(words)}"


def _table_at(steps: list[str]) -> list[str]:
    kind: Any = Config
    for step in steps:
        kind = next((f.type for f in msgspec.structs.fields(kind) if f.encode_name == step), None)
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            return [f.encode_name for f in msgspec.structs.fields(CalendarSourceConfig)]
    return [f.encode_name for f in msgspec.structs.fields(kind)]


def line_of(steps: list[str], text: str) -> int | None:
    """The line of a key, given by its table and its name: within its table's header if there is one."""
    if not steps:
        return None
    table, key = (steps[0], steps[-1]) if len(steps) > 1 else ("", steps[0])
    inside = not table
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([\w.\-]+)", line):
            inside = header[1].split(".")[0] == table or (not table and header[1] == key)
            if not table and header[1].split(".")[0] == key:
                return number
        if inside and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
            return number
    return next((n for n, line in enumerate(text.splitlines(), 1) if re.search(rf"\b{re.escape(key)}\b", line)), None)
