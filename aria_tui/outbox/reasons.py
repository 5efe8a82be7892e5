"""Why a row is still here: one code, one sentence (queue.md, "Seeing it").

The sentences are templates, so that a screen can say them in its language from ``QueueItem.reason_args``.
"""

from __future__ import annotations

from datetime import timedelta

from aria_tui.hub.contract import write_time
from aria_tui.models import ReasonCode
from aria_tui.outbox.clock import Clock, seconds_until
from aria_tui.outbox.gates import Gate
from aria_tui.outbox.rows import Row

SENTENCES: dict[str, str] = {
    "sending": "being sent",
    "next": "next",
    "backoff": "attempt {attempt} failed, next at {at}",
    "retry_after": "the Hub asked to wait, next at {at}",
    "behind": "behind #{number}",
    "parked_ahead": "behind #{number}, which needs attention",
    "offline": "Hub offline since {since}",
    "paused": "sign-in needed: {why}",
    "held_operation": "the Hub does not know this operation yet",
    "held_target": "for another Hub: {target}",
    "in_doubt": "sent, but not confirmed; will be sent again with the same key",
}
NOT_THE_HUB = "not the Hub since {since}: {why}"
RESTORED = "paused: {why}; run `aria queue verify`"
DEAD = "rejected: {why}"
CONFLICT = "changed on both sides: {why}"
DELIVERED = "{outcome} at {at}"


class Queue:
    """What is known of the whole queue while its rows are explained, in order of their numbers."""

    def __init__(
        self,
        clock: Clock,
        *,
        target: str,
        labels: dict[str, str],
        gate: Gate | None,
        sending: tuple[int, int] | None,
        parked: dict[str, int],
    ) -> None:
        self.clock, self.target, self.labels, self.gate = clock, target, labels, gate
        self.sending, self.parked = sending, parked

    def reason(self, row: Row, ahead: int | None) -> tuple[ReasonCode, dict[str, str]]:
        """Code and arguments for a row; ``ahead`` is an earlier waiting row of the same entity."""
        if row.target and row.target != self.target:
            return "held_target", {"target": self.labels.get(row.target, row.target)}
        if self.sending and self.sending[0] <= row.id <= self.sending[1] and row.why == "in_doubt":
            return "sending", {}
        if (dead := self.parked.get(row.entity)) is not None and dead < row.id:
            return "parked_ahead", {"number": str(dead)}
        if ahead is not None:
            return "behind", {"number": str(ahead)}
        if row.why == "held_operation":
            return "held_operation", {}
        if self.gate and (self.gate.code not in ("retry_after", "backoff") or self.gate.held(self.clock)):
            return self._at_gate(self.gate)
        wait = seconds_until(self.clock, row.due, row.due_boot)
        if row.why == "in_doubt":
            return "in_doubt", {}
        if row.why == "backoff" and wait:
            return "backoff", {"attempt": str(row.attempts or row.tries), "at": self._at(wait)}
        return "next", {}

    def next_attempt_at(self, row: Row) -> str | None:
        """When it will be tried again by itself, on the wall clock as it stands now."""
        wait = seconds_until(self.clock, row.due, row.due_boot)
        if self.gate is not None:
            wait = max(wait, self.gate.held(self.clock))
        return self._at(wait) if wait else None

    def _at_gate(self, gate: Gate) -> tuple[ReasonCode, dict[str, str]]:
        match gate.code:
            case "offline" if gate.hub_state == "not_the_hub" or gate.reason.startswith("TLS"):
                return "offline", {}
            case "offline":
                return "offline", {"since": gate.since, "why": gate.reason}
            case "retry_after":
                return "retry_after", {"at": self._at(gate.held(self.clock))}
            case "backoff":
                return "backoff", {"attempt": str(gate.tries), "at": self._at(gate.held(self.clock))}
            case "restored":
                return "paused", {}
            case _:
                return "paused", {"why": gate.reason}

    def _at(self, seconds: float) -> str:
        return write_time((self.clock.now() + timedelta(seconds=seconds)).replace(microsecond=0))

    def sentence(self, code: str, arguments: dict[str, str]) -> str:
        """The English sentence."""
        if code == "paused" and self.gate is not None and self.gate.code == "restored":
            return RESTORED.format(why=self.gate.reason)
        if code == "offline" and not arguments and self.gate is not None:
            return NOT_THE_HUB.format(since=self.gate.since, why=self.gate.reason)
        return SENTENCES[code].format(**arguments)
