"""Progress for people: a bar on a terminal or in a notebook, nothing in a log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from eventspace._base.notebook_bar import kernel_shell, notebook_bar

PATIENCE = 1.0  # seconds before a bar appears


def watched() -> bool:
    """Whether a person is there to see a bar."""
    return sys.stderr.isatty() or kernel_shell() is not None


@contextmanager
def bar(title: str, total: int | None, show: bool | None) -> Iterator[Callable[[int, str], None]]:
    """Give a function ``update(done, note)``; ``show`` None means: if a person watches.

    The bar appears only once the work has lasted a second, and shows the time left; where nobody
    knows the ``total``, what is done so far.
    """
    if not (watched() if show is None else show):
        yield lambda done, note: None
        return
    if kernel_shell() is not None:
        with notebook_bar(title, total, PATIENCE) as update:
            yield update
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    console = Console(stderr=True, force_terminal=show)
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task(title, total=total, note="")
    soon = Timer(PATIENCE, progress.start)  # also while the first step still lasts
    soon.daemon = True
    soon.start()
    try:
        yield lambda done, note: progress.update(task, completed=done, note=note)
    finally:
        soon.cancel()
        soon.join()
        progress.stop()
