"""``aria queue``: what waits, why, and what the user can do about it."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Literal

from aria_tui import documents
from aria_tui.cli import output
from aria_tui.cli.parser import SubParsers, add_command, add_json, add_subcommands, help_of, whole_number
from aria_tui.cli.session import opened
from aria_tui.locale import _, ngettext
from aria_tui.models import QueueItem

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant

Kind = Literal["waiting", "dead", "conflicts", "journal"]
PAGE = 1000
SHOWN = 100
"""Rows that a person gets without asking for more."""
LONGEST = 500
"""Cells for the reason of a row where there is no terminal to fit it to."""


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``queue`` and its commands; ``aria queue`` alone is ``aria queue status``."""
    queue = add_command(
        subparsers, "queue", help_of("queue"), _status, examples=("aria queue", "aria queue list --dead")
    )
    add_json(queue)
    commands = add_subcommands(queue, _status)
    status = add_command(commands, "status", _("what waits, counted"), _status, examples=("aria queue status --json",))
    status.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=_("print one JSON document"))
    _add_list(commands)
    show = add_command(commands, "show", _("one row with its whole payload"), _show, examples=("aria queue show 41",))
    _add_number(show)
    add_json(show)
    from aria_tui.cli import queue_mend

    queue_mend.add_commands(commands)


def _add_number(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("number", metavar="N", type=whole_number, help=_("the row's number, as listed"))


def _add_list(commands: SubParsers) -> None:
    listing = add_command(
        commands, "list", _("rows by number, and why they are still there"), _list,
        examples=("aria queue list", "aria queue list --dead --json", "aria queue list --journal --limit 10"),
    )  # fmt: skip
    kinds = listing.add_mutually_exclusive_group()
    for kind, text in (
        ("dead", _("dead letters: refused for good, kept until you decide")),
        ("conflicts", _("changed on both sides")),
        ("journal", _("delivered ones")),
    ):
        kinds.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, default="waiting", help=text)
    listing.add_argument("--limit", metavar="N", type=whole_number, help=_("at most so many rows (0: all)"))
    add_json(listing)


async def _status(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        queue = await assistant.queue_status()
        hub = assistant.hub_now()
        titles = await _titles(assistant, queue.items)
    if args.json:
        output.emit(documents.queue(queue))
        return 0
    from aria_tui.cli.words import age, hub_line, queue_line

    output.say(output.safe(queue_line(queue)))
    if queue.oldest:
        output.say(output.safe(_("oldest: {age}").format(age=age(queue.oldest))))
    if hub.state not in {"unknown", "online", "embedded", "slow"}:
        output.say(output.safe(hub_line(hub)))
    _print_rows(queue.items, titles)
    if (more := queue.pending_total - len(queue.items)) > 0:
        output.say(ngettext("… and {n} more: aria queue list", "… and {n} more: aria queue list", more).format(n=more))
    return 0


async def _list(args: argparse.Namespace) -> int:
    limit = args.limit if args.limit is not None else (0 if args.json else SHOWN)
    async with opened(args) as assistant:
        rows = [item async for item in _rows(assistant, args.kind, limit + 1 if limit else 0)]
        titles = {} if args.json else await _titles(assistant, rows)
    more = bool(limit) and len(rows) > limit
    rows = rows[:limit] if limit else rows
    if args.json:
        output.emit([documents.row(item) for item in rows])
        return 0
    _print_rows(rows, titles)
    if more:
        output.say(_("… and more (--limit 0 lists all)"))
    if not rows:
        output.say(_("nothing here") if args.kind != "waiting" else _("nothing waits"))
    return 0


async def _rows(assistant: Assistant, kind: Kind, limit: int) -> AsyncIterator[QueueItem]:
    """All rows of a kind, page by page; at most ``limit`` if it isn't 0."""
    after, left = 0, limit or None
    while True:
        page = await assistant.queue_list(kind, after=after, limit=min(PAGE, left or PAGE))
        for item in page:
            yield item
        if left is not None:
            left -= len(page)
        if len(page) < PAGE or left == 0:
            return
        after = page[-1].id


async def _titles(assistant: Assistant, rows: Sequence[QueueItem]) -> dict[str, str]:
    """Titles of the tasks that rows are about by id alone, as far as they are known here."""
    if all(_gist(row, {}) for row in rows):
        return {}
    return {f"task:{task.id}": task.title for task in (await assistant.waiting_tasks()).tasks}


def _gist(row: QueueItem, titles: dict[str, str]) -> str:
    """What a row is about in a few words, beside its operation; empty where only an id is known."""
    from aria_tui.outbox.gist import gist_of

    words = gist_of(row.operation, row.payload)
    return titles.get(row.entity, "") if words.startswith(row.operation) else words


def _print_rows(rows: Sequence[QueueItem], titles: dict[str, str]) -> None:
    from aria_tui.cli.said import outcome
    from aria_tui.cli.words import age, reason

    columns = output.terminal_columns()
    cells = [
        (
            str(row.id), row.operation,
            output.clip(_gist(row, titles) or row.entity.partition(":")[2], max(20, columns - 62)),
            age(row.synced_at or row.created_at),
        )
        for row in rows
    ]  # fmt: skip
    taken = sum(max(map(output.width, column)) + 2 for column in zip(*cells, strict=True))
    room = max(36, columns - taken) if output.on_terminal() else LONGEST
    whys = [output.clip(outcome(row.outcome) if row.outcome else reason(row), room) for row in rows]
    output.table([(*row, why) for row, why in zip(cells, whys, strict=True)], right=(0, 3))


async def _show(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        item = await assistant.queue_show(args.number)
    if args.json:
        output.emit(documents.row(item))
    else:
        print_item(item)
    return 0


def print_item(item: QueueItem) -> None:
    """A row for a person: fields by line, the payload as it is stored."""
    from aria_tui.cli.words import reason

    for name, value in {**documents.row(item), "reason": reason(item)}.items():
        if name != "payload" and value not in (None, ""):
            output.say(f"{name + ':':<17}{output.safe(value, lines=True)}")
    output.say(_("payload:"))
    output.say(output.as_is(item.payload))
