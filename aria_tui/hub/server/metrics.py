"""Counters in Prometheus' text format (0.0.4), at ``/metrics`` where ``--metrics`` is given. No account, no id."""

from __future__ import annotations

from collections import Counter

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """One process's counters; a replica's are its own, as Prometheus wants them."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._operations: Counter[tuple[str, str]] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method, route, status] += 1
        self._seconds += seconds
        for bucket in BUCKETS:
            if seconds <= bucket:
                self._buckets[bucket] += 1

    def operation(self, name: str, status: str) -> None:
        self._operations[name, status] += 1

    def text(self) -> str:
        lines = ["# TYPE aria_hub_requests_total counter"]
        for (method, route, status), count in sorted(self._requests.items()):
            labels = f'method="{method}",route="{route}",status="{status}"'
            lines.append(f"aria_hub_requests_total{{{labels}}} {count}")
        lines.append("# TYPE aria_hub_operations_total counter")
        for (name, outcome), count in sorted(self._operations.items()):
            lines.append(f'aria_hub_operations_total{{operation="{name}",status="{outcome}"}} {count}')
        lines.append("# TYPE aria_hub_request_seconds histogram")
        total = self._requests.total()
        lines += [f'aria_hub_request_seconds_bucket{{le="{b}"}} {self._buckets[b]}' for b in BUCKETS]
        lines.append(f'aria_hub_request_seconds_bucket{{le="+Inf"}} {total}')
        lines += [f"aria_hub_request_seconds_sum {self._seconds:.6f}", f"aria_hub_request_seconds_count {total}"]
        return "\n".join(lines) + "\n"
