"""What a command loads: start-up time and the direction of dependencies, seen from outside."""

from __future__ import annotations

import subprocess
import sys

from tests.helpers.aria import Aria


def loaded_by(aria: Aria, code: str) -> set[str]:
    script = f"import sys\n{code}\nsys.stderr.write('\\nLOADED ' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], env=aria.environment(), capture_output=True, text=True, timeout=60
    )
    assert "LOADED " in done.stderr, done.stderr
    return set(done.stderr.rpartition("LOADED ")[2].split())


def run_command(*args: str) -> str:
    """Code that runs one command in the interpreter that is then asked what it loaded."""
    return f"""
from aria_tui.cli import main
sys.argv = ["aria", *{list(args)!r}]
try:
    main()
except SystemExit:
    pass
"""


def test_the_service_layer_loads_no_screen(aria: Aria) -> None:
    loaded = loaded_by(aria, "import aria_tui.assistant")
    assert "aria_tui.assistant" in loaded
    assert not loaded & {"textual", "rich", "aria_tui.tui"}


def test_the_version_loads_neither_client_nor_screen(aria: Aria) -> None:
    loaded = loaded_by(aria, run_command("--version"))
    assert not loaded & {"httpx", "textual", "rich", "aiosqlite", "starlette", "asyncio", "aria_tui.assistant"}


def test_writing_offline_and_the_status_line_load_no_client(aria: Aria) -> None:
    for args in (("insight", "add", "--offline", "x"), ("status", "--short")):
        loaded = loaded_by(aria, run_command(*args))
        assert not loaded & {"httpx", "textual", "rich", "starlette", "uvicorn", "icalendar", "babel"}, args


def test_a_write_to_a_hub_elsewhere_loads_no_server(aria: Aria) -> None:
    aria.use("http://127.0.0.1:9", "token")
    loaded = loaded_by(aria, run_command("insight", "add", "x"))
    assert "httpx" in loaded
    assert not loaded & {"textual", "rich", "starlette", "uvicorn", "aria_tui.hub.server"}
