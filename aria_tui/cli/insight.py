"""``aria insight``."""

from __future__ import annotations

import argparse
from typing import Any

from aria_tui.cli import output, writes
from aria_tui.cli.parser import SubParsers, add_command, add_json, add_subcommands, help_of
from aria_tui.cli.session import opened
from aria_tui.locale import _


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``insight`` and its commands."""
    insight = add_command(subparsers, "insight", help_of("insight"), examples=("aria insight add 'Cache the token'",))
    commands = add_subcommands(insight)
    add = add_command(
        commands, "add", _("capture an insight"), _add,
        examples=(
            "aria insight add 'Better Auth needs a pool' -p menthos --tag auth",
            "echo 'Cache the token' | aria insight add -",
        ),
    )  # fmt: skip
    add.add_argument("text", metavar="TEXT", help=_("what you saw; - reads standard input"))
    add.add_argument("-p", "--project", metavar="PROJECT", help=_("project"))
    add.add_argument("--tag", metavar="TAG", action="append", help=_("may be given several times"))
    writes.add_write_options(add)
    listing = add_command(
        commands, "list", _("find insights"), _list, examples=("aria insight list -q auth", "aria insight list --json")
    )
    listing.add_argument("-q", "--query", metavar="WORDS", help=_("only those with these words"))
    listing.add_argument("-p", "--project", metavar="PROJECT", help=_("of this project"))
    listing.add_argument("--since", metavar="DAY", help=_("captured on this day or later (2026-12-01)"))
    listing.set_defaults(wanted="insights")
    add_json(listing)
    _add_edit(commands)
    gone = add_command(commands, "rm", _("delete an insight"), _remove, examples=("aria insight rm 0198",))
    _add_id(gone)
    writes.add_write_options(gone)


def _add_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help=_("the insight's id, or a beginning that only it has"))


def _add_edit(commands: SubParsers) -> None:
    edit = add_command(
        commands,
        "edit",
        _("change an insight"),
        _edit,
        examples=("aria insight edit 0198 'Better Auth pools by itself'",),
    )
    _add_id(edit)
    edit.add_argument("text", metavar="TEXT", nargs="?", help=_("the new text; - reads standard input"))
    edit.add_argument("-p", "--project", metavar="PROJECT", help=_("project") + _(" ('' to clear)"))
    edit.add_argument(
        "--tag", metavar="TAG", action="append", help=_("may be given several times") + _(" ('' to clear)")
    )
    writes.add_write_options(edit)


async def _add(args: argparse.Namespace) -> int:
    text = writes.given_text(args.text, args)
    async with opened(args) as assistant:
        result = await assistant.capture_insight(
            text, project=args.project or None, tags=[tag for tag in args.tag or () if tag], offline=args.offline
        )
    return writes.report(result, args)


async def _edit(args: argparse.Namespace) -> int:
    from aria_tui import meaning
    from aria_tui.errors import UsageError

    changes: dict[str, Any] = {}
    if args.text is not None:
        changes["content"] = writes.given_text(args.text, args)
    if args.project is not None:
        changes["project"] = args.project or None
    if args.tag is not None:
        changes["tags"] = [tag for tag in args.tag if tag]
    if not changes:
        raise UsageError(_("nothing to change: give a text, --project or --tag"))
    args.typed = getattr(args, "typed", "")
    async with opened(args) as assistant:
        found = await meaning.find_id(assistant, "insight", args.id)
        result = await assistant.update_insight(found, changes, offline=args.offline)
    return writes.report(result, args)


async def _remove(args: argparse.Namespace) -> int:
    from aria_tui import meaning

    args.typed = ""
    async with opened(args) as assistant:
        found = await meaning.find_id(assistant, "insight", args.id)
        result = await assistant.delete_insight(found, offline=args.offline)
    return writes.report(result, args)


async def _list(args: argparse.Namespace) -> int:
    from aria_tui import meaning

    async with opened(args) as assistant:
        last_seen = assistant.config.ui.offline_tasks == "last-seen"
        since = meaning.beginning_of(args.since, assistant.config) if args.since else None
        found = await assistant.list_insights(query=args.query, project=args.project, since=since, last_seen=last_seen)
    if args.json:
        from aria_tui import documents

        output.emit(documents.insights(found))
        return 0
    from aria_tui.cli.words import moment

    if found.source == "last-seen":
        output.complain(_("Hub offline: insights as last seen at {time}").format(time=moment(found.as_of)))
    cells = max(20, output.terminal_columns() - 54)
    output.table([
        (
            "⇡" if insight.waiting else " ", insight.id[:13], moment(insight.captured_at),
            output.clip(insight.content, cells), output.clip(insight.project or "", 14),
        )
        for insight in found.insights
    ])  # fmt: skip
    if not found.insights:
        output.say(_("no insights"))
    return 0
