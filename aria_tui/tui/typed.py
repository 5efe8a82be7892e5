"""What is typed acts in the order in which it was typed, however quickly it comes.

Textual hands a letter to the focused input at once, but takes any other key up through all that holds the input first
and looks for its binding then. Of keys that come in one go (a slow line, a text expander, quick fingers) the letters
after a backspace, a tab or an enter would overtake it, and stand in the wrong field or in what is being saved.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from textual import events
from textual.app import App
from textual.widget import Widget

PATIENCE = 1.0
"""Seconds for an input to take in the letters that came before a key."""


def takes_text(widget: Widget | None) -> bool:
    """Whether letters are text where the focus is. By name: neither kind of input is loaded before it is wanted."""
    return is_line(widget) or any(kind.__name__ == "TextArea" for kind in type(widget).__mro__)


def is_line(widget: Widget | None) -> bool:
    """Whether that is an input of one line."""
    return any(kind.__name__ == "Input" for kind in type(widget).__mro__)


async def at_once(app: App[Any], event: events.Key) -> bool:
    """Runs what a key is bound to while the focus is in an input or a form, once the letters before it are in.

    False for a letter that is text, for a key that is bound to nothing, and everywhere else: these go their usual way.
    """
    focused = app.focused
    texts = takes_text(focused)
    if focused is None or (texts and event.is_printable) or not (texts or getattr(app.screen, "IN_ORDER", False)):
        return False
    taken = asyncio.Event()
    if focused.call_later(taken.set):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await taken.wait()
    return await app._check_bindings(event.key) if app.focused is focused else False
