"""Everything the command line prints goes through here: JSON as it is stored, outside text made harmless.

A reader that went away (``| head -1``) is nobody's fault: the rest is dropped and the status stays what it was.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any


class Unwritable(Exception):
    """Standard output can't take what is written (a full disk); str() is the system's reason."""


def say(text: str = "") -> None:
    """A line for the user, already put together from safe parts (``safe``)."""
    write_text(f"{text}\n", sys.stdout)


def complain(problem: object) -> None:
    """A line on standard error, after the program's name."""
    note(f"aria: {safe(str(problem), lines=True)}")


def note(text: str) -> None:
    """A line on standard error as it is."""
    with contextlib.suppress(Unwritable):  # there is no third place to say it
        write_text(f"{text}\n", sys.stderr)


def safe(text: object, *, lines: bool = False) -> str:
    """Outside text with visible stand-ins for what would steer a terminal; in one line unless ``lines``."""
    word = str(text)
    if word.isascii() and word.isprintable():
        return word
    from aria_tui import clean

    return clean.visible(word, newlines=lines)


def as_is(text: str) -> str:
    """The text itself where it goes to a file or another program, made harmless on a terminal."""
    return safe(text, lines=True) if on_terminal() else text


def on_terminal(stream: Any = None) -> bool:
    """Whether a person reads standard output (or ``stream``) directly."""
    try:
        return bool((stream or sys.stdout).isatty())
    except ValueError:  # closed
        return False


def emit(document: Any) -> None:
    """One JSON document and a line's end, UTF-8 whatever the locale: indented for a person, one line for a program."""
    from aria_tui import documents

    text = documents.encode(document)
    if on_terminal():
        import msgspec

        text = msgspec.json.format(text, indent=2)
    write_bytes(f"{text}\n".encode())


def write_bytes(data: bytes) -> None:
    """Bytes to standard output."""
    _guarded(lambda: (sys.stdout.flush(), sys.stdout.buffer.write(data), sys.stdout.buffer.flush()))


def write_text(text: str, stream: IO[str] | None = None) -> None:
    target = stream or sys.stdout
    _guarded(lambda: target.write(text))


def _guarded(write: Callable[[], object]) -> None:
    try:
        write()
    except BrokenPipeError:
        forget_stdout()
    except OSError as error:
        raise Unwritable(error.strerror or str(error)) from None


def forget_stdout() -> None:
    """The reader is gone: what follows, and the interpreter's own last flush, goes nowhere, quietly."""
    _forget(1)


def _forget(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def finish(status: int) -> int:
    """Flushes both streams, so that a failure is told here and not by the interpreter; gives the final status."""
    try:
        _guarded(sys.stdout.flush)
    except Unwritable as error:
        complain(f"can't write the output: {error}")
        forget_stdout()
        status = status or 1
    try:
        sys.stderr.flush()
    except OSError:
        _forget(2)  # a closed terminal: what is left for it would cost the exit status
    return status


def table(rows: Sequence[Sequence[str]], *, gap: str = "  ", right: Sequence[int] = ()) -> None:
    """Rows in columns as wide as their widest cell on the screen; the columns of ``right`` are flush right."""
    if not rows:
        return
    cells = [[safe(cell) for cell in row] for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            " " * (widths[n] - width(cell)) + cell if n in right else cell + " " * (widths[n] - width(cell))
            for n, cell in enumerate(row)
        ]
        say(gap.join(padded).rstrip())


def width(text: str) -> int:
    """How many cells a safe text takes."""
    if text.isascii():
        return len(text)
    from aria_tui import clean

    return clean.cell_width(text)


def clip(text: str, cells: int) -> str:
    """A safe text in one line of at most so many cells, cut with an ellipsis and never inside a character.

    Its lines are joined by spaces; any other white space but spaces has its stand-in, as every control character.
    """
    word = safe(" ".join(part for part in text.replace("\r\n", " ").replace("\n", " ").split(" ") if part))
    if len(word) <= cells and word.isascii():
        return word
    from aria_tui import clean

    return clean.cut(word, cells)


def terminal_columns() -> int:
    """How wide the lines may be: the terminal's width, else 100 columns."""
    import shutil

    return shutil.get_terminal_size((100, 24)).columns if on_terminal() else 100


def confirm(question: str) -> bool:
    """Asks on the terminal; anything but yes is no. Only where ``can_ask()``."""
    from aria_tui.locale import _

    sys.stderr.write(f"{safe(question)} [{_('y/N')}] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes", "s", "sim"}


def can_ask() -> bool:
    """Whether somebody is there to answer."""
    return on_terminal(sys.stdin) and on_terminal(sys.stderr)
