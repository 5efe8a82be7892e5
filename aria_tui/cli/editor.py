"""The user's own editor over one text."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from aria_tui.errors import AriaError
from aria_tui.locale import _


def edit(text: str, *, suffix: str) -> str:
    """What the text is after ``$VISUAL``, ``$EDITOR`` or ``vi`` is left. The file lies in a folder of the user's alone.

    Raises AriaError where the editor can't be started or ends with an error: nothing is taken then.
    """
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="aria-") as folder:
        file = Path(folder) / f"payload{suffix}"
        file.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([*command, str(file)], check=False)
        except OSError as error:
            raise AriaError(f"{command[0]}: {error.strerror}; {_('set EDITOR to your editor')}") from None
        if done.returncode:
            raise AriaError(_("{editor} ended with status {status}: nothing changed").format(
                editor=command[0], status=done.returncode
            ))  # fmt: skip
        return file.read_text(encoding="utf-8")
