"""``aria schedule``: the system's own timer runs ``aria sync --quiet``; nothing of ours stays in memory."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from aria_tui import paths
from aria_tui.cli import output, timers
from aria_tui.cli.parser import SubParsers, add_command, add_json, add_subcommands, help_of
from aria_tui.cli.timers import Timer
from aria_tui.errors import AriaError
from aria_tui.locale import _

_EVERY = re.compile(r"(\d{1,4})\s*(m|min|h|d)\Z")
_MINUTES = {"m": 1, "min": 1, "h": 60, "d": 24 * 60}


def add_parser(subparsers: SubParsers) -> None:
    """Adds ``schedule`` and its commands."""
    schedule = add_command(subparsers, "schedule", help_of("schedule"), examples=("aria schedule install --every 15m",))
    commands = add_subcommands(schedule)
    install = add_command(
        commands, "install", _("write the timer and start it"), _install,
        description=_("A systemd user timer, or a launchd job, that catches up after sleep and tells you only if you "
                      "are needed."),
        examples=("aria schedule install --every 15m", "aria schedule install --every 1h --print"),
    )  # fmt: skip
    install.add_argument(
        "--every", metavar="TIME", default="15m", type=_minutes, help=_("5m, 15m, 1h, 1d (default: 15m)")
    )
    install.add_argument("--print", action="store_true", help=_("show the files and write nothing"))
    status = add_command(commands, "status", _("is it there, does it run"), _status, examples=("aria schedule status",))
    add_json(status)
    remove = add_command(
        commands, "remove", _("stop the timer and delete its files"), _remove, examples=("aria schedule remove",)
    )
    add_json(remove)


def _minutes(text: str) -> int:
    """An interval in minutes that the calendar can express, so that a run missed in sleep is caught up."""
    found = _EVERY.match(text.strip().lower())
    minutes = int(found[1]) * _MINUTES[found[2]] if found else 0
    if not ((0 < minutes <= 60 and 60 % minutes == 0) or (minutes % 60 == 0 and minutes and 1440 % minutes == 0)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of 1m, 2m, 3m, 4m, 5m, 6m, 10m, 12m, 15m, 20m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h, 1d"
        )
    return minutes


def _timer() -> Timer:
    """This system's kind of timer. Raises AriaError where it has none, with a line for cron."""
    command = (sys.executable, "-m", "aria_tui", "sync", "--quiet")
    home = str(paths.home())
    if sys.platform == "darwin":
        return timers.Launchd(command, home)
    if sys.platform.startswith("linux") and shutil.which("systemctl"):
        return timers.Systemd(command, home)
    import shlex

    raise AriaError(
        _("neither systemd nor launchd is here; a line for cron instead: {line}").format(
            line=f"*/15 * * * * ARIA_HOME={shlex.quote(home)} {shlex.join(command)}"
        )
    )


def _install(args: argparse.Namespace) -> int:
    from aria_tui.cli.session import load_config

    load_config(args)  # a configuration that is wrong is better told now than every 15 minutes
    timer = _timer()
    files = timer.files(args.every)
    if args.print:
        for file, text in files.items():
            output.say(f"# {output.safe(file)}")
            output.write_bytes(text if text.endswith(b"\n") else text + b"\n")
        return 0
    for file, text in files.items():
        _write(file, text)
        output.say(_("written: {file}").format(file=output.safe(file)))
    for name in ("ARIA_HUB_TOKEN", "ARIA_HUB_URL", "ARIA_HUB_KIND"):
        if os.environ.get(name):
            output.complain(_("{name} is set here, but a timer does not see it: put it into {file}").format(
                name=name, file=paths.home() / "config.toml"
            ))  # fmt: skip
    _run_all(timer.start_commands())
    output.say(_("syncs every {time}").format(time=timers.words(args.every)))
    return 0


def _write(file: Path, text: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    except OSError as error:
        raise AriaError(f"{file} can't be written: {error.strerror}") from None


def _run_all(commands: list[list[str]], *, tolerant: bool = False) -> None:
    """Runs the system's own commands. Raises AriaError with the command and its words."""
    import shlex

    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, check=False)
            problem = done.stderr.strip() if done.returncode else ""
            failed = bool(done.returncode)
        except (OSError, subprocess.TimeoutExpired) as error:
            problem, failed = str(error), True
        if failed and not tolerant:
            raise AriaError(_("the files are there, but this failed: {command}: {problem}").format(
                command=shlex.join(command), problem=problem or _("no reason given")
            ))  # fmt: skip


def _remove(args: argparse.Namespace) -> int:
    timer = _timer()
    there = [file for file in timer.paths() if file.exists()]
    if there:
        _run_all(timer.stop_commands(), tolerant=True)
        for file in there:
            try:
                file.unlink()
            except OSError as error:
                raise AriaError(f"{file} can't be deleted: {error.strerror}") from None
        _run_all(timer.forget_commands(), tolerant=True)
    if args.json:
        output.emit({"removed": [str(file) for file in there]})
    else:
        output.say(_("removed") if there else _("nothing is scheduled"))
    return 0


def _status(args: argparse.Namespace) -> int:
    timer = _timer()
    there = [str(file) for file in timer.paths() if file.exists()]
    document = {
        "installed": len(there) == len(timer.paths()),
        "kind": timer.kind,
        "files": there,
        "every_minutes": timer.every(),
        "active": timer.active() if there else False,
    }
    if args.json:
        output.emit(document)
    elif not document["installed"]:
        output.say(_("nothing is scheduled: aria schedule install --every 15m"))
    else:
        state = _("runs") if document["active"] else _("is there, but is not started")
        minutes = timer.every()
        output.say(_("{kind} timer {state}").format(kind=timer.kind, state=state))
        if minutes:
            output.say(_("syncs every {time}").format(time=timers.words(minutes)))
        for file in there:
            output.say(f"  {output.safe(file)}")
    return 0 if document["installed"] and document["active"] else 1
