"""What most commands begin with: the configuration (flag over environment over file), the language, the assistant."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aria_tui import config as configuration
from aria_tui import locale

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant
    from aria_tui.config import Config


def load_config(args: argparse.Namespace) -> Config:
    """The configuration as this command line means it; takes its language for the process. Raises ConfigError."""
    found = configuration.with_flags(
        configuration.load_if_ours(),
        url=getattr(args, "hub_url", None),
        token_file=getattr(args, "hub_token_file", None),
    )
    language = locale.choose(found.ui.language)
    if language != locale.language():
        locale.use(language)
    return found


@asynccontextmanager
async def opened(args: argparse.Namespace) -> AsyncIterator[Assistant]:
    """The assistant of this command, closed at its end; a queue that was set aside is told on standard error."""
    from aria_tui.assistant import Assistant

    assistant = await Assistant.open(load_config(args), origin="cli")
    told = None
    try:
        told = _tell(assistant, None)
        yield assistant
    finally:
        _tell(assistant, told)  # what was only met while the command read the file
        await assistant.close()


def _tell(assistant: Assistant, told: str | None) -> str | None:
    """Tells what there is to know of the queue's file, once."""
    if (notice := assistant.queue_notice) and notice != told:
        from aria_tui.cli import output

        output.complain(notice)
    return notice
