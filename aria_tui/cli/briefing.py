"""``aria briefing``: the same briefing as the screen's, printed, and stored like every write."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from aria_tui import meaning
from aria_tui.cli import output
from aria_tui.cli.parser import SubParsers, add_command, help_of
from aria_tui.cli.session import opened
from aria_tui.locale import _

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant
    from aria_tui.models import BriefingDoc


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``briefing``."""
    briefing = add_command(
        subparsers, "briefing", help_of("briefing"), _run,
        description=_("Gathers the briefing, prints it and stores it. --date prints one that was stored."),
        examples=("aria briefing", "aria briefing --format json --no-store", "aria briefing --evening"),
    )  # fmt: skip
    briefing.add_argument("--evening", action="store_true", help=_("what was done today, and what tomorrow brings"))
    briefing.add_argument("--date", metavar="DAY", help=_("a stored one: yesterday's date, or any (2026-11-30)"))
    briefing.add_argument("--format", choices=("text", "markdown", "json"), help=_("default: text"))
    briefing.add_argument("--json", dest="format", action="store_const", const="json", help=_("as --format json"))
    briefing.add_argument("--no-store", action="store_true", help=_("print only"))


async def _run(args: argparse.Namespace) -> int:
    from aria_tui import briefing as form

    status = 0
    async with opened(args) as assistant:
        stored = args.date is not None and not (args.evening and _is_today(args.date, assistant))
        if stored:
            document = await _stored(args.date, assistant)
        else:
            draws = args.format in (None, "text") and output.on_terminal(sys.stderr)
            document = await _gather(assistant, evening=args.evening, draws=draws)
        match args.format:
            case "json":
                output.emit(form.as_data(document))
            case "markdown":
                output.say(output.as_is(form.render_markdown(document)).rstrip("\n"))
            case _other:
                output.say(output.safe(form.render_text(document), lines=True).rstrip("\n"))
        if not stored and not args.no_store:
            status = await _store(document, assistant)
    return status


async def _gather(assistant: Assistant, *, evening: bool, draws: bool) -> BriefingDoc:
    """The whole document; ``draws``: what is still waited for stands on one line of the terminal meanwhile."""
    from aria_tui.models import BriefingDoc

    missing = _expected(assistant, evening=evening)
    say = _draw if draws else lambda _names: None
    try:
        say(missing.values())
        async for step in assistant.briefing(kind="evening" if evening else "morning"):
            if isinstance(step, BriefingDoc):
                return step
            missing.pop(step.name, None)
            say(missing.values())
    finally:
        say(())
    raise RuntimeError("the briefing ended without its document")


def _expected(assistant: Assistant, *, evening: bool) -> dict[str, str]:
    """The sections that will come, by name, with their titles."""
    from aria_tui import briefing as form
    from aria_tui._briefing_render import titles

    names = form.EVENING_SECTIONS if evening else form.SECTIONS
    silent = {"context"} | (set() if assistant.config.briefing.reports else {"reports"})
    return {name: title for name, title in titles().items() if name in names and name not in silent}


def _draw(names: Iterable[str]) -> None:
    """What is waited for, on a line of the terminal over itself; of nothing the line is taken away."""
    waited = ", ".join(names)
    text = _("waiting for: {names}").format(names=waited) if waited else ""
    columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
    sys.stderr.write(f"\r{output.clip(text, columns - 1)}\x1b[K")
    sys.stderr.flush()


def _is_today(day: str, assistant: Assistant) -> bool:
    """Raises UsageError for another day's evening: it became activity by project, and is no briefing any more."""
    from aria_tui.errors import UsageError

    date = meaning.day(day, assistant.config, field="date")
    if date != meaning.now(assistant.config).date():
        raise UsageError(
            _("an evening is kept as activity, not as a briefing: aria activity list --since {date}").format(date=date)
        )
    return True


async def _stored(day: str, assistant: Assistant) -> BriefingDoc:
    from aria_tui.errors import NotFound

    date = meaning.day(day, assistant.config, field="date").isoformat()
    found = await assistant.stored_briefing(date)
    if found is None:
        raise NotFound(_("no briefing of {date} is stored").format(date=date))
    return found


async def _store(document: BriefingDoc, assistant: Assistant) -> int:
    """Stored as a write like any other; what is to be known of that stands on standard error, beside the document."""
    from aria_tui.cli.writes import DONE
    from aria_tui.errors import AriaError

    try:
        results = await assistant.save_briefing(document)
    except AriaError as error:  # it is on the screen; only its copy for later is missing
        output.complain(_("the briefing was not stored: {error}").format(error=error))
        return 1
    for result in results:
        if result.status == "queued" or result.status not in DONE:
            from aria_tui.cli.said import in_words

            output.complain(f"{_('Briefing')}: {in_words(result.message)}")
    return 0 if all(result.status in DONE for result in results) else 1
