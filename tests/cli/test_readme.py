"""The README's examples run as they are written, and its snippets for other programs are what those programs read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib

from aria_tui import config
from tests.helpers import needs
from tests.helpers.aria import ROOT, Aria, end
from tests.helpers.hub import HubProcess

README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREENS = {"aria", "aria demo"}  # shown in a real terminal by other tests
SERVES = "aria hub serve"


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def examples() -> list[str]:
    """Every command line with aria in it, without its remark."""
    lines = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    shown = [re.sub(r"\s{2,}# .*", "", line).strip() for line in lines]
    return [
        line for line in shown if re.search(r"\baria\b(?!-)", line) and not line.startswith(("pip", "git", "docker"))
    ]


def test_each_example_runs_as_it_is_written(aria: Aria, hub: HubProcess) -> None:
    """In their order, in one shell and one home, against a real Hub."""
    needs.program("bash")
    programs = aria.root / "bin"
    programs.mkdir()
    for name, script in (("aria", f'exec "{sys.executable}" -m aria_tui "$@"'), ("systemctl", "exit 0")):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    aria.use(hub.url, hub.token)
    aria.env["PATH"] = f"{programs}:{aria.environment()['PATH']}"
    for folder in (".local/share/bash-completion/completions", ".local/share/man/man1"):
        (aria.root / "user" / folder).mkdir(parents=True)
    task = aria("task", "add", "example", "--json").ok().json["id"]
    lines = [line for line in examples() if line not in SCREENS and not line.startswith(SERVES)]
    script = [f"( {line.replace('0198f3', task)}\n) >said 2>&1 || {{ echo {index}; cat said; }}"
              for index, line in enumerate(lines)]  # fmt: skip
    process = subprocess.Popen(
        ["bash", "-c", "\n".join(script)], env=aria.environment(), cwd=aria.root / "user", text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=150)
    finally:
        end(process)
    assert len(lines) >= 15 and not said, (lines, said)


def test_every_json_snippet_is_json_and_every_configuration_is_taken() -> None:
    for text in blocks("json"):
        json.loads(text if text.lstrip().startswith("{") else f"{{{text}}}")
    tables = [text for text in blocks("toml") if "[hub]" in text]
    assert tables
    for text in tables:
        config.parse(text)
    for text in blocks("toml"):
        tomllib.loads(text)
