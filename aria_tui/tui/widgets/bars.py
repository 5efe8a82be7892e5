"""The one-line bars: header, footer, tabs of the narrow layout; and the banner of things that must be known."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events

from aria_tui.locale import _
from aria_tui.tui.commands import BY_ID, Command, keys_of, shown_key
from aria_tui.tui.content import Line, Piece, between, cell_width, cropped, line_width, say, wrapped
from aria_tui.tui.messages import CommandWanted, PaneWanted
from aria_tui.tui.widgets.lines import Lines


@dataclass(frozen=True)
class HeaderState:
    """What the header shows: words, already in the user's language."""

    moment: str
    hub: Piece
    short: str = ""
    """The moment in fewer words, for a narrow screen."""
    waiting: int = 0
    attention: int = 0


class Header(Lines):
    """Name, date, time and period at the left; Hub, waiting and what needs attention at the right."""

    _state = HeaderState("", Piece(""))

    def update_state(self, state: HeaderState) -> None:
        if state != self._state:
            self._state = state
            self.refresh()

    def lines_for(self, width: int) -> tuple[Line, ...]:
        state = self._state
        name: Line = (Piece(" ARIA ", "title"), Piece("  "))
        right: Line = (state.hub,)
        if state.waiting:
            right += (Piece(f"   ⇡ {state.waiting}", "accent"),)
        if state.attention:
            right += (Piece(f"   ⚠ {state.attention}", "warn"),)
        left = (*name, say(state.moment))
        if line_width(left) + line_width(right) + 2 > width and state.short:
            left = (*name, say(state.short))
        return (between(left, (*right, Piece(" ")), width),)

    def on_click(self, event: events.Click) -> None:
        self.post_message(PaneWanted("hub" if event.x < self.size.width - 10 else "queue"))


class Footer(Lines):
    """The keys that work now, from the list of commands; each can be clicked. The last ones are always in sight."""

    def __init__(self) -> None:
        super().__init__(id="footer")
        self._items: tuple[tuple[str, Line], ...] = ()
        self._pinned = 0

    def show_commands(
        self, commands: list[Command], remapped: dict[str, str], labels: dict[str, str], pinned: tuple[str, ...] = ()
    ) -> None:
        """Draws these commands; ``labels`` replace their own for now, ``pinned`` ones stand at the right."""
        items = []
        for command in sorted(commands, key=lambda command: command.id in pinned):
            if keys := keys_of(command, remapped):
                label = labels.get(command.id) or _(command.label)
                shown = shown_key(keys[0])
                if command.pair and (others := keys_of(BY_ID[command.pair[0]], remapped)):
                    shown, label = f"{shown} {shown_key(others[0])}", _(command.pair[1])
                items.append((command.id, (Piece(shown, "key"), say(f" {label}"), Piece("  "))))
        if tuple(items) != self._items:
            self._items = tuple(items)
            self._pinned = sum(command.id in pinned for command in commands)
            self.refresh()

    def _placed(self, width: int) -> list[tuple[str, Line]]:
        """The items that fit, with the pinned ones last."""
        count = len(self._items) - self._pinned
        room = width - 1 - sum(line_width(pieces) for _id, pieces in self._items[count:])
        kept = []
        for item in self._items[:count]:
            if (size := line_width(item[1])) <= room:
                room -= size
                kept.append(item)
        return [*kept, *self._items[count:]]

    def lines_for(self, width: int) -> tuple[Line, ...]:
        line: Line = (Piece(" "),)
        for _id, pieces in self._placed(width):
            line += pieces
        return (cropped(line, width),)

    def on_click(self, event: events.Click) -> None:
        at = 1
        for name, pieces in self._placed(self.size.width):
            at += line_width(pieces)
            if event.x < at:
                self.post_message(CommandWanted(name))
                return


class PaneTabs(Lines):
    """Names of the panes, for the narrow layout that shows one at a time."""

    def __init__(self) -> None:
        super().__init__(id="tabs")
        self._tabs: tuple[tuple[str, str], ...] = ()
        self._active = ""

    def update_tabs(self, tabs: tuple[tuple[str, str], ...], active: str) -> None:
        """``tabs`` are pane ids with their shown names."""
        if (tabs, active) != (self._tabs, self._active):
            self._tabs, self._active = tabs, active
            self.refresh()

    def lines_for(self, width: int) -> tuple[Line, ...]:
        line: Line = ()
        for name, title in self._tabs:
            chosen = name == self._active
            line += (say(f"[{title}]" if chosen else f" {title} ", "chosen" if chosen else "dim"), Piece(" "))
        return (cropped(line, width),)

    def on_click(self, event: events.Click) -> None:
        at = 0
        for name, title in self._tabs:
            at += cell_width(title) + 3
            if event.x < at:
                self.post_message(PaneWanted(name))
                return


class Banner(Lines):
    """Something that must be known before all else: the queue can't be used, a damaged file was set aside."""

    def __init__(self) -> None:
        super().__init__(id="banner")
        self._text = ""
        self.display = False

    def say(self, text: str) -> None:
        """Shows a text, or nothing for an empty one."""
        if text != self._text:
            self._text = text
            self.display = bool(text)
            self.refresh(layout=True)

    def lines_for(self, width: int) -> tuple[Line, ...]:
        return tuple(wrapped(f"⚠ {self._text}", max(10, width), "bad")[:4]) if self._text else ()


class TooSmall(Lines):
    """Covers a screen that is too small to be used."""

    def lines_for(self, width: int) -> tuple[Line, ...]:
        return tuple(wrapped(_("too small: at least 60×20 is needed"), max(4, width), "warn"))
