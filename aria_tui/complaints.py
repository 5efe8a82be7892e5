"""What went wrong, said in the user's language: errors are English where they arise, for JSON, assistants and logs.

``in_words`` is what a screen says of one. A test looks through the layers below for the errors they raise, so that none
stays without its words.
"""

from __future__ import annotations

from aria_tui.errors import AriaError, ConfigError, HubUnavailable, InvalidInput
from aria_tui.locale import N_
from aria_tui.locale.made import said
from aria_tui.wording import unavailable, why

_SENTENCES = (
    # a row, a task or a choice that there is not
    N_("there is no operation #{number} in the queue"),
    N_("there is no operation #{number} waiting or parked"),
    N_("#{number} is neither a dead letter nor waiting"),
    N_("#{number} is not in the conflict inbox"),
    N_("#{number} is in the journal; it can't be changed any more"),
    N_("#{number} was sent already; it can't be changed any more"),
    N_("#{number} was sent and may be at the Hub; it can't be discarded"),
    N_("{name} can't be changed here; discard this operation and make a new one"),
    N_("{choice} is no resolution; say mine, theirs, both or a field"),
    N_("this operation does not change {field}; it changes {fields}"),
    N_("{field} is neither mine nor theirs"),
    N_("a delete has nothing to keep beside the Hub's version; say mine or theirs"),
    N_("what it said is not known here any more; say theirs, and write it anew"),
    N_("there is no task {id}"),
    N_("no task is known by an id that begins with {beginning}"),
    N_("no insight is known by an id that begins with {beginning}"),
    N_("{beginning} fits {count} tasks ({ids}); give more of the id"),
    N_("{beginning} fits {count} insights ({ids}); give more of the id"),
    N_("the stored briefing has another form, made by another program"),
    N_("the stored briefing has no usable date: {why}"),
    # a field that can't be accepted
    N_("the payload must be a JSON object"),
    N_("is missing"),
    N_("is the same as project_name; give one of them"),
    N_("is not a field of this operation"),
    N_("must be an object of fields and values"),
    N_("must not be empty"),
    N_("must be a text"),
    N_("must be a list of texts"),
    N_("must be a date, YYYY-MM-DD"),
    N_("must be a UUID"),
    N_("must be a time, RFC 3339 in UTC such as {example}"),
    N_("must have texts for keys"),
    N_("has {count} tags, at most {most}"),
    N_("can't be written as JSON ({why})"),
    N_("must be one of {words}"),
    N_("is too long: {size} characters, at most {most}"),
    N_("is too long: {size} bytes, at most {most}"),
    N_("must not hold the character U+0000"),
    N_("is not valid Unicode (a lone surrogate)"),
    N_("is nested more than 32 deep"),
    N_("an idempotency key must be 1 to 255 visible ASCII characters"),
    N_("the idempotency key {key} stands for another operation (#{number}); use a new key"),
    # the queue's file
    N_("{count} operations wait already"),
    N_("with these, more than {count} operations would wait"),
    N_("sync, or raise [queue] limit"),
    N_("the program is closing"),
    N_("disk full"),
    N_("free some space and save again"),
    N_("the file system is read-only"),
    N_("set ARIA_HOME to a folder that can be written"),
    N_("the file system does not lock files"),
    N_("set ARIA_HOME to a folder on a local disk"),
    N_("permission denied"),
    N_("make it yours, or set ARIA_HOME to a folder of yours"),
    N_("a folder stands in its place"),
    N_("its folder is a file"),
    N_("it is no file"),
    N_("move it away, or set ARIA_HOME"),
    N_("move that file away, or set ARIA_HOME"),
    N_("move that folder away, or set ARIA_HOME"),
    N_("set ARIA_HOME to another folder"),
    N_("the disk failed ({why})"),
    N_("check the disk"),
    N_("the network file system ({kind}) failed"),
    N_("see `aria doctor`"),
    N_("update this program"),
    N_("made by a newer version (schema {version}, this program knows {latest})"),
    N_("it is in WAL mode, open elsewhere, and on a network file system ({kind}), where WAL loses rows"),
    N_("close the other program, or {hint}"),
    N_("damaged ({why}), and another process is sending from it"),
    N_("damaged, and can't be locked: {why}"),
    N_("damaged ({why}), and can't be put aside: {reason}"),
    N_("queue unavailable: {file}: {why} ({hint})"),
    N_("queue unavailable: {file}: {why}"),
    N_("not saved: {why} ({file}); {hint}"),
    N_("not saved: {why}; {hint}"),
    N_("not saved: {why} ({file})"),
    N_("not saved: {why}"),
    N_("The queue file was damaged ({why}). Saved: {saved}. The old file is kept as {file}"),
    N_("{count} waiting and {parked} parked, some rows could not be read"),
    N_("{count} waiting and {parked} parked"),
    N_("{count} waiting, some rows could not be read"),
    N_("{count} waiting"),
    # the Hub
    N_("unexpected answer"),
    N_("a plain Hub keeps no record of operations"),
    N_("the Hub's list of changes can't be read"),
    N_("the embedded Hub can't be opened: {why}"),
    N_("token_command printed nothing"),
    N_("token_command gave nothing in {seconds} s"),
    N_("token_command failed (exit {status}): {why}"),
    N_("token_command failed (exit {status})"),
    N_("the keyring didn't answer in {seconds} s"),
    N_("the keyring can't be read ({why})"),
    # the configuration
    N_("no address of a Hub is configured"),
    N_("set url in [hub]"),
    N_("the Hub's token would go over plain http to {host}"),
    N_("use https, or set allow_http = true in [hub] if the network is yours"),
    N_("the Hub's url holds a space, a backslash or a control character"),
    N_("the Hub's url holds a user name or password"),
    N_("use [hub] token or token_command"),
    N_("the Hub's url {url} is not http:// or https:// with a host"),
    N_("the Hub's url must have no ? or #"),
    N_("the Hub's url can't be read"),
    N_("write it as https://hub.example.com"),
    N_("the Hub's token holds a character that can't stand in a header"),
    N_("copy it again"),
    N_("[hub] token_header: {name} can't be used as a header's name"),
    N_("[hub.headers]: {name} can't be used as a header's name"),
    N_("[hub.headers] {name}: the value must be plain ASCII on one line"),
    N_("can't be changed by the program as it is written"),
    N_("edit it by hand"),
    N_("can't be read: {why}"),
    N_("can't be written: {why}"),
    N_("daily note: not a file"),
    N_("daily note: {why}"),
    N_("see [briefing] daily_note"),
)


def sentence(text: str) -> str:
    """One of the sentences, or a Hub's reason, in the user's language; another text (the Hub's own words) as it is."""
    found = said(text, _SENTENCES, lambda _name, value: sentence(value))
    return why(text) if found == text else found


def in_words(error: AriaError) -> str:
    """A whole error in the user's language."""
    match error:
        case InvalidInput():
            fields = ((e.field.removeprefix("changes."), sentence(e.message)) for e in error.errors)
            return "; ".join(f"{field}: {words}" if field else words for field, words in fields)
        case HubUnavailable():
            return unavailable(error)
        case ConfigError():
            place = (f"{error.path}:{error.line}: " if error.line else f"{error.path}: ") if error.path else ""
            message = str(error).removeprefix(place).removesuffix(f" ({error.hint})")
            return f"{place}{sentence(message)}" + (f" ({sentence(error.hint)})" if error.hint else "")
    return sentence(str(error))
