"""Makes and checks the catalogues (for developers): ``python -m aria_tui.locale.catalogue``.

Extracts every text marked in the code (``_``, ``ngettext``, ``N_``), updates the .po files and compiles the .mo files.
"""

from __future__ import annotations

import ast
import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from aria_tui.locale import DOMAIN, LANGUAGES

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

HERE = Path(__file__).parent
PACKAGE = HERE.parent
KEYWORDS = {"_": 1, "N_": 1, "ngettext": 2}
"""What marks a text, and how many of its arguments are texts."""

Messages = dict[str | tuple[str, str], list[str]]
"""Text, or one and many, by where they stand."""


def marked(package: Path = PACKAGE) -> Messages:
    """Every marked text of the package, with the files it stands in.

    Read from the syntax tree: Babel's own extractor doesn't see what stands inside an f-string (before Python 3.12).
    """
    found: Messages = {}
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (key := _marked_by(node)) is not None:
                found.setdefault(key, []).append(file.relative_to(package).as_posix())
    return found


def _marked_by(call: ast.Call) -> str | tuple[str, str] | None:
    """What a call marks; None where it is another call, or one with a text that is only known when it runs."""
    count = KEYWORDS.get(call.func.id, 0) if isinstance(call.func, ast.Name) else 0
    texts = [arg.value for arg in call.args[:count] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if not count or len(texts) < count:
        return None
    return texts[0] if count == 1 else (texts[0], texts[1])


def catalogue(language: str) -> Catalog:
    """A language's catalogue as it is in the checkout."""
    from babel.messages.pofile import read_po

    with po_file(language).open("rb") as file:
        return read_po(file, locale=language, domain=DOMAIN)


def po_file(language: str) -> Path:
    return HERE / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def mo_bytes(language: str) -> bytes:
    """The compiled catalogue, as it has to be committed."""
    from babel.messages.mofile import write_mo

    out = BytesIO()
    write_mo(out, catalogue(language))
    return out.getvalue()


def update(language: str) -> None:
    """Brings the .po up to date with the code (translations are kept, unused texts go) and compiles it."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import write_po

    old = catalogue(language) if po_file(language).exists() else Catalog(locale=language, domain=DOMAIN)
    new = Catalog(locale=language, domain=DOMAIN, project="ARIA TUI", header_comment="# ARIA TUI", fuzzy=False)
    # CLDR's third form ("many", for millions in compact notation) never comes up here.
    new._num_plurals, new._plural_expr = 2, "(n > 1)"  # type: ignore[assignment]
    for key, places in sorted(marked().items(), key=str):
        before = old.get(key[0] if isinstance(key, tuple) else key)
        string = before.string if before is not None and bool(before.pluralizable) == isinstance(key, tuple) else ""
        new.add(key, string or "", locations=[(place, 0) for place in sorted(set(places))])
    po_file(language).parent.mkdir(parents=True, exist_ok=True)
    with po_file(language).open("wb") as file:
        write_po(file, new, width=110, sort_output=True, include_lineno=False, omit_header=False)
    po_file(language).with_suffix(".mo").write_bytes(mo_bytes(language))


if __name__ == "__main__":
    for name in LANGUAGES:
        if name != "en":
            update(name)
            print(f"{po_file(name)}: {len(marked())} texts", file=sys.stderr)  # noqa: T201 - what it is run for
