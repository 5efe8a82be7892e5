"""The completions do complete, in the shells themselves (bash's are in ``test_help``)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import needs
from tests.helpers.aria import Aria
from tests.helpers.tmux import Tmux

TASK_COMMANDS = {"add", "done", "edit", "list", "rm", "show"}


@pytest.mark.parametrize("language", ["C.UTF-8", "pt_BR.UTF-8"])
def test_fish_completes_commands_options_and_choices(aria: Aria, language: str) -> None:
    fish = needs.program("fish")
    script = aria.root / "aria.fish"
    script.write_text(aria("completion", "fish", env={"LANG": language}).ok().out)

    def complete(line: str) -> dict[str, str]:
        """What fish offers at the end of a line, each with its description."""
        done = subprocess.run(
            [fish, "--no-config", "-c", f"source {script}; complete -C '{line}'"],
            env=aria.environment(), capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        assert done.returncode == 0 and not done.stderr, done
        words = (found.partition("\t") for found in done.stdout.splitlines())
        return {word: description for word, _tab, description in words}

    assert list(complete("aria ta")) == ["task"]
    offered = complete("aria task ")
    assert set(offered) == TASK_COMMANDS and all(offered.values())
    assert set(complete("aria task add --d")) == {"--description", "--due"}
    assert list(complete("aria completion z")) == ["zsh"]
    assert set(complete("aria queue re")) == {"resolve", "retry"}


@pytest.mark.parametrize("language", ["C.UTF-8", "pt_BR.UTF-8"])
def test_zsh_completes_commands_options_and_choices(aria: Aria, terminal: Callable[..., Tmux], language: str) -> None:
    """Interactively: zsh completes on a terminal only."""
    functions = aria.root / "functions"
    functions.mkdir()
    (functions / "_aria").write_text(aria("completion", "zsh", env={"LANG": language}).ok().out)
    screen = terminal(120, 40).run(replace(aria, command=(needs.program("zsh"), "-f")))
    screen.type(f"PS1='zsh> '; fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -D; clear")
    screen.keys("Enter")
    screen.wait_gone("compinit")
    screen.wait_for("zsh>")

    def complete(line: str, *shown: str) -> None:
        screen.type(line)
        screen.keys("Tab")
        screen.wait_for(*shown)
        screen.keys("C-u", "C-l")
        screen.wait_gone(shown[0])

    complete("aria ta", "zsh> aria task")
    complete("aria task ", *(f"\n{name} " for name in TASK_COMMANDS))
    complete("aria task add --d", "\n--description ", "\n--due ")
    complete("aria completion z", "zsh> aria completion zsh")
    complete("aria queue re", "\nresolve ", "\nretry ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("language", ["C.UTF-8", "pt_BR.UTF-8"])
def test_the_scripts_are_good_syntax(aria: Aria, tmp_path: Path, shell: str, language: str) -> None:
    script = tmp_path / "script"
    script.write_text(aria("completion", shell, env={"LANG": language}).ok().out)
    done = subprocess.run([needs.program(shell), "-n", str(script)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and not done.stderr, done
