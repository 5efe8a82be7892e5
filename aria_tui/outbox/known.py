"""What is known of a Hub from its own word, and from what was made there since."""

from __future__ import annotations

from aria_tui.hub.contract import Limits, Meta
from aria_tui.models import Frozen


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


class Made(Frozen, frozen=True):
    """``count`` things were made at ``target``, by a request ``before`` which that much was known of it."""

    target: str
    before: Known
    count: int

    @property
    def seq(self) -> int:
        """The Hub's last change number, at least."""
        return self.before.seq + self.count
