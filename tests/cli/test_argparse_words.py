"""What argparse itself says, in the user's language: headings of the help, and what is wrong with an argument."""

from __future__ import annotations

import argparse
import ast
import inspect

import pytest

from aria_tui import locale
from aria_tui.cli.parser import ITS_WORDS
from tests.helpers.aria import Aria

PORTUGUESE = {"LANG": "pt_BR.UTF-8"}
NEVER_SAID = {
    # what only a parser that is built wrong says
    "%r is not callable",
    "'required' is an invalid argument for positionals",
    ".__call__() not defined",
    'argument "-" with mode %r',
    "cannot have multiple subparser arguments",
    "cannot merge actions - two groups are named %r",
    "conflicting subparser alias: %s",
    "conflicting subparser: %s",
    "dest= is required for options like %r",
    "invalid conflict_resolution value: %r",
    "invalid option string %(option)r: must start with a character %(prefix_chars)r",
    "mutually exclusive arguments must be optional",
    "unknown parser %(parser_name)r (choices: %(choices)s)",
    # what this parser says in words of its own, or has switched off
    "%(prog)s: error: %(message)s\n",
    "unrecognized arguments: %s",
    "ambiguous option: %(option)s could match %(matches)s",
    "can't open '%(filename)s': %(error)s",
    "unexpected option string: %s",
    # of newer versions of Python
    "%(heading)s:",
    " (default: %(default)s)",
}


def test_all_that_argparse_can_say_to_a_user_is_known() -> None:
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(argparse))) if isinstance(node, ast.Call)]
    asked = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "_" and isinstance(call.args[0], ast.Constant)
    }
    assert len(asked) > 20
    assert not asked - NEVER_SAID - set(ITS_WORDS)
    locale.use("pt_BR")
    try:
        assert not [words for words in ITS_WORDS if locale._(words) == words]
    finally:
        locale.use("en")


def test_help_and_wrong_arguments_are_told_in_portuguese(aria: Aria) -> None:
    shown = aria("task", "add", "--help", env=PORTUGUESE).ok().out
    assert shown.startswith("uso: aria task add ")
    assert "argumentos posicionais:\n" in shown
    assert "opções:\n" in shown
    assert "mostra esta ajuda e sai" in shown
    for arguments, words in (
        (("task", "add"), "faltam estes argumentos: TITLE"),
        (("task", "ad"), "escolha inválida: 'ad'"),
        (("queue", "show", "x"), "argumento"),
    ):
        told = aria(*arguments, env=PORTUGUESE)
        assert told.status == 2
        assert words in told.err
    assert aria("task", "add", "--help").ok().out.startswith("usage: aria task add ")


@pytest.mark.parametrize("language", ["C.UTF-8", "pt_BR.UTF-8"])
def test_the_man_page_has_no_word_of_the_usage_line(aria: Aria, language: str) -> None:
    page = aria("completion", "man", env={"LANG": language}).ok().out
    assert "usage: " not in page
    assert "uso: " not in page
