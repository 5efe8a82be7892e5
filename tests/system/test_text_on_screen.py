"""Text from outside on a real terminal, in all that brings any: shown exactly (T01), harmless (T02), straight (T03)."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from typing import Any
from unicodedata import category, east_asian_width

import pytest

from aria_tui.clean import cell_width, visible
from tests.cli.pty_run import on_a_terminal
from tests.helpers.aria import Aria
from tests.helpers.carriers import Carriers, repository
from tests.helpers.hub import HubProcess
from tests.helpers.proxy import FaultProxy, answer
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until

Terminal = Callable[..., Tmux]

MARKUP = [
    "[/x]", "[/", "[/]", "[red]hi[/blue]", "[#zzz]x[/]", "[$unknown]x", "[not a tag] z", "[bold",
    "a[1] [x for x in y]", "[@click=app.quit]x[/]",
]  # fmt: skip
CLICK = "[@click=app.quit]x[/]"
STEERING = "A\x1b]52;c;aGk=\x07B\x1b[2JC\x9b31mD\x0eE\rF\bG\tH"
SHOWN = "A␛]52;c;aGk=␇B␛[2JC�31mD␎E␍F␈G␉H"
WIDE = "Reunião 👩‍👩‍👧 日本語 ❤️ e\u0301"
STRAIGHT = "Reunião 👩 日本語 ❤ e\u0301"


@contextlib.contextmanager
def everything(aria: Aria, hub: HubProcess, proxy: FaultProxy, texts: list[str], **kinds: Any) -> Iterator[Carriers]:
    """Every source bears the texts; some rows were refused with them, and one is in conflict."""
    carriers = Carriers(aria, hub, proxy, texts)
    carriers.sources(**kinds)
    with carriers.engine():
        carriers.at_the_hub()
        carriers.refuse()
        carriers.disagree()
        yield carriers


def keys(screen: Tmux, *pressed: str) -> None:
    """One key after another; an escape that is sent together with the next key would be another key."""
    for key in pressed:
        screen.keys(key)


def at(screen: Tmux, text: str) -> Iterator[tuple[int, int]]:
    """The cells (column, row) where a text begins."""
    for row, line in enumerate(screen.lines()):
        for found in re.finditer(re.escape(text), line):
            yield cell_width(visible(line[: found.start()])), row


def leaves(screen: Tmux) -> None:
    """The program is alive and goes when it is asked to."""
    assert screen.alive()
    screen.keys("q")
    screen.wait_for("exit-status=0")


@pytest.mark.case("T01")
def test_brackets_are_shown_exactly_wherever_text_gets_to(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Terminal
) -> None:
    with everything(aria, hub, proxy, MARKUP) as carriers:
        repository(carriers.folder / "projects" / "branched", branch="x\x9by\u202ez")
        screen = terminal(160, 120).run(aria)
        shown = screen.wait_for(
            f"all day  {MARKUP[0]}", f"{CLICK} — {CLICK} ", "10 open ─╮", "branched", f"✗ {CLICK}", f"due  {CLICK}",
            "10 dead letters", "Dead 10", "Conflicts 1", "[Waiting 0]",
        )  # fmt: skip
        briefing, tasks = ("\n".join(line[part] for line in shown.splitlines()) for part in (slice(80), slice(80, 160)))
        for text in MARKUP:
            folder = text.replace("/", "∕")
            for place in f"⚠ {text}: exit", f"all day  {text} ", f"{text} — {text} ", f"● {folder} ", f"✗ {text}: exit":
                assert place in briefing, (place, shown)
            assert f"due  {text}  R$ 5" in briefing, (text, shown)
            assert f" {text}  " in tasks, (text, shown)
        assert "x�y�z" in briefing, shown

        for column, row in list(at(screen, CLICK)):
            screen.click(column + CLICK.index("x[/]"), row)
        keys(screen, "2", "g")
        screen.wait_for(*(f"  {text}" for text in MARKUP))
        keys(screen, "4", "]")
        screen.wait_for("[Dead 10]", *(f"rejected: {text} " for text in MARKUP))
        for text in MARKUP[:2]:
            keys(screen, "Enter")
            screen.wait_for("Queue row #", f"rejected: {text} ", f'"title": "{text}"')
            keys(screen, "d")
            screen.wait_for(f"new task: {text}?")
            keys(screen, "Escape")
            screen.wait_gone(f"{text}?")
            keys(screen, "e")
            screen.wait_for("Edit #", f'"title": "{text}"')
            keys(screen, "Escape")
            screen.wait_gone("Edit #")
            keys(screen, "Escape")
            screen.wait_for("[Dead 10]")
            keys(screen, "Down")
        keys(screen, "]")
        screen.wait_for("[Conflicts 1]")
        keys(screen, "Enter")
        screen.wait_for("Conflict #", *carriers.sides)
        for text in carriers.sides:
            column, row = next(at(screen, text))
            screen.click(column + 1, row)
        keys(screen, "Escape")
        screen.wait_for("[Conflicts 1]")
        keys(screen, "v")
        screen.wait_for("10 insights", *(f"  {text}  " for text in MARKUP))
        keys(screen, "p", "g")
        screen.wait_for(" · #")
        keys(screen, "Enter")
        screen.wait_for("Edit insight")
        keys(screen, "Escape")
        screen.wait_gone("Edit insight")
        keys(screen, "Escape")
        screen.wait_for("[Conflicts 1]")
        keys(screen, "C-p")
        screen.wait_for("Find a command")
        screen.type(CLICK)
        screen.wait_for(f"{CLICK} ", "no command has")
        keys(screen, "Escape")
        screen.wait_gone("no command has")
        leaves(screen)


@pytest.mark.case("T01")
def test_brackets_in_what_the_hub_says_are_shown_exactly(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Terminal
) -> None:
    """In the toast about a refused write, and in the Hub's pane, the settings and every section that needs the Hub."""
    carriers = Carriers(aria, hub, proxy, MARKUP)
    carriers.sources(names=[])
    screen = terminal(160, 40).run(aria)
    screen.wait_for("no tasks", "● online")
    for text in "[/", "[$unknown]x", "[#zzz]x[/]", CLICK:
        with carriers.refusing():
            keys(screen, "t")
            screen.wait_for("New task")
            screen.type(text)
            keys(screen, "C-s")
            shown = screen.wait_for("rejected it (#", f"): {text} ")
            assert shown.count(text) >= 3 and "rejected (#" not in shown, shown
    said = " ".join(MARKUP[:5])
    problem = {"type": "/problems/validation", "title": "no", "status": 422, "detail": said}
    proxy.add("answer", raw=hub.says(problem, 422), when=lambda request: request.path != "/api/meta")
    keys(screen, "2", "r")
    shown = screen.wait_for(f"││ {said} ", f"  {said} — task list unavailable")
    keys(screen, "v")
    screen.wait_for("Insights", f"│ {said} ")
    keys(screen, "Escape")
    screen.wait_for("Briefing")
    proxy.clear()
    elsewhere = "http://hub.test/[/x][red]hi[/blue]"
    proxy.add("answer", raw=answer(302, Location=elsewhere))
    keys(screen, "r")
    screen.wait_for("unexpected answer", f"  redirected to {elsewhere} ")
    keys(screen, ",")
    screen.wait_for("Settings", f"redirected to {elsewhere} ")
    keys(screen, "Escape")
    screen.wait_for("Briefing")
    leaves(screen)


