"""``aria mcp``: the assistant's tools over standard input and output."""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.util import find_spec

from aria_tui.cli import interrupts
from aria_tui.cli.parser import SubParsers, add_command, help_of
from aria_tui.errors import AriaError
from aria_tui.locale import _


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``mcp``."""
    add_command(
        subparsers, "mcp", help_of("mcp"), _run,
        description=_("Serves the Model Context Protocol until standard input ends. An assistant's program starts it."),
        examples=("aria mcp < /dev/null",),
    )  # fmt: skip


def _run(args: argparse.Namespace) -> int:
    if find_spec("mcp") is None:
        raise AriaError(_("the tools for an assistant need the mcp extra: pip install 'aria-tui[mcp]'"))
    server = import_module("aria_tui.mcp_server")  # by name: neither of the two faces depends on the other
    status: int = server.serve(
        url=getattr(args, "hub_url", None), token_file=getattr(args, "hub_token_file", None), run=interrupts.run
    )
    return status
