"""The client's face: writes become outcomes, reads become data or ``HubUnavailable``.

Everything that answers is distrusted (hub-api.md, "What counts as an acknowledgement"). One decision each lives beside
this file: what acknowledges (``_acknowledge``, ``_plain``), who answers (``_probe``), what an exception means
(``_failures``), how one request is made (``_exchange``), which address, proxy, certificate and token may be used.
httpx is loaded with the first request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from aria_tui.config import HubConfig
from aria_tui.errors import AriaError, ConfigError, HubUnavailable, InvalidInput, NotFound
from aria_tui.hub import _acknowledge, _plain, _probe
from aria_tui.hub import _reasons as reasons
from aria_tui.hub._address import check_url, is_this_machine
from aria_tui.hub._credentials import TokenUnavailable, auth_headers, resolve_token
from aria_tui.hub._exchange import Line
from aria_tui.hub._outcomes import Answer, NoAnswer, Outcome, Probe, shown_problem
from aria_tui.hub._reasons import in_words
from aria_tui.hub._retry_after import parse_retry_after
from aria_tui.hub.contract import PROBLEM_JSON, Problem
from aria_tui.models import HubState

if TYPE_CHECKING:
    import httpx

__all__ = [
    "CursorExpired",
    "HubClient",
    "Outcome",
    "Probe",
    "TokenUnavailable",
    "check_url",
    "in_words",
    "is_this_machine",
    "parse_retry_after",
    "resolve_token",
]

EMBEDDED_URL = "http://embedded"
_SECRET = 6
"""Characters from which on a token is looked for in what is shown: a shorter one is a part of ordinary words."""
_PAGES = 200
"""How many pages of a plain Hub's list are looked through for one title."""


class CursorExpired(AriaError):
    """410: the cursor is older than what the Hub remembers; everything has to be read again."""


