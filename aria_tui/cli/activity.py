"""``aria activity``: what was done on a project, by day."""

from __future__ import annotations

import argparse

from aria_tui import meaning
from aria_tui.cli import output, writes
from aria_tui.cli.parser import SubParsers, add_command, add_json, add_subcommands, help_of, whole_number
from aria_tui.cli.session import opened
from aria_tui.locale import _


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``activity`` and its commands."""
    activity = add_command(
        subparsers, "activity", help_of("activity"), examples=("aria activity add menthos --notes 'Auth is done'",)
    )
    commands = add_subcommands(activity)
    add = add_command(
        commands, "add", _("record what was done on a project"), _add,
        examples=("aria activity add menthos --notes 'Auth is done'", "aria activity add lab --commits 3 --date today"),
    )  # fmt: skip
    add.add_argument("project", metavar="PROJECT", help=_("project"))
    add.add_argument("--notes", metavar="TEXT", help=_("notes of the day; - reads standard input"))
    add.add_argument("--summary", metavar="TEXT", help=_("the day in a line"))
    add.add_argument("--commits", metavar="N", type=whole_number, help=_("how many commits"))
    add.add_argument("--date", metavar="DAY", default="today", help=_("today, 2026-11-30 (default: today)"))
    writes.add_write_options(add)
    listing = add_command(
        commands, "list", _("list what was recorded"), _list, examples=("aria activity list --since 2026-11-01",)
    )
    listing.add_argument("-p", "--project", metavar="PROJECT", help=_("of this project"))
    listing.add_argument("--since", metavar="DAY", help=_("on this day or later (2026-12-01)"))
    listing.set_defaults(wanted="activity")
    add_json(listing)


async def _add(args: argparse.Namespace) -> int:
    from aria_tui.errors import UsageError

    if args.notes is None and args.summary is None and args.commits is None:
        raise UsageError(_("nothing to record: give --notes, --summary or --commits"))
    notes = writes.given_text(args.notes, args) if args.notes is not None else None
    args.typed = "\n".join(text for text in (args.summary, notes) if text)
    async with opened(args) as assistant:
        day = meaning.day(args.date, assistant.config, field="date")
        result = await assistant.record_activity(
            args.project, day.isoformat(), commits=args.commits, summary=args.summary, notes=notes, offline=args.offline
        )
    return writes.report(result, args)


async def _list(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        since = meaning.since(args.since, assistant.config).isoformat() if args.since else None
        found = await assistant.list_activity(since=since, project=args.project)
    if args.json:
        output.emit({"activity": found})
        return 0
    cells = max(20, output.terminal_columns() - 44)
    output.table([
        (day.date, output.clip(day.project, 20), str(day.commits), output.clip(day.notes or day.summary or "", cells))
        for day in found
    ], right=(2,))  # fmt: skip
    if not found:
        output.say(_("no activity"))
    return 0
