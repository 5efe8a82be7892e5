"""A small form over the current screen. Its text is kept as a draft from the first letter on, until it was saved."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets._input import Input

from aria_tui.complaints import in_words
from aria_tui.errors import AriaError, InvalidInput
from aria_tui.locale import _
from aria_tui.models import WriteResult
from aria_tui.tui.bindings import bindings, leaving
from aria_tui.tui.commands import BY_ID, at, keys_of, shown_key
from aria_tui.tui.content import Line, Piece, content, line_width, say
from aria_tui.tui.messages import CommandWanted
from aria_tui.tui.screens.base import HEIGHTS, WIDTHS
from aria_tui.tui.widgets.bars import TooSmall
from aria_tui.tui.widgets.block_input import BlockInput
from aria_tui.tui.widgets.choice import Choice
from aria_tui.tui.widgets.lines import Lines, Paragraph

if TYPE_CHECKING:
    from aria_tui.tui.app import AriaApp

PATIENCE = 0.25
"""Seconds that a saved form stays for its outcome, so that an error finds the text where it was typed."""


class FormKeys(Lines):
    """The form's keys; each can be clicked."""

    def __init__(self) -> None:
        super().__init__(id="form-keys")
        self._keys: list[tuple[str, Line]] = []

    def show_keys(self, keys: list[tuple[str, Line]], completes: str) -> None:
        """Draws them, by command id; and the arrow that takes what a field offers, where one does."""
        self._keys = keys
        arrow: Line = (Piece("→", "key"), say(f" {completes}")) if completes else ()
        self.show(((*(piece for _id, pieces in keys for piece in pieces), *arrow),))

    def on_click(self, event: events.Click) -> None:
        at = 0
        for name, pieces in self._keys:
            at += line_width(pieces)
            if event.x < at:
                self.post_message(CommandWanted(name))
                return


