"""What a timer's sync tells its user: nothing, unless something needs them, and that once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from aria_tui.cli import output
from aria_tui.locale import _, ngettext
from aria_tui.models import SyncReport
from aria_tui.wording import hub_words


def tell(report: SyncReport, problem: str = "") -> None:
    """Says what needs the user on standard error, and by ``notify-send`` where a desktop is there.

    The same thing is not told on the desktop twice: what was told last is kept in the home.
    """
    text = problem or _need(report)
    if text:
        output.complain(text)
    if not output.on_terminal(sys.stderr) and _is_new(text) and text:
        _on_desktop(text)


def _need(report: SyncReport) -> str:
    parts = []
    if report.hub.state == "refused":
        parts.append(_("the Hub refuses the token: sign-in needed"))
    if report.hub.state == "not_the_hub":
        parts.append(hub_words("not_the_hub", report.hub.reason))
    if dead := report.dead_letters:
        text = ngettext("{n} dead letter: aria queue list --dead", "{n} dead letters: aria queue list --dead", dead)
        parts.append(text.format(n=dead))
    if count := report.conflicts:
        text = ngettext("{n} conflict: aria queue conflicts", "{n} conflicts: aria queue conflicts", count)
        parts.append(text.format(n=count))
    return " · ".join(parts)


def _is_new(text: str) -> bool:
    """Whether this is another notice than the last one; remembers it."""
    from aria_tui import paths

    file = paths.home() / "notified"
    digest = hashlib.sha256(text.encode()).hexdigest() if text else ""
    try:
        if (file.read_text(encoding="ascii") if file.exists() else "") == digest:
            return False
        file.write_text(digest, encoding="ascii")
    except (OSError, UnicodeDecodeError):  # a home that can't be written: rather twice than never
        return True
    return True


def _on_desktop(text: str) -> None:
    program = shutil.which("notify-send")
    session = os.environ.get("DBUS_SESSION_BUS_ADDRESS") or Path(f"/run/user/{os.getuid()}/bus").exists()
    if program and session:
        try:
            subprocess.run([program, "--app-name=aria", "ARIA", text], check=False, timeout=5, capture_output=True)
        except (OSError, subprocess.TimeoutExpired) as error:
            output.complain(f"notify-send: {error}")
    elif sys.platform == "darwin" and (program := shutil.which("osascript")):
        script = 'on run argv\ndisplay notification (item 1 of argv) with title "ARIA"\nend run'
        try:
            subprocess.run([program, "-e", script, text], check=False, timeout=5, capture_output=True)
        except (OSError, subprocess.TimeoutExpired) as error:
            output.complain(f"osascript: {error}")