# T02

_OURS = re.compile(
    rb"\x1b\[[\d;]*m|\x1b\[\d+;\d+H|\x1b\[\??[\d;]+[hl]|\x1b\[[<>=]\d*u|\x1b\[\?\d+\$p|\x1b\]22;\w+\x07|\x1b\]22;\w+\x1b\\"
    rb"|\x1bP\+q[\dA-F]*\x1b\\|\x1b\[\?u|\x1b\[c|\x1b\[6n|\r\n"
)
"""What Textual sends: styles, positions, modes, questions to the terminal, the pointer's shape, ends of lines."""
_STEERS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def not_ours(stream: bytes) -> list[str]:
    """What steers a terminal in a stream beside the screen's own sequences."""
    text = _OURS.sub(b"", stream).decode(errors="surrogateescape")
    return [text[max(0, found.start() - 20) : found.end() + 20] for found in _STEERS.finditer(text)]


def cells(text: str) -> int:
    """How many cells the terminal used here gives a text: one to a mark that the screen counts as nothing."""
    return sum(2 if east_asian_width(char) in "WF" else category(char) not in ("Mn", "Me") for char in text)


def is_whole(screen: Tmux) -> None:
    """Every line of a frame reaches from the screen's left to its right. A picture taken in the middle of a drawing is
    taken again."""

    def bent() -> list[str]:
        lines = [line for line in screen.lines() if line[:1] in "│╭╰"]
        return [line for line in lines if cells(line) != screen.width or line[-1] not in "│╮╯"]

    wait_until(lambda: not bent(), 5, f"straight sides:\n{screen.screen()}")


