"""``aria``: the dashboard."""

from __future__ import annotations

import argparse
import gc
import sys

from aria_tui.cli import interrupts, output
from aria_tui.cli.session import load_config
from aria_tui.errors import UsageError
from aria_tui.locale import _


def run(args: argparse.Namespace) -> int:
    """Runs the dashboard until it is left. Raises UsageError where there is no terminal to draw on."""
    interrupts.end_at_once()  # until the dashboard heeds signals itself
    require_terminal()
    config = load_config(args)
    gc.disable()  # what is loaded before the first frame stays; the dashboard turns it on again (a tenth of the start)
    from aria_tui.tui.app import run as run_app

    return run_app(config) or 0


def require_terminal() -> None:
    """Raises UsageError with what works without a terminal."""
    if not (output.on_terminal(sys.stdin) and output.on_terminal()):
        raise UsageError(_("the dashboard needs a terminal; without one: aria briefing, aria status, aria --help"))
