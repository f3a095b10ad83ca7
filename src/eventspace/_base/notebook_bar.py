"""A progress bar in a notebook: one output of the cell, which is empty again in the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from time import monotonic
from typing import Any

EVERY = 0.2  # seconds between two pictures

_last: list[str] = []  # the output that was shown last: other bars of the same cell take it over


def kernel_shell() -> Any:
    """The shell of the notebook that this process serves, or None; nothing is imported for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if getattr(shell, "kernel", None) is not None else None


@contextmanager
def notebook_bar(
    title: str, total: int | None, patience: float
) -> Iterator[Callable[[int, str], None]]:
    """Give a function ``update(done, note)``; the bar appears once the patience is at an end."""
    start = monotonic()
    next_, shown = start + patience, False

    def update(done: int, note: str) -> None:
        nonlocal next_, shown
        now = monotonic()
        if now >= next_:
            next_, shown = now + EVERY, True
            text = worded(title, done, total, now - start, note)
            show(text, pictured(text, done, total))

    try:
        yield update
    finally:
        if shown:
            show("", "")


def show(text: str, html: str) -> None:
    """Put something in the output of the running cell, in the place of what was there."""
    from IPython.display import display

    cell = f"eventspace-{kernel_shell().get_parent()['header']['msg_id']}"
    data = {"text/plain": text, "text/html": html}
    display(data, raw=True, display_id=cell, update=_last == [cell])
    _last[:] = [cell]


def worded(title: str, done: int, total: int | None, seconds: float, note: str) -> str:
    """How far it is, and how long it will take, in a line."""
    parts = [f"{title} {done:,}" if total is None else f"{title} {done:,} of {total:,}"]
    if total is not None and 0 < done < total:
        minutes, rest = divmod(round(seconds * (total - done) / done), 60)
        parts.append(f"{minutes}:{rest:02} left")
    return ", ".join([*parts, note] if note else parts)


def pictured(text: str, done: int, total: int | None) -> str:
    """The line with a bar before it, in the notebook's own colours."""
    known = "" if total is None else f' value="{done}" max="{total}"'
    style = "color: inherit; background: none"
    return f'<div style="{style}"><progress{known}></progress> {escape(text)}</div>'
