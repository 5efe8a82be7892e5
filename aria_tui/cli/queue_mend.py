"""``aria queue`` retry, edit, discard, conflicts, resolve, adopt, verify, export, import."""

from __future__ import annotations

import argparse
from typing import Any

from aria_tui import documents
from aria_tui.cli import output, writes
from aria_tui.cli.parser import SubParsers, add_command, add_json, whole_number
from aria_tui.cli.session import opened
from aria_tui.errors import InvalidInput, UsageError
from aria_tui.locale import _, ngettext


def add_commands(commands: SubParsers) -> None:
    """Adds them to ``aria queue``."""
    retry = add_command(
        commands,
        "retry",
        _("put a dead letter back"),
        _retry,
        examples=("aria queue retry 41", "aria queue retry --all"),
    )
    which = retry.add_mutually_exclusive_group(required=True)
    which.add_argument("number", metavar="N", type=whole_number, nargs="?", help=_("the row's number, as listed"))
    which.add_argument("--all", action="store_true", help=_("all dead letters"))
    add_json(retry)
    _add_edit(commands)
    discard = add_command(
        commands, "discard", _("throw a row away, not to be sent"), _discard, examples=("aria queue discard 41 --yes",)
    )
    discard.add_argument("number", metavar="N", type=whole_number, help=_("the row's number, as listed"))
    _add_yes(discard)
    add_json(discard)
    conflicts = add_command(
        commands, "conflicts", _("what was changed on both sides"), _conflicts, examples=("aria queue conflicts",)
    )
    add_json(conflicts)
    _add_resolve(commands)
    adopt = add_command(
        commands,
        "adopt",
        _("send to this Hub what was meant for another"),
        _adopt,
        examples=("aria queue adopt --yes",),
    )
    _add_yes(adopt)
    add_json(adopt)
    _add_verify(commands)
    export = add_command(
        commands,
        "export",
        _("everything in the queue as JSON Lines"),
        _export,
        examples=("aria queue export > queue.jsonl",),
    )
    export.add_argument("-o", "--output", metavar="FILE", help=_("a file instead of standard output (mode 0600)"))
    importing = add_command(
        commands,
        "import",
        _("take in an export; twice is harmless"),
        _import,
        examples=("aria queue import queue.jsonl",),
    )
    importing.add_argument("file", metavar="FILE", help=_("JSON Lines; - reads standard input"))
    add_json(importing)


def _add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help=_("don't ask"))


def _add_edit(commands: SubParsers) -> None:
    edit = add_command(
        commands, "edit", _("change a row's payload, in your editor or by field"), _edit,
        examples=("aria queue edit 41 --set title='Pagar DAS'", "aria queue edit 41"),
    )  # fmt: skip
    edit.add_argument("number", metavar="N", type=whole_number, help=_("the row's number, as listed"))
    how = edit.add_mutually_exclusive_group()
    how.add_argument("--set", metavar="FIELD=VALUE", action="append", help=_("a field's text, or JSON; several times"))
    how.add_argument("--payload", metavar="JSON", help=_("the whole new payload; - reads standard input"))
    add_json(edit)


def _add_resolve(commands: SubParsers) -> None:
    resolve = add_command(
        commands, "resolve", _("settle a conflict"), _resolve,
        examples=("aria queue resolve 41 --mine", "aria queue resolve 41 --field title=theirs --field due_date=mine"),
    )  # fmt: skip
    resolve.add_argument("number", metavar="N", type=whole_number, help=_("the conflict's number, as listed"))
    how = resolve.add_mutually_exclusive_group(required=True)
    for word, text in (
        ("mine", _("what was written here")),
        ("theirs", _("what the Hub has")),
        ("both", _("keep both: a second task, or both texts")),
    ):
        how.add_argument(f"--{word}", dest="choice", action="store_const", const=word, help=text)
    how.add_argument("--field", metavar="F=mine|theirs", action="append", help=_("field by field; several times"))
    resolve.set_defaults(wanted="conflict")
    add_json(resolve)


