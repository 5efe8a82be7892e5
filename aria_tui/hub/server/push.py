"""``aria hub push``: moves an account's contents from a Hub's file to another Hub, over its ordinary HTTP contract.

Every operation's key is made of the source Hub, the entity and its version, so that pushing twice, or again after it
was killed, applies each once; how far it came is kept beside the file, so that it goes on from there. What was changed
on both sides since an earlier push is left as it is and reported: nothing is guessed.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from aria_tui.errors import AriaError
from aria_tui.hub import contract
from aria_tui.hub.server import entities
from aria_tui.hub.server.storage.base import Row, Storage

BATCH_OPS = 500
BATCH_BYTES = 800 * 1024
PAGE = 500
TRIES = 6
_NAMESPACE = uuid.UUID("5b1e9d52-5f0c-4c41-9d35-0c9df1c0a3a9")
_JSON = {"Content-Type": "application/json"}
_DONE = ("applied", "duplicate", "superseded")


class Pushed(msgspec.Struct):
    """``done`` of ``total`` changes are at the other Hub; ``conflicts`` names what differs there and was left."""

    done: int = 0
    total: int = 0
    conflicts: list[str] = []


class _Place(msgspec.Struct):
    """How far an earlier push came: the source's epoch, and its change number there."""

    epoch: str = ""
    seq: int = 0


