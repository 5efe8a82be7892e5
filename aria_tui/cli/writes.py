"""What every writing command shares: the text it was given, the answer it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from aria_tui.cli import output
from aria_tui.cli.parser import add_json, add_offline
from aria_tui.errors import UsageError
from aria_tui.models import WriteResult

DONE = frozenset({"synced", "queued", "superseded"})
"""A queued write is a success; a rejected one and a conflict wait for the user."""


def add_write_options(parser: argparse.ArgumentParser) -> None:
    """``--offline`` and ``--json``."""
    add_offline(parser)
    add_json(parser)


def report(result: WriteResult, args: argparse.Namespace) -> int:
    """Prints what became of a write and gives the exit status."""
    if args.json:
        output.emit(result)
    else:
        from aria_tui.cli.said import in_words

        output.say(output.safe(in_words(result.message)))
    return 0 if result.status in DONE else 1


def given_text(word: str, args: argparse.Namespace) -> str:
    """The text itself, or standard input for ``-``. It is kept for the case that it can't be saved."""
    text = read_stdin() if word == "-" else word
    args.typed = text
    return text


def read_stdin() -> str:
    """Standard input as text, without the last line's end. Raises UsageError for bytes that are not UTF-8."""
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not valid UTF-8 (byte {error.start})") from None
    return text.removesuffix("\n").removesuffix("\r")


def remember(args: argparse.Namespace, fields: Mapping[str, Any]) -> None:
    """Keeps what was typed into fields, as lines, for the case that it can't be saved."""
    args.typed = "\n".join(f"{name}: {value}" for name, value in fields.items() if value not in (None, (), []))