def through_all(screen: Tmux, look: Callable[[], None], text: str, typed: str, offered: str) -> None:
    """Goes through every pane and every screen that shows text from outside, and looks at each.

    ``typed`` begins a project's name, which is then offered as ``offered``.
    """

    def go(*pressed: str, sees: tuple[str, ...] = ()) -> None:
        keys(screen, *pressed)
        screen.wait_for(*sees)
        look()

    go("1", sees=("Today", text))
    go("End", sees=("Docker", "Finance", "▸"))
    go("e", sees=("Commits of the day", "Insights of the day"))
    go("e", sees=("Calendar",))
    go("2", sees=("MEDIUM", text))
    go("g", sees=(text,))
    go("g", "Enter", sees=("Edit task",))
    keys(screen, "Escape")
    screen.wait_gone("Edit task")
    go("3", sees=("7 days",))
    go("4", "]", sees=("[Dead", "new task"))  # the row itself: there is nothing to open before
    go("Enter", sees=("Queue row #", "rejected: ", text))
    keys(screen, "Escape")
    screen.wait_for("[Dead")
    go("d", sees=("Discard #",))
    keys(screen, "Escape")
    screen.wait_gone("Discard #")
    go("e", sees=("Edit #",))
    keys(screen, "Escape")
    screen.wait_gone("Edit #")
    go("]", sees=("[Conflicts 1]", "edit task"))
    go("Enter", sees=("Conflict #", "mine"))
    keys(screen, "Escape")
    screen.wait_for("[Conflicts 1]")
    go("v", sees=("─ Insights ─", text))
    go("Enter", sees=("Edit insight", "ctrl+s"))
    keys(screen, "Escape")
    screen.wait_gone("Edit insight")
    go("p", "g", sees=(" · #",))
    keys(screen, "Escape")
    screen.wait_for("[Conflicts 1]")
    go("P", sees=("Sync plan",))
    keys(screen, "Escape")
    screen.wait_for("[Conflicts 1]")
    go(",", sees=("Settings", "Docker"))
    keys(screen, "Escape")
    screen.wait_for("[Conflicts 1]")
    go("t", sees=("New task",))
    keys(screen, "Tab")
    screen.type(typed)
    screen.wait_for(offered)
    look()
    keys(screen, "Escape")
    screen.wait_gone("New task")


@pytest.mark.case("T02")
def test_no_byte_of_data_steers_the_terminal_from_the_dashboard(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Terminal
) -> None:
    evil, shown = f"1{STEERING}", f"1{SHOWN}"
    with everything(aria, hub, proxy, [evil], names=[evil, "2\x1b[2J"]) as carriers:
        author = repository(carriers.folder / "projects" / "b", branch="x\x9by\u202ez", author="M\x1b[2JN\x9b31mO\x0eP")
        repository(carriers.folder / "projects" / os.fsdecode(b"raw\x9b31m\xff"))
        (author / ".planning").mkdir()
        (author / ".planning" / "STATE.md").write_text(f"Phase: {evil.replace(chr(13), '')}\n")
        screen = terminal(160, 60).run(aria)
        screen.wait_for(f"⚠ {shown}: exit", f"all day  {shown}", f"due  {shown}", r"raw\x9b31m\xff", "x�y�z", "⚠ 2")
        assert "2␛[2J" in screen.screen()
        through_all(screen, lambda: is_whole(screen), shown, "1", shown)
        leaves(screen)
        assert not_ours(screen.stream().partition(b"exit-status=")[0]) == []
    assert evil in [task["title"] for task in aria("task", "list", "--json").ok().json["tasks"]]
    assert {insight["content"] for insight in hub.all("insights")} == {evil}
    assert evil in [task["title"] for task in hub.all("tasks")]
    assert json.loads(aria("queue", "show", "1", "--json").ok().json["payload"])["title"] == evil


