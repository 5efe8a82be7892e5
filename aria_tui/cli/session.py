"""What most commands begin with: the configuration (flag over environment over file), the language, the assistant."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aria_tui import config as configuration
from aria_tui import locale

if TYPE_CHECKING:
    from aria_tui.assistant import Assistant
    from aria_tui.config import Config
    from aria_tui.errors import AriaError
    from aria_tui.models import HubStatus


def load_config(args: argparse.Namespace) -> Config:
    """The configuration as this command line means it; takes its language for the process. Raises ConfigError."""
    found = configuration.with_flags(
        configuration.load(), url=getattr(args, "hub_url", None), token_file=getattr(args, "hub_token_file", None)
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
    try:
        if assistant.queue_notice:
            from aria_tui.cli import output

            output.complain(assistant.queue_notice)
        yield assistant
    finally:
        await assistant.close()


def without_hub(error: AriaError, assistant: Assistant) -> HubStatus:
    """The Hub's state where the way to it can't even be made: its secret can't be had (a locked keyring), or the
    embedded one's file not be opened. Any other error, such as a setting that is wrong, is raised again."""
    from aria_tui.errors import HubUnavailable
    from aria_tui.hub.client import TokenUnavailable
    from aria_tui.models import HubStatus

    match error:
        case HubUnavailable():
            state: Any = error.state
            return HubStatus(state=state, since=error.since, reason=error.reason, url=assistant.config.hub.url)
        case TokenUnavailable():
            return HubStatus(reason=str(error), url=assistant.config.hub.url)
        case _:
            raise error
