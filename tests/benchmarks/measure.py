"""Speed as a ratio of two medians, taken interleaved in one run: a bare time says more of the machine than of us."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Figure:
    """One row of quality.md. ``value`` stands against ``goal``: at most it, or at least it where ``at_least``."""

    name: str
    what: str
    value: float
    goal: float
    unit: str = "×"
    at_least: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def line(self) -> str:
        sign = "≥" if self.at_least else "≤"
        mark = "met" if self.met else "NOT MET"
        return f"{self.name:4} {self.value:9.3g} {self.unit:2} {sign} {self.goal:<6g} {mark:8} {self.what}"


def interleaved(contestants: Mapping[str, Callable[[], float]], rounds: int, *, warm: int = 1) -> dict[str, float]:
    """Runs everybody in turn, ``rounds`` times after ``warm`` unmeasured ones; medians of what each returned."""
    seen: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + warm):
        order = list(contestants) if number % 2 == 0 else list(contestants)[::-1]
        for name in order:
            value = contestants[name]()
            if number >= warm:
                seen[name].append(value)
    return {name: statistics.median(values) for name, values in seen.items()}


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """Seconds that a call takes."""

    def run() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return run


def report(figures: list[Figure], folder: Path | None = None) -> None:
    """Prints a script's lines and writes one JSON file for each figure."""
    for figure in figures:
        print(figure.line(), flush=True)
        for name, value in figure.details.items():
            print(f"       {name}: {value:.6g}" if isinstance(value, float) else f"       {name}: {value}", flush=True)
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            document = {**asdict(figure), "met": figure.met}
            (folder / f"{figure.name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False))


def main(measure: Callable[[], list[Figure]]) -> None:
    """A script's entry: ``python -m tests.benchmarks.p3_enqueue [FOLDER]``."""
    report(measure(), Path(sys.argv[1]) if len(sys.argv) > 1 else None)
