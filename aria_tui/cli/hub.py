"""``aria hub …``: serve a Hub, its database, its tokens. Everything heavy is imported within each command."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from aria_tui import paths
from aria_tui.errors import UsageError
from aria_tui.locale import _


def add_parser(subparsers: Any) -> None:
    """Adds ``hub`` with its commands; each sets ``run``, which takes the arguments and gives the exit status."""
    parser = subparsers.add_parser("hub", help=_("serve a Hub, and look after its database and tokens"))
    commands = parser.add_subparsers(dest="hub_command", metavar="COMMAND", required=True)
    _add_serve(commands)
    _add_database(commands.add_parser("migrate", help=_("bring the database's schema up to date"))).set_defaults(
        run=_migrate
    )
    _add_tokens(commands.add_parser("token", help=_("create, list and revoke the tokens of devices")))
    _add_push(commands.add_parser("push", help=_("move this machine's Hub to another one; may be run again")))
    _add_copies(commands)
    unit = commands.add_parser("unit", help=_("print a hardened systemd unit"))
    unit.add_argument("--host", default="127.0.0.1", help=_("address to listen on (default %(default)s)"))
    unit.add_argument("--port", type=int, default=8765, help=_("port (default %(default)s)"))
    unit.set_defaults(run=_unit)


def _add_database(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument(
        "--database",
        metavar="URL",
        help=_("sqlite:///PATH or postgresql://… (default: $ARIA_HUB_DATABASE, else hub-server.db in the home)"),
    )
    return parser


def _add_serve(commands: Any) -> None:
    serve = _add_database(commands.add_parser("serve", help=_("serve a Hub until SIGTERM")))
    serve.add_argument("--host", default="127.0.0.1", help=_("address to listen on (default %(default)s)"))
    serve.add_argument("--port", type=int, default=8765, help=_("port, 0 for a free one (default %(default)s)"))
    serve.add_argument("--rate", type=float, metavar="OPS", help=_("operations a second that an account may send"))
    serve.add_argument("--metrics", action="store_true", help=_("answer /metrics for Prometheus"))
    serve.add_argument("--no-token", action="store_true", help=_("ask for no token; for tests, on loopback only"))
    serve.add_argument("--faults", metavar="FILE", help=_("misbehave as FILE says; for tests, on loopback only"))
    serve.set_defaults(run=_serve)


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="token_command", metavar="COMMAND", required=True)
    create = _add_database(commands.add_parser("create", help=_("make a token and print it, this once")))
    create.add_argument("--account", default="me", help=_("whose (default %(default)s)"))
    create.add_argument("--name", default="", help=_("the device, such as laptop"))
    create.add_argument("--scope", choices=("read", "write"), default="write", help=_("write may read too"))
    create.add_argument("--expires", type=float, metavar="DAYS", help=_("after how many days it ends"))
    create.add_argument("--json", action="store_true", help=_("one JSON document"))
    create.set_defaults(run=_token_create)
    listing = _add_database(commands.add_parser("list", help=_("the tokens, without their secrets")))
    listing.add_argument("--account", help=_("of this account only"))
    listing.add_argument("--json", action="store_true", help=_("one JSON document"))
    listing.set_defaults(run=_token_list)
    revoke = _add_database(commands.add_parser("revoke", help=_("end a token")))
    revoke.add_argument("token", metavar="ID", help=_("the beginning of its id in the list, or its unique name"))
    revoke.add_argument("--account", help=_("of this account only"))
    revoke.set_defaults(run=_token_revoke)


def _add_push(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help=_("the other Hub's address"))
    parser.add_argument(
        "--token-file", metavar="FILE", help=_("its token (default: $ARIA_HUB_TOKEN, else config.toml)")
    )
    parser.add_argument("--source", metavar="FILE", help=_("the file to push (default hub.db in the home)"))
    parser.add_argument("--account", default="me", help=_("the account in that file (default %(default)s)"))
    parser.add_argument(
        "--allow-http", action="store_true", help=_("send the token over plain http to another machine")
    )
    parser.add_argument("--json", action="store_true", help=_("one JSON document"))
    parser.set_defaults(run=_push)


def _add_copies(commands: Any) -> None:
    backup = _add_file(commands.add_parser("backup", help=_("copy the Hub's file while it is in use")))
    backup.add_argument("target", metavar="FILE", nargs="?", help=_("where to (default: backups/ beside it)"))
    backup.set_defaults(run=_backup)
    restore = _add_file(commands.add_parser("restore", help=_("put a copy's contents back, under a new epoch")))
    restore.add_argument("copy", metavar="FILE")
    restore.set_defaults(run=_restore)
    restored = _add_file(
        commands.add_parser("restored", help=_("say that the database was restored: clients then look what is missing"))
    )
    restored.set_defaults(run=_restored)


def _add_file(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument(
        "--database",
        metavar="URL",
        help=_("sqlite:///PATH or postgresql://… (default: the one Hub there is in the home)"),
    )
    return parser


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
    if args.rate is not None and args.rate <= 0:
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
    for token in tokens:
        last = token["last_used_at"] or _("never")
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
