"""The arguments, once: help, completion scripts and man page are made from the same parser.

Only the sub-parser of the command that was named is built, so that one command's start doesn't pay for all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine, Sequence
from importlib import import_module
from typing import Any, NoReturn

from aria_tui import __version__
from aria_tui.locale import N_, _

Run = Callable[[argparse.Namespace], "int | Coroutine[Any, Any, int] | None"]
SubParsers = Any  # argparse._SubParsersAction has no public name


COMMANDS: dict[str, tuple[str, str]] = {
    "task": ("aria_tui.cli.task", N_("add, list, change and complete tasks")),
    "insight": ("aria_tui.cli.insight", N_("capture and find insights")),
    "activity": ("aria_tui.cli.activity", N_("record and list what was done on a project")),
    "briefing": ("aria_tui.cli.briefing", N_("print the briefing and store it")),
    "projects": ("aria_tui.cli.projects", N_("the state of your git projects")),
    "sync": ("aria_tui.cli.sync", N_("send what waits to the Hub")),
    "queue": ("aria_tui.cli.queue", N_("see and mend what waits for the Hub")),
    "status": ("aria_tui.cli.status", N_("the Hub and the queue in a few words")),
    "hub": ("aria_tui.cli.hub", N_("serve a Hub of your own, its tokens and copies")),
    "mcp": ("aria_tui.cli.mcp", N_("tools for an assistant, over standard input and output")),
    "schedule": ("aria_tui.cli.schedule", N_("sync at intervals, by the system's own timer")),
    "demo": ("aria_tui.cli.demo", N_("the dashboard over sample data, with a Hub to switch off and on")),
    "doctor": ("aria_tui.cli.doctor", N_("check everything the program stands on")),
    "config": ("aria_tui.cli.config", N_("where the configuration is, a first one, a check")),
    "completion": ("aria_tui.cli.completion", N_("completion scripts for a shell, and the man page")),
}
"""Command → (module with ``add_parser(subparsers)``, one line of help)."""

EXAMPLES: dict[str, tuple[str, ...]] = {}
"""``aria task add`` → its examples, as help shows them; filled while parsers are built."""

DIGITS = 18
"""As many digits fit into 64 bits for certain, which is what SQLite counts with."""

ITS_WORDS = (
    N_("usage: "),
    N_("positional arguments"),
    N_("options"),
    N_("show this help message and exit"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("the following arguments are required: %s"),
    N_("one of the arguments %s is required"),
    N_("not allowed with argument %s"),
    N_("expected one argument"),
    N_("expected at most one argument"),
    N_("expected at least one argument"),
    N_("ignored explicit argument %r"),
    N_("invalid %(type)s value: %(value)r"),
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
)
"""What argparse itself says to a user; it asks gettext for them by its own ``_``, which is ours here."""
vars(argparse)["_"] = _

_WITH_VALUE = ("--home", "--hub-url", "--hub-token-file")


class Parser(argparse.ArgumentParser):
    """Argparse without guessing: no shortened options; an error names the help that has the answer."""

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse's, but the command that doesn't know a word says so, and not the program as a whole."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(_("unrecognized arguments: {words}").format(words=" ".join(unknown)))
        return found, []

    def error(self, message: str) -> NoReturn:
        from aria_tui.cli import output

        output.complain(message)
        output.complain(_("see: {command} --help").format(command=self.prog))
        self.exit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        from aria_tui.cli import output

        output.write_text(message, file)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments as a namespace whose ``run`` is the command's call. Raises SystemExit as argparse does."""
    word = _command_word(arguments)
    if word in COMMANDS or not word:
        return build(only=word).parse_args(arguments)
    from difflib import get_close_matches

    from aria_tui.errors import UsageError

    near = get_close_matches(word, COMMANDS, 1)
    hint = _("did you mean {command!r}?").format(command=near[0]) if near else _("see: aria --help")
    raise UsageError(_("there is no command {word!r}; {hint}").format(word=word, hint=hint))


