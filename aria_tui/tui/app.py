"""The dashboard's application: starts, dispatches commands, ends cleanly. What is shown is in screens and widgets."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import inspect
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, ClassVar, Protocol

from textual import events
from textual.binding import BindingType
from textual.driver import Driver
from textual.notifications import Notify
from textual.worker import Worker

from aria_tui import locale, paths
from aria_tui.clean import visible
from aria_tui.complaints import in_words
from aria_tui.config import Config
from aria_tui.ending import children, end_now
from aria_tui.errors import AriaError
from aria_tui.locale import _
from aria_tui.tui import signals, themes
from aria_tui.tui.bindings import bindings
from aria_tui.tui.captures import Captures
from aria_tui.tui.commands import BY_ID, Command, read_keymap
from aria_tui.tui.doors import Doors
from aria_tui.tui.kept import KeptFile
from aria_tui.tui.live import Live
from aria_tui.tui.logs import Log
from aria_tui.tui.messages import CommandWanted
from aria_tui.tui.pastes import one_line
from aria_tui.tui.rows import RowActions
from aria_tui.tui.screens.dashboard import DashboardScreen
from aria_tui.tui.typed import at_once, is_line
from aria_tui.tui.wallclock import use_zone
from aria_tui.tui.wayout import WayOut
from aria_tui.tui.writes import Writes

log = logging.getLogger(__name__)
NEWS = 3
"""Toasts of mere news that are up at most."""
STORING = 0.4
"""Seconds for the day's briefing on the way out; one that is not stored by then is gathered again."""
KEEPING = 0.2
"""Seconds for each of the small files on the way out; what was typed is in them already but for the last word."""


class Demo(Protocol):
    """What ``aria demo`` hands in: a Hub that can be switched off and on."""

    async def toggle(self) -> bool:
        """Switches the Hub; gives whether it is on now."""


