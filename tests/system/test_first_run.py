"""A fresh clone, an empty home, a new environment: README's first command shows the dashboard, its second the tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers import needs
from tests.helpers.aria import ROOT, Aria
from tests.helpers.tmux import Tmux


def readme_commands() -> list[str]:
    part = re.search(r"^## Set-up\n(.*?)^## ", (ROOT / "README.md").read_text(), re.S | re.M)
    assert part, "README has no part Set-up"
    return re.findall(r"^python3 -m pip install .*$", part[1], re.M)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of what is committed, with an environment beside it that knows this one's libraries but not the program.

    So only the build backend is fetched, as ``pip install`` does it.
    """
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: there is nothing to clone from")
    folder = tmp_path_factory.mktemp("fresh")
    subprocess.run([needs.program("git"), "clone", "-q", str(ROOT), str(folder / "clone")], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    libraries = next((folder / "venv").glob("lib/python3*/site-packages"))
    (libraries / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def environment(clone: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.lower().startswith(("pip_", "http", "no_proxy"))}
    path = f"{clone / 'venv' / 'bin'}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "HOME": str(clone / "home"), "LANG": "C.UTF-8", "TERM": "screen-256color"}


def installs(clone: Path, command: str) -> None:
    """The part before ``&&``: where no index can be reached there is nothing to be shown here."""
    (clone / "home").mkdir(exist_ok=True)
    done = subprocess.run(
        ["sh", "-c", command.partition("&&")[0]], cwd=clone / "clone", env=environment(clone),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if done.returncode != 0 and "No matching distribution" in done.stderr and not os.environ.get("CI"):
        pytest.skip("no package index can be reached from here")
    assert done.returncode == 0, done.stderr


def test_readme_names_exactly_two_commands() -> None:
    assert len(readme_commands()) == 2


def test_the_first_command_shows_the_dashboard(clone: Path, terminal: Callable[..., Tmux]) -> None:
    command = readme_commands()[0]
    installs(clone, command)
    screen = terminal()
    script = f"cd {clone / 'clone'} && {command.partition('&&')[2].strip()}"
    screen.run(
        Aria(
            clone, {name: value for name, value in environment(clone).items() if name != "TERM"}, command=("sh", "-c")
        ),
        f"unset ARIA_HOME PYTHONPATH; {script}",
    )
    shown = screen.wait_for("Briefing", "Tasks", "Hub", "Queue", deadline=60)
    assert "Traceback" not in shown
    assert (clone / "home" / ".aria").is_dir()
    screen.keys("q")
    screen.wait_for("exit-status=0")


def test_the_second_command_finds_every_test(clone: Path) -> None:
    """All of them are run by whoever runs this one; here it is shown that they are found from a bare clone."""
    command = readme_commands()[1]
    installs(clone, command)
    done = subprocess.run(
        ["sh", "-c", f"{command.partition('&&')[2].strip()} --collect-only -qq"], cwd=clone / "clone",
        env=environment(clone), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
    assert "tests/system/test_first_run.py" in done.stdout
