"""The command line. ``main`` answers what must be instant before anything else is imported.

``aria --version`` and ``aria status --short`` (a prompt asks for it at every line) need neither argparse nor
asyncio; everything else is in ``entry``, and each command's own imports are inside its module.
"""

import sys


def main(argv: list[str] | None = None) -> int:
    """Runs one command and gives its exit status (product.md: 0 done, 1 failure, 2 usage, 3 something still waits)."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        if arguments in (["--version"], ["-V"]):
            return _version()
        if arguments == ["status", "--short"]:
            from aria_tui.cli.short import run as run_short

            return run_short()
        if argv is None:
            from aria_tui.cli import interrupts

            interrupts.end_at_once()
        from aria_tui.cli.entry import run

        return run(arguments)
    except KeyboardInterrupt:  # while something was being imported
        return 130


def _version() -> int:
    from aria_tui import __version__

    try:
        print(f"aria {__version__}", flush=True)  # noqa: T201
    except (OSError, ValueError):  # a closed standard output is nobody's fault
        sys.stdout = None
    return 0
