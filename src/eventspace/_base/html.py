"""What notebooks show: text as HTML, in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = "margin: 0; white-space: pre-wrap; background: none; color: inherit"
STRIP = "display: flex; width: 24em; max-width: 100%; height: 0.8em; margin: 0.3em 0"
CELL = "box-sizing: border-box; border: 1px solid currentColor; min-width: 2px"


def in_html(text: str) -> str:
    """A text, line by line, the first one in bold."""
    first, line_break, rest = text.partition("\n")
    return f'<pre style="{STYLE}"><b>{escape(first)}</b>{line_break}{escape(rest)}</pre>'


def strip(masses: Sequence[float], within: Sequence[bool]) -> str:
    """A bar of all events, each as wide as its mass; those within a set are filled."""
    cells = "".join(
        f'<div title="event {d}: {mass:.1%}" style="{CELL}; flex: {mass:.4f}'
        f'{"; background: currentColor" if filled else ""}"></div>'
        for d, (mass, filled) in enumerate(zip(masses, within, strict=True))
    )
    return f'<div style="{STRIP}">{cells}</div>'