def build(only: str = "", *, whole: bool = False) -> Parser:
    """The parser with one command's sub-parser, or with all by name, or (``whole``) with all of everything."""
    parser = Parser(prog="aria", description=_("A dashboard over an offline queue that loses nothing."))
    parser.add_argument("-V", "--version", action="version", version=f"aria {__version__}")
    add_common(parser)
    parser.set_defaults(run=_dashboard)
    subparsers = parser.add_subparsers(
        title=_("commands"), metavar="COMMAND", dest="command", parser_class=Parser, required=False, prog=parser.prog
    )  # with a prog, since argparse would load what formats help in order to find it out
    for name, (module, text) in COMMANDS.items():
        if whole or name == only:
            import_module(module).add_parser(subparsers)
        elif not only:
            subparsers.add_parser(name, help=_(text))
    if not only:
        _examples(parser, "aria", ("aria", "aria task add 'Pagar DAS' --due fri", "aria sync"))
    return parser


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options of every command; given before or after its name."""
    group = parser.add_argument_group(_("everywhere"))
    group.add_argument("--home", metavar="DIR", default=argparse.SUPPRESS, help=_("instead of $ARIA_HOME or ~/.aria"))
    group.add_argument(
        "--hub-url",
        metavar="URL",
        default=argparse.SUPPRESS,
        help=_("the Hub to talk to, instead of the configured one"),
    )
    group.add_argument(
        "--hub-token-file", metavar="FILE", default=argparse.SUPPRESS,
        help=_("a file that holds the Hub's token (a token itself would show in the list of processes)"),
    )  # fmt: skip


def add_command(
    subparsers: SubParsers, name: str, text: str, run: Run | None = None, *, examples: Sequence[str] = (),
    description: str = "", aliases: Sequence[str] = (),
) -> argparse.ArgumentParser:  # fmt: skip
    """One command's or sub-command's parser with help, examples, the common options and its call."""
    made: argparse.ArgumentParser = subparsers.add_parser(
        name, help=text, description=description or text[:1].upper() + text[1:] + ".", aliases=list(aliases)
    )
    if run:
        made.set_defaults(run=run)
        add_common(made)
    _examples(made, made.prog, examples)
    return made


def add_subcommands(parser: argparse.ArgumentParser, default: Run | None = None) -> SubParsers:
    """The place for a command's own commands; without one, ``default`` is what is meant, or else it is an error."""
    if default:
        parser.set_defaults(run=default)
    return parser.add_subparsers(
        title=_("commands"),
        metavar="COMMAND",
        dest="subcommand",
        parser_class=Parser,
        required=default is None,
        prog=parser.prog,
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help=_("print one JSON document"))


def add_offline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help=_("keep it in the queue, even if the Hub is there"))


def whole_number(text: str) -> int:
    """An argument's value, 0 or more, as far as a database can count."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(_("{text!r} is no whole number, 0 or more").format(text=text))
    if len(text) > DIGITS:
        raise argparse.ArgumentTypeError(_("{text!r} is too large").format(text=text))
    return int(text)


def help_of(command: str) -> str:
    """A command's line of help."""
    return _(COMMANDS[command][1])


def _examples(parser: argparse.ArgumentParser, prog: str, examples: Sequence[str]) -> None:
    if examples:
        EXAMPLES[prog] = tuple(examples)
        parser.epilog = _("examples:") + "".join(f"\n  {line}" for line in examples)


def _command_word(arguments: Sequence[str]) -> str:
    """The first argument that is neither an option nor the value of one."""
    rest = iter(arguments)
    for argument in rest:
        if argument in _WITH_VALUE:
            next(rest, None)
        elif not argument.startswith("-"):
            return argument
    return ""


def _dashboard(args: argparse.Namespace) -> int:
    from aria_tui.cli import dashboard

    return dashboard.run(args)