def _add_verify(commands: SubParsers) -> None:
    verify = add_command(
        commands, "verify", _("after the Hub was restored: ask it what it still has"), _verify,
        examples=("aria queue verify", "aria queue verify --resend"),
    )  # fmt: skip
    how = verify.add_mutually_exclusive_group()
    how.add_argument("--resend", action="store_true", help=_("send again what is missing"))
    how.add_argument("--waive", action="store_true", help=_("go on without sending it again"))
    add_json(verify)


async def _retry(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        count = await assistant.queue_retry(None if args.all else args.number)
    if args.json:
        output.emit({"retried": count})
    else:
        output.say(_put_back(count))
    return 0


def _put_back(count: int) -> str:
    return ngettext("{n} row put back", "{n} rows put back", count).format(n=count)


async def _edit(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        item = await assistant.queue_show(args.number)
        payload = _new_payload(args, item.payload)
        changed = await assistant.queue_edit(args.number, payload)
    if args.json:
        output.emit(documents.row(changed))
    else:
        same = changed.op_id == item.op_id
        said = _("#{number} is as it was") if same else _("#{number} changed, with a new key")
        output.say(said.format(number=changed.id))
    return 0


def _new_payload(args: argparse.Namespace, stored: str) -> dict[str, Any]:
    """The payload as given by flags, or as it comes back from the user's editor."""
    if args.payload is not None:
        return _object(writes.given_text(args.payload, args))
    if args.set:
        payload = _object(stored)
        for word in args.set:
            name, equals, value = word.partition("=")
            if not equals or not name:
                raise UsageError(_("--set wants FIELD=VALUE, not {word!r}").format(word=word))
            _set(payload, name, value)
        return payload
    if not output.can_ask():
        raise UsageError(_("no terminal for an editor: give --set FIELD=VALUE or --payload JSON"))
    from aria_tui.cli import editor

    text = editor.edit(_pretty(stored), suffix=".json")
    args.typed = text
    return _object(text)


def _set(payload: dict[str, Any], name: str, value: str) -> None:
    """One field; a field of ``changes`` by its own name where the operation is an update."""
    import json

    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        parsed = value
    fields = payload.get("changes") if name not in payload else payload
    target = fields if isinstance(fields, dict) else payload
    target[name] = value if isinstance(target.get(name), str) else parsed


def _object(text: str) -> dict[str, Any]:
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(_("the payload is not JSON: {error}").format(error=error)) from None
    if not isinstance(found, dict):
        raise InvalidInput(_("the payload must be a JSON object"))
    return found


def _pretty(stored: str) -> str:
    import json

    try:
        return json.dumps(json.loads(stored), ensure_ascii=False, indent=2) + "\n"
    except (ValueError, RecursionError):
        return stored


async def _discard(args: argparse.Namespace) -> int:
    from aria_tui.cli.queue import print_item

    async with opened(args) as assistant:
        item = await assistant.queue_show(args.number)
        behind = [] if item.synced_at else await assistant.queue_dependents(args.number)
        if not args.yes:
            _must_ask(_("a discarded row is never sent: give --yes, or ask for it on a terminal"))
            print_item(item)
            for row in behind:
                words = _("goes with it: #{number} {operation}").format(number=row.id, operation=row.operation)
                output.say(output.safe(words))
            sure = output.confirm(_("Discard #{number}? It will never reach the Hub.").format(number=item.id))
            really = _("Really? Only `aria queue retry {number}` brings it back, as a new operation.")
            if not sure or not output.confirm(really.format(number=item.id)):
                output.say(_("kept"))
                return 1
        gone = await assistant.queue_discard(args.number)
    if args.json:
        output.emit(documents.row(gone))
    else:
        for number in (gone.id, *(row.id for row in behind)):
            output.say(_("#{number} discarded").format(number=number))
    return 0


def _must_ask(way_out: str) -> None:
    if not output.can_ask():
        raise UsageError(way_out)


async def _conflicts(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        found = await assistant.conflicts()
    if args.json:
        output.emit(found)
        return 0
    for conflict in found:
        output.say(f"#{conflict.id} {output.safe(conflict.operation)}  {output.clip(conflict.title, 60)}")
        theirs = conflict.theirs or {}
        rows = [(_("field"), _("base"), _("mine"), _("theirs"))]
        for field in conflict.fields:
            values = (conflict.base.get(field), conflict.mine.get(field), theirs.get(field))
            rows.append((f"  {field}", *(output.clip("" if v is None else str(v), 30) for v in values)))  # type: ignore[arg-type]
        output.table(rows)
    output.say(
        _("settle one: aria queue resolve N --mine|--theirs|--both|--field F=mine") if found else _("no conflicts")
    )
    return 0


async def _resolve(args: argparse.Namespace) -> int:
    args.typed = ""
    choice: Any = args.choice or {}
    for word in args.field or ():
        name, _equals, side = word.partition("=")
        if side not in ("mine", "theirs"):
            raise UsageError(_("--field wants FIELD=mine or FIELD=theirs, not {word!r}").format(word=word))
        choice[name] = side
    async with opened(args) as assistant:
        result = await assistant.resolve_conflict(args.number, choice)
    return writes.report(result, args)


async def _adopt(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        held = (await assistant.queue_status()).held
        if held and not args.yes:
            _must_ask(
                _("rows meant for another Hub would be sent to this one: give --yes, or ask for it on a terminal")
            )
            question = ngettext(
                "Send {n} row that was meant for another Hub or account to {url}?",
                "Send {n} rows that were meant for another Hub or account to {url}?",
                held,
            )
            output.say(_("Edits keep the ids that they have; at another Hub these may be other tasks."))
            if not output.confirm(question.format(n=held, url=assistant.config.hub.url or _("the embedded Hub"))):
                output.say(_("left as they are"))
                return 1
        count = await assistant.queue_adopt()
    if args.json:
        output.emit({"adopted": count})
    else:
        output.say(ngettext("{n} row adopted", "{n} rows adopted", count).format(n=count))
    return 0


async def _verify(args: argparse.Namespace) -> int:
    async with opened(args) as assistant:
        found = await assistant.queue_verify(waive=args.waive, resend=args.resend)
        undecided = bool(found["missing"]) and not (args.waive or args.resend)
        if undecided and not args.json and output.can_ask():
            _print_verified(found)
            if output.confirm(_("Send again what is missing?")):
                found, undecided = await assistant.queue_verify(resend=True), False
    if args.json:
        output.emit(found)
    else:
        _print_verified(found)
    return 1 if undecided else 0


def _print_verified(found: dict[str, Any]) -> None:
    if found.get("waived"):
        output.say(_("waived: the queue goes on"))
        return
    asked = found["asked"]
    words = ngettext("asked the Hub for {n} operation", "asked the Hub for {n} operations", asked)
    output.say(words.format(n=asked))
    if found["resent"]:
        output.say(_put_back(found["resent"]))
    elif found["missing"]:
        numbers = " ".join(f"#{number}" for number in found["missing"])
        output.say(
            _("missing there: {numbers}; --resend sends them again, --waive goes on without").format(numbers=numbers)
        )
    else:
        output.say(_("nothing is missing"))


async def _export(args: argparse.Namespace) -> int:
    count = 0
    async with opened(args) as assistant:
        if args.output:
            with _new_file(args.output) as file:
                async for line in assistant.queue_export():
                    file.write(line.rstrip("\n") + "\n")
                    count += 1
            words = ngettext("{n} row exported to {file}", "{n} rows exported to {file}", count)
            output.note(words.format(n=count, file=output.safe(args.output)))
            return 0
        async for line in assistant.queue_export():
            output.write_bytes(documents.escape(line.rstrip("\n")).encode() + b"\n")
    return 0


def _new_file(name: str) -> Any:
    """A file for the user alone; it holds what was typed."""
    import os

    from aria_tui.errors import AriaError

    try:
        return os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8")
    except OSError as error:
        raise AriaError(f"{name} can't be written: {error.strerror}") from None


async def _import(args: argparse.Namespace) -> int:
    lines = _lines(args.file)
    async with opened(args) as assistant:
        counts = await assistant.queue_import(lines)
    if args.json:
        output.emit(counts)
    else:
        output.say(_("{imported} taken in, {known} known already").format(**counts))
    return 0


def _lines(file: str) -> list[str]:
    from pathlib import Path

    if file == "-":
        return writes.read_stdin().split("\n")
    try:
        return Path(file).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not valid UTF-8") from None
