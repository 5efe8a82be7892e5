"""``python -m aria_tui.cli.tethered …``: a command that ends with whoever started it.

The starter keeps the other end of its standard input; when that closes, for whatever reason (``kill -9`` too), this
process gets SIGTERM and ends as it would by hand.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from aria_tui.cli import main


def _wait_for_the_end() -> None:
    while os.read(0, 4096):  # not by sys.stdin: its lock, held here, would break the interpreter's end
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_wait_for_the_end, name="tether", daemon=True).start()
    sys.exit(main(sys.argv[1:]))
