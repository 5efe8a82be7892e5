"""Bracketed pastes, as bytes on a real terminal: text and nothing but text, wherever they go and however they come."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable

import pytest

from aria_tui.tui.pastes import BEGIN, END, SILENCE, Pasted, Pastes
from tests.helpers.aria import Aria
from tests.helpers.tmux import Tmux
from tests.helpers.waiting import wait_until

THREE = "Comprar leite\nLigar banco\r\n\tPagar DAS"
ONE = "Comprar leite Ligar banco Pagar DAS"


def joined(parts: Iterable[str | Pasted]) -> list[str | Pasted]:
    """Keys that came in several pieces as one piece."""
    found: list[str | Pasted] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


@pytest.mark.case("T05")
def test_a_stream_gives_the_same_keys_and_pastes_wherever_it_is_cut() -> None:
    stream = f"ab\x1b[A{BEGIN}x\x1b[31m\r\x00y{END}\x1b[20~{BEGIN}{END}q{END}{BEGIN}\x1b[201z{END}\x1b[200"
    whole = ["ab\x1b[A", Pasted("x\x1b[31m\ry"), "\x1b[20~", Pasted(""), "q", Pasted("\x1b[201z")]
    chance = random.Random(1)
    for _ in range(2_000):
        cuts = sorted(chance.randrange(len(stream) + 1) for _ in range(chance.randrange(8)))
        pastes = Pastes()
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert joined(part for piece in pieces for part in pastes.feed(piece)) == whole, cuts


@pytest.mark.case("T05")
def test_a_paste_that_never_ends_takes_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("aria_tui.tui.pastes.time.monotonic", lambda: now)
    pastes = Pastes()
    assert list(pastes.feed(f"{BEGIN}half")) == list(pastes.tick()) == []
    now += SILENCE
    assert list(pastes.tick()) == [Pasted("half")]
    assert list(pastes.feed(" and half\n")) == [], "a slow line; it is still a paste"
    now += SILENCE
    assert list(pastes.tick()) == [Pasted(" and half\n")]
    assert list(pastes.feed("\x11")) == ["\x11"], "somebody presses a key"
    assert list(pastes.feed("q")) == ["q"]
    assert list(pastes.feed("\x1b")) == []
    now += SILENCE
    assert list(pastes.tick()) == ["\x1b"]


def tasks(aria: Aria) -> list[str]:
    return [task["title"] for task in aria("task", "list", "--json").ok().json["tasks"]]


@pytest.mark.case("T05")
def test_a_paste_becomes_one_title_and_keeps_an_insight_s_lines(aria: Aria, terminal: Callable[..., Tmux]) -> None:
    aria("task", "add", "zeta").ok()
    screen = terminal(120, 40).run(aria)
    screen.wait_for("zeta", "1 open")
    screen.keys("t")
    screen.wait_for("New task")
    screen.type(f"{BEGIN}\n{THREE}{END}")
    screen.wait_for(f"Title       {ONE}")
    assert tasks(aria) == ["zeta"], "the paste itself submitted nothing"
    screen.keys("Enter")
    screen.wait_for("2 open")
    assert sorted(tasks(aria)) == [ONE, "zeta"]

    screen.keys("i")
    screen.wait_for("New insight")
    screen.type(f"{BEGIN}{THREE}{END}\r")  # with the key in one go
    screen.wait_gone("New insight")
    (insight,) = aria("insight", "list", "--json").ok().json["insights"]
    assert insight["content"] == "Comprar leite\nLigar banco\n\tPagar DAS"

    screen.type(f"t{BEGIN}right after\nthe key{END}\r")
    screen.wait_for("3 open", "right after the key")
    screen.type(f"i{BEGIN}one\rtwo{END}\r")
    wait_until(lambda: len(aria("insight", "list", "--json").ok().json["insights"]) == 2, 20, "the second insight")
    assert sorted(tasks(aria)) == [ONE, "right after the key", "zeta"]


@pytest.mark.case("T05")
def test_a_paste_presses_no_key(aria: Aria, terminal: Callable[..., Tmux]) -> None:
    """Not on a list, not by what looks like a key in it, and not while its end is missing."""
    aria("task", "add", "zeta").ok()
    screen = terminal(120, 40).run(aria)
    screen.wait_for("zeta", "1 open")
    screen.keys("2", "Home")
    screen.type(f"{BEGIN}xdq\n\x1b\rq{END}")
    screen.keys("t")
    screen.wait_for("New task", "1 open")
    screen.type(f"{BEGIN}a\x1b\rb\x1b[31mred{END}")
    screen.wait_for("Title       a␛ b␛[31mred")
    screen.keys("C-r")
    screen.wait_gone("31mred")
    screen.type(f"{BEGIN}never ended")
    screen.wait_for("Title       never ended")
    screen.keys("C-q")
    screen.wait_for("exit-status=0")
    assert tasks(aria) == ["zeta"]
    assert json.loads((aria.home / "drafts.json").read_text())["task"]["title"] == "never ended"


@pytest.mark.case("T05")
def test_every_other_input_takes_a_paste_as_text(aria: Aria, terminal: Callable[..., Tmux]) -> None:
    aria.use("http://127.0.0.1:9", "a-test-token")
    aria("task", "add", "zeta", "--offline").ok()
    aria("insight", "add", "something else", "--offline").ok()
    screen = terminal(120, 40).run(aria)
    screen.wait_for("zeta", "2 waiting")
    screen.type(f"2/{BEGIN}\nze\nta\n{END}")
    screen.wait_for("/ze ta")
    screen.keys("Escape")
    screen.wait_gone("/ze ta")
    screen.keys("Home", "Enter")
    screen.wait_for("Edit task", "Title       zeta")
    screen.type(f"{BEGIN} and\r\nmore{END}\r")
    screen.wait_for("zetaand more")
    screen.wait_gone("Edit task")
    screen.type(f"c\x1b[F{BEGIN}/hub\n{END}")
    screen.wait_for("Connect to a Hub", "http://127.0.0.1:9/hub")
    screen.keys("Escape")
    screen.wait_gone("Connect to a Hub")
    screen.keys("C-p")
    screen.wait_for("Find a command")
    screen.type(f"{BEGIN}\ndark\nand{END}")
    screen.wait_for("Change between dark and light", "dark and")
    screen.wait_gone("Send what waits")
    screen.keys("Escape")
    screen.wait_gone("Change between")
    screen.keys("v")
    screen.wait_for("p project")
    screen.type(f"/{BEGIN}\nsomething\nother{END}")
    screen.wait_for("something other")
    screen.keys("Escape", "Escape")
    screen.wait_for("Sync ]")
    assert screen.alive()


@pytest.mark.case("T05")
def test_a_megabyte_is_pasted_and_none_of_it_is_lost(aria: Aria, terminal: Callable[..., Tmux]) -> None:
    """More than an insight may hold: said so, and kept. The keys go on working meanwhile."""
    screen = terminal(120, 40).run(aria)
    screen.wait_for("Sync ]")
    screen.keys("i")
    screen.wait_for("New insight")
    text = "\n".join(f"line {number:05} of a very long paste" for number in range(31_000))
    screen.paste(text)
    screen.wait_for("line 30999", deadline=30)
    screen.keys("!", "C-s")
    screen.wait_for("too long")
    screen.keys("Escape")
    screen.wait_gone("New insight")
    wait_until(lambda: (aria.home / "drafts.json").stat().st_size > len(text), 10, "the draft")
    assert json.loads((aria.home / "drafts.json").read_text())["insight"]["content"] == text + "!"
    screen.keys("q")
    screen.wait_for("exit-status=0")
