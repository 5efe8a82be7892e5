"""The log: what nobody can catch is written there, and never on the user's terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aria_tui.tui.logs import Log


class Stubborn:
    """Fails when it is forgotten, as the pipes of a process do once the loop is closed."""

    def __del__(self) -> None:
        raise RuntimeError("the loop is closed")


@pytest.fixture
def _hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)


@pytest.mark.case("T07")
@pytest.mark.usefixtures("_hook")
def test_an_error_that_nobody_can_catch_is_in_the_log_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = Log(tmp_path, ["hunter2"])
    log.start()
    Stubborn()
    log.stop()
    Stubborn()
    assert capfd.readouterr() == ("", "")
    text = log.path.read_text(encoding="utf-8")
    assert text.count("RuntimeError: the loop is closed") == 1 and "Traceback" in text