class AriaApp(Doors):
    """One dashboard over one assistant."""

    TITLE = "ARIA"
    ENABLE_COMMAND_PALETTE = False
    NOTIFICATION_TIMEOUT = 6
    CSS_PATH = [paths.styles() / f"{name}.tcss" for name in ("app", "lines", "dashboard", "forms")]  # noqa: RUF012 - Textual's form
    BINDINGS: ClassVar[list[BindingType]] = bindings("everywhere")

    def __init__(self, config: Config, *, demo: Demo | None = None, home: Path | None = None) -> None:
        super().__init__()
        self.config, self.demo = config, demo
        self.home = home or paths.home()
        here = os.path.lexists(self.home)  # pathlib's own raise where a folder is somebody else's
        unusable = here and not os.access(self.home, os.W_OK | os.X_OK)
        known = unusable or os.path.exists(self.home / "session.json")  # noqa: PTH110
        self.fresh = not known and not config.hub.url and demo is None
        self.session = KeptFile(self.home / "session.json")
        self.drafts = KeptFile(self.home / "drafts.json")
        self.remapped, self.problems = read_keymap(config.ui.keys)
        self.set_keymap(self.remapped)
        if problem := use_zone(config.briefing.timezone):
            self.problems.append(problem)
        self.live = Live(config, self.home, self.guard)
        self.writes, self.captures, self.rows = Writes(self), Captures(self), RowActions(self)
        self.new_config: Config | None = None
        self.after_exit = ""
        self.failure: Exception | None = None
        self.way_out = WayOut()
        self.ended = False
        self._half_made = 50
        self.animation_level = "full" if config.ui.animation else "none"
        themes.register(self, str(self.session.get("theme") or config.ui.theme))

    def get_default_screen(self) -> DashboardScreen:
        """The dashboard is the first screen, so that nothing is laid out and painted before it."""
        return DashboardScreen()

    def get_driver_class(self) -> type[Driver]:
        found = super().get_driver_class()
        if found.__name__ != "LinuxDriver":
            return found
        from aria_tui.tui.terminal import Terminal

        return Terminal

    def on_mount(self) -> None:
        self.way_out.loop = asyncio.get_running_loop()
        if self.way_out.status is not None:
            self.exit(return_code=self.way_out.status)
        self.call_after_refresh(lambda: self.spawn(self._begin(), "open"))

    async def _begin(self) -> None:
        """After the first paint: the assistant, and what runs beside the screen."""
        try:
            await self._bring_up()
        finally:
            gc.freeze()  # what is loaded now stays: the collector need not walk through it while a sync runs
            gc.enable()  # off since the start

    async def _bring_up(self) -> None:
        await self.live.open()
        for topic in ("tasks", "queue", "insights"):
            self.spawn(self.live.follow(topic), f"read {topic}")
        self.spawn(self.live.watch(), "watch")
        for problem in self.problems:
            self.toast(problem, "warning")
        self.writes.opened()
        self.captures.recover()
        self.live.tell("opened")
        await asyncio.to_thread(importlib.import_module, "aria_tui.tui.screens.capture")  # so that t and i come at once

    async def on_event(self, event: events.Event) -> None:
        """Keys in a form or an input act in the order in which they were typed."""
        if isinstance(event, events.Key) and not event.is_forwarded and await at_once(self, event):
            return
        if isinstance(event, events.Paste) and not event.is_forwarded:
            event.aria_where = self.screen, self.focused  # type: ignore[attr-defined]
            if is_line(self.focused):
                event.text = one_line(event.text)  # Textual's own input (the palette's) takes the first line only
        await super().on_event(event)

    def on_paste(self, event: events.Paste) -> None:
        """A paste that nobody took, right after the key that opened another screen or an input, is meant for that."""
        if getattr(event, "aria_where", None) not in (None, (self.screen, self.focused)):
            self.post_message(events.Paste(event.text))

    def on_key(self, event: events.Key) -> None:
        """A key that was pressed right after the one that opened another screen, or an input, is meant for that."""
        screen, target = getattr(event, "aria_screen", None), getattr(event, "aria_target", None)
        moved = target is not None and self.focused is not target and getattr(self.focused, "takes_text", False)
        if (screen is not None and screen is not self.screen) or moved:
            event.prevent_default()
            self.post_message(events.Key(event.key, event.character))

    async def action_run(self, name: str) -> None:
        """Runs a command by its id: the handler nearest to the focus."""
        self.run_command(BY_ID[name])

    def run_command(self, command: Command) -> None:
        """Runs a command. Whatever goes wrong in it becomes a toast and a line in the log."""
        if (handler := self._handler(command)) is not None:
            with self.guard(command.id):
                if inspect.isawaitable(result := handler()):
                    self.spawn(_await(result), f"command {command.id}")

    def _handler(self, command: Command) -> Callable[[], Any] | None:
        """The method nearest to the focus; what works everywhere may be the dashboard's, which is always there."""
        places = self.focused.ancestors_with_self if self.focused is not None else [self.screen]
        everywhere = self.screen_stack[:1] if command.where == "everywhere" else []
        for place in (*places, self.screen, self, *everywhere):
            if (found := getattr(place, command.method, None)) is not None:
                return found  # type: ignore[no-any-return]
        return None

    def can_run(self, command: Command) -> bool:
        """Whether the command has a handler where the focus is."""
        return self._handler(command) is not None

    def on_command_wanted(self, message: CommandWanted) -> None:
        self.run_command(BY_ID[message.command])

    def spawn(self, work: Coroutine[Any, Any, None], group: str, *, exclusive: bool = False) -> Worker[None]:
        """Runs work beside the screen, in a named group; its errors are told, never thrown."""

        async def guarded() -> None:
            with self.guard(group):
                await work

        return self.run_worker(guarded(), group=group, exclusive=exclusive, exit_on_error=False)

    @contextlib.contextmanager
    def guard(self, what: str) -> Iterator[None]:
        """Turns errors into words: the user's own as they are, the program's as a toast and a trace in the log."""
        try:
            yield
        except AriaError as error:
            self.toast(in_words(error), "error")
        except Exception as error:
            log.exception("unexpected error in %s", what)
            where = self.home / "log" / "aria.log"
            self.toast(_("unexpected error: {what} (see {file})").format(what=f"{error!r:.200}", file=where), "error")

    def toast(self, text: str, severity: str = "information") -> None:
        """Tells the user something in the corner, an error for twice as long; text from outside is harmless here as
        everywhere."""
        stays = self.NOTIFICATION_TIMEOUT * (2 if severity == "error" else 1)
        self.notify(visible(text), severity=severity, timeout=stays, markup=False)  # type: ignore[arg-type]

    def on_notify(self, event: Notify) -> None:
        """What is told again takes the place of what was told before, and of mere news only the newest stay: the corner
        is somebody's tasks."""
        new, up = event.notification, list(self._notifications)
        news = [one for one in up if one.severity == new.severity == "information"]
        for one in up:
            if one.message == new.message or one in news[: 1 - NEWS]:
                self._unnotify(one)

    async def do_quit(self) -> None:
        self.way_out.begin(0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STORING):
                for screen in self.screen_stack:
                    if isinstance(screen, DashboardScreen):
                        await screen.store()
        self.exit(0)

    def do_undo(self) -> Awaitable[None]:
        return self.writes.undo()

    def do_theme(self) -> None:
        self.session.put("theme", themes.switch(self))

    async def do_demo_toggle(self) -> None:
        if self.demo is not None:
            on = await self.demo.toggle()
            self.toast(_("the demo's Hub is on") if on else _("the demo's Hub is off"))
            if self.live.assistant is not None:
                await self.live.assistant.hub_status()

    async def action_quit(self) -> None:
        await self.do_quit()

    # The end

    def exit(self, result: int | None = None, return_code: int = 0, message: Any = None) -> None:
        """Ends the app. A screen that is just being made is finished first: it would stumble over its missing half."""
        if not self.after_exit:
            return_code = self.way_out.begin(return_code)
        if self._half_made and any(not screen.is_mounted for screen in self.screen_stack):
            self._half_made -= 1
            asyncio.get_running_loop().call_later(0.01, self.exit, result, return_code, message)
            return
        super().exit(result, return_code, message)

    def leave(self, status: int) -> bool:
        """Has the app end with a status, from a signal handler or any thread. False: there is nothing to end (yet)."""
        if self._driver is None or self.ended:
            return False
        status, self.after_exit = self.way_out.begin(status), ""
        if (loop := self.way_out.loop) is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(self.exit, None, status)
        return True

    def terminal_lost(self) -> None:
        """The terminal is gone, whether or not that was said by SIGHUP."""
        self.leave(128 + signal.SIGHUP)

    def terminal_broke(self, error: Exception) -> None:
        """No keys can be read any more."""
        if (loop := self.way_out.loop) is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._handle_exception, error)

    def end_at_once(self, status: int) -> None:
        """The end where the one in order takes too long."""
        if (give_back := getattr(self._driver, "give_back", None)) is not None:
            give_back()
        end_now(status)

    async def _shutdown(self) -> None:
        """Before the screen goes: what runs is stopped, what was accepted is committed, within two seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.way_out.left()):
                self.workers.cancel_all()
                await self.writes.settle()
                await self.live.close()
        for file in (self.drafts, self.session):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(file.close(), KEEPING)
        await super()._shutdown()

    def _handle_exception(self, error: Exception) -> None:
        """Every error that nobody caught; Textual would paint some of them with their trace."""
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._fatal_error()

    def _fatal_error(self) -> None:
        """An error that Textual can't go on after: logged whole, told in one sentence on the normal screen."""
        error = sys.exception() if isinstance(sys.exception(), Exception) else self._exception
        if self.way_out.begun and self.failure is None:
            log.warning("an error on the way out", exc_info=error)
        else:
            log.error("the dashboard had to end", exc_info=error)
            self.failure = self.failure or error  # type: ignore[assignment]
            self._return_code = self.way_out.begin(1)
        self._close_messages_no_wait()


