"""Words in the user's language: English in the code, the catalogues beside this file (gettext).

``use()`` is called once, by whoever starts the program; until then words are English. JSON, logs and keys are
never translated.
"""

from __future__ import annotations

import gettext
import os
from pathlib import Path

LANGUAGES = ("en", "pt_BR")
DOMAIN = "aria"

_current = "en"
_words: gettext.NullTranslations = gettext.NullTranslations()


def choose(configured: str, environ: dict[str, str] | os._Environ[str] = os.environ) -> str:
    """The language to use: the configured one, else by LC_ALL, LC_MESSAGES, LANG; ``en`` for all but Portuguese."""
    if configured in LANGUAGES:
        return configured
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            return "pt_BR" if value.lower().startswith("pt") else "en"
    return "en"


def use(language: str) -> None:
    """Takes a language's catalogue for the whole process."""
    global _current, _words
    _current = language if language in LANGUAGES else "en"
    folder = str(Path(__file__).parent)
    _words = gettext.translation(DOMAIN, folder, [_current], fallback=True)


def language() -> str:
    """The language in use: ``en`` or ``pt_BR``."""
    return _current


def _(message: str) -> str:
    return _words.gettext(message)


def N_(message: str) -> str:
    """Marks a text for the catalogues that is translated where it is used."""
    return message


def ngettext(one: str, many: str, n: int) -> str:
    return _words.ngettext(one, many, n)
