"""Each of the public faults that the program must not have is shown by a test, which is marked with its name."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CASES = [
    *("Q01", "Q02", "Q03", "Q04", "Q05", "Q06", "Q07", "B01", "S01", "S02", "S04", "S05", "S07", "S08"),
    *("H01", "H02", "H03", "H04", "H05", "H06", "T01", "T02", "T03", "T04", "T05", "T06", "T07"),
    *("G01", "G03", "G04", "G05", "G06", "D01", "D02", "C01", "C02", "C03", "C04", "C05"),
    *("F01", "F02", "Z01", "Z02", "Z03", "M01"),
]


def _names() -> Iterator[str]:
    """The names in ``@pytest.mark.case(...)`` over the test functions, read without importing them."""
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.case":
                        yield from (ast.literal_eval(argument) for argument in mark.args)


@functools.cache
def _marked() -> frozenset[str]:
    return frozenset(_names())


@pytest.mark.parametrize("case", CASES)
def test_each_case_has_its_tests(case: str) -> None:
    """``python3 -m pytest --case CASE`` runs at least one test."""
    assert case in _marked()


def test_no_mark_names_a_case_that_is_none() -> None:
    """A mark with a slip of the pen would show nothing."""
    assert _marked() <= set(CASES)
