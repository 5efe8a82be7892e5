"""Connecting to a Hub: address and token, tested before they are saved."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from textual.widget import Widget

from aria_tui.complaints import in_words as said
from aria_tui.config import Config
from aria_tui.errors import AriaError
from aria_tui.hub._reasons import in_words
from aria_tui.locale import _
from aria_tui.models import HubStatus
from aria_tui.tui import config_file
from aria_tui.tui.screens.form import FormScreen
from aria_tui.tui.widgets.hub_pane import state_word
from aria_tui.tui.widgets.inputs import LineInput


class ConnectForm(FormScreen):
    """Saved only when a Hub answered at the address and took the token. The token is never kept as a draft."""

    def __init__(self) -> None:
        super().__init__("connect")

    def title_words(self) -> str:
        return _("Connect to a Hub")

    def fields(self) -> Iterator[tuple[str, Widget]]:
        url = self.draft().get("url", self.aria.config.hub.url)
        yield _("Address"), LineInput(url, id="url", compact=True, placeholder="https://hub.example.com")
        yield (
            _("Token"),
            LineInput(id="token", compact=True, password=True, placeholder=_("made by aria hub token create")),
        )

    def keep(self) -> None:
        url = self.query_one("#url", LineInput).value
        self.aria.drafts.put(self.draft_key, {"url": url} if url.strip() else None)

    def do_form_save(self) -> None:
        values = self.values()
        url, token = values["url"].strip(), values["token"].strip()
        if not url.startswith(("https://", "http://")):
            self.show_error(_("the address begins with https:// (or http:// on this machine)"))
            return
        if self._saving:
            return
        self.show_error(_("testing …"))
        self.aria.spawn(self._test(url, token, self.hold()), "form")

    async def _test(self, url: str, token: str, focused: Widget | None) -> None:
        """Saves what a Hub answers to, and starts anew with it."""
        try:
            status = await _tried(self.aria.config, url, token)
            if status.state not in ("online", "slow"):
                self.show_error(
                    _("not saved: {state}. {why}").format(state=state_word(status), why=in_words(status.reason))
                )
                return
            file = self.aria.home / "config.toml"
            keys: dict[str, str | bool] = {"url": url, **({"token": token} if token else {})}
            self.aria.new_config = await asyncio.to_thread(config_file.save, file, "hub", keys)
        except AriaError as error:
            self.show_error(said(error))
            return
        finally:
            if self.is_attached:
                self.let_go(focused)
        self.aria.drafts.put(self.draft_key, None)
        self.aria.after_exit = "restart"
        self.app.exit(0)


async def _tried(config: Config, url: str, token: str) -> HubStatus:
    """How a Hub at the address answers, from an empty home, so that nothing of the user's is sent there."""
    from aria_tui.assistant import Assistant

    hub: Any = msgspec.structs.replace(config.hub, url=url, token=token or config.hub.token, token_command="")
    if not token and config.hub.token_command:
        hub = msgspec.structs.replace(hub, token_command=config.hub.token_command)
    with tempfile.TemporaryDirectory(prefix="aria-connect-") as folder:
        assistant = await Assistant.open(msgspec.structs.replace(config, hub=hub), origin="tui", home=Path(folder))
        try:
            return await assistant.hub_status(probe=True)
        finally:
            await assistant.close()
