"""Programs that some tests need beside Python: a machine without them skips those tests, CI never does."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str, package: str | None = None) -> str:
    """The path of a program; where it is missing the test is skipped with the way out, in CI it fails."""
    found = shutil.which(name)
    if found is not None:
        return found
    words = f"needs {name} (apt-get install {package or name})"
    if os.environ.get("CI"):
        pytest.fail(words)
    pytest.skip(words)
