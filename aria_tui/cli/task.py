"""``aria task``: one call of the assistant each."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from aria_tui import documents, meaning
from aria_tui.cli import output, writes
from aria_tui.cli.parser import SubParsers, add_command, add_json, add_subcommands, help_of
from aria_tui.cli.session import opened
from aria_tui.locale import _, ngettext

if TYPE_CHECKING:
    from datetime import date

    from aria_tui.assistant import Assistant
    from aria_tui.errors import HubUnavailable
    from aria_tui.models import TaskList

PRIORITIES = ("urgent", "high", "medium", "low")
STATUSES = ("todo", "in_progress", "done", "cancelled")
OPEN = ("TODO", "IN_PROGRESS")


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``task`` and its commands."""
    task = add_command(subparsers, "task", help_of("task"), examples=("aria task add 'Pagar DAS' --due fri",))
    commands = add_subcommands(task)
    _add_add(commands)
    _add_list(commands)
    show = add_command(commands, "show", _("one task with everything"), _show, examples=("aria task show 0198",))
    _add_id(show)
    add_json(show)
    done = add_command(commands, "done", _("complete a task"), _done, examples=("aria task done 0198",))
    _add_id(done)
    writes.add_write_options(done)
    _add_edit(commands)
    gone = add_command(commands, "rm", _("delete a task"), _remove, examples=("aria task rm 0198",))
    _add_id(gone)
    writes.add_write_options(gone)


def _add_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help=_("the task's id, or a beginning that only it has"))


def _word(choices: tuple[str, ...]) -> Any:
    """A word in any case, with - or _ between its parts, as the wire writes it."""

    def read(text: str) -> str:
        word = text.strip().lower().replace("-", "_").replace(" ", "_")
        if word not in choices:
            raise argparse.ArgumentTypeError(
                _("{text!r} is none of {choices}").format(text=text, choices=", ".join(choices))
            )
        return word.upper()

    return read


def _add_fields(parser: argparse.ArgumentParser, *, editing: bool = False) -> None:
    clears = _(" ('' to clear)") if editing else ""
    parser.add_argument("-p", "--project", metavar="PROJECT", help=_("project") + clears)
    parser.add_argument("--description", metavar="TEXT", help=_("more about it, Markdown") + clears)
    parser.add_argument("--priority", metavar="WORD", type=_word(PRIORITIES), help=", ".join(PRIORITIES))
    parser.add_argument("--status", metavar="WORD", type=_word(STATUSES), help=", ".join(STATUSES))
    parser.add_argument("--due", metavar="DAY", help=_("today, tomorrow, fri, +3d, 2026-12-01") + clears)
    parser.add_argument("--tag", metavar="TAG", action="append", help=_("may be given several times") + clears)


def _add_add(commands: SubParsers) -> None:
    add = add_command(
        commands, "add", _("add a task"), _add,
        examples=(
            "aria task add 'Pagar DAS' -p finance --due fri --priority high",
            "aria task add 'Read the changelog' --offline",
        ),
    )  # fmt: skip
    add.add_argument("title", metavar="TITLE", help=_("1 to 500 characters; - reads standard input"))
    _add_fields(add)
    writes.add_write_options(add)


def _add_list(commands: SubParsers) -> None:
    listing = add_command(
        commands, "list", _("list tasks"), _list,
        description=_("Lists open tasks; with --json, or --all, the done and cancelled ones too."),
        examples=("aria task list", "aria task list --status done --json"),
    )  # fmt: skip
    listing.add_argument("--status", metavar="WORD", type=_word(STATUSES), help=", ".join(STATUSES))
    listing.add_argument("-p", "--project", metavar="PROJECT", help=_("of this project"))
    listing.add_argument("--priority", metavar="WORD", type=_word(PRIORITIES), help=", ".join(PRIORITIES))
    listing.add_argument("--all", action="store_true", help=_("done and cancelled ones too"))
    add_json(listing)


def _add_edit(commands: SubParsers) -> None:
    edit = add_command(
        commands,
        "edit",
        _("change a task"),
        _edit,
        examples=("aria task edit 0198 --title 'Pagar DAS e INSS' --due +1w",),
    )
    _add_id(edit)
    edit.add_argument("--title", metavar="TITLE", help=_("the new title"))
    _add_fields(edit, editing=True)
    writes.add_write_options(edit)


