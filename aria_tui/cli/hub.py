"""``aria hub …``: serve a Hub, its database, its tokens. Everything heavy is imported within each command."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from aria_tui import paths
from aria_tui.cli.parser import SubParsers, add_command, add_subcommands, help_of, whole_number
from aria_tui.errors import UsageError
from aria_tui.locale import _


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``hub`` with its commands."""
    hub = add_command(subparsers, "hub", help_of("hub"), examples=("aria hub serve", "aria hub token create"))
    commands = add_subcommands(hub)
    _add_serve(commands)
    migrate = add_command(
        commands, "migrate", _("bring the database's schema up to date"), _migrate, examples=("aria hub migrate",)
    )
    _add_database(migrate)
    _add_tokens(commands)
    _add_push(commands)
    _add_copies(commands)
    unit = add_command(
        commands, "unit", _("print a hardened systemd unit"), _unit, examples=("aria hub unit > aria-hub.service",)
    )
    unit.add_argument("--host", default="127.0.0.1", help=_("address to listen on (default %(default)s)"))
    unit.add_argument("--port", type=whole_number, default=8765, help=_("port (default %(default)s)"))


def _add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--database",
        metavar="URL",
        help=_("sqlite:///PATH or postgresql://… (default: $ARIA_HUB_DATABASE, else hub-server.db in the home)"),
    )


def _add_serve(commands: SubParsers) -> None:
    serve = add_command(
        commands, "serve", _("serve a Hub until SIGTERM"), _serve,
        examples=("aria hub serve", "aria hub serve --host 0.0.0.0 --port 8765 --metrics"),
    )  # fmt: skip
    _add_database(serve)
    serve.add_argument("--host", default="127.0.0.1", help=_("address to listen on (default %(default)s)"))
    serve.add_argument(
        "--port", type=whole_number, default=8765, help=_("port, 0 for a free one (default %(default)s)")
    )
    serve.add_argument("--rate", type=float, metavar="OPS", help=_("operations a second that an account may send"))
    serve.add_argument("--metrics", action="store_true", help=_("answer /metrics for Prometheus"))
    serve.add_argument("--no-token", action="store_true", help=_("ask for no token; for tests, on loopback only"))
    serve.add_argument("--faults", metavar="FILE", help=_("misbehave as FILE says; for tests, on loopback only"))


def _add_tokens(hub_commands: SubParsers) -> None:
    token = add_command(
        hub_commands, "token", _("create, list and revoke the tokens of devices"),
        examples=("aria hub token create --name laptop",),
    )  # fmt: skip
    commands = add_subcommands(token)
    create = add_command(
        commands, "create", _("make a token and print it, this once"), _token_create,
        examples=("aria hub token create --name laptop", "aria hub token create --scope read --expires 30 --json"),
    )  # fmt: skip
    _add_database(create)
    create.add_argument("--account", default="me", help=_("whose (default %(default)s)"))
    create.add_argument("--name", default="", help=_("the device, such as laptop"))
    create.add_argument("--scope", choices=("read", "write"), default="write", help=_("write may read too"))
    create.add_argument("--expires", type=float, metavar="DAYS", help=_("after how many days it ends"))
    create.add_argument("--json", action="store_true", help=_("one JSON document"))
    listing = add_command(
        commands, "list", _("the tokens, without their secrets"), _token_list, examples=("aria hub token list",)
    )
    _add_database(listing)
    listing.add_argument("--account", help=_("of this account only"))
    listing.add_argument("--json", action="store_true", help=_("one JSON document"))
    revoke = add_command(
        commands, "revoke", _("end a token"), _token_revoke, examples=("aria hub token revoke laptop",)
    )
    _add_database(revoke)
    revoke.add_argument("token", metavar="ID", help=_("the beginning of its id in the list, or its unique name"))
    revoke.add_argument("--account", help=_("of this account only"))


def _add_push(commands: SubParsers) -> None:
    push = add_command(
        commands, "push", _("move this machine's Hub to another one; may be run again"), _push,
        examples=("aria hub push https://hub.example.com",),
    )  # fmt: skip
    push.add_argument("url", metavar="URL", help=_("the other Hub's address"))
    push.add_argument("--token-file", metavar="FILE", help=_("its token (default: $ARIA_HUB_TOKEN, else config.toml)"))
    push.add_argument("--source", metavar="FILE", help=_("the file to push (default hub.db in the home)"))
    push.add_argument("--account", default="me", help=_("the account in that file (default %(default)s)"))
    push.add_argument("--allow-http", action="store_true", help=_("send the token over plain http to another machine"))
    push.add_argument("--json", action="store_true", help=_("one JSON document"))


def _add_copies(commands: SubParsers) -> None:
    backup = add_command(
        commands, "backup", _("copy the Hub's file while it is in use"), _backup, examples=("aria hub backup copy.db",)
    )
    _add_file(backup)
    backup.add_argument("target", metavar="FILE", nargs="?", help=_("where to (default: backups/ beside it)"))
    restore = add_command(
        commands, "restore", _("put a copy's contents back, under a new epoch"), _restore,
        examples=("aria hub restore copy.db",),
    )  # fmt: skip
    _add_file(restore)
    restore.add_argument("copy", metavar="FILE", help=_("made by aria hub backup"))
    restored = add_command(
        commands, "restored", _("say that the database was restored: clients then look what is missing"), _restored,
        examples=("aria hub restored",),
    )  # fmt: skip
    _add_file(restored)


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--database",
        metavar="URL",
        help=_("sqlite:///PATH or postgresql://… (default: the one Hub there is in the home)"),
    )


