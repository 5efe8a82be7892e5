#!python
"""The command ``aria`` as it is installed. The wrapper that older pip's make imports more, 5 ms at each prompt."""

import sys

from aria_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
