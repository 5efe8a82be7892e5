"""Errors in the user's language: each that a layer below the screen can raise has its words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import aria_tui
from aria_tui import _briefing_words, complaints, locale
from aria_tui.errors import (
    ConfigError,
    FieldError,
    HubUnavailable,
    InvalidInput,
    NotFound,
    NotSaved,
    QueueUnavailable,
)

PACKAGE = Path(aria_tui.__file__).parent
MESSAGE = {
    "AriaError": 0, "InvalidInput": 0, "UsageError": 0, "ConfigError": 0, "NotFound": 0, "Ambiguous": 0, "NotSaved": 0,
    "QueueFull": 0, "TokenUnavailable": 0, "NotABriefing": 0, "FieldError": 1, "QueueUnavailable": 1, "NewerVersion": 1,
    "HubUnavailable": 1,
}  # fmt: skip
"""Which argument of an error is what it says."""
OTHERS = (
    "cli/",
    "mcp",
    "sources/",
    "locale/",
    "hub/server/",
    "errors.py",
    "config.py",
    "paths.py",
    "outbox/transfer.py",
)
"""Told by the command line or an assistant's tools alone, or (sources) by the briefing's sections."""
TEXTS_OF = ("outbox/faults.py", "hub/contract.py")
"""Modules whose functions return reasons."""
COMPOSED = {
    "token_command failed (exit 9z)9z": ("token_command failed (exit 1)", "token_command failed (exit 1): no entry"),
    "is too long: 9z 9z, at most 9z": ("is too long: 9 characters, at most 8", "is too long: 9 bytes, at most 8"),
    "no 9z is known by an id that begins with 9z": (
        "no task is known by an id that begins with '0'", "no insight is known by an id that begins with '0'",
    ),
    "9z fits 9z 9zs (9z…); give more of the id": (
        "'0' fits 2 tasks (01, 02…); give more of the id", "'0' fits 2 insights (01, 02…); give more of the id",
    ),
}  # fmt: skip
"""Sentences that are put together of words, as they read."""


def sample(node: ast.expr | None) -> str | None:
    """The text as it may read, with something in its places; None for what isn't written there."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "9z" for part in node.values)
        text = "".join(str(part) for part in parts)
        return text if text.replace("9z", "").strip(" :(),;") else None
    return None


def raised() -> Iterator[tuple[str, str]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).as_posix()
        if name.startswith(OTHERS):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MESSAGE:
                at = MESSAGE[node.func.id]
                hints = [keyword.value for keyword in node.keywords if keyword.arg == "hint"]
                for part in (*node.args[at : at + 1], *hints):
                    if text := sample(part):
                        yield f"{name}:{node.lineno}", text
            elif isinstance(node, ast.Return) and name in TEXTS_OF:
                for part in node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]:
                    text = sample(part)
                    if text and " " in text:
                        yield f"{name}:{node.lineno}", text


def test_every_error_has_words_in_portuguese() -> None:
    found = list(raised())
    assert len(found) > 60, "the search finds them"
    locale.use("pt_BR")
    try:
        read = [(place, whole) for place, text in found for whole in COMPOSED.get(text, (text,))]
        missing = [f"{place}: {text}" for place, text in read if complaints.sentence(text) == text]
    finally:
        locale.use("en")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize(
    ("error", "english", "portuguese"),
    [
        (
            QueueUnavailable("/h/queue.db", "permission denied", hint="set ARIA_HOME to another folder"),
            "queue unavailable: /h/queue.db: permission denied (set ARIA_HOME to another folder)",
            "fila indisponível: /h/queue.db: permissão negada (aponte ARIA_HOME para outra pasta)",
        ),
        (
            NotSaved("disk full", path="/h/queue.db", hint="free some space and save again"),
            "not saved: disk full (/h/queue.db); free some space and save again",
            "não salvo: disco cheio (/h/queue.db); libere espaço e salve de novo",
        ),
        (
            NotFound("there is no operation #7 in the queue"),
            "there is no operation #7 in the queue",
            "não há operação #7 na fila",
        ),
        (
            InvalidInput([FieldError("changes.title", "must not be empty"), FieldError("", "the Hub's own words")]),
            "title: must not be empty; the Hub's own words",
            "title: não pode ficar vazio; the Hub's own words",
        ),
        (
            HubUnavailable("offline", "connection refused"),
            "Hub offline: connection refused",
            "Hub fora do ar: conexão recusada",
        ),
        (
            ConfigError("can't be written: disk full", path="/h/config.toml", line=3, hint="edit it by hand"),
            "/h/config.toml:3: can't be written: disk full (edit it by hand)",
            "/h/config.toml:3: não pode ser gravado: disco cheio (edite-o à mão)",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)  # fmt: skip
def test_errors_are_said_whole(error: Exception, english: str, portuguese: str) -> None:
    try:
        for language, words in ("en", english), ("pt_BR", portuguese):
            locale.use(language)
            assert complaints.in_words(error) == words  # type: ignore[arg-type]
    finally:
        locale.use("en")


NEUTRAL = {
    "HTTP 9z": "HTTP 503",
    "9z is 9z": "amount is NaN",
}
"""What reads the same in every language."""
SCHEME = {"9z:// is not supported9z": ("ssh:// is not supported", "ssh:// is not supported (DOCKER_HOST)")}


def reasons_of_sources() -> Iterator[tuple[str, str]]:
    for file in sorted((PACKAGE / "sources").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            parts: list[ast.expr] = []
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                parts += node.exc.args[:1]
            if isinstance(node, ast.Call):
                parts += [word.value for word in node.keywords if word.arg in ("reason", "problem", "note", "hint")]
            for part in parts:
                if (text := sample(part)) and text not in NEUTRAL:
                    for whole in SCHEME.get(text, (text,)):
                        yield f"sources/{file.name}:{node.lineno}", whole


def test_every_reason_of_a_source_has_words_in_portuguese() -> None:
    found = list(reasons_of_sources())
    assert len(found) > 60, "the search finds them"
    locale.use("pt_BR")
    try:
        inner = "not running: no engine's socket was found (/var/run/docker.sock and others)"
        words = "não está rodando: nenhum socket do Docker foi encontrado (/var/run/docker.sock e outros)"
        assert _briefing_words.say(inner) == words, "a reason within another"
        missing = [f"{place}: {text}" for place, text in found if _briefing_words.say(text) == text]
    finally:
        locale.use("en")
    assert not missing, "\n".join(missing)