class Push:
    """One push from ``account`` of an open storage to the Hub at ``url``."""

    def __init__(self, storage: Storage, account: str, url: str, token: str, folder: Path) -> None:
        self._storage, self._account, self._folder = storage, account, folder
        headers = {"Authorization": f"Bearer {token}"}
        self._client = httpx.AsyncClient(base_url=url, headers=headers, timeout=30, follow_redirects=False)
        self._target = ""
        self.state = Pushed(conflicts=[])

    async def run(self, progress: Callable[[Pushed], None] | None = None) -> Pushed:
        """Pushes everything that changed since the last push. ``progress`` is called with ``state`` after each batch.

        Raises AriaError, which says that it may be run again.
        """
        async with self._client:
            self._source, epoch = await self._storage.identity()
            meta = await self._meta()
            self._target = meta.hub_id
            if self._target == self._source:
                raise AriaError("this is the same Hub: there is nothing to push")
            file = self._folder / f"push-{self._target}-{meta.account}.json"
            place = _read_place(file)
            since = place.seq if place.epoch == epoch else 0
            last = await self._storage.seq(self._account)
            self.state.total = last - since
            start = since
            while True:
                _, rows = await self._storage.changes(self._account, since, PAGE)
                if not rows:
                    break
                await self._send(rows)
                since = rows[-1].seq
                self.state.done = since - start
                _write_place(file, _Place(epoch, since))
                if progress is not None:
                    progress(self.state)
            self.state.done = self.state.total = max(self.state.total, since - start)
        return self.state

    async def _meta(self) -> contract.Meta:
        answer = await self._request("GET", "/api/meta")
        try:
            return msgspec.json.decode(answer.content, type=contract.Meta)
        except msgspec.DecodeError:
            raise AriaError(f"{self._client.base_url} does not answer as a Hub of this kind") from None

    async def _send(self, rows: list[Row]) -> None:
        ops = [op for row in rows for op in await self._operations(row)]
        by_key = {op["op_id"]: op for op in ops}
        again: list[dict[str, Any]] = []
        for batch in _batches(ops):
            for result in await self._batch(batch):
                if result["status"] in _DONE:
                    continue
                op = by_key[result["op_id"]]
                if (update := self._as_update(op, result)) is not None:
                    again.append(update)
                elif not self._is_equal(op, result):
                    self.state.conflicts.append(result["entity"])
        for batch in _batches(again):
            results = await self._batch(batch)
            self.state.conflicts += [result["entity"] for result in results if result["status"] not in _DONE]

    async def _operations(self, row: Row) -> list[dict[str, Any]]:
        kind, _, name = row.entity.partition(":")
        if row.deleted_at is not None:
            return [self._op(row.entity, row.version, f"delete_{kind}", {"id": name})]
        document = entities.decode(row)
        version = document.pop("version")
        document.pop("updated_at", None)
        match kind:
            case "task":
                return [self._op(row.entity, version, "create_task", document)]
            case "insight":
                return [self._op(row.entity, version, "capture_insight", document)]
            case "activity":
                return [self._op(row.entity, version, "record_activity", document)]
        revisions = [msgspec.json.decode(doc) for doc in await self._storage.revisions(self._account, row.entity)]
        for revision in revisions:
            revision.pop("version")
        revisions.sort(key=lambda revision: entities.moment(revision["captured_at"]))
        ops = []
        for revision in [*revisions, document]:
            digest = contract.fingerprint("store_briefing", revision)
            ops.append(self._op(row.entity, digest, "store_briefing", revision))
        return ops

    def _op(
        self, entity: str, version: int | str, operation: str, payload: dict[str, Any], **more: Any
    ) -> dict[str, Any]:
        key = uuid.uuid5(_NAMESPACE, f"{self._source} {self._account} {self._target} {entity} {version} {operation}")
        return {"op_id": str(key), "operation": operation, "entity": entity, "payload": payload, **more}

    def _as_update(self, op: dict[str, Any], result: dict[str, Any]) -> dict[str, Any] | None:
        """A create that met an earlier push of the same: an update, if nobody changed it there since."""
        current = result.get("current")
        operation = {"create_task": "update_task", "capture_insight": "update_insight"}.get(op["operation"])
        if operation is None or not isinstance(current, dict) or current.get("version") != 1:
            return None
        allowed = contract.TASK_CHANGES if operation == "update_task" else contract.INSIGHT_CHANGES
        changes = {name: value for name, value in op["payload"].items() if name in allowed}
        payload = {"id": op["payload"]["id"], "changes": changes}
        return self._op(op["entity"], contract.fingerprint(operation, payload), operation, payload, base_version=1)

    @staticmethod
    def _is_equal(op: dict[str, Any], result: dict[str, Any]) -> bool:
        current = result.get("current")
        if not isinstance(current, dict):
            return bool(op["operation"].startswith("delete_"))
        return all(current.get(name) == value for name, value in op["payload"].items() if name != "created_at")

    async def _batch(self, ops: list[dict[str, Any]]) -> list[dict[str, Any]]:
        answer = await self._request("POST", "/api/queue", msgspec.json.encode({"client_id": "push", "ops": ops}))
        results: list[dict[str, Any]] = answer.json().get("results", [])
        missing = len(ops) - len(results)
        if missing or any(result["status"] == "retry" for result in results):
            raise AriaError("the Hub did not take everything; run it again, it goes on where it stopped")
        return results

    async def _request(self, method: str, path: str, body: bytes | None = None) -> httpx.Response:
        """One request, tried again while the Hub is away or asks to wait; a Hub that was never met is not waited for.
        Raises AriaError."""
        why, wait = "", 0.0
        for attempt in range(TRIES):
            await asyncio.sleep(wait)
            wait = min(30.0, 0.5 * 2**attempt)
            try:
                answer = await self._client.request(method, path, content=body, headers=_JSON)
            except httpx.TransportError as error:
                why = f"can't be reached ({str(error) or type(error).__name__})"
                if not self._target:
                    break
            else:
                hub_id = answer.headers.get("aria-hub-id", "")
                if answer.status_code == 200 and hub_id and (not self._target or hub_id == self._target):
                    return answer
                why = f"HTTP {answer.status_code}"
                if answer.status_code in (401, 403, 404, 413, 422):
                    break
                wait = _retry_after(answer) or wait
        raise AriaError(f"{self._client.base_url}: {why}; run it again, it goes on where it stopped")


def _batches(ops: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for op in ops:
        length = len(msgspec.json.encode(op)) + 1
        if batch and (len(batch) >= BATCH_OPS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(op)
        size += length
    if batch:
        yield batch


def _retry_after(answer: httpx.Response) -> float:
    given = answer.headers.get("retry-after", "")
    return min(60.0, float(given)) if given.isascii() and given.isdigit() else 0.0


def _read_place(file: Path) -> _Place:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Place)
    except (OSError, msgspec.DecodeError):
        return _Place()


def _write_place(file: Path, place: _Place) -> None:
    part = file.with_name(f"{file.name}.{time.time_ns()}")
    part.write_bytes(msgspec.json.encode(place))
    part.replace(file)