async def _add(args: argparse.Namespace) -> int:
    title = writes.given_text(args.title, args)
    async with opened(args) as assistant:
        result = await assistant.create_task(
            title,
            project=args.project or None,
            description=args.description or None,
            priority=args.priority,
            status=args.status,
            due=meaning.day(args.due, assistant.config).isoformat() if args.due else None,
            tags=[tag for tag in args.tag or () if tag],
            offline=args.offline,
        )
    return writes.report(result, args)


async def _edit(args: argparse.Namespace) -> int:
    from aria_tui.errors import UsageError

    async with opened(args) as assistant:
        changes = _changes(args, assistant)
        if not changes:
            raise UsageError(_("nothing to change: give --title, --due, --priority, --status, --tag, …"))
        writes.remember(args, changes)
        found = await meaning.find_id(assistant, "task", args.id)
        result = await assistant.update_task(found, changes, offline=args.offline)
    return writes.report(result, args)


def _changes(args: argparse.Namespace, assistant: Assistant) -> dict[str, Any]:
    """The fields that were given, as on the wire; an empty value clears one."""
    plain = {"title": args.title, "priority": args.priority, "status": args.status}
    clearable = {"description": args.description, "project_name": args.project}
    changes: dict[str, Any] = {name: value for name, value in plain.items() if value is not None}
    changes |= {name: value or None for name, value in clearable.items() if value is not None}
    if args.due is not None:
        changes["due_date"] = meaning.day(args.due, assistant.config).isoformat() if args.due else None
    if args.tag is not None:
        changes["tags"] = [tag for tag in args.tag if tag]
    return changes


async def _done(args: argparse.Namespace) -> int:
    args.typed = ""
    async with opened(args) as assistant:
        found = await meaning.find_id(assistant, "task", args.id)
        result = await assistant.complete_task(found, offline=args.offline)
    return writes.report(result, args)


async def _remove(args: argparse.Namespace) -> int:
    args.typed = ""
    async with opened(args) as assistant:
        found = await meaning.find_id(assistant, "task", args.id)
        result = await assistant.delete_task(found, offline=args.offline)
    return writes.report(result, args)


async def _show(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        task = await assistant.get_task(await meaning.find_id(assistant, "task", args.id))
    if args.json:
        output.emit({"task": documents.task(task)})
        return 0
    for name in documents.Task.__struct_fields__:
        value = getattr(task, name)
        if isinstance(value, tuple):
            value = ", ".join(value)
        if value not in (None, "", False):
            output.say(f"{name + ':':<14}{output.safe(value, lines=True)}")
    return 0


async def _list(args: argparse.Namespace) -> int:
    from aria_tui.errors import HubUnavailable as Away

    async with opened(args) as assistant:
        last_seen = assistant.config.ui.offline_tasks == "last-seen"
        try:
            found = await assistant.list_tasks(
                status=args.status, project=args.project, priority=args.priority, last_seen=last_seen
            )
        except Away as error:
            return await _tell_away(error, assistant)
    if args.json:
        output.emit(documents.tasks(found))
    else:
        _print_list(found, meaning.now(assistant.config).date(), everything=args.all or bool(args.status))
    return 0


async def _tell_away(error: HubUnavailable, assistant: Assistant) -> int:
    """The Hub is away: no list is guessed, but what waits here is known (briefing.md)."""
    from aria_tui.wording import unavailable

    output.complain(unavailable(error, "tasks"))
    waiting = await assistant.waiting_tasks()
    if waiting.tasks:
        names = "; ".join(output.clip(task.title, 40) for task in waiting.tasks[:5])
        count = len(waiting.tasks)
        words = ngettext("{n} waiting in the queue: {names}", "{n} waiting in the queue: {names}", count)
        output.complain(words.format(n=count, names=names))
    return 1


def _print_list(found: TaskList, day: date, *, everything: bool) -> None:
    from aria_tui.cli.words import mark_of, moment
    from aria_tui.locale import formats

    if found.source == "last-seen":
        output.complain(_("Hub offline: tasks as last seen at {time}").format(time=moment(found.as_of)))
    shown = [task for task in found.tasks if everything or task.status in OPEN or task.waiting]
    cells = max(20, output.terminal_columns() - 52)
    output.table([
        (
            mark_of(task), task.id[:13], output.clip(task.title, cells), output.clip(task.project_name or "", 14),
            formats.due(task.due_date, day), task.priority, "" if task.status == "TODO" else task.status,
        )
        for task in shown
    ])  # fmt: skip
    hidden = len(found.tasks) - len(shown)
    if hidden:
        output.say(
            _("{open} open, {hidden} done or cancelled (--all shows them)").format(open=len(shown), hidden=hidden)
        )
    elif not shown:
        output.say(_("no tasks"))
