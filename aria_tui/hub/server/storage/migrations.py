"""Numbered, checksummed, forward-only migrations: ``migrations/NNNN_name.sql``, for both engines."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from aria_tui.hub.server.storage.base import MigrationNeeded, NewerSchema

FOLDER = Path(__file__).parent.parent / "migrations"
HISTORY = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL
)
"""
LOCK = "CREATE TABLE IF NOT EXISTS schema_lock (id BIGINT NOT NULL PRIMARY KEY)"
APPLIED = "SELECT version, checksum FROM schema_migrations ORDER BY version"
REMEMBER = "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)"


class Migration(msgspec.Struct, frozen=True):
    version: int
    name: str
    statements: tuple[str, ...]
    checksum: str


def known() -> list[Migration]:
    """The program's migrations in order."""
    found = []
    for path in sorted(FOLDER.glob("[0-9]*.sql")):
        text = path.read_text(encoding="utf-8")
        checksum = hashlib.sha256(text.encode()).hexdigest()
        found.append(Migration(int(path.stem.split("_")[0]), path.stem, tuple(_statements(text)), checksum))
    return found


def pending(applied: dict[int, str], *, where: str) -> list[Migration]:
    """What is still to be applied to a database that has ``applied`` (version → checksum).

    Raises NewerSchema when the database knows more than the program, or something else under the same number.
    """
    ours = {migration.version: migration for migration in known()}
    if newer := sorted(set(applied) - set(ours)):
        raise NewerSchema(
            f"{where} was made by a newer version of the program (schema {newer[-1]}, this program knows "
            f"{max(ours)}); update the program, the database was not touched"
        )
    for version, checksum in applied.items():
        if ours[version].checksum != checksum:
            raise NewerSchema(
                f"{where}: migration {ours[version].name} is not the one that this program has; "
                "it was made by another version, the database was not touched"
            )
    return [migration for version, migration in ours.items() if version not in applied]


def require_current(applied: dict[int, str], *, where: str) -> None:
    """Raises NewerSchema, or MigrationNeeded when something is still to be applied."""
    if missing := pending(applied, where=where):
        raise MigrationNeeded(f"{where} needs {missing[-1].name}: run `aria hub migrate`")


def _statements(text: str) -> list[str]:
    """The file's statements. A semicolon ends one; our files hold none within a text or a comment."""
    lines = [line.split("--", 1)[0].rstrip() for line in text.splitlines()]
    return [part.strip() for part in "\n".join(lines).split(";") if part.strip()]
