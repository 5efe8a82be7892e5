"""``aria sync``: a drain, drawn on a terminal, told in one sentence or one JSON document."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from aria_tui import documents
from aria_tui.cli import output
from aria_tui.cli.parser import SubParsers, add_command, add_json, help_of
from aria_tui.cli.session import opened
from aria_tui.errors import HubUnavailable
from aria_tui.locale import _, ngettext
from aria_tui.models import SyncFinished, SyncProgress, SyncReport
from aria_tui.wording import unavailable

STILL_WAITING = 3
"""Exit status after a sync when something still waits, or was parked in it (product.md)."""
BAR = 24


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``sync``."""
    sync = add_command(
        subparsers, "sync", help_of("sync"), _run,
        description=_("Sends what waits, in order. Exit status 3: something still waits, or was parked."),
        examples=("aria sync", "aria sync --plan", "aria sync --json"),
    )  # fmt: skip
    form = sync.add_mutually_exclusive_group()
    form.add_argument("--plan", action="store_true", help=_("only show what would be sent"))
    form.add_argument("--quiet", action="store_true", help=_("say nothing unless you are needed (for a timer)"))
    add_json(sync)


async def _run(args: argparse.Namespace) -> int:
    if args.plan:
        return await _plan(args)
    report, own, problem = await _drain(args)
    if args.json:
        output.emit(documents.sync(report))
    elif not args.quiet and not problem:
        from aria_tui.cli.said import sync_end

        output.say(output.safe(sync_end(report)))
        if not own:
            output.say(_("(another process was syncing; it was followed)"))
    if args.quiet:
        from aria_tui.cli import notice

        notice.tell(report, problem)
    elif problem:
        output.complain(problem)
    if report.remaining or report.dead_letters or report.conflicts:
        return STILL_WAITING
    return 1 if problem else 0


def _said(problem: str) -> str:
    if not problem:
        return ""
    from aria_tui.cli.said import in_words

    return in_words(problem)


async def _drain(args: argparse.Namespace) -> tuple[SyncReport, bool, str]:
    """The report, whether this process drained, and why nothing could be sent at all, or nothing."""
    draws = not (args.json or args.quiet) and output.on_terminal(sys.stderr) and output.on_terminal()
    report, own, problem = SyncReport(), True, ""
    async with opened(args) as assistant:
        try:
            async for event in assistant.sync(manual=not args.quiet):
                match event:
                    case SyncProgress() if draws:
                        _draw(event)
                    case SyncFinished():
                        report, own = event.report, event.own
                        problem = _said(report.problem)
        except HubUnavailable as error:  # the way to it can't even be made: a locked keyring, the embedded one's file
            problem = _("nothing was sent: {why}").format(why=unavailable(error))
            hub = await assistant.hub_status(probe=False)
            report = SyncReport(remaining=(await assistant.queue_status()).pending_total, hub=hub)
    if draws:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
    return report, own, problem


def _draw(step: SyncProgress) -> None:
    """The progress bar, over itself, on one line of the terminal."""
    share = min(1.0, step.done / step.total) if step.total else 0.0
    bar = "━" * round(share * BAR) + "─" * (BAR - round(share * BAR))
    parts = [f"{bar} {step.done}/{step.total}"]
    if step.rate is not None:
        parts.append(f"{step.rate:.0f}/s")
    if step.seconds_left is not None:
        parts.append(_("{seconds:.0f} s left").format(seconds=step.seconds_left))
    if step.failed:
        parts.append(_("{count} failed").format(count=step.failed))
    if step.current:
        parts.append(step.current)
    line = output.clip("  ".join(parts), output.terminal_columns() - 1)
    sys.stderr.write(f"\r{line}\x1b[K")
    sys.stderr.flush()


async def _plan(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        plan = await assistant.queue_plan()
    if args.json:
        output.emit(plan)
        return 0
    rows = [
        (" ".join(f"#{number}" for number in op["from"]), op["operation"], output.clip(_gist(op), 60))
        for op in plan["operations"]
    ]
    output.table(rows)
    if plan["cancelled"]:
        numbers = " ".join(f"#{number}" for number in plan["cancelled"])
        output.say(_("cancelled, nothing is sent: {numbers}").format(numbers=numbers))
    output.say(ngettext("{n} operation to send", "{n} operations to send", len(rows)).format(n=len(rows)))
    return 0


def _gist(operation: dict[str, Any]) -> str:
    import json

    from aria_tui.outbox.gist import gist_of

    payload = operation["payload"]
    return gist_of(operation["operation"], payload if isinstance(payload, str) else json.dumps(payload))
