"""``kill -9`` at random points of a writing, sending, draining process; the account is kept by its parent."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.helpers.aria import Aria, end
from tests.helpers.hub import HubProcess


@dataclass
class Toll:
    """What became of the lives: counts, and what is wrong (nothing, it is hoped)."""

    kills: int = 0
    acknowledged: int = 0
    wrong: list[str] = field(default_factory=list)


def kill_many(
    aria: Aria,
    hub: HubProcess,
    kills: int,
    seed: int,
    longest: float = 0.4,
    told: Callable[[int], None] = lambda n: None,
) -> Toll:
    """Kills ``kills`` lives, drains what they left, and holds the Hub against the account."""
    aria.use(hub.url, hub.token)
    writer = replace(aria, command=(sys.executable, "-m", "tests.faults.writer"))
    toll = Toll()
    acks: list[str] = []
    begun: set[str] = set()
    process = subprocess.Popen(
        [*writer.command, str(kills), str(seed), str(longest)],
        env=aria.environment(), stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        for line in process.stdout:
            life = json.loads(line)
            acks += life["acks"]
            begun |= set(life["begun"])
            toll.kills += 1
            told(toll.kills)
        if process.wait(30) != 0:
            toll.wrong.append(f"the writer ended with {process.returncode}")
    finally:
        end(process)
    toll.acknowledged = len(acks)
    if toll.kills != kills:
        toll.wrong.append(f"{toll.kills} of {kills} lives were lived")
    with sqlite3.connect(aria.queue_file) as db:
        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            toll.wrong.append("the queue is damaged")
        for (payload,) in db.execute("SELECT payload FROM queue"):
            json.loads(payload)
    db.close()
    report = aria("sync", "--json").json
    if report["remaining"] or report["dead_letters"]:
        toll.wrong.append(f"not all could be delivered: {report}")
    found = Counter(row["content"] for row in hub.all("insights"))
    toll.wrong += [f"lost: {marker}" for marker in acks if marker not in found]
    toll.wrong += [f"twice: {marker}" for marker, times in found.items() if times > 1]
    toll.wrong += [f"from nowhere: {marker}" for marker in found if marker not in begun]
    return toll
