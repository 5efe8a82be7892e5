"""``python -m aria_tui`` is the same program as ``aria``."""

import sys

from aria_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
