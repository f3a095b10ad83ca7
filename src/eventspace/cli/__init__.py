"""The command line: a file for each group of commands, one place for mistakes.

This file imports nothing, for until :func:`main` watches for Ctrl-C it would be a traceback.
"""

from __future__ import annotations

import os


def main() -> None:
    """Run the command line as a shell does."""
    try:
        from eventspace.cli import interrupts

        interrupts.watch()
    except KeyboardInterrupt:
        os.write(2, b"eventspace: interrupted: nothing is written.\n")
        os._exit(130)
    from eventspace.cli.app import app
    from eventspace.cli.mistakes import run

    run(app)
