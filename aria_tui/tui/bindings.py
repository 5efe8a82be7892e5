"""Textual's bindings, made from the list of commands."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from aria_tui.tui.commands import at


def bindings(place: str) -> list[BindingType]:
    """The bindings of one place. All run the app's ``run`` action, which finds the handler nearest to the focus."""
    return [
        Binding(command.keys, f"app.run('{command.id}')", command.label, show=False, id=command.id)
        for command in at(place)
    ]


def leaving() -> Binding:
    """For a screen that lies over the others, where what works everywhere doesn't reach: leaving does, by its key that
    is no letter."""
    return Binding("ctrl+q", "app.run('quit')", show=False, id="quit")
