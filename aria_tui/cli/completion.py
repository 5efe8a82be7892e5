"""``aria completion``: scripts for a shell, and the man page, all from the parser that reads the arguments."""

from __future__ import annotations

import argparse

from aria_tui.cli import output, parser
from aria_tui.cli.parser import SubParsers, add_command, help_of
from aria_tui.errors import AriaError
from aria_tui.locale import _

SHELLS = ("bash", "zsh", "fish")


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``completion``."""
    completion = add_command(
        subparsers, "completion", help_of("completion"), _run,
        description=_("Prints a completion script for a shell, or with man the manual page."),
        examples=(
            "aria completion bash > ~/.local/share/bash-completion/completions/aria",
            "aria completion zsh > ~/.zfunc/_aria",
            "aria completion fish > ~/.config/fish/completions/aria.fish",
            "aria completion man > ~/.local/share/man/man1/aria.1",
        ),
    )  # fmt: skip
    completion.add_argument("kind", metavar="SHELL", choices=(*SHELLS, "man"), help=", ".join((*SHELLS, "man")))


def _run(args: argparse.Namespace) -> int:
    whole = parser.build(whole=True)
    if args.kind == "man":
        from aria_tui.cli import manual

        text = manual.page(whole)
    else:
        import shtab

        if args.kind not in shtab.SUPPORTED_SHELLS:
            raise AriaError(_("this installation's shtab is too old for {shell}: update shtab").format(shell=args.kind))
        text = shtab.complete(whole, args.kind)
    output.write_text(text if text.endswith("\n") else f"{text}\n")
    return 0
