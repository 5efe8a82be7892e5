"""``aria config``: where the file is, a first one, a check, its JSON Schema. It never prints a secret."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aria_tui import config as configuration
from aria_tui.cli import output
from aria_tui.cli.parser import SubParsers, add_command, add_json, add_subcommands, help_of
from aria_tui.errors import AriaError, ConfigError
from aria_tui.locale import _

TEMPLATE = Path(__file__).with_name("config.toml")
SCHEMA_NAME = "config.schema.json"


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``config`` and its commands."""
    config = add_command(subparsers, "config", help_of("config"), examples=("aria config check",))
    commands = add_subcommands(config)
    where = add_command(commands, "path", _("where the configuration is"), _path, examples=("aria config path",))
    add_json(where)
    init = add_command(
        commands, "init", _("write a first, commented one, with its schema for editors"), _init,
        examples=("aria config init",),
    )  # fmt: skip
    init.add_argument("--force", action="store_true", help=_("over the one that is there (kept as config.toml.old)"))
    check = add_command(
        commands,
        "check",
        _("read it as the program does, and say what it means"),
        _check,
        examples=("aria config check",),
    )
    add_json(check)
    add_command(
        commands, "schema", _("print its JSON Schema"), _schema, examples=("aria config schema > config.schema.json",)
    )


def _path(args: argparse.Namespace) -> int:
    if args.json:
        output.emit({"path": str(configuration.path()), "exists": configuration.path().exists()})
    else:
        output.say(output.as_is(str(configuration.path())))
    return 0


def _init(args: argparse.Namespace) -> int:
    file = configuration.path()
    if file.exists() and not args.force:
        raise AriaError(_("{file} is there already; --force writes a new one").format(file=file))
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if file.exists():
            file.replace(file.with_name(f"{file.name}.old"))
        _write_private(file, TEMPLATE.read_text(encoding="utf-8"))
        _write_private(file.with_name(SCHEMA_NAME), _schema_text())
    except OSError as error:
        raise AriaError(f"{error.filename or file}: {error.strerror}") from None
    output.say(_("written: {file}").format(file=output.safe(file)))
    return 0


def _write_private(file: Path, text: str) -> None:
    """A new file that only its owner can read."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(text)


async def _check(args: argparse.Namespace) -> int:
    """Refuses what every other command refuses; then tries each configured source, and says what it found."""
    from aria_tui import paths
    from aria_tui.cli.session import load_config
    from aria_tui.hub.client import HubClient, resolve_token
    from aria_tui.sources import check_sources

    file = configuration.path()
    _look_closer(configuration.load(file, {}), file)  # strictly: a file that is kept from the user isn't fine
    config = load_config(args)
    token = configuration.token_source(config, token_file=getattr(args, "hub_token_file", None))
    warnings = configuration.warnings(config, file)
    if config.hub.url:
        await HubClient(config.hub, token=await resolve_token(config.hub)).aclose()
    found = [source for source in await check_sources(config, paths.home()) if source[1] != "not_configured"]
    if args.json:
        output.emit({
            "path": str(file), "exists": file.exists(), "hub": config.hub.url or "embedded", "token": token,
            "warnings": warnings,
            "sources": [{"name": name, "state": state, "text": text} for name, state, text in found],
        })  # fmt: skip
        return 0
    output.say(_("{file}: fine").format(file=output.safe(file)) if file.exists() else _("no file: all defaults"))
    output.say(_("Hub: {url}").format(url=output.safe(config.hub.url) or _("embedded, on this machine")))
    output.say(_("token: {where}").format(where=output.safe(token)))
    for name, state, text in found:
        words = text if state == "ok" else f"{state}: {text}"
        output.say(f"{'✓' if state == 'ok' else '⚠'} {output.safe(f'{name}: {words}')}")
    for warning in warnings:
        output.complain(warning)
    return 0


def _look_closer(config: configuration.Config, file: Path) -> None:
    """Values of the right kind that name nothing: the other commands go on without, for a briefing is never aborted
    and a key keeps its place. Here each is an error like any other. Raises ConfigError."""
    for steps, what, hint in _odd(config):
        line = configuration.line_of(steps, file.read_text(encoding="utf-8"))
        raise ConfigError(what, path=str(file), line=line, hint=hint)


def _odd(config: configuration.Config) -> Iterator[tuple[list[str], str, str]]:
    """Table and key, what is wrong, what to write instead."""
    from difflib import get_close_matches

    from aria_tui.sources.context import zone_of
    from aria_tui.tui.commands import BY_ID, read_keymap

    if config.briefing.timezone and zone_of(config.briefing.timezone)[1]:
        from zoneinfo import available_timezones

        close = get_close_matches(config.briefing.timezone, available_timezones(), 1)
        hint = f"did you mean {close[0]!r}?" if close else "such as 'America/Fortaleza'"
        yield ["briefing", "timezone"], f"briefing.timezone: no such zone: {config.briefing.timezone!r}", hint
    for name, text in config.ui.keys.items():
        if name not in BY_ID:
            close = get_close_matches(name, BY_ID, 1)
            hint = f"did you mean {close[0]!r}?" if close else "their names are in the help (?)"
            yield ["ui", name], f"unknown key {name!r} in [ui.keys]", hint
        elif problems := read_keymap({name: text})[1]:
            yield ["ui", name], problems[0], "such as 's,f5'"
    for source in config.calendar.sources:
        if (source.url is None) == (source.path is None):
            yield ["calendar", "sources"], "calendar.sources: one of url and path must be set", ""
    if config.finance.kind in ("http", "firefly") and not config.finance.url.startswith(("http://", "https://")):
        yield (
            ["finance", "url" if config.finance.url else "kind"],
            "finance.url: must begin with http:// or https://",
            "",
        )


def _schema(_args: argparse.Namespace) -> int:
    output.write_text(_schema_text())
    return 0


def _schema_text() -> str:
    import json

    document: dict[str, Any] = configuration.json_schema()
    return json.dumps(document, indent=2) + "\n"
