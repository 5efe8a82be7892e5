"""The few things that can become of a request to the Hub, as values. Nothing here does I/O."""

from __future__ import annotations

from typing import Literal

from aria_tui.hub.contract import Meta, OpResult, Problem
from aria_tui.models import Frozen, HubState

OutcomeKind = Literal[
    "answered",
    "unreachable",
    "paused",
    "wait",
    "in_doubt",
    "server_error",
    "restored",
    "too_large",
    "no_endpoint",
    "refused",
]


class Outcome(Frozen, frozen=True, kw_only=True):
    """What became of one write. It is never an exception (queue.md, "When it fails").

    ``kind`` is one of

    * ``answered``: the Hub acknowledged the request; ``results`` says what became of each operation that it named.
      An operation that is not in ``results`` is not acknowledged.
    * ``unreachable``: the Hub was not reached, or something else answered in its place. Spends no attempt.
    * ``paused``: the Hub itself refused the token (401, 403).
    * ``wait``: 408, 429 or 503; ``wait_s`` is the parsed Retry-After.
    * ``in_doubt``: it may have been applied; the same key has to be sent again.
    * ``server_error``: 500 or another 5xx, applied or not.
    * ``restored``: the Hub was restored from a backup, and refused before it applied anything.
    * ``too_large``: 413 from the Hub itself.
    * ``no_endpoint``: a plain Hub has no such path (404, 405).
    * ``refused``: the Hub refused the whole request; ``problem`` says why.
    """

    kind: OutcomeKind
    state: HubState
    """What this answer says about the Hub."""
    results: tuple[OpResult, ...] = ()
    reason: str = ""
    """In English words; empty when answered. Never holds the token. ``client.in_words`` says it in another language."""
    status: int | None = None
    """The HTTP status, where there was one."""
    wait_s: float | None = None
    """Retry-After in seconds, at most an hour; None when there was none that makes sense."""
    slow_down_s: float | None = None
    """Aria-Backoff in seconds: a healthy Hub asks its client to slow down."""
    problem: Problem | None = None
    latency_ms: float | None = None
    epoch: str = ""
    """The Hub's epoch as this answer named it (``Aria-Hub-Epoch``): another one than before means restored."""
    server_id: str | None = None
    """The id that a plain Hub handed out for a created task or insight, as text."""
    server_id_is_number: bool = False
    """It was a JSON number there, and wants to be one in what is sent later."""
    replayed: bool = False
    """The Hub answered from its record of an earlier attempt (``Idempotent-Replayed``)."""


class Probe(Frozen, frozen=True, kw_only=True):
    """How the Hub stands now."""

    state: HubState
    reason: str = ""
    latency_ms: float | None = None
    meta: Meta | None = None
    """What the Hub says about itself; also given for another Hub than the expected one (state ``not_the_hub``)."""
    plain: bool = False
    """404 at ``/api/meta`` and a list of tasks: a plain Hub, whether or not the user agreed to one."""
    wait_s: float | None = None
    """Retry-After in seconds, of a 408, 429 or 503."""
    may_send: bool = False
    """Whether writes may be sent: authenticated, the expected Hub or, with the user's consent, a plain one."""


class Answer(Frozen, frozen=True, kw_only=True):
    """An HTTP answer, whole or cut short, from whoever gave it."""

    status: int
    content_type: str = ""
    """The media type alone, in lower case."""
    hub_id: str = ""
    epoch: str = ""
    location: str = ""
    """Where a redirect points: scheme, host and path only."""
    retry_after_s: float | None = None
    slow_down_s: float | None = None
    replayed: bool = False
    body: bytes = b""
    fault: str = ""
    """Why the body is not whole: cut short, too long, can't be unpacked. Empty: it is whole."""
    latency_ms: float = 0.0


class NoAnswer(Frozen, frozen=True, kw_only=True):
    """A request that brought no answer. ``sent``: the server may have got some of it."""

    state: HubState
    reason: str
    sent: bool
    stale: bool = False
    """A kept connection died under the request: a new one may well work."""


def shown_problem(problem: Problem) -> str:
    """A problem document in one line, for a reason."""
    text = problem.detail or problem.title or problem.word
    fields = "; ".join(f"{e.get('field', '')}: {e.get('message', '')}" for e in problem.errors[:5])
    return " ".join(f"{text} ({fields})".split() if fields else text.split())[:300]
