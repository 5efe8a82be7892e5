"""The commands that open another screen, from everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.screen import Screen

from aria_tui.tui.commands import PLACES
from aria_tui.tui.screens.base import AriaScreen

if TYPE_CHECKING:
    from aria_tui.models import InsightView, TaskView


class Doors(App[int]):
    """Mixin of the app. Screens are imported when they are first wanted."""

    def _open(self, kind: type[Screen[Any]], screen: Screen[Any]) -> None:
        """Pushes a screen, unless one of its kind is already open."""
        if not any(isinstance(open_screen, kind) for open_screen in self.screen_stack):
            self.push_screen(screen)

    def do_task(self) -> None:
        from aria_tui.tui.screens.capture import TaskForm
        from aria_tui.tui.screens.form import FormScreen

        self._open(FormScreen, TaskForm())

    def edit_task(self, task: TaskView) -> None:
        from aria_tui.tui.screens.capture import TaskForm
        from aria_tui.tui.screens.form import FormScreen

        self._open(FormScreen, TaskForm(task))

    def do_insight(self) -> None:
        from aria_tui.tui.screens.capture import InsightForm
        from aria_tui.tui.screens.form import FormScreen

        self._open(FormScreen, InsightForm())

    def edit_insight(self, insight: InsightView) -> None:
        from aria_tui.tui.screens.capture import InsightForm
        from aria_tui.tui.screens.form import FormScreen

        self._open(FormScreen, InsightForm(insight))

    def do_insights(self) -> None:
        from aria_tui.tui.screens.insights import InsightsScreen

        self._open(InsightsScreen, InsightsScreen())

    def do_settings(self) -> None:
        from aria_tui.tui.screens.settings import SettingsScreen

        self._open(SettingsScreen, SettingsScreen())

    def do_connect(self) -> None:
        from aria_tui.tui.screens.connect import ConnectForm
        from aria_tui.tui.screens.form import FormScreen

        self._open(FormScreen, ConnectForm())

    def do_help(self) -> None:
        from aria_tui.tui.screens.help import HelpScreen

        screen = self.screen
        first = screen.place_of(self.focused) if isinstance(screen, AriaScreen) else "everywhere"
        self._open(HelpScreen, HelpScreen(first))

    def do_palette(self) -> None:
        from aria_tui.tui.palette import palette

        screen = palette()
        self._open(type(screen), screen)

    def places_at(self, screen: Screen[Any]) -> set[str]:
        """The places whose commands work on a screen where its focus is."""
        if not isinstance(screen, AriaScreen):
            return {"everywhere"}
        places = {"everywhere", screen.PLACE, screen.place_of(screen.focused)}
        if screen.place_of(None) == "dashboard":
            places.add("dashboard")
        return places & set(PLACES)
