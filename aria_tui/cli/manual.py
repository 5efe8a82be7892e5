"""The man page, from the parser: what ``--help`` says of every command, in roff (man(7))."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from aria_tui import __version__
from aria_tui.locale import _

_EXIT = (
    ("0", "done; a write that was queued is done"),
    ("1", "a write was rejected or not saved, or another failure"),
    ("2", "the command, or the configuration, has no meaning"),
    ("3", "after a sync: something still waits, or was parked"),
)
_ENVIRONMENT = (
    ("ARIA_HOME", "the folder of everything, else ~/.aria"),
    ("ARIA_HUB_URL", "the Hub's address, over that of config.toml"),
    ("ARIA_HUB_TOKEN", "the Hub's token, over that of config.toml"),
    ("ARIA_HUB_KIND", "plain for a Hub without /api/meta"),
    ("NO_COLOR", "no colours"),
)
_FILES = (
    ("$ARIA_HOME/config.toml", "the configuration (aria config init writes a commented one)"),
    ("$ARIA_HOME/queue.db", "what waits for the Hub"),
    ("$ARIA_HOME/hub.db", "the embedded Hub's, where no other is configured"),
)


def page(parser: argparse.ArgumentParser) -> str:
    """The whole page in roff."""
    everywhere = {option for action in parser._actions for option in action.option_strings}
    lines = [
        f'.TH ARIA 1 "" "aria {__version__}" "User Commands"',
        ".SH NAME",
        "aria \\- a dashboard over an offline queue that loses nothing",
        ".SH SYNOPSIS",
        ".B aria",
        f"[{_escape('--home DIR')}] [COMMAND ...]",
        ".SH DESCRIPTION",
        "Without a command, the dashboard. " + _escape(parser.description or ""),
        ".SH COMMANDS",
    ]
    for command in _commands(parser):
        lines += _command(command, everywhere)
    lines += [".SH OPTIONS OF EVERY COMMAND", *_options(parser, set())]
    for title, rows in (("EXIT STATUS", _EXIT), ("ENVIRONMENT", _ENVIRONMENT), ("FILES", _FILES)):
        lines.append(f".SH {title}")
        for name, text in rows:
            lines += [".TP", f".B {_escape(name)}", _escape(text)]
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every command that does something, in the order of the help."""
    for action in parser._actions:  # argparse offers no public way to walk its sub-parsers
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
                if child.get_default("run"):
                    yield child
                yield from _commands(child)


def _command(parser: argparse.ArgumentParser, everywhere: set[str]) -> Iterator[str]:
    usage = " ".join(parser.format_usage().split()).removeprefix(_("usage: "))
    for option in re.findall(r"\[[^]]*\]", usage):
        if option.strip("[]").split(" ")[0] in everywhere:
            usage = usage.replace(f" {option}", "", 1)
    yield f".SS {_escape(parser.prog)}"
    yield _escape(parser.description or "")
    yield ".PP"
    yield _escape(usage)
    yield from _options(parser, everywhere)
    if parser.epilog:
        yield ".PP"
        yield ".nf"
        yield from (_escape(line) for line in parser.epilog.split("\n"))
        yield ".fi"


def _options(parser: argparse.ArgumentParser, without: set[str]) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or without.intersection(action.option_strings):
            continue
        names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
        value = f" {action.metavar or action.dest.upper()}" if action.option_strings and action.nargs != 0 else ""
        yield ".TP"
        yield f".B {_escape(names + value)}"
        yield _escape(action.help or "")


def _escape(text: str) -> str:
    """Roff's own characters made plain; a line never begins with a request."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("\n", " ")
    return f"\\&{safe}" if safe.startswith((".", "\\(aq")) else safe
