"""The settings as they are in force, and the state of each source. Nothing secret is shown."""

from __future__ import annotations

from aria_tui._briefing_words import say as said
from aria_tui.hub._reasons import in_words
from aria_tui.locale import _, language
from aria_tui.models import Section
from aria_tui.tui.bindings import bindings
from aria_tui.tui.content import Line, Piece, fit, line_width, say, wrapped
from aria_tui.tui.screens.listing import ListingScreen
from aria_tui.tui.sections import state_note, title_of
from aria_tui.tui.wallclock import local_now
from aria_tui.tui.widgets.hub_pane import state_word


def how_to(name: str) -> str:
    """One line: how a source is configured."""
    return {
        "projects": _('[projects] roots = ["~/projects"]'),
        "docker": _("[docker] host, or the engine's usual socket"),
        "calendar": _('[calendar] sources = [{ url = "https://…" }]'),
        "finance": _('[finance] kind = "http", "file", "hledger" or "firefly"'),
        "reports": _('[briefing] reports = ["~/nightly.json"]'),
    }.get(name, "")


class SettingsScreen(ListingScreen):
    """What can be changed here is changed by enter; the rest is in config.toml, with its path."""

    PLACE = "settings"
    BINDINGS = bindings("settings")

    def __init__(self) -> None:
        super().__init__()
        self._sections: dict[str, Section] = {}

    def on_mount(self) -> None:
        super().on_mount()
        self.aria.spawn(self._read(), "settings")

    async def _read(self) -> None:
        """Asks every source once, for its state."""
        if (assistant := self.aria.live.assistant) is None:
            return
        async for part in assistant.briefing(kind="morning"):
            if isinstance(part, Section):
                self._sections[part.name] = part
                self.draw()

    def heading(self) -> tuple[str, str]:
        return _("Settings"), str(self.aria.home / "config.toml")

    def rows_for(self, width: int) -> list[tuple[str | None, Line]]:
        config = self.aria.config
        rows: list[tuple[str | None, Line]] = [(None, (say(_("Screen"), "title"),))]
        dark = self.app.current_theme.dark
        offline, conflicts = config.ui.offline_tasks, config.sync.conflicts
        rows += _fact("theme", _("theme"), _("dark") if dark else _("light"), _("enter changes it"), width)
        rows += _fact(None, _("language"), language(), '[ui] language = "en" | "pt_BR"', width)
        rows += _fact(None, _("tasks offline"), offline, '[ui] offline_tasks = "hide" | "last-seen"', width)
        rows += [(None, ()), (None, (say(_("Hub"), "title"),))]
        hub = self.aria.live.hub
        rows += _fact("connect", _("address"), hub.url or _("embedded"), _("enter connects to another"), width)
        rows += _fact(None, _("state"), state_word(hub), in_words(hub.reason), width)
        token = _("set") if config.hub.token or config.hub.token_command else _("not set")
        rows += _fact(None, _("token"), token, "", width)
        rows += _fact(None, _("conflicts"), conflicts, '[sync] conflicts = "ask" | "mine" | "theirs"', width)
        rows += [(None, ()), (None, (say(_("Sources"), "title"),))]
        for name in ("projects", "docker", "calendar", "finance", "reports", *self._own()):
            rows += self._source(name, width)
        if self.aria.problems:
            rows += [(None, ()), (None, (say(_("Keys"), "title"),))]
            rows += [
                (None, line) for problem in self.aria.problems for line in wrapped(problem, width, "warn", indent="  ")
            ]
        return rows

    def _own(self) -> list[str]:
        ours = {"context", "calendar", "tasks", "yesterday", "projects", "docker", "finance", "reports", "queue"}
        return sorted(set(self._sections) - ours)

    def _source(self, name: str, width: int) -> list[tuple[str | None, Line]]:
        section = self._sections.get(name)
        if section is None:
            state = _("not configured") if name == "reports" and self._sections.get("queue") else _("reading …")
            rows = _fact(None, title_of(name), state, "", width)
        else:
            note = state_note(section, local_now())
            rows = _fact(None, title_of(name), note or _("fine"), "", width)
            reason = said(section.reason, local_now()) or (how_to(name) if section.state == "not_configured" else "")
            rows += [(None, line) for line in wrapped(reason, width, "dim", indent=" " * 20)] if reason else []
        return rows

    def do_settings_open(self) -> None:
        match self.cursor_key:
            case "theme":
                self.aria.do_theme()
                self.draw()
            case "connect":
                self.aria.do_connect()

    do_settings_close = ListingScreen.do_close


def _fact(key: str | None, name: str, value: str, how: str, width: int) -> list[tuple[str | None, Line]]:
    """A name, its value and how it is changed: beside it, or beneath it where there is no room."""
    line: Line = (Piece("  "), fit(name, 18, "dim"), say(value))
    beside: Line = (*line, Piece("   "), say(how, "dim"))
    if not how or line_width(beside) <= width:
        return [(key, beside if how else line)]
    return [(key, line), *((None, rest) for rest in wrapped(how, width, "dim", indent=" " * 20))]
