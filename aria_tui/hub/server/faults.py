"""The plan of a torture Hub (``aria hub serve --faults FILE``): which requests are ill-treated, how, and how often.

FILE is TOML (``.toml``) or JSON of the same shape::

    seed = 7                      # of the probabilities; the same seed and requests give the same faults
    clock_skew = -3600            # seconds that the Hub's clock is off

    [[faults]]                    # the first that matches and still has turns is applied; the others are not
    kind = "cut"                  # see below
    method = "POST"               # which requests: method, path (a pattern with *), an operation's name in the path
    path = "/api/queue*"          #   or in the batch, a text that the body holds; all that are given must fit
    operation = "create_task"
    contains = "Pagar DAS"
    after = 2                     # lets the first 2 that match pass
    times = 3                     # then happens 3 times; left out: for ever
    probability = 0.5             # with this chance each time (default 1)

Kinds, and what else they take:

=============  =====================================================================================================
``drop``       the connection is reset before anything is applied
``cut``        applied, then the answer is lost: ``how`` = ``reset`` (default, nothing arrives), ``short`` (less than
               Content-Length), ``chunked`` (cut within a chunk), ``unframed`` (half the JSON without a length),
               ``gzip`` (broken compression), ``empty`` (200 without a body)
``delay``      ``seconds`` before (default) or, ``when = "after"``, after it was applied
``duplicate``  the request arrives ``copies`` times (default 2); the last answer is sent
``portal``     nothing is applied, 200 with ``body`` = ``html`` (default, a login page), ``list`` (``[]``),
               ``object`` (``{}``), ``other`` (another service's JSON), or ``nothing`` (204)
``redirect``   nothing is applied; ``status`` (default 302) and ``location``
``status``     nothing is applied; ``status`` such as 401, 413, 429, 500, 503 with the Hub's problem document, and
               ``retry_after`` as it stands; ``foreign = true``: a proxy's page instead, without the Hub's headers
``partial``    of a batch only the first ``keep`` operations (default half of them) are applied and answered;
               ``applied = "all"``: all are applied, and ``keep`` answered
``refuse``     of a batch the operations that ``operation`` and ``contains`` fit are not applied but answered with
               ``result`` = ``retry`` (default), ``rejected`` or ``conflict``; later ones of their entity are skipped
               (a single operation is answered 503, 422 or 409)
=============  =====================================================================================================

While it runs, ``GET /faults`` tells how often each happened, ``PUT /faults`` puts another plan (JSON) in its place,
and ``GET /faults/log`` lists what came, oldest first, the newest 10,000: ``{"requests": [{"method", "path", "keys",
"fault", "status"}]}``, ``keys`` being the idempotency keys in it. These need no token, which is one more reason why
such a Hub is refused off loopback.
"""

from __future__ import annotations

import fnmatch
import random
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from aria_tui.errors import ConfigError

Kind = Literal["drop", "cut", "delay", "duplicate", "portal", "redirect", "status", "partial", "refuse"]
Natural = Annotated[int, Meta(ge=0)]


class Fault(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One ``[[faults]]`` table; the module's docstring says what its fields mean."""

    kind: Kind
    method: str | None = None
    path: str | None = None
    operation: str | None = None
    contains: str | None = None
    after: Natural = 0
    times: Natural | None = None
    probability: Annotated[float, Meta(ge=0, le=1)] = 1.0
    how: Literal["reset", "short", "chunked", "unframed", "gzip", "empty"] = "reset"
    seconds: Annotated[float, Meta(ge=0)] = 1.0
    when: Literal["before", "after"] = "before"
    copies: Annotated[int, Meta(ge=2, le=20)] = 2
    body: Literal["html", "list", "object", "other", "nothing"] = "html"
    status: Annotated[int, Meta(ge=200, le=599)] | None = None
    location: str = "http://127.0.0.1:9/"
    retry_after: str | int | None = None
    foreign: bool = False
    keep: Natural | None = None
    applied: Literal["kept", "all"] = "kept"
    result: Literal["retry", "rejected", "conflict"] = "retry"

    def fits(self, arrived: Arrived) -> bool:
        if self.method is not None and self.method.upper() != arrived.method:
            return False
        if self.path is not None and not fnmatch.fnmatchcase(arrived.path, self.path):
            return False
        if self.operation is not None and self.operation not in arrived.operations:
            return False
        return self.contains is None or self.contains.encode() in arrived.body

    def fits_operation(self, op: dict[str, Any]) -> bool:
        """Whether one operation of a batch is meant."""
        if self.operation is not None and self.operation != op.get("operation"):
            return False
        return self.contains is None or self.contains.encode() in msgspec.json.encode(op)


class Plan(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    seed: int = 0
    clock_skew: float = 0.0
    faults: list[Fault] = []


class Arrived(msgspec.Struct, kw_only=True):
    """A request, as far as faults look at it. ``batch`` is its envelope, where it is one that can be read."""

    method: str
    path: str
    body: bytes
    key: str | None
    batch: dict[str, Any] | None = None

    @property
    def ops(self) -> list[dict[str, Any]]:
        return self.batch["ops"] if self.batch else []

    @property
    def operations(self) -> list[str]:
        if self.batch:
            return [str(op.get("operation")) for op in self.ops]
        return [self.path.rpartition("/")[2]]

    @property
    def keys(self) -> list[str]:
        if self.batch:
            return [str(op.get("op_id")) for op in self.ops]
        return [self.key.strip('"')] if self.key else []


def arrived(method: str, path: str, body: bytes, key: str | None) -> Arrived:
    request = Arrived(method=method, path=path, body=body, key=key)
    if method == "POST" and path == "/api/queue":
        try:
            envelope = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            return request
        ops = envelope.get("ops") if isinstance(envelope, dict) else None
        if isinstance(ops, list) and all(isinstance(op, dict) for op in ops):
            request.batch = envelope
    return request


class Dice:
    """Which fault a request meets; counts matches and turns."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._random = random.Random(plan.seed)  # noqa: S311 - repeatable, not secret
        self._matched = [0] * len(plan.faults)
        self.happened = [0] * len(plan.faults)

    def throw(self, request: Arrived) -> Fault | None:
        for number, fault in enumerate(self.plan.faults):
            if not fault.fits(request):
                continue
            self._matched[number] += 1
            if self._matched[number] <= fault.after:
                continue
            if fault.times is not None and self.happened[number] >= fault.times:
                continue
            if fault.probability < 1 and self._random.random() >= fault.probability:
                continue
            self.happened[number] += 1
            return fault
        return None

    def counts(self) -> list[dict[str, Any]]:
        return [
            {"fault": fault, "matched": matched, "happened": happened}
            for fault, matched, happened in zip(self.plan.faults, self._matched, self.happened, strict=True)
        ]


def read(path: Path) -> Plan:
    """The plan in a file. Raises ConfigError with the file and what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
        given = tomllib.loads(text) if path.suffix == ".toml" else msgspec.json.decode(text)
        return msgspec.convert(given, Plan)
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", path=str(path)) from None
    except (ValueError, msgspec.DecodeError) as error:
        raise ConfigError(str(error), path=str(path)) from None
