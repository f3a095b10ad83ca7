"""The memory of processes, without any other import: what measures adds nothing to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path


def memory(pid: int) -> float:
    """MB of a process and its children; what they share is counted once."""
    total = 0.0
    for process in family(pid):
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:  # it has just ended
            continue
        found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
        total += int(found[1]) / 1024 if found else 0.0
    return total


def family(pid: int) -> Iterator[int]:
    """A process, its children, and theirs."""
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))
