"""The terminal under the dashboard: it may go away, be stopped and woken, or take no more bytes."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import termios
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import IO, Any, Protocol, cast

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver

from aria_tui.tui.pastes import Pasted, Pastes
from aria_tui.tui.steady import steady

_GIVEN_BACK = (
    b"\x18\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""What Textual writes at its end; the first character breaks off a sequence that was only half written."""

_READ = 64 * 1024


class Owner(Protocol):
    """What the app has for its terminal."""

    def terminal_lost(self) -> None:
        """The terminal is gone. Called in any thread."""

    def terminal_broke(self, error: Exception) -> None:
        """Reading keys failed. Called in any thread."""


class _Screen:
    """The file that is drawn on. A terminal that is gone swallows everything, instead of stopping who draws."""

    def __init__(self, file: IO[str], lost: Callable[[], None]) -> None:
        self._file, self._lost = file, lost

    def write(self, text: str) -> int:
        return self._try(lambda: self._file.write(text))

    def flush(self) -> None:
        self._try(self._file.flush)

    def fileno(self) -> int:
        return self._file.fileno()

    def _try(self, step: Callable[[], Any]) -> int:
        try:
            return step() or 0
        except (OSError, ValueError):
            self._lost()
            return 0


class Terminal(LinuxDriver):
    """Textual's driver; its app hears that the terminal is gone, and a stray SIGCONT changes nothing."""

    def __init__(self, app: Any, **kinds: Any) -> None:
        super().__init__(app, **kinds)
        self._owner = cast("Owner", app)
        self._screen = cast("IO[str]", _Screen(cast("IO[str]", self._file), self._owner.terminal_lost))
        self._file = cast("Any", self._screen)
        self._asleep = True
        """Stopped by the user, or not begun."""
        self._taken = False
        """The terminal is ours just now: to be given back."""
        self._watched = False

    def write(self, data: str) -> None:
        super().write(steady(data))

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._writer_thread is None:  # Textual gave up: there is no terminal any more
            self._writer_thread = WriterThread(self._screen)
            self._writer_thread.start()
            self._owner.terminal_lost()
        self._asleep, self._taken = False, True
        if not self._watched:
            self._watched = True
            threading.Thread(target=self._watch, name="terminal", daemon=True).start()

    def stop_application_mode(self) -> None:
        super().stop_application_mode()
        self._taken = False

    def suspend_application_mode(self) -> None:
        super().suspend_application_mode()
        self._asleep = True

    def _sigcont_application(self, *_: Any) -> None:
        """Whatever was stopped without Textual (SIGSTOP), or not at all, has its terminal still as it was: taking what
        is there now for what was there before would leave the shell without echo."""
        if self._asleep:
            super()._sigcont_application()

    def _watch(self) -> None:
        """Waits for the other end of the terminal to be closed."""
        if not hasattr(select, "poll"):
            return
        with contextlib.suppress(OSError):
            poll = select.poll()
            poll.register(self.fileno, 0)  # no event but those that always come
            if any(event & select.POLLHUP for _, event in poll.poll()):
                self._owner.terminal_lost()

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except OSError:
            self._owner.terminal_lost()
        except Exception as error:  # noqa: BLE001 - told by the app, as any other
            self._owner.terminal_broke(error)

    def run_input_thread(self) -> None:
        """Textual's loop, with pastes taken out first; bytes that are no text end nothing, the end of the file does."""
        parser, pastes = XTermParser(self._debug), Pastes()
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                ready = selector.select(0.1)
                data = os.read(self.fileno, _READ) if ready else b""
                if ready and not data:
                    self._owner.terminal_lost()
                    return
                for part in pastes.feed(decode(data)) if ready else pastes.tick():
                    self._hand_on(parser, part)
                for event in parser.tick():
                    self.process_message(event)
            for part in pastes.tick(last=True):
                self._hand_on(parser, part)

    def _hand_on(self, parser: XTermParser, part: str | Pasted) -> None:
        if isinstance(part, Pasted):
            self.process_message(events.Paste(part.text))
        elif part == "\x1b":  # it was waited for already whether more comes
            self.process_message(events.Key("escape", part))
        else:
            for event in parser.feed(part):
                self.process_message(event)

    def give_back(self) -> None:
        """The terminal as it was, at once and in any thread: for an end that waits for nothing."""
        if not self._taken:
            return
        if self.attrs_before is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
        with contextlib.suppress(OSError, ValueError):
            out = self._screen.fileno()
            if select.select([], [out], [], 0)[1]:
                os.write(out, _GIVEN_BACK)
