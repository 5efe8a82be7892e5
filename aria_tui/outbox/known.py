"""What is known of a Hub from its own word, and from what was made there since."""

from __future__ import annotations

import aiosqlite
import msgspec

from aria_tui.hub.contract import Limits, Meta
from aria_tui.models import Frozen
from aria_tui.outbox import state


class Known(Frozen, frozen=True, kw_only=True):
    """What a target's Hub last said about itself; ``seq`` is the highest seen in ``epoch``."""

    hub_id: str
    account: str
    epoch: str
    seq: int
    api: int
    operations: dict[str, int]
    limits: Limits
    key_days: int
    features: tuple[str, ...] = ()
    restored: str = ""
    """Why draining waits for `aria queue verify`, or empty."""

    def same(self, meta: Meta) -> bool:
        """It is the Hub, account and epoch that says this of itself now."""
        return (self.hub_id, self.account, self.epoch) == (meta.hub_id, meta.account, meta.epoch)

    def over(self, older: Known | None) -> Known:
        """This with what an ``older`` word of the same epoch says all the same: how far it was seen, since what was
        made meanwhile is counted there, and that it was restored."""
        if older is None or older.epoch != self.epoch:
            return self
        return msgspec.structs.replace(self, seq=max(self.seq, older.seq), restored=self.restored or older.restored)


class Made(Frozen, frozen=True):
    """``count`` things were made at ``target``, by a request ``before`` which that much was known of it."""

    target: str
    before: Known
    count: int

    @property
    def seq(self) -> int:
        """The Hub's last change number, at least."""
        return self.before.seq + self.count


async def put_in(connection: aiosqlite.Connection, target: str, new: Known) -> None:
    """Keeps what a Hub says of itself over what is there, inside a transaction of the caller's."""
    await state.put_in(connection, f"hub:{target}", new.over(await _stored(connection, target)))


async def raise_in(connection: aiosqlite.Connection, made: Made) -> None:
    """Keeps that things were made, in the transaction that acknowledges them. Of what another process wrote there only
    the number is changed."""
    kept = await _stored(connection, made.target) if made.count else None
    if kept is not None and kept.epoch == made.before.epoch and kept.seq < made.seq:
        await state.put_in(connection, f"hub:{made.target}", msgspec.structs.replace(kept, seq=made.seq))


async def _stored(connection: aiosqlite.Connection, target: str) -> Known | None:
    sql = "SELECT value FROM state WHERE name = ?"
    for (value,) in await connection.execute_fetchall(sql, (f"hub:{target}",)):
        return state.decoded(value, Known)
    return None
