"""A thousand clients whose Hub comes back after an outage: the load over time with and without jitter.

The real backoff code on a simulated clock; each client tries when its delay is over. Prints what the Hub gets at its
worst second, and writes ``screenshots/backoff.svg``: ``python -m tests.benchmarks.backoff_picture [SVG]``.
"""

from __future__ import annotations

import heapq
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from aria_tui.outbox import backoff
from tests.benchmarks.measure import Figure
from tests.faults.clock import SimulatedClock

CLIENTS, OUTAGE, SPREAD, WATCHED = 1_000, 600.0, 1.0, 600
CAPACITY = 60
"""Requests that the simulated Hub answers in a second; others get 503 and back off further."""


class Jittered(SimulatedClock):
    """The clock as clients have it: full jitter."""


class Plain(SimulatedClock):
    """A clock whose random numbers are their upper bound: exponential backoff without jitter."""

    def uniform(self, low: float, high: float) -> float:
        return high


def simulate(make_clock: Callable[[int], SimulatedClock]) -> tuple[Counter[int], float]:
    """Requests per second from the end of the outage on, and the second in which the last client got through."""
    dice = random.Random(8)
    clocks = [make_clock(n) for n in range(CLIENTS)]
    tries = [0] * CLIENTS
    due = [(dice.uniform(0, SPREAD), n) for n in range(CLIENTS)]  # all meet the outage within its first second
    heapq.heapify(due)
    load: Counter[int] = Counter()
    last = 0.0
    while due:
        at, client = heapq.heappop(due)
        second = int(at - OUTAGE)
        if at >= OUTAGE:
            load[second] += 1
            if load[second] <= CAPACITY:
                last = max(last, at - OUTAGE)
                continue
        tries[client] += 1
        heapq.heappush(due, (at + max(0.05, backoff.delay(clocks[client], tries[client])), client))
    return load, last


def measure() -> list[Figure]:
    (jittered, last), (plain, plain_last) = simulate(Jittered), simulate(Plain)
    worst, plain_worst = max(jittered.values()), max(plain.values())
    return [
        Figure("JIT", "1,000 clients after an outage: worst second with jitter / without", worst / plain_worst, 0.1,
               details={
                   "worst second with jitter": worst, "worst second without": plain_worst,
                   "refused with jitter": sum(jittered.values()) - CLIENTS,
                   "refused without": sum(plain.values()) - CLIENTS,
                   "all through after s": last, "without jitter after s": plain_last,
               }),
    ]  # fmt: skip


def picture(jittered: Counter[int], plain: Counter[int]) -> str:
    """Two bar charts on one scale of time, as SVG with no font from elsewhere."""
    width, height, left = 900, 190, 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{2 * height + 70}" '
        'font-family="monospace" font-size="13">',
        '<rect width="100%" height="100%" fill="#1e1e2e"/>',
        '<text x="60" y="24" fill="#cdd6f4">1,000 clients, 10 minutes without a Hub: requests a second once it is '
        "back</text>",
    ]
    for number, (title, load, colour) in enumerate(
        (("exponential backoff with full jitter (as built)", jittered, "#a6e3a1"),
         ("the same without jitter", plain, "#f38ba8"))
    ):  # fmt: skip
        bottom = 40 + (number + 1) * height
        top = max(load.values())
        parts.append(
            f'<text x="{left}" y="{bottom - height + 24}" fill="{colour}">{title}: at most {top} a second</text>'
        )
        parts.append(f'<line x1="{left}" y1="{bottom}" x2="{width - 20}" y2="{bottom}" stroke="#6c7086"/>')
        parts.append(f'<text x="8" y="{bottom}" fill="#9399b2">0</text>')
        scale = (width - left - 20) / WATCHED
        for second, count in sorted(load.items()):
            if second < WATCHED:
                bar = (height - 50) * count / top
                parts.append(
                    f'<rect x="{left + second * scale:.1f}" y="{bottom - bar:.1f}" width="{max(1.0, scale):.1f}" '
                    f'height="{bar:.1f}" fill="{colour}"/>'
                )
        for minute in range(0, WATCHED // 60 + 1, 2):
            x = left + minute * 60 * scale
            parts.append(f'<text x="{x - 8:.0f}" y="{bottom + 16}" fill="#9399b2">{minute}m</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    (jittered, _), (plain, _) = simulate(Jittered), simulate(Plain)
    root = Path(__file__).resolve().parents[2]
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "screenshots" / "backoff.svg"
    target.write_text(picture(jittered, plain))
    for figure in measure():
        print(figure.line())
        print("      ", figure.details)


if __name__ == "__main__":
    main()