def _only_database(args: argparse.Namespace) -> str:
    """The database that is meant where there may be an embedded Hub, a served one, or both: never a guess."""
    if url := args.database or os.environ.get("ARIA_HUB_DATABASE"):
        return str(url)
    there = [path for name in ("hub.db", "hub-server.db") if (path := paths.home() / name).exists()]
    if len(there) > 1:
        raise UsageError(f"there are two Hubs here; say which: --database sqlite:///{there[0]} or sqlite:///{there[1]}")
    return f"sqlite:///{there[0] if there else paths.home() / 'hub.db'}"


def database(args: argparse.Namespace) -> str:
    """The database's address: the flag, else the environment, else ``hub-server.db`` in the home."""
    url = args.database or os.environ.get("ARIA_HUB_DATABASE")
    return url or f"sqlite:///{paths.home() / 'hub-server.db'}"


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _serve(args: argparse.Namespace) -> int:
    from pathlib import Path

    from aria_tui.hub.server.serve import Serving, run
    from aria_tui.hub.server.service import Options

    rate = {} if args.rate is None else {"operations_per_second": args.rate, "operations_burst": args.rate * 20}
    if args.rate is not None and not 0 < args.rate < float("inf"):
        raise UsageError("--rate must be above 0")
    options = Options(open_account="me" if args.no_token else None, metrics=args.metrics, **rate)
    faults = Path(args.faults) if args.faults else None
    return run(Serving(database=database(args), host=args.host, port=args.port, faults=faults, options=options))


def _migrate(args: argparse.Namespace) -> int:
    from aria_tui.hub.server import manage

    applied = manage.migrate(database(args))
    _print(_("applied: {names}").format(names=", ".join(applied)) if applied else _("up to date"))
    return 0


def _token_create(args: argparse.Namespace) -> int:
    from aria_tui.hub.server import manage

    if args.expires is not None and not 0 < args.expires <= 36_500:
        raise UsageError("--expires takes days, above 0")
    made = manage.create_token(
        database(args), account=args.account, name=args.name, scope=args.scope, expires_days=args.expires
    )
    _print(manage.as_json(made) if args.json else made["token"])
    return 0


def _token_list(args: argparse.Namespace) -> int:
    from aria_tui.hub.server import manage

    tokens = manage.list_tokens(database(args), args.account)
    if args.json:
        _print(manage.as_json({"tokens": tokens}))
        return 0
    from aria_tui.cli.words import moment

    for token in tokens:
        last = moment(token["last_used_at"]) or _("never")
        _print(
            f"{token['id']}  {token['account']}  {token['name'] or '-'}  {token['scope']}  {token['state']}  "
            + _("last used: {when}").format(when=last)
        )
    return 0


def _token_revoke(args: argparse.Namespace) -> int:
    from aria_tui.hub.server import manage

    revoked = manage.revoke_token(database(args), args.token, args.account)
    _print(_("revoked: {name}").format(name=f"{revoked['id']} {revoked['name']}".strip()))
    return 0


def _push(args: argparse.Namespace) -> int:
    from pathlib import Path

    from aria_tui.hub.server import manage

    token = _token_for(args)
    source = Path(args.source).expanduser() if args.source else paths.home() / "hub.db"
    shown = sys.stderr.isatty() and not args.json

    def progress(state: Any) -> None:
        if shown:
            sys.stderr.write("\r" + _("{done} of {total} changes").format(done=state.done, total=state.total))

    try:
        pushed = manage.push(source, args.account, args.url, token, progress)
    finally:
        if shown:
            sys.stderr.write("\n")
    if args.json:
        _print(manage.as_json({"changes": pushed.done, "conflicts": pushed.conflicts}))
    else:
        _print(_("{done} changes are at {url}").format(done=pushed.done, url=args.url))
        for entity in pushed.conflicts:
            _print(_("differs there and was left as it is: {entity}").format(entity=entity))
    return 1 if pushed.conflicts else 0


def _token_for(args: argparse.Namespace) -> str:
    """The other Hub's token. Raises UsageError, before anything is sent, where it would travel in the clear."""
    from pathlib import Path
    from urllib.parse import urlsplit

    from aria_tui import config
    from aria_tui.hub.server.address import is_loopback

    address = urlsplit(args.url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UsageError(f"not an address: {args.url!r}; write https://…")
    if address.scheme == "http" and not args.allow_http and not is_loopback(address.hostname):
        raise UsageError("a token is not sent over plain http to another machine; use https, or --allow-http")
    if args.token_file:
        try:
            return Path(args.token_file).expanduser().read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UsageError(f"{args.token_file}: {error.strerror}") from None
    token = os.environ.get("ARIA_HUB_TOKEN") or config.load().hub.token
    if not token:
        raise UsageError("the other Hub's token is not known: --token-file FILE or $ARIA_HUB_TOKEN")
    return token


def _backup(args: argparse.Namespace) -> int:
    from pathlib import Path

    from aria_tui.hub.server import manage

    _print(str(manage.backup(_only_database(args), Path(args.target).expanduser() if args.target else None)))
    return 0


def _restore(args: argparse.Namespace) -> int:
    from pathlib import Path

    from aria_tui.hub.server import manage

    kept, epoch = manage.restore(_only_database(args), Path(args.copy).expanduser())
    _print(_("restored; the new epoch is {epoch}").format(epoch=epoch))
    if kept is not None:
        _print(_("what was there before is in {path}").format(path=kept))
    return 0


def _restored(args: argparse.Namespace) -> int:
    from aria_tui.hub.server import manage

    _print(_("the new epoch is {epoch}").format(epoch=manage.restored(_only_database(args))))
    return 0


def _unit(args: argparse.Namespace) -> int:
    from aria_tui.hub.server import unit

    sys.stdout.write(unit.text(args.host, args.port))
    return 0