async def _await(work: Awaitable[Any]) -> None:
    await work


def run(config: Config, *, demo: Demo | None = None) -> int:
    """Shows the dashboard until it is left. Gives the exit status: 0, 1 after an error, 128 + n after signal n."""
    home = paths.home()
    locale.use(locale.choose(config.ui.language))
    logs = Log(home, [config.hub.token, config.finance.token, os.environ.get("ARIA_HUB_TOKEN", "")])
    logs.start()
    app = AriaApp(config, demo=demo, home=home)
    if demo is None:
        app.way_out.hard = app.end_at_once
    try:
        with signals.heeded(app.leave, unwinding=demo is not None):
            try:
                app.run()
            finally:
                app.ended = True
    except signals.Ended as ended:
        return ended.status
    finally:
        logs.stop()
    status = _last_words(app, logs) if app.failure is not None else app.way_out.status or app.return_code or 0
    if app.after_exit:
        app.way_out.over()
    if app.after_exit == "demo":
        os.execv(sys.executable, [sys.executable, "-m", "aria_tui", "demo"])  # noqa: S606 - our own program
    if app.after_exit == "restart" and app.new_config is not None:
        return run(app.new_config)
    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    if demo is None and (any(thread.is_alive() for thread in others) or children()):
        # Something didn't end in time: what was accepted is committed, nobody needs to wait for it. A thread that is
        # just starting a git would leave it behind.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        end_now(status)
    return status


def _last_words(app: AriaApp, logs: Log) -> int:
    """After an error that nothing could go on from: one sentence on the normal screen, and where the trace is."""
    words = _("aria had to end because of an unexpected error: {what}").format(what=f"{app.failure!r:.200}")
    with contextlib.suppress(OSError):
        print(visible(words), file=sys.stderr)  # noqa: T201 - the screen is gone; this is the last word
        print(visible(_("the details are in {file}").format(file=logs.path)), file=sys.stderr)  # noqa: T201
    return app.way_out.status or 1
