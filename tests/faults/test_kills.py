"""``kill -9`` at random points; each acknowledgement was noted outside the process."""

from __future__ import annotations

import pytest

from tests.faults.kills import kill_many
from tests.helpers.aria import Aria
from tests.helpers.hub import HubProcess

KILLS = 50


@pytest.mark.case("Q01")
def test_nothing_acknowledged_is_lost_or_doubled_over_fifty_kills(aria: Aria, hub: HubProcess) -> None:
    toll = kill_many(aria, hub, KILLS, seed=20261130)
    assert not toll.wrong, "\n".join(toll.wrong)
    assert toll.acknowledged > KILLS