@pytest.mark.case("T02")
def test_no_byte_of_data_steers_the_terminal_from_any_command(aria: Aria, hub: HubProcess, proxy: FaultProxy) -> None:
    evil = f"1{STEERING}\u202eI\u2028J\x85K\u200bL"
    shown = visible(evil)
    with everything(aria, hub, proxy, [evil], names=[evil]) as carriers:
        odd = carriers.folder / "o\x1b[2J\x9b31m\x0e"
        odd.mkdir()
        (odd / "report.json").write_text("no JSON")
        with (aria.home / "config.toml").open("a") as file:
            file.write(f"[briefing]\nreports = [{json.dumps(str(odd / 'report.json'))}]\n")
        for args, there in (
            (("task", "list"), shown), (("insight", "list"), shown), (("projects",), shown[:20]),
            (("briefing", "--no-store"), f"all day  {shown}"), (("briefing", "--evening", "--no-store"), shown),
            (("briefing", "--no-store", "--format", "markdown"), "52;c;aGk="), (("queue", "list"), ""),
            (("queue", "list", "--dead"), "rejected"), (("queue", "show", "1"), shown), (("queue", "export"), "u001b"),
            (("doctor",), "␛[2J"), (("task", "list", "--json"), "u001b"), (("task", "add", evil, "--due", evil), shown),
            (("task", "done", evil), "52;c"), ((evil,), "52;c"), (("config", evil), "52;c"), (("status",), "dead"),
        ):  # fmt: skip
            _status, stream = on_a_terminal(aria, *args)
            stream = re.sub(rb"\r[\w :,\xe2\x80\xa6]*\x1b\[K", b"", stream)  # what is waited for, in a line that goes
            assert not_ours(stream) == [], (args, stream)
            assert there in stream.decode(), (args, stream.decode())


# T03


@pytest.mark.case("T03")
def test_wide_joined_and_combining_characters_bend_no_frame(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Terminal
) -> None:
    texts = [WIDE, f"{WIDE} {WIDE} {WIDE} {WIDE}"]
    with everything(aria, hub, proxy, texts):
        screen = terminal(80, 24).run(aria)
        screen.wait_for(f"all day  {STRAIGHT} ", "Today", "⚠ 3")
        seen: list[str] = []

        def look() -> None:
            is_whole(screen)
            assert len(screen.lines()) == 24
            seen.append(screen.screen())

        through_all(screen, look, STRAIGHT, "Reu", "Reunião 👩�👩�👧 日本語 ❤� e\u0301")
        cuts = {line[: line.index("…")][-4:] for shown in seen for line in shown.splitlines() if "…" in line}
        assert len(cuts) >= 4, cuts
        assert not [cut for cut in cuts if cut.endswith(" e") or "\u200d" in cut or "\ufe0f" in cut], cuts
        leaves(screen)


INDIC = ["हिन्दी में काम", "தமிழ் மொழி கற்க", "বাংলা ভাষা", "सा" * 60]


@pytest.mark.case("T03")
def test_marks_that_have_a_cell_in_some_terminals_bend_no_frame(
    aria: Aria, hub: HubProcess, proxy: FaultProxy, terminal: Terminal
) -> None:
    """Vowel signs of Indic scripts, which the screen counts as nothing: the terminal used here gives each a cell."""
    carriers = Carriers(aria, hub, proxy, INDIC)
    carriers.sources(names=[])
    carriers.at_the_hub()
    screen = terminal(80, 24).run(aria)
    for pane, before in ("1", "all day  "), ("2", " "):
        keys(screen, pane)
        screen.wait_for(*(f"{before}{text} " for text in INDIC[:3]), "सासा…")
        is_whole(screen)
    leaves(screen)
