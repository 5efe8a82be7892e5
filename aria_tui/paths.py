"""Where things are kept. One home for everything, ``$ARIA_HOME`` or ``~/.aria``; nothing is created here.

``aria status --short`` asks here at every prompt, so ``pathlib`` is loaded only by those who want a Path.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in typing, without importing it
if TYPE_CHECKING:
    from pathlib import Path


def home() -> Path:
    """The program's home folder (not created). Raises ConfigError when neither ARIA_HOME nor a home is known."""
    from pathlib import Path

    return Path(home_text()).absolute()


def home_text() -> str:
    """The same as it is written, perhaps relative to the working directory."""
    chosen = os.environ.get("ARIA_HOME")
    if not chosen:
        return f"{_own_home()}/.aria"
    if chosen == "~" or chosen.startswith("~/"):
        return _own_home() + chosen[1:]
    return os.path.expanduser(chosen)  # noqa: PTH111 - see above


def _own_home() -> str:
    """HOME; where that names no folder of the user's (empty, ``/``, relative), the one of the password database."""
    given = os.environ.get("HOME", "")
    if _is_own(given):
        return given
    import pwd

    try:
        known = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container's number without a name
        known = ""
    if _is_own(known):
        return known
    from aria_tui.errors import ConfigError

    raise ConfigError("no home folder is known", hint="set ARIA_HOME to a folder of yours")


def _is_own(folder: str) -> bool:
    return folder.startswith("/") and folder.strip("/") != ""


def styles() -> Path:
    """The folder of .tcss files: bundled in an installed wheel, beside the package in a checkout."""
    from pathlib import Path

    here = Path(__file__).parent
    bundled = here / "styles"
    return bundled if bundled.is_dir() else here.parent / "styles"
