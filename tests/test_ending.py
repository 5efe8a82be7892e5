"""The end of a process that waits for nothing any more."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.helpers.waiting import wait_until

PARENT = """
import subprocess, sys
from aria_tui.ending import end_now
for alone, what in (True, "sleep 60 & wait"), (False, "exec sleep 60"):
    child = subprocess.Popen(["sh", "-c", what], start_new_session=alone, stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
end_now(7)
"""


def _there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_was_started_goes_with_it() -> None:
    """One in a session of its own, with what it started itself, and one in ours."""
    ended = subprocess.run([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, timeout=60, check=False)
    assert ended.returncode == 7
    pids = [int(word) for word in ended.stdout.split()]
    assert len(pids) == 2
    wait_until(lambda: not any(map(_there, pids)), 10, "the processes to be gone")
