"""The briefing: sections as they come in, each with its state, foldable; alerts lead to what they are about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from textual import events
from textual.app import ComposeResult

from aria_tui.locale import _
from aria_tui.models import Alert, Section
from aria_tui.tui.content import Line, Piece, between, line_width, say, wrapped
from aria_tui.tui.sections import EVENING, MORNING, Scene, alert_lines, body, state_note, summary, title_of
from aria_tui.tui.widgets.lines import RowList
from aria_tui.tui.widgets.pane import Pane


@dataclass(frozen=True)
class BriefingState:
    """What the pane draws.

    ``running``: sections are still coming in; ``extra``: lines above all else (a comparison, why there is nothing);
    ``headline``: the day in words.
    """

    kind: str
    headline: str
    now: datetime
    today: date
    sections: tuple[Section, ...] = ()
    alerts: tuple[Alert, ...] = ()
    running: bool = False
    folded: frozenset[str] = frozenset()
    extra: tuple[str, ...] = ()


class _BriefingRows:
    """Rows with keys ``section`` for a heading and ``section:n`` for a line in it."""

    def __init__(self, state: BriefingState, width: int, height: int) -> None:
        self.rows: list[tuple[str | None, Line]] = []
        self._starts: list[int] = []
        self.targets: dict[str, str] = {}
        scene = Scene(max(10, width), state.now, state.today)
        for number, text in enumerate(state.extra):
            self.rows.append((f"extra:{number}", (say(text, "accent"),)))
        for number, (alert, line) in enumerate(alert_lines(state.alerts, scene.width, state.now)):
            self.rows.append((f"alerts:{number}", line))
            self.targets[f"alerts:{number}"] = alert.source
        if state.alerts or state.extra:
            self.rows.append((None, ()))
        have = {section.name: section for section in state.sections}
        order = EVENING if state.kind == "evening" else MORNING
        names = [name for name in order if name in have or state.running]
        names += [name for name in have if name not in order and name != "alerts"]
        for name in names:
            self._add(name, have.get(name), state, scene)
        if len(self.rows) + len(self._starts) - 1 <= height:  # a line between the sections, where there is room
            for start in reversed(self._starts[1:]):
                self.rows.insert(start, (None, ()))
        self._index = {key: number for number, (key, _line) in enumerate(self.rows) if key}

    def _add(self, name: str, section: Section | None, state: BriefingState, scene: Scene) -> None:
        if section is None:
            if name != "yesterday":
                self._start((name, (say(title_of(name), "title"), say("  …", "dim"))))
            return
        if section.state == "not_configured" or (name == "yesterday" and not section.data and section.state == "ok"):
            return
        folded = name in state.folded
        note = state_note(section, state.now)
        note_piece = say(note, "warn" if section.state in ("unavailable", "partial") else "dim")
        lines = body(section, scene)
        title: Line = (Piece("▸ " if folded else "", "dim"), say(title_of(name), "title"))
        beside = summary(section)
        if beside:
            beside = (Piece("  "), *beside)
        elif len(lines) == 1 and not folded and not note:
            beside, lines = lines[0], []  # a section of one line stands beside its title
        if beside and line_width((*title, *beside)) + bool(note) + line_width((note_piece,)) > scene.width:
            words = "".join(piece.text for piece in beside).strip()
            lines, beside = [*wrapped(words, scene.width, beside[-1].style, indent="  "), *lines], ()
        self._start((name, between((*title, *beside), (note_piece,), scene.width) if note else (*title, *beside)))
        if not folded:
            self.rows += [(f"{name}:{number}", line) for number, line in enumerate(lines)]

    def _start(self, heading: tuple[str, Line]) -> None:
        self._starts.append(len(self.rows))
        self.rows.append(heading)

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, index: int) -> str | None:
        return self.rows[index][0]

    def find(self, key: str) -> int | None:
        return self._index.get(key)

    def line(self, index: int, width: int) -> Line:
        return self.rows[index][1]


class BriefingPane(Pane):
    """Draws a BriefingState; keeps nothing but the cursor."""

    def __init__(self) -> None:
        super().__init__(_("Briefing"), id="briefing")
        self._state: BriefingState | None = None
        self._rows: _BriefingRows | None = None

    def compose(self) -> ComposeResult:
        yield RowList(id="briefing-rows", from_top=True)

    @property
    def rows(self) -> RowList:
        """The list that has the focus when the pane has."""
        return self.query_one(RowList)

    def update_state(self, state: BriefingState) -> None:
        """Draws another state; the cursor stays on its line."""
        if state == self._state:
            return
        self._state = state
        title = _("Evening") if state.kind == "evening" else _("Briefing")
        self.name_it(title, state.headline + (" …" if state.running else ""))
        self._draw()

    def _draw(self) -> None:
        if self._state is not None:
            self._rows = _BriefingRows(self._state, self.rows.text_width, self.rows.size.height)
            self.rows.show(self._rows)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.call_after_refresh(self._draw)

    @property
    def section(self) -> str | None:
        """The section under the cursor."""
        key = self.rows.cursor_key
        return key.split(":")[0] if key else None

    @property
    def target(self) -> str | None:
        """What the line under the cursor is about: an alert's source, else its section."""
        key = self.rows.cursor_key
        if key is None or self._rows is None:
            return None
        return self._rows.targets.get(key, key.split(":")[0])
