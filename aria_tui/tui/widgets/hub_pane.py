"""The Hub pane: state in words, address, latency now and as a sparkline, 7 days, last sync, next probe."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from textual import events

from aria_tui.hub._reasons import in_words
from aria_tui.locale import _, formats
from aria_tui.models import HubStatus
from aria_tui.tui.content import Line, Piece, cell_width, say, wrapped
from aria_tui.tui.widgets.lines import Lines

PROBE_LASTS = 15
"""Seconds that a probe may take, and a little more."""
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class HubState:
    """What the pane draws: the newest status, how old it is, and the time it is."""

    status: HubStatus
    elapsed: float
    now: datetime


def state_piece(status: HubStatus, now: datetime | None = None) -> Piece:
    """The Hub's state in one mark and a few words; the words alone say it."""
    match status.state:
        case "embedded":
            return say(_("● embedded Hub"), "good")
        case "online":
            latency = f" {round(status.latency_ms)} ms" if status.latency_ms is not None else ""
            return say(_("● online") + latency, "good")
        case "slow":
            latency = f" {round(status.latency_ms)} ms" if status.latency_ms is not None else ""
            return say(_("◐ slow") + latency, "warn")
        case "offline":
            if now is None or not status.since:
                return say(_("○ Hub offline"), "bad")
            return say(_("○ Hub offline since {time}").format(time=formats.when(status.since, now)), "bad")
        case "refused":
            return say(_("✗ sign-in needed: token refused"), "bad")
        case "not_the_hub":
            return say(_("✗ unexpected answer (login page?)"), "bad")
    return say(_("… looking for the Hub"), "dim")


def state_word(status: HubStatus) -> str:
    """The state in a word or two, for the border and for sentences."""
    return {
        "embedded": _("embedded"),
        "online": _("online"),
        "slow": _("slow"),
        "offline": _("offline"),
        "refused": _("token refused"),
        "not_the_hub": _("not the Hub"),
    }.get(status.state, _("unknown"))


def sparkline(values: tuple[float | None, ...], width: int) -> str:
    """The newest values as bars; a failed probe is a cross."""
    values = values[-width:] if width > 0 else ()
    known = [value for value in values if value is not None]
    if not known:
        return "×" * len(values)
    low, high = min(known), max(known)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join("×" if value is None else _BARS[int((value - low) * scale)] for value in values)


def _side_by_side(parts: list[str], width: int, least: int = 0) -> list[str]:
    """Parts on as few lines as they take; none is broken. The last is given ``least`` cells, so that the pane keeps its
    height while seconds count down."""
    lines: list[str] = []
    for number, part in enumerate(parts, 1):
        room = width - (max(0, least - cell_width(part)) if number == len(parts) else 0)
        if lines and cell_width(longer := f"{lines[-1]} · {part}") <= room:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


class HubView(Lines, can_focus=True):
    """Draws a HubState."""

    _state: HubState | None = None

    def update_state(self, state: HubState) -> None:
        if state != self._state:
            before = len(self.lines_for(self.size.width)) if self.size.width else 0
            self._state = state
            self.refresh(layout=bool(before) and before != len(self.lines_for(self.size.width)))

    def lines_for(self, width: int) -> tuple[Line, ...]:
        if self._state is None:
            return ((say(_("… looking for the Hub"), "dim"),),)
        status, now = self._state.status, self._state.now
        mark = "▸ " if self.has_focus else "  "
        address = status.url or _("embedded, on this machine")
        about = [address]
        if status.account:
            about.append(_("account {name}").format(name=status.account))
        if status.api is not None:
            about.append(f"v{status.api}")
        lines: list[Line] = [(Piece(mark, "accent"), say(" · ".join(about)))]
        lines.append((Piece("  "), *self._figures(status, width - 2)))
        if status.reason and status.state not in ("online", "embedded"):
            lines += wrapped(in_words(status.reason), width - 1, "warn", indent="  ")
        times = []
        if status.last_sync:
            times.append(_("last sync {time}").format(time=formats.when(status.last_sync, now)))
        if status.since and status.state not in ("embedded", "unknown"):
            words = {
                "online": _("online since {time}"),
                "slow": _("slow since {time}"),
                "offline": _("offline since {time}"),
            }
            since = words.get(status.state, _("since {time}"))
            times.append(since.format(time=formats.when(status.since, now)))
        if status.next_probe_in is not None and status.state != "embedded":
            left = round(status.next_probe_in - self._state.elapsed)
            if left > -PROBE_LASTS:  # later than that it is another process that probes
                times.append(_("next probe in {n} s").format(n=left) if left > 0 else _("probing"))
        least = cell_width(_("next probe in {n} s").format(n="00"))
        return (*lines, *((Piece("  "), say(line, "dim")) for line in _side_by_side(times, width - 3, least)))

    def _figures(self, status: HubStatus, width: int) -> Line:
        uptime = (
            _("7 days {share}").format(share=formats.percent(status.uptime_7d)) if status.uptime_7d is not None else ""
        )
        room = max(0, min(24, width - len(uptime) - 24))
        line: Line = (state_piece(status), Piece("  "))
        if bars := sparkline(status.latencies_ms, room):
            line += (Piece(bars, "accent"), Piece("  "))
        return (*line, say(uptime, "dim"))

    def on_focus(self, event: events.Focus) -> None:
        self.refresh()

    def on_blur(self, event: events.Blur) -> None:
        self.refresh()
