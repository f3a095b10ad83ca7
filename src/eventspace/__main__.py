"""``python -m eventspace``: the command line."""

from __future__ import annotations

from eventspace.cli import main

if __name__ == "__main__":
    main()
