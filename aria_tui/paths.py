"""Where things are kept. One home for everything, ``$ARIA_HOME`` or ``~/.aria``; nothing is created here."""

from __future__ import annotations

import os
from pathlib import Path

from aria_tui.errors import ConfigError


def home() -> Path:
    """The program's home folder (not created). Raises ConfigError when neither ARIA_HOME nor a home is known."""
    if chosen := os.environ.get("ARIA_HOME"):
        return Path(chosen).expanduser().absolute()
    try:
        return Path("~").expanduser().absolute() / ".aria"
    except RuntimeError:
        raise ConfigError("no home folder is known", hint="set ARIA_HOME to a folder of yours") from None


def styles() -> Path:
    """The folder of .tcss files: bundled in an installed wheel, beside the package in a checkout."""
    here = Path(__file__).parent
    bundled = here / "styles"
    return bundled if bundled.is_dir() else here.parent / "styles"