class HubClient:
    """One per program and Hub. Not for several event loops.

    ``token`` is the resolved one. ``embedded``: the Hub runs in this process, behind ``transport``, which stays the
    caller's to close. Raises ConfigError for an address, a token or a header that can't be used.
    """

    expected_hub_id: str | None
    """The Hub that must answer; None until the first authenticated ``/api/meta``: any Hub that names itself."""
    plain: bool
    """The last probe met a plain Hub and the user agreed to one."""
    served: set[str]
    """Operations that a plain Hub has once acknowledged at ``/api/queue/{operation}``: a 404 for one of these is about
    the task or insight, not about the endpoint. May be filled from what was kept of it."""

    def __init__(
        self,
        config: HubConfig,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        token: str = "",
        embedded: bool = False,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.expected_hub_id = None
        self.plain = False
        self.served = set()
        self.embedded = embedded
        self._agreed_to_plain = config.kind == "plain"
        self._token = "" if embedded else token
        headers = {} if embedded else auth_headers(config, token)
        if not embedded:
            if not config.url:
                raise ConfigError("no address of a Hub is configured", hint="set url in [hub]")
            check_url(config, token)
        self._line = Line(
            EMBEDDED_URL if embedded else config.url,
            {
                "user-agent": _user_agent(),
                "accept": f"application/json, {PROBLEM_JSON}",
                "accept-encoding": "gzip",
                **headers,
            },
            transport=transport,
            now=now or (lambda: datetime.now(UTC)),
        )

    def __repr__(self) -> str:
        return f"HubClient({self.url!r})"

    @property
    def url(self) -> str:
        return self._line.base_url

    def agree_to_plain(self) -> None:
        """The user's yes to a plain Hub, for this client; the next probe then sets ``plain``."""
        self._agreed_to_plain = True

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._line.aclose()

    # How the Hub stands

    async def probe(self, timeout: float) -> Probe:
        """Asks who is there, in at most ``timeout`` seconds. Learns ``expected_hub_id`` and ``plain``."""
        got = await self._get("/api/meta", None, timeout)
        found = _probe.judge_meta(got, expected=self.expected_hub_id, plain_wanted=self._agreed_to_plain)
        if found is None:
            got = await self._get("/api/tasks", {"limit": 1}, timeout)
            found = _probe.judge_tasks(got, agreed=self._agreed_to_plain)
        if found.may_send:
            self.plain = found.plain
            if found.meta is not None:
                self.expected_hub_id = found.meta.hub_id
        return msgspec.structs.replace(found, state=self._as_seen(found.state), reason=self._hidden(found.reason))

    async def ready(self, timeout: float) -> bool:
        """Whether the expected Hub says that it and its database work (``GET /readyz``)."""
        got = await self._get("/readyz", None, timeout)
        return isinstance(got, Answer) and got.status == 200 and not got.fault and self._is_ours(got)

    # Writes

    async def send_batch(
        self, ops: Sequence[bytes], op_ids: Sequence[str], *, client_id: str, timeout: float, reached: str = ""
    ) -> Outcome:
        """``POST /api/queue``. ``ops`` are encoded ``contract.Op`` objects, in order, and are sent as they are.

        ``reached``: where the Hub was, ``EPOCH.SEQ``, for one that refuses when it is not (``contract.IF_REACHED``).
        """
        body = b"".join((_envelope(client_id), b",".join(ops), b"]}"))
        got = await self._line.exchange(
            "POST",
            "/api/queue",
            content=body,
            headers={"content-type": "application/json", **({"aria-if-reached": reached} if reached else {})},
            timeout=timeout,
            repeatable=True,  # each operation bears its key
        )
        read = _acknowledge.batch_reader(op_ids)
        return self._told(_acknowledge.judge(got, expected=self.expected_hub_id, read=read, batch=len(ops) > 1))

    def batch_overhead(self, client_id: str, count: int = 1) -> int:
        """How many bytes a batch of ``count`` operations has beside the operations."""
        return len(_envelope(client_id)) + len(b"]}") + max(0, count - 1)

    async def send_one(
        self, operation: str, op_id: str, payload: bytes, *, timeout: float, direct: bool = False
    ) -> Outcome:
        """``POST /api/queue/{operation}`` with the Idempotency-Key; ``payload`` is sent as it is.

        ``direct``, for a plain Hub whose queue endpoint is missing: the operation's own path, if it has one.
        """
        path = _plain.DIRECT.get(operation) if direct else _queue_path(operation)
        if path is None:
            return Outcome(kind="no_endpoint", state=self._as_seen("unknown"), reason=reasons.NO_ENDPOINT)
        if (key := _key(op_id)) is None:
            problem = Problem(type="/problems/validation", status=400, detail=reasons.BAD_KEY)
            return Outcome(kind="refused", state=self._as_seen("unknown"), reason=reasons.BAD_KEY, problem=problem)
        got = await self._line.exchange(
            "POST",
            path,
            content=payload,
            headers={"content-type": "application/json", "idempotency-key": key},
            timeout=timeout,
            repeatable=not self.plain,  # a plain Hub may know no keys
        )
        if self.plain:
            outcome = _plain.judge_plain(got, op_id=op_id, has_endpoint=not direct and operation in self.served)
            if outcome.kind == "answered" and not direct:
                self.served.add(operation)
            return self._told(outcome)
        read = _acknowledge.single_reader(op_id)
        return self._told(_acknowledge.judge(got, expected=self.expected_hub_id, read=read))

    # Reads

    async def op_outcome(self, op_id: str, timeout: float) -> dict[str, Any] | None:
        """The recorded outcome of an operation; None when the Hub itself says that it has never seen it.

        Raises HubUnavailable.
        """
        try:
            return await self.get(f"/api/queue/ops/{quote(op_id, safe='')}", timeout=timeout)
        except NotFound:
            return None

    async def get(self, path: str, params: Mapping[str, Any] | None = None, *, timeout: float) -> dict[str, Any]:
        """A JSON object from the Hub; parameters that are None are left out.

        Raises HubUnavailable, NotFound (404 from the Hub itself), CursorExpired (410), InvalidInput (the Hub can't
        make sense of the parameters).
        """
        got = await self._get(path, params, timeout)
        if isinstance(got, NoAnswer):
            raise HubUnavailable(self._as_seen(got.state), self._hidden(got.reason))
        body = _acknowledge.read_object(got)
        if 200 <= got.status < 300 and body and self._is_ours(got) and not got.fault:
            return body
        raise self._unavailable(got, body)

    async def find_tasks(self, title: str, *, timeout: float) -> list[dict[str, Any]]:
        """A plain Hub's tasks with this title: to see whether a create that is in doubt was done.

        Raises HubUnavailable.
        """
        return await self._find("/api/tasks", "tasks", "title", title, timeout)

    async def find_insights(self, content: str, *, timeout: float) -> list[dict[str, Any]]:
        """A plain Hub's insights with this content. Raises HubUnavailable."""
        return await self._find("/api/insights", "insights", "content", content, timeout)

    async def _find(self, path: str, name: str, field: str, wanted: str, timeout: float) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: Any = None
        for _ in range(_PAGES):
            page = await self.get(path, {"limit": 500, "cursor": cursor}, timeout=timeout)
            listed = page.get(name)
            if not isinstance(listed, list):
                raise HubUnavailable("not_the_hub", reasons.GARBLED)
            found += [e for e in listed if isinstance(e, dict) and _same(e.get(field), wanted)]
            before, cursor = cursor, page.get("next_cursor")
            if not cursor or cursor == before:
                break
        return found

    # One place each

    async def _get(self, path: str, params: Mapping[str, Any] | None, timeout: float) -> Answer | NoAnswer:
        given = {name: value for name, value in (params or {}).items() if value is not None}
        return await self._line.exchange("GET", path, params=given or None, timeout=timeout, repeatable=True)

    def _is_ours(self, got: Answer) -> bool:
        if self.plain:
            return True
        return bool(got.hub_id) and self.expected_hub_id in (None, got.hub_id)

    def _unavailable(self, got: Answer, body: dict[str, Any] | None) -> AriaError:
        """The error for an answer that isn't the data that was asked for."""
        if self.plain:
            outcome = _plain.judge_plain(got, op_id="", has_endpoint=True)
        else:
            outcome = _acknowledge.judge(got, expected=self.expected_hub_id, read=lambda _: None)
        outcome = self._told(outcome)
        problem = outcome.problem
        if outcome.kind == "refused" and problem is not None:
            words = shown_problem(problem)
            if got.status == 404:
                return NotFound(words)
            if got.status == 410:
                return CursorExpired(words)
            if got.status in (400, 422):
                return InvalidInput(words)
        state = "not_the_hub" if outcome.kind == "answered" else outcome.state
        return HubUnavailable(state, outcome.reason or reasons.GARBLED)

    def _told(self, outcome: Outcome) -> Outcome:
        problem = outcome.problem
        return msgspec.structs.replace(
            outcome,
            state=self._as_seen(outcome.state),
            reason=self._hidden(outcome.reason),
            problem=problem and self._hidden_problem(problem),
        )

    def _as_seen(self, state: HubState) -> HubState:
        return "embedded" if self.embedded and state in ("online", "slow", "unknown") else state

    def _hidden(self, text: str) -> str:
        """No token in any sentence, not even if the server sent it back."""
        return text.replace(self._token, "[token]") if len(self._token) >= _SECRET else text

    def _hidden_problem(self, problem: Problem) -> Problem:
        return msgspec.structs.replace(
            problem,
            title=self._hidden(problem.title),
            detail=self._hidden(problem.detail),
            errors=[{k: self._hidden(v) for k, v in e.items()} for e in problem.errors],
        )


def _user_agent() -> str:
    from aria_tui import __version__

    return f"aria-tui/{__version__}"


def _envelope(client_id: str) -> bytes:
    return b'{"client_id":' + msgspec.json.encode(client_id) + b',"ops":['


def _queue_path(operation: str) -> str | None:
    """None for a name that can't be part of a path; a stranger may have written anything."""
    return f"/api/queue/{operation}" if re.fullmatch(r"[A-Za-z0-9_-]{1,100}", operation) else None


def _key(op_id: str) -> str | None:
    """The Idempotency-Key, quoted; bare where a quote would need escaping; None if it can't stand in a header."""
    if not re.fullmatch(r"[\x21-\x7e]{1,255}", op_id):
        return None
    return op_id if re.search(r'[\\"]', op_id) else f'"{op_id}"'


def _same(found: Any, wanted: str) -> bool:
    return isinstance(found, str) and found.strip() == wanted.strip()
