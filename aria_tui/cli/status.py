"""``aria status``: the Hub and the queue. Its ``--short`` form is in ``short``, before any of this is imported."""

from __future__ import annotations

import argparse
from collections.abc import Coroutine
from typing import Any

from aria_tui import documents
from aria_tui.cli import output
from aria_tui.cli.parser import SubParsers, add_command, help_of
from aria_tui.cli.session import opened
from aria_tui.locale import _


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``status``."""
    status = add_command(
        subparsers, "status", help_of("status"), _run,
        description=_("Asks the Hub how it is and counts what waits. --short looks at the queue file alone."),
        examples=("aria status", "aria status --json", "aria status --short"),
    )  # fmt: skip
    form = status.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help=_("print one JSON document"))
    form.add_argument("--short", action="store_true", help=_("one mark for a prompt: ✓, ⇡3 waiting, ⚠ look at it"))


def _run(args: argparse.Namespace) -> int | Coroutine[Any, Any, int]:
    if args.short:
        from aria_tui.cli.short import run

        return run()
    return _long(args)


async def _long(args: argparse.Namespace) -> int:
    from aria_tui.cli.words import hub_line, moment, queue_line

    async with opened(args) as assistant:
        hub = await assistant.hub_status()
        queue = await assistant.queue_status()
    if args.json:
        output.emit(documents.status(hub, queue))
        return 0
    output.say(output.safe(hub_line(hub)))
    output.say(output.safe(queue_line(queue)))
    if hub.last_sync:
        output.say(output.safe(_("last sync {time}").format(time=moment(hub.last_sync))))
    return 0
