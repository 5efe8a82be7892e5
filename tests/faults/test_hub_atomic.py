"""A Hub that is killed at any statement of a write: key, effect and change row are there together or not at all."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.faults.reference import ReferenceHub

TASK = "00000000-0000-4000-8000-000000000001"
OPS: list[dict[str, Any]] = [
    {"op_id": "k1", "operation": "create_task", "payload": {"id": TASK, "title": "a"}},
    {"op_id": "k2", "operation": "capture_insight", "payload": {"content": "an idea"}},
    {"op_id": "k3", "operation": "update_task",
     "payload": {"id": TASK, "changes": {"title": "b"}}},
    {"op_id": "k4", "operation": "store_briefing", "payload": {"date": "2026-11-30", "content": "c"}},
    {"op_id": "k5", "operation": "delete_task", "payload": {"id": TASK}},
]  # fmt: skip


class Images:
    """Copies of the database's files at each statement: what a SIGKILL at that moment leaves."""

    def __init__(self, hub: ReferenceHub, folder: Path) -> None:
        self.hub, self.folder, self.count = hub, folder, 0

    def start(self) -> None:
        assert self.hub.storage._connection is not None
        self.hub.storage._connection.set_trace_callback(self.take)

    def stop(self) -> None:
        assert self.hub.storage._connection is not None
        self.hub.storage._connection.set_trace_callback(None)
        self.take("the end")

    def take(self, _: str) -> None:
        self.count += 1
        there = self.folder / f"{self.count:04}"
        there.mkdir()
        for end in ("-journal", ""):
            source = Path(f"{self.hub.path}{end}")
            if source.exists():
                shutil.copy(source, there / f"hub.db{end}")


def disagreement(file: Path) -> str:
    """Where keys and effects don't fit each other, or nothing."""
    db = sqlite3.connect(file)
    try:
        keys = {op: (entity, version) for op, entity, version in
                db.execute("SELECT op_id, entity, version FROM operations")}  # fmt: skip
        versions = dict(db.execute("SELECT entity, version FROM entities"))
        seqs = [seq for (seq,) in db.execute("SELECT seq FROM entities UNION ALL SELECT seq FROM operations")]
        last = db.execute("SELECT max(seq) FROM accounts").fetchone()[0]
    finally:
        db.close()
    newest: dict[str, int] = {}
    for entity, version in keys.values():
        newest[entity] = max(newest.get(entity, 0), version or 0)
    if newest != versions:
        return f"by keys {newest}, by effects {versions}"
    return "" if max(seqs, default=0) == (last or 0) else f"changes {seqs}, the account's last {last}"


@pytest.mark.case("B01")
async def test_after_a_kill_at_any_statement_a_resend_gives_exactly_one_effect(tmp_path: Path) -> None:
    hub = await ReferenceHub.start(tmp_path / "hub.db")
    token = await hub.token("anna")
    images = Images(hub, tmp_path / "images")
    images.folder.mkdir()
    images.start()
    told = [await post(hub, token, [op]) for op in OPS[:2]]
    told.append(await post(hub, token, OPS[2:]))
    images.stop()
    expected = await contents(hub)
    await hub.close()
    assert [r["status"] for answer in told for r in answer] == ["applied"] * 5
    assert images.count > 20
    for image in sorted(images.folder.iterdir()):
        wrong = disagreement(image / "hub.db")
        assert not wrong, f"{image.name}: {wrong}"
        restarted = await ReferenceHub.start(image / "hub.db")
        again = await post(restarted, token, OPS)
        assert {result["status"] for result in again} <= {"applied", "duplicate"}, again
        assert await contents(restarted) == expected
        await restarted.close()
        assert not disagreement(image / "hub.db")


async def post(hub: ReferenceHub, token: str, ops: list[dict[str, Any]]) -> list[dict[str, Any]]:
    import httpx

    async with httpx.AsyncClient(transport=hub.transport, base_url="http://hub") as client:
        answer = await client.post(
            "/api/queue", headers={"Authorization": f"Bearer {token}"}, json={"client_id": "t", "ops": ops}
        )
    assert answer.status_code == 200, answer.text
    return list(answer.json()["results"])


async def contents(hub: ReferenceHub) -> list[tuple[Any, ...]]:
    """What the Hub holds, without times: entity, version, whether it is gone."""
    rows = await hub.storage._all("SELECT entity, version, deleted_at IS NULL FROM entities ORDER BY entity")
    keys = await hub.storage._all("SELECT op_id, status, version FROM operations ORDER BY op_id")
    return [*rows, *keys]
