"""From arguments to an exit status: one command's parser is built, its call made, its errors put into words."""

from __future__ import annotations

import os
import sys
from collections.abc import Coroutine, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from aria_tui.cli import interrupts, output, parser

if TYPE_CHECKING:
    import argparse

    from aria_tui.errors import AriaError


def run(arguments: Sequence[str]) -> int:
    """Runs one command. Never raises: whatever goes wrong is a sentence on standard error and a status."""
    _hold_standard_streams()
    try:
        status = _run(arguments)
    except KeyboardInterrupt:
        status = interrupts.status()
    return output.finish(status)


def _run(arguments: Sequence[str]) -> int:
    from aria_tui.errors import AriaError

    args = None
    try:
        _refuse_broken_text(arguments)
        _speak()
        args = parser.parse(arguments)
        _take_home(args)
        interrupts.unwind()
        outcome = args.run(args)
        return _wait_for(outcome) if isinstance(outcome, Coroutine) else int(outcome or 0)
    except SystemExit as end:  # argparse: --help, or a usage error that it has already told
        return end.code if isinstance(end.code, int) else 2
    except AriaError as error:
        _explain(error, args)
        return error.exit_status
    except BrokenPipeError:  # the reader went away in a command that prints by itself
        output.forget_stdout()
        return 0
    except output.Unwritable as error:
        output.complain(f"can't write the output: {error}")
        return 1
    except PermissionError as error:  # a home, or a part of it, that is somebody else's
        output.complain(output.safe(f"{error.filename}: {error.strerror}"))
        return 1
    except Exception as error:  # noqa: BLE001 - the last line: the trace goes to a file, a sentence to the user
        from aria_tui import crash

        output.complain(crash.record(error))
        return 1


def _speak() -> None:
    """The language of the environment, until the configuration is read."""
    from aria_tui import locale

    if (language := locale.choose("")) != locale.language():
        locale.use(language)


def _explain(error: AriaError, args: argparse.Namespace | None) -> None:
    """The sentence for an error; what was typed is given back wherever it was not saved."""
    from aria_tui import complaints
    from aria_tui.errors import HubUnavailable, NotSaved, QueueUnavailable

    typed = getattr(args, "typed", None)
    if isinstance(error, QueueUnavailable) and typed is not None:
        output.complain(complaints.sentence(f"not saved: {error}"))
    elif isinstance(error, HubUnavailable):
        from aria_tui.wording import unavailable

        output.complain(unavailable(error, getattr(args, "wanted", "")))
    else:
        output.complain(complaints.in_words(error))
    if isinstance(error, NotSaved | QueueUnavailable) and (text := getattr(error, "text", "") or typed):
        output.note(output.safe(text, lines=True) if output.on_terminal(sys.stderr) else text)


def _wait_for(coroutine: Coroutine[Any, Any, int]) -> int:
    return interrupts.run(coroutine) or 0


def _hold_standard_streams() -> None:
    """A closed standard stream (``>&-``) becomes the null device, so that no database takes its file number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
        if getattr(sys, name) is None:
            stream = open(os.devnull, "r" if number == 0 else "w", encoding="utf-8")  # noqa: SIM115, PTH123
            setattr(sys, name, stream)
    for output_stream in (sys.stdout, sys.stderr):
        if (output_stream.encoding or "").lower() not in {"utf-8", "utf8"} and isinstance(output_stream, TextIOWrapper):
            output_stream.reconfigure(errors="backslashreplace")  # an odd LANG may cost looks, never the answer


def _refuse_broken_text(arguments: Sequence[str]) -> None:
    """What the system gave as bytes that are no text can't be stored or sent, so it stops here."""
    from aria_tui.errors import UsageError

    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = argument.encode(errors="surrogateescape").decode(errors="backslashreplace")
            raise UsageError(f"argument {number} is not valid UTF-8: {shown}") from None


def _take_home(args: argparse.Namespace) -> None:
    """``--home`` is the same as ARIA_HOME, for what this program starts too."""
    if home := getattr(args, "home", None):
        os.environ["ARIA_HOME"] = home
