"""What the layers below say in English, for a person at the command line: in the user's language and zone.

They say it in English because it goes into JSON, to assistants and into logs as well. A test looks for each of the
outbox's reasons here.
"""

from __future__ import annotations

from aria_tui import wording
from aria_tui.locale import N_, _, ngettext
from aria_tui.locale.made import said
from aria_tui.models import SyncReport

_SENTENCES = (
    # what became of a write; the most frequent first
    N_("queued (#{number})"),
    N_("queued (#{number}): {why}"),
    N_("saved to Hub"),
    N_("saved"),
    N_("Hub offline"),
    N_("sent, but not confirmed yet"),
    N_("delivered by another program"),
    N_("cancelled before it was sent"),
    N_("discarded (#{number}) before it was sent"),
    N_("edited (#{number}) before it was sent"),
    N_("the Hub has a newer one; this one is kept as a revision"),
    N_("the Hub's version stays; yours is in the journal (#{number})"),
    N_("the Hub's version stays"),
    N_("rejected (#{number}): {why}"),
    N_("changed on both sides (#{number}): {what}"),
    # why a row is still here
    N_("being sent"),
    N_("next"),
    N_("attempt {attempt} failed, next at {at}"),
    N_("the Hub asked to wait, next at {at}"),
    N_("behind #{number}, which needs attention"),
    N_("behind #{number}"),
    N_("Hub offline since {since}"),
    N_("not the Hub since {since}: {why}"),
    N_("sign-in needed: {why}"),
    N_("paused: {why}; run `aria queue verify`"),
    N_("the Hub does not know this operation yet"),
    N_("for another Hub: {target}"),
    N_("sent, but not confirmed; will be sent again with the same key"),
    N_("rejected: {why}"),
    N_("changed on both sides: {what}"),
    N_("{outcome} at {at}"),
    # how a sync ended, where that isn't counts
    N_("nothing to send"),
    N_("another program goes on sending"),
    N_("the other program ended before its sync did"),
    N_("nothing was sent: {why}"),
    N_("what was sent could not be noted ({why}); it will be sent again with the same keys"),
    # what is wrong with what was asked for
    N_("{field}: must not be empty"),
    N_("{field}: is too long: {size} characters, at most {most}"),
    N_("{field}: is too long: {size} bytes, at most {most}"),
    N_("not saved: {why}"),
)
_OUTCOMES = (
    N_("applied"), N_("superseded"), N_("lost"), N_("foreign"), N_("discarded"), N_("edited"), N_("cancelled"),
    N_("folded"),
    # and as a row of the journal says it
    N_("delivered"), N_("was there already"), N_("superseded by a newer one"), N_("delivered by another program"),
    N_("folded into #{into}"), N_("cancelled, never sent"), N_("given up in a conflict"),
    N_("replaced by an edited one"),
)  # fmt: skip


def in_words(sentence: str) -> str:
    """A sentence of the layers below in the user's language; one that isn't known here as it is."""
    return said(sentence, _SENTENCES, _value)


def outcome(word: str) -> str:
    """What became of a row, in a word."""
    return said(word, _OUTCOMES, _value)


def _value(name: str, text: str) -> str:
    """What stands in a sentence: a time in this machine's zone, a reason in the user's language, else as it is."""
    match name:
        case "at" | "since":
            from aria_tui.cli.words import moment

            return moment(text)
        case "outcome":
            return outcome(text)
        case "what":
            return wording.disputed(text)
        case "why":
            from aria_tui import complaints

            inner = in_words(text)
            return complaints.sentence(text) if inner == text else inner
    return text


def sync_end(report: SyncReport) -> str:
    """How a sync ended, in one sentence: the report's own, said in the user's language."""
    from aria_tui.outbox.syncer import sentence

    if report.sentence != sentence(report) or report.sentence == sentence(SyncReport()):
        return in_words(report.sentence)
    parts = [ngettext("{n} delivered", "{n} delivered", report.synced).format(n=report.synced)]
    if count := report.superseded:
        parts.append(ngettext("{n} superseded by newer ones", "{n} superseded by newer ones", count).format(n=count))
    if count := report.dead_letters:
        parts.append(ngettext("{n} rejected", "{n} rejected", count).format(n=count))
    if count := report.conflicts:
        parts.append(ngettext("{n} in conflict", "{n} in conflict", count).format(n=count))
    if count := report.remaining:
        waiting = ngettext("{n} still waiting", "{n} still waiting", count).format(n=count)
        # What the Hub's state consists of stands in brackets, as the report has it.
        _counted, bracket, because = report.sentence.removesuffix(" (stopped)").partition(" still waiting (")
        parts.append(f"{waiting} ({_value('why', because.removesuffix(')'))})" if bracket else waiting)
    return _("{what} (stopped)").format(what=", ".join(parts)) if report.stopped else ", ".join(parts)
