"""The torture Hub does what its plan says, and only that (faults.py)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from aria_tui.errors import ConfigError
from aria_tui.hub import contract
from aria_tui.hub.server.faults import Dice, Fault, Plan, arrived, read
from tests.hub.server.processes import Served
from tests.hub.server.test_batch import op
from tests.hub.server.test_reads import uid

Start = Callable[..., Served]


@pytest.fixture
def hub(tmp_path: Path, serve: Start) -> Served:
    (tmp_path / "plan.toml").write_text("seed = 1\n")
    return serve(f"sqlite:///{tmp_path / 'hub.db'}", "--no-token", "--faults", str(tmp_path / "plan.toml"))


def plan(hub: Served, *faults: dict[str, Any], **more: Any) -> None:
    answer = httpx.put(f"{hub.url}/faults", json={"faults": list(faults), **more})
    assert answer.status_code == 200, answer.text


def write(hub: Served, key: str = "k") -> httpx.Response:
    return httpx.post(f"{hub.url}/api/tasks", json={"title": "x"}, headers={"Idempotency-Key": key})


def tasks(hub: Served) -> int:
    return len(httpx.get(f"{hub.url}/api/tasks").json()["tasks"])


def test_drop_is_before_and_cut_is_after(hub: Served) -> None:
    plan(hub, {"kind": "drop", "method": "POST", "times": 1}, {"kind": "cut", "method": "POST", "times": 1})
    for there in (0, 1):
        with pytest.raises(httpx.TransportError):
            write(hub)
        assert tasks(hub) == there
    assert write(hub).headers["idempotent-replayed"] == "true"
    counts = httpx.get(f"{hub.url}/faults").json()["faults"]
    assert [(count["matched"], count["happened"]) for count in counts] == [(3, 1), (2, 1)]
    log = httpx.get(f"{hub.url}/faults/log").json()["requests"]
    posts = [(entry["keys"], entry["fault"], entry["status"]) for entry in log if entry["method"] == "POST"]
    assert posts == [(["k"], "drop", None), (["k"], "cut", None), (["k"], None, 201)]


@pytest.mark.parametrize("how", ["short", "chunked", "gzip"])
def test_answers_that_are_cut(hub: Served, how: str) -> None:
    plan(hub, {"kind": "cut", "how": how, "method": "POST"})
    with pytest.raises(httpx.HTTPError):
        write(hub)
    assert tasks(hub) == 1


def test_half_a_document_and_none(hub: Served) -> None:
    plan(hub, {"kind": "cut", "how": "unframed", "times": 1}, {"kind": "cut", "how": "empty", "times": 1})
    half, empty = write(hub), write(hub)
    assert half.status_code == 201 and half.content
    with pytest.raises(json.JSONDecodeError):
        half.json()
    assert (empty.status_code, empty.content) == (201, b"")


def test_portals_redirects_and_refusals(hub: Served) -> None:
    plan(hub, {"kind": "portal", "path": "/api/*", "times": 1}, {"kind": "portal", "body": "list", "times": 1},
         {"kind": "redirect", "status": 307, "location": "http://127.0.0.1:9/x", "times": 1},
         {"kind": "status", "status": 429, "retry_after": "soon", "times": 1},
         {"kind": "status", "status": 401, "times": 1}, {"kind": "status", "status": 502, "foreign": True})  # fmt: skip
    portal, listed, moved, slow, refused, proxy = (write(hub) for _ in range(6))
    assert (portal.status_code, portal.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert listed.json() == []
    assert (moved.status_code, moved.headers["location"]) == (307, "http://127.0.0.1:9/x")
    assert (slow.status_code, slow.headers["retry-after"], slow.json()["type"]) == (429, "soon", "/problems/slow-down")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert refused.headers["aria-hub-id"]
    assert (proxy.status_code, "aria-hub-id" in proxy.headers) == (502, False)
    plan(hub)
    assert tasks(hub) == 0


def batch(hub: Served) -> list[tuple[str, str]]:
    ops = [op(str(n), "create_task", {"id": uid(n), "title": "bad" if n == 1 else "good"}) for n in range(4)]
    ops.append(op("4", "complete_task", {"id": uid(1)}))
    answer = httpx.post(f"{hub.url}/api/queue", json={"ops": ops})
    return [(result["op_id"], result["status"]) for result in answer.json()["results"]]


def test_partial_batches(hub: Served) -> None:
    partial = {"kind": "partial", "path": "/api/queue", "times": 1}
    plan(hub, {**partial, "keep": 2}, {**partial, "keep": 1, "applied": "all"})
    assert batch(hub) == [("0", "applied"), ("1", "applied")]
    assert tasks(hub) == 2
    assert batch(hub) == [("0", "duplicate")]
    assert tasks(hub) == 4


def test_one_operation_is_refused_and_its_followers_skipped(hub: Served) -> None:
    plan(hub, {"kind": "refuse", "contains": '"bad"', "times": 1})
    assert batch(hub) == [("0", "applied"), ("1", "retry"), ("2", "applied"), ("3", "applied"), ("4", "skipped")]
    assert [status for _, status in batch(hub)] == ["duplicate", "applied", "duplicate", "duplicate", "applied"]


def test_duplicates_and_skew(hub: Served) -> None:
    plan(hub, {"kind": "duplicate", "copies": 5, "method": "POST"}, clock_skew=-86_400)
    assert write(hub).status_code == 201
    assert tasks(hub) == 1
    meta = httpx.get(f"{hub.url}/api/meta").json()
    ahead = datetime.now(UTC) - contract.read_time(meta["server_time"])
    assert timedelta(hours=23) < ahead < timedelta(hours=25)
    assert meta["seq"] == 1


def test_counts_chances_and_seeds() -> None:
    request = arrived("POST", "/api/tasks", b"{}", None)

    def thrown(seed: int) -> list[bool]:
        dice = Dice(Plan(seed=seed, faults=[Fault(kind="drop", probability=0.5, after=2, times=20)]))
        return [dice.throw(request) is not None for _ in range(100)]

    assert thrown(1) == thrown(1) != thrown(2)
    assert sum(thrown(1)) == 20 and not any(thrown(1)[:2])
    assert not Fault(kind="drop", path="/api/queue*").fits(request)
    assert Fault(kind="drop", path="/api/*", method="post").fits(request)


def test_a_plan_that_makes_no_sense(tmp_path: Path) -> None:
    for text in ("[[faults]]\nkind = 'explode'\n", "x = 1\n", "= =\n", "[[faults]]\nkind = 'drop'\nprobability = 2\n"):
        (tmp_path / "plan.toml").write_text(text)
        with pytest.raises(ConfigError, match=r"plan\.toml"):
            read(tmp_path / "plan.toml")