class FormScreen(ModalScreen[None]):
    """Base of the forms. A subclass gives its fields and what saving means."""

    BINDINGS = [  # noqa: RUF012 - Textual's form
        *bindings("form"),
        Binding("enter", "app.run('form.save')", show=False),
        leaving(),
    ]
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    TITLE_WORDS: ClassVar[str] = ""
    IN_ORDER = True
    """Its keys act when they come, see ``typed``."""

    def __init__(self, draft_key: str, *, error: str = "") -> None:
        super().__init__()
        self.draft_key, self._error = draft_key, error
        self._saving = False
        self._early: list[events.Key | events.Paste] = []
        self._listening = False

    @property
    def aria(self) -> AriaApp:
        """The app, by its own type."""
        return cast("AriaApp", self.app)

    def title_words(self) -> str:
        """The form's title."""
        return ""

    def fields(self) -> Iterator[tuple[str, Widget]]:
        """(label, field) in order; a field's id is its name in ``values``."""
        yield from ()

    def begin(self, values: dict[str, Any]) -> asyncio.Task[WriteResult] | None:
        """Begins the write; None when there is nothing to do. Raises InvalidInput for what can't be accepted."""
        raise NotImplementedError

    def draft(self) -> dict[str, str]:
        """What was typed before and not saved."""
        kept = self.aria.drafts.get(self.draft_key)
        return {str(k): str(v) for k, v in kept.items()} if isinstance(kept, dict) else {}

    def compose(self) -> ComposeResult:
        with Vertical(id="form") as box:
            box.border_title = content(self.title_words())
            with VerticalScroll(id="fields", can_focus=False):
                for label, field in self.fields():
                    row = Horizontal(classes="block field" if isinstance(field, BlockInput) else "field")
                    with row:
                        name = Lines(classes="label")
                        name.show(((say(label, "dim"),),))
                        yield name
                        yield field
                        if (hint := self.hint_for(field)) is not None:
                            yield hint
            yield Paragraph(self._error, "bad", most=4, id="form-error")
            yield FormKeys()
        yield TooSmall(classes="too-small")

    def hint_for(self, field: Widget) -> Widget | None:
        """A widget beside a field that says how it was understood."""
        return None

    def on_mount(self) -> None:
        keys: list[tuple[str, Line]] = [
            (command.id, (Piece(shown_key(found[0]), "key"), say(f" {_(command.label)}  ")))
            for command in at("form")
            if (found := keys_of(command, self.aria.remapped))
        ]
        completes = any(field.suggester is not None for field in self.query(Input))
        self.query_one(FormKeys).show_keys(keys, _("completes") if completes else "")
        self.call_after_refresh(self._listen)

    # What is typed before the first field is there, or while a save is under way, is kept and typed afterwards.

    def _listen(self) -> None:
        self._listening = True
        self._replay()

    def _replay(self) -> None:
        early, self._early = self._early, []
        for event in early:
            again = (
                events.Key(event.key, event.character) if isinstance(event, events.Key) else events.Paste(event.text)
            )
            again.set_sender(self.app)  # as the terminal's own: what a screen sends doesn't come further than to it
            self.app.post_message(again)

    def _too_early(self, event: events.Key | events.Paste) -> None:
        if self._saving and isinstance(event, events.Key) and not event.is_printable and self._leaves(event.key):
            return  # leaving waits for no outcome
        if self._saving or not self._listening:
            event.stop()
            self._early.append(event)

    def _leaves(self, key: str) -> bool:
        return key in keys_of(BY_ID["quit"], self.aria.remapped)

    def on_key(self, event: events.Key) -> None:
        self._too_early(event)

    def on_paste(self, event: events.Paste) -> None:
        self._too_early(event)

    def values(self) -> dict[str, str]:
        """The fields' texts by name."""
        found = {}
        for field in self.query("#fields Input, #fields BlockInput, #fields Choice"):
            found[str(field.id)] = field.text if isinstance(field, BlockInput) else str(getattr(field, "value", ""))
        return found

    def show_error(self, text: str) -> None:
        """Says what is wrong, at the form's foot."""
        self.query_one("#form-error", Paragraph).say(text)

    @on(Input.Changed)
    @on(BlockInput.Changed)
    @on(Choice.Changed)
    def _typed(self) -> None:
        if not self._saving and self.is_mounted:
            self.keep()

    def keep(self) -> None:
        """Keeps what is typed so far."""
        self.aria.drafts.put(self.draft_key, self.values() if self.worth_keeping() else None)

    def worth_keeping(self) -> bool:
        """Whether anything was typed."""
        return any(text.strip() for text in self.values().values())

    def do_form_save(self) -> None:
        """Saves; the form goes as soon as the row is known to be safe, or shortly after, and stays with an error.
        What is typed from now on is not in it."""
        if self._saving:
            return
        values = self.values()
        try:
            write = self.begin(values)
        except InvalidInput as error:
            self.show_error(in_words(error))
            return
        if write is None:
            self._gone()
            return
        self.keep()
        self.aria.spawn(self._saved(write, values, self.hold()), "form")

    def hold(self) -> Widget | None:
        """Keeps what is typed for later (``let_go``); gives the field that had the focus."""
        self._saving, focused = True, self.focused
        self.set_focus(None)
        return focused

    def let_go(self, focused: Widget | None) -> None:
        """Gives the focus back, and what was typed meanwhile to the field."""
        self._saving = False
        self.set_focus(focused)
        self._replay()

    async def _saved(self, write: asyncio.Task[WriteResult], values: dict[str, str], focused: Widget | None) -> None:
        try:
            await asyncio.wait({write}, timeout=PATIENCE)
        except asyncio.CancelledError:  # the program ends
            self.aria.captures.follow(write, type(self), self.draft_key, values)
            self.aria.drafts.put(self.draft_key, None)
            raise
        if write.done() and not write.cancelled() and (problem := write.exception()) is not None:
            self.let_go(focused)
            with self.aria.guard("form"):
                if not isinstance(problem, AriaError):
                    raise problem
            self.show_error(in_words(problem))
            return
        if not write.done():
            self.aria.captures.follow(write, type(self), self.draft_key, values)
        self._gone()

    def _gone(self) -> None:
        self.aria.drafts.put(self.draft_key, None)
        if self.is_current:
            self.dismiss()
        self.app.call_later(self._replay)

    def do_form_close(self) -> None:
        self.keep()
        self.dismiss()

    def do_form_clear(self) -> None:
        for field in self.query("#fields Input, #fields BlockInput"):
            if isinstance(field, BlockInput):
                field.text = ""
            elif isinstance(field, Input):
                field.value = ""
        self.aria.drafts.put(self.draft_key, None)


class LastWord(Suggester):
    """Completes the last of several words from those that exist already."""

    def __init__(self, words: tuple[str, ...]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._words = words

    async def get_suggestion(self, value: str) -> str | None:
        head, comma, last = value.rpartition(",")
        typed = last.lstrip()
        if not typed:
            return None
        for word in self._words:
            if word != typed and word.casefold().startswith(typed.casefold()):
                return f"{head}{comma}{last[: len(last) - len(typed)]}{typed}{word[len(typed) :]}"
        return None


def tags_of(text: str, known: tuple[str, ...] = ()) -> list[str]:
    """Tags as they were typed: apart by commas or white space, without ``#``, each once; one of ``known``, which
    another program may have made of several words, stays whole."""
    found: list[str] = []
    for part in map(str.strip, text.split(",")):
        found += [part] if part in known else [word.lstrip("#") for word in part.split()]
    return list(dict.fromkeys(tag for tag in found if tag))
