"""Help, completion and man page come from one parser; each example of a help text runs as it is written."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator

import pytest

from aria_tui.cli import parser as cli_parser
from tests.helpers import needs
from tests.helpers.aria import Aria, end
from tests.helpers.hub import HubProcess


def commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
                yield child
                yield from commands(child)


@pytest.fixture(scope="module")
def whole() -> cli_parser.Parser:
    return cli_parser.build(whole=True)


def test_every_command_explains_itself_with_an_example(whole: cli_parser.Parser) -> None:
    for command in commands(whole):
        assert "examples:" in command.format_help() and command.description, command.prog


def test_help_of_one_command_builds_no_other(aria: Aria) -> None:
    text = aria("task", "add", "--help").ok().out
    assert "aria task add 'Pagar DAS'" in text and "--due" in text
    text = aria("--help").ok().out
    assert all(name in text for name in cli_parser.COMMANDS)


SCREENS = {"aria", "aria demo"}  # shown in a real terminal by other tests
SERVES = "aria hub serve"  # by every test that has a Hub
OTHERWISE = {
    "aria queue edit 41": 2,  # an editor wants a terminal
    "aria queue resolve 41 --mine": 1,  # 41 is no conflict here
    "aria queue resolve 41 --field title=theirs --field due_date=mine": 1,
}


def test_each_example_runs_as_it_is_written(aria: Aria, hub: HubProcess) -> None:
    """In one home against a real Hub; only ``0198`` stands for a real id, and hub.example.com for that Hub. 41 is a
    dead letter."""
    needs.program("bash")
    programs = aria.root / "bin"
    programs.mkdir()
    for name, script in (("aria", f'exec {shlex.join(aria.command)} "$@"'), ("systemctl", "exit 0")):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    aria.use(hub.url, hub.token)
    aria.env["PATH"] = f"{programs}:{aria.environment()['PATH']}"
    aria.env["ARIA_HUB_DATABASE"] = f"sqlite:///{aria.root / 'served.db'}"
    aria("insight", "add", "of the embedded Hub", env={"ARIA_HUB_URL": ""}).ok()
    for folder in (".zfunc", ".config/fish/completions", ".local/share/bash-completion/completions",
                   ".local/share/man/man1"):  # fmt: skip
        (aria.root / "user" / folder).mkdir(parents=True)
    ids = {kind: aria(kind, "add", "example", "--json").ok().json["id"] for kind in ("task", "insight")}
    aria("config", "init").ok()
    (aria.home / "config.toml").write_text("[docker]\nenabled = false\n")
    connection = sqlite3.connect(aria.queue_file)
    connection.execute(
        "INSERT INTO parked(id, kind, operation, payload, created_at, parked_at, op_id, entity, target) "
        "SELECT 41, 'dead', operation, '{\"title\": \"x\"}', created_at, created_at, 'key-41', 'task:key-41', 'other' "
        "FROM queue WHERE operation = 'create_task'"
    )
    connection.commit()
    connection.close()

    cli_parser.EXAMPLES.clear()
    cli_parser.build(whole=True)
    lines = dict.fromkeys(line for found in cli_parser.EXAMPLES.values() for line in found)
    lanes: tuple[list[str], list[str]] = ([], [])  # side by side, as two terminals would
    for line in lines:
        if line not in SCREENS and not line.startswith(SERVES):
            lane = lanes[line.split(" aria ")[-1].removeprefix("aria ").startswith(("task", "insight", "activity"))]
            real = line.replace("0198", ids["insight" if " insight " in line else "task"])
            real = real.replace("https://hub.example.com", hub.url)
            if line == "aria config init":
                lane.append(f"rm {aria.home}/config.toml")
            lane.append(f"( {real}\n) >$$.said 2>&1; [ $? = {OTHERWISE.get(line, 0)} ] || cat $$.said")
    running = [
        subprocess.Popen(
            ["bash", "-c", "\n".join(lane)], env=aria.environment(), cwd=aria.root / "user", text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )
        for lane in lanes
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=150)[0] for process in running]
    finally:
        for process in running:
            end(process)
    assert min(map(len, lanes)) > 10 and said == ["", ""], said


def test_the_man_page_holds_every_command_and_is_good_roff(aria: Aria, tmp_path) -> None:  # type: ignore[no-untyped-def]
    page = aria("completion", "man").ok().out
    for name in ("aria task add", "aria queue resolve", "aria hub serve", "aria mcp"):
        assert f".SS {name}" in page
    for promise in ("EXIT STATUS", "ARIA_HUB_TOKEN", "config.toml"):
        assert promise in page
    if shutil.which("man"):
        file = tmp_path / "aria.1"
        file.write_text(page)
        done = subprocess.run(["man", "--warnings", "-l", str(file)], capture_output=True, text=True, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANPAGER": "cat"})  # fmt: skip
        assert done.returncode == 0 and not done.stderr, done
        assert "aria task add" in re.sub(".\b", "", done.stdout)


def test_bash_completes_commands_and_options(aria: Aria, tmp_path) -> None:  # type: ignore[no-untyped-def]
    needs.program("bash")
    script = tmp_path / "aria.bash"
    script.write_text(aria("completion", "bash").ok().out)

    def complete(*words: str) -> set[str]:
        line = " ".join(f'"{word}"' for word in words)
        code = (
            f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
            '$(complete -p aria | sed "s/.*-F \\([^ ]*\\).*/\\1/"); printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=30)
        return set(done.stdout.split())

    assert complete("aria", "ta") == {"task"}
    assert {"add", "list", "done", "edit", "rm", "show"} <= complete("aria", "task", "")
    assert "--due" in complete("aria", "task", "add", "--d")
    assert complete("aria", "completion", "z") == {"zsh"}
    for shell, word in (("zsh", "#compdef aria"), ("fish", "complete -c aria")):
        assert word in aria("completion", shell).ok().out
    assert aria("completion", "csh").status == 2
