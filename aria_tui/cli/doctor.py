"""``aria doctor``: a line for everything the program stands on, with the way out; a bundle for a bug report."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from aria_tui.cli import checks, output
from aria_tui.cli.checks import Check
from aria_tui.cli.parser import SubParsers, add_command, add_json, help_of
from aria_tui.errors import AriaError
from aria_tui.locale import _, ngettext

MARKS = {"ok": "✓", "warning": "⚠", "problem": "✗"}


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``doctor``."""
    doctor = add_command(
        subparsers, "doctor", help_of("doctor"), _run,
        description=_("Looks at home, configuration, queue, lock, Hub, sources, terminal. Exit status 1: a problem."),
        examples=("aria doctor", "aria doctor --json", "aria doctor --bundle report.json"),
    )  # fmt: skip
    add_json(doctor)
    doctor.add_argument(
        "--bundle", metavar="FILE", help=_("also write a file for a bug report, without secrets or what you wrote")
    )


async def _run(args: argparse.Namespace) -> int:
    found = await _all(args)
    sick = any(check.level == "problem" for check in found)
    if args.bundle:
        _write_bundle(Path(args.bundle), found)
    if args.json:
        output.emit({"ok": not sick, "checks": found})
    else:
        _print(found)
        if args.bundle:
            output.say(_("written: {file}").format(file=output.safe(args.bundle)))
    return 1 if sick else 0


async def _all(args: argparse.Namespace) -> list[Check]:
    from aria_tui.cli import checks_hub
    from aria_tui.cli.session import load_config

    found = [checks.program(), *checks.guarded("home", checks.home)]
    config, words = checks.settings()
    found += words
    known = checks.can_look_inside()
    if known:
        found += checks.guarded("queue", checks.queue) + checks.guarded("drain lock", checks.lock)
    if config is not None:
        config = load_config(args)
        if known or config.hub.url:
            found += [check async for check in checks_hub.hub(config)]
        found += await checks_hub.sources(config)
    return found + checks.guarded("terminal", checks.terminal)


def _print(found: list[Check]) -> None:
    wide = max(len(check.name) for check in found)
    for check in found:
        output.say(f"{MARKS[check.level]} {check.name:<{wide}}  {output.safe(check.text)}")
        if check.way_out:
            output.say(f"  {'':<{wide}}  → {output.safe(check.way_out)}")
    problems = sum(check.level == "problem" for check in found)
    warnings = sum(check.level == "warning" for check in found)
    output.say(", ".join((
        ngettext("{n} problem", "{n} problems", problems).format(n=problems),
        ngettext("{n} warning", "{n} warnings", warnings).format(n=warnings),
    )))  # fmt: skip


def _write_bundle(file: Path, found: list[Check]) -> None:
    import json

    document = json.dumps(_hidden(_bundle(found)), indent=2, ensure_ascii=False) + "\n"
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            out.write(document)
    except OSError as error:
        raise AriaError(f"{file} can't be written: {error.strerror}") from None


def _bundle(found: list[Check]) -> dict[str, Any]:
    """What helps to find a fault: versions, checks, counts, which settings are set, where recent errors happened."""
    import platform
    from importlib import metadata

    import msgspec

    packages: dict[str, str | None] = {}
    for name in ("textual", "httpx", "aiosqlite", "msgspec", "starlette", "uvicorn", "icalendar", "babel", "mcp"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = None
    return {
        "checks": msgspec.to_builtins(found),
        "platform": platform.platform(),
        "python": sys.version,
        "packages": packages,
        "environment": sorted(name for name in os.environ if name.startswith("ARIA_") or name.endswith("_PROXY")),
        "settings": _settings(),
        "queue": _counts(),
        "errors": _errors(),
    }


def _settings() -> list[str]:
    """The names of the keys that are set; never their values."""
    import tomllib

    from aria_tui import config

    try:
        tables = tomllib.loads(config.path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [f"{table}.{key}" for table, keys in tables.items() if isinstance(keys, dict) for key in keys]


def _counts() -> dict[str, Any]:
    """Rows by operation and state; no payload, no entity, no error text."""
    import sqlite3

    from aria_tui import paths

    file = paths.home() / "queue.db"
    if not file.exists():
        return {}
    try:
        connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            return {
                "waiting": dict(connection.execute("SELECT operation, sum(waiting) FROM counters GROUP BY operation")),
                "parked": dict(connection.execute("SELECT kind, count(*) FROM parked GROUP BY kind")),
                "why": dict(connection.execute(
                    "SELECT ifnull(why, ''), count(*) FROM queue WHERE synced_at IS NULL GROUP BY why"
                )),
            }  # fmt: skip
        finally:
            connection.close()
    except sqlite3.Error as error:
        return {"problem": str(error)}


def _errors() -> list[list[str]]:
    """Of the newest logs the places in the code only: an error's own text may quote what the user wrote."""
    from aria_tui import paths

    try:
        files = sorted((paths.home() / "log").glob("*.log"))[-5:]
        return [
            [line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
             if line.lstrip().startswith('File "')]
            for file in files
        ]  # fmt: skip
    except OSError:
        return []


def _hidden(document: Any) -> Any:
    """The document without configured secrets and without the user's name in paths."""
    from aria_tui import config
    from aria_tui.sources._secrets import redact, secrets_of

    secrets = [os.environ["ARIA_HUB_TOKEN"]] if os.environ.get("ARIA_HUB_TOKEN") else []
    with contextlib.suppress(AriaError):
        secrets += secrets_of(config.load())

    def hide(value: Any) -> Any:
        match value:
            case str():
                return redact(value, secrets).replace(str(Path.home()), "~")
            case dict():
                return {key: hide(item) for key, item in value.items()}
            case list():
                return [hide(item) for item in value]
            case _:
                return value

    return hide(document)
