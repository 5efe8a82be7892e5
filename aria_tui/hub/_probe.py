"""Who answers at the Hub's address: ours, another one, a plain Hub, or something that is no Hub at all."""

from __future__ import annotations

import msgspec

from aria_tui.hub import _reasons as reasons
from aria_tui.hub._acknowledge import SLOW_MS, judge_outage, read_object, read_problem, refusal
from aria_tui.hub._outcomes import Answer, NoAnswer, Outcome, Probe
from aria_tui.hub._plain import plain_problem
from aria_tui.hub.contract import API_VERSION, Limits, Meta
from aria_tui.models import HubState


def judge_meta(got: Answer | NoAnswer, *, expected: str | None, plain_wanted: bool) -> Probe | None:
    """What ``GET /api/meta`` says; None: it may be a plain Hub, look at its tasks."""
    if isinstance(got, NoAnswer):
        return Probe(state=got.state, reason=got.reason)
    if 200 <= got.status < 300:
        return _judge_success(got, expected)
    if got.hub_id and expected not in (None, got.hub_id):
        return _said(got, Probe(state="not_the_hub", reason=reasons.OTHER_HUB))
    if (outage := judge_outage(got, ours=bool(got.hub_id))) is not None:
        return _from(outage, offline=True)
    if got.hub_id and (problem := read_problem(got)) is not None:
        return _from(refusal(got, problem), offline=True)
    if got.status == 404 and not got.hub_id:
        if expected is None:
            return None
        return _said(got, Probe(state="not_the_hub", reason=reasons.WAS_OURS.format(status=got.status)))
    return _refused_by_plain(got, expected, plain_wanted)


def judge_tasks(got: Answer | NoAnswer, *, agreed: bool) -> Probe:
    """What ``GET /api/tasks?limit=1`` says, after a 404 at ``/api/meta``. A plain Hub needs the user's word too."""
    if isinstance(got, NoAnswer):
        return Probe(state=got.state, reason=got.reason)
    if (outage := judge_outage(got, ours=True)) is not None:
        return _from(outage, offline=True)
    body = read_object(got)
    if 200 <= got.status < 300 and body is not None and _lists_tasks(body):
        if agreed:
            return _said(got, Probe(state=_pace(got), plain=True, may_send=True))
        return _said(got, Probe(state="not_the_hub", reason=reasons.PLAIN_NEEDS_CONSENT, plain=True))
    return _refused_by_plain(got, None, agreed)


def _judge_success(got: Answer, expected: str | None) -> Probe:
    meta = read_meta(got)
    if got.fault:
        return _said(got, Probe(state="offline" if got.hub_id else "not_the_hub", reason=got.fault))
    if meta is None or not got.hub_id or meta.hub_id != got.hub_id:
        return _said(got, Probe(state="not_the_hub", reason=reasons.LOGIN_PAGE))
    if expected not in (None, meta.hub_id):
        return _said(got, Probe(state="not_the_hub", reason=reasons.OTHER_HUB, meta=meta))
    if meta.api != API_VERSION:
        words = reasons.OTHER_API.format(version=meta.api)
        return _said(got, Probe(state="not_the_hub", reason=words, meta=meta))
    return _said(got, Probe(state=_pace(got), meta=meta, may_send=True))


def _refused_by_plain(got: Answer, expected: str | None, plain_wanted: bool) -> Probe:
    """401 and 403 of a plain Hub, if the user said that there is one; else a page from elsewhere."""
    body = read_object(got)
    if got.status in (401, 403) and plain_wanted and expected is None and body is not None:
        return _from(refusal(got, plain_problem(body, got.status)))
    return _said(got, Probe(state="not_the_hub", reason=reasons.LOGIN_PAGE_STATUS.format(status=got.status)))


def read_meta(got: Answer) -> Meta | None:
    """The Hub's word about itself, its limits made sane; None if it isn't one."""
    body = read_object(got)
    if body is None:
        return None
    try:
        meta = msgspec.convert({"limits": {}, "retention": {}, "operations": {}, "server_time": "", **body}, Meta)
    except msgspec.ValidationError:
        return None
    limits = Limits(batch_ops=max(1, meta.limits.batch_ops), body_bytes=max(1024, meta.limits.body_bytes))
    return msgspec.structs.replace(meta, limits=limits) if meta.hub_id else None


def _lists_tasks(body: dict[str, object]) -> bool:
    tasks = body.get("tasks")
    return isinstance(tasks, list) and all(isinstance(task, dict) for task in tasks)


def _pace(got: Answer) -> HubState:
    return "slow" if got.latency_ms > SLOW_MS else "online"


def _said(got: Answer, probe: Probe) -> Probe:
    return msgspec.structs.replace(probe, latency_ms=got.latency_ms)


def _from(outcome: Outcome, *, offline: bool = False) -> Probe:
    """An outcome as a probe; ``offline``: a Hub that can't say who it is can't be used now."""
    state: HubState = "offline" if offline and outcome.state == "online" else outcome.state
    wait_s = outcome.wait_s if outcome.kind == "wait" else None  # a portal's Retry-After is no word of the Hub's
    return Probe(state=state, reason=outcome.reason, latency_ms=outcome.latency_ms, wait_s=wait_s)
