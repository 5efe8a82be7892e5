"""The Hub without HTTP: applies operations, finds what was recorded, knows its identity and its clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from aria_tui.hub import contract
from aria_tui.hub.server import entities, problems
from aria_tui.hub.server.auth import Doorkeeper
from aria_tui.hub.server.incoming import OP_ID, Incoming
from aria_tui.hub.server.judge import Court, Verdict
from aria_tui.hub.server.limits import Buckets
from aria_tui.hub.server.metrics import Metrics
from aria_tui.hub.server.problems import Refusal
from aria_tui.hub.server.storage.base import Record, Storage, StorageRefused

_IDENTITY_SECONDS = 1.0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How one Hub is run."""

    open_account: str | None = None
    """Requests need no token and belong to this account: the embedded Hub, or a test's on loopback."""
    operations_per_second: float = 10_000
    operations_burst: float = 200_000
    """An account's token bucket; a drain of 10,000 at full speed never meets its bottom."""
    request_seconds: float = 30
    """How long a request may take in all."""
    body_seconds: float = 20
    """How long its body may take to come."""
    key_days: int = 90
    delta_days: int = 90
    metrics: bool = False


def now_ms() -> int:
    """The Hub's clock: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Hub:
    """One Hub over one storage. Stateless but for counters, so that any number of replicas may share a database."""

    features: tuple[str, ...] = (contract.IF_REACHED,)
    """What it tells that it can do beside the contract's first version."""

    def __init__(self, storage: Storage, options: Options | None = None, *, clock: Callable[[], int] = now_ms) -> None:
        self.storage = storage
        self.options = options or Options()
        self.clock = clock
        self.doorkeeper = Doorkeeper(storage)
        self.metrics = Metrics()
        self.hub_id = self.epoch = ""
        self._identified = float("-inf")
        self._buckets = Buckets(self.options.operations_per_second, self.options.operations_burst)

    async def identify(self, *, afresh: bool = False) -> None:
        """Reads hub_id and epoch again where they are older than a second: `aria hub restored` changes the epoch."""
        now = time.monotonic()
        if afresh or now - self._identified > _IDENTITY_SECONDS:
            self.hub_id, self.epoch = await self.storage.identity()
            self._identified = now

    async def check_epoch(self, epoch: str) -> None:
        """Raises Refusal (412) where the Hub was restored since it had that epoch."""
        if epoch != self.epoch:
            await self.identify(afresh=True)
        if epoch != self.epoch:
            raise problems.restored("the Hub's epoch is another one")

    async def apply(self, account: str, ops: Sequence[Incoming], *, least: int = 0) -> tuple[list[Verdict], int]:
        """Judges and commits operations in order; gives their verdicts and the account's last change number.

        Raises Refusal (429; 412 where that number is below ``least``), StorageUnavailable. Where the database can't
        take what all of them together want, each is tried alone, so that one operation's failure undoes only itself.
        """
        court = Court(ops, self.clock(), lambda count: self.charge(account, count), least)
        op_ids = list({op.op_id for op in ops})
        names = list({op.entity for op in ops if op.broken is None})
        try:
            writes = await self.storage.transact(account, op_ids, names, court)
        except StorageRefused:
            if len(ops) < 2:
                raise
            return await self._one_by_one(account, ops)
        for verdict in court.verdicts:
            name = verdict.op.operation if verdict.op.operation in contract.OPERATIONS else "-"
            self.metrics.operation(name, "duplicate" if verdict.replayed else verdict.status)
        return court.verdicts, writes.seq

    async def _one_by_one(self, account: str, ops: Sequence[Incoming]) -> tuple[list[Verdict], int]:
        verdicts: list[Verdict] = []
        blocked: dict[str, str] = {}
        for op in ops:
            if op.entity in blocked and op.op_id not in await self.storage.records(account, [op.op_id]):
                verdicts.append(Verdict(op, "skipped", refusal=problems.blocked(blocked[op.entity])))
                continue
            try:
                found, _ = await self.apply(account, [op])
            except StorageRefused:
                found = [Verdict(op, "retry", refusal=problems.failed())]
            if found[0].refusal is not None:
                blocked[op.entity] = op.op_id
            verdicts += found
        return verdicts, await self.storage.seq(account)

    def charge(self, account: str, count: int = 1) -> None:
        """Takes from the account's bucket. Raises Refusal (429)."""
        if wait := self._buckets.take(account, count):
            raise problems.slow_down("this account sends faster than it may", wait)

    async def recorded(self, account: str, op_id: str) -> Record:
        """What an operation did. Raises Refusal (404) when the Hub has never seen it."""
        found = await self.storage.records(account, [op_id]) if OP_ID.match(op_id) else {}
        if op_id not in found:
            raise problems.not_found(f"operation {op_id}")
        return found[op_id]

    async def document(self, account: str, record: Record) -> msgspec.Raw | None:
        """The entity as it was after the recorded operation. Of an insight only what it is now is kept."""
        if record.version is None or record.operation.startswith("delete_"):
            return None
        row = await self.storage.row(account, record.entity)
        if row is not None and row.doc and (row.version == record.version or row.kind == "insight"):
            return msgspec.Raw(row.doc.encode())
        doc = await self.storage.revision(account, record.entity, f"v:{record.version}")
        return msgspec.Raw(doc.encode()) if doc else None

    def now_text(self) -> str:
        return entities.time_text(self.clock())


__all__ = ["Hub", "Options", "Refusal", "now_ms"]
