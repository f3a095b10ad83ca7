"""Influence of every item and the Hasse diagram of the classes, against all pairs.

The codes are drawn. "fitted": event d is in item i's set with the chance logistic(0.5 + 0.5 a_i +
0.6 b_d), a and b standard normal, which has the sizes of sets, the classes and the inclusions of
models fitted to MovieLens 100K. "uniform": any set alike. "small": any set of at most half of the
events.

All pairs: each item with every item, counted, and for the diagram each class with every larger one
(the classes are given), compiled as well. Where that takes long it is measured on a thousand random
rows, and multiplied.
One thread for everyone. Memory is the peak of a process of its own, beyond what it holds after
import, a warm-up and reading the codes.

    python -m benchmarks.order
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.timing import interleaved, median, publish, save, table
from eventspace._base.codes import pack
from eventspace._base.types import Codes
from eventspace.logic import inclusion
from eventspace.logic.inclusion import Classes

CASES = (
    ("fitted", 16, 1_682),
    ("fitted", 16, 100_000),
    ("fitted", 16, 1_000_000),
    ("uniform", 16, 1_000_000),
    ("small", 16, 1_000_000),
    ("fitted", 32, 1_682),
    ("fitted", 32, 100_000),
    ("fitted", 64, 1_682),
    ("fitted", 64, 100_000),
)
SAMPLE = 1_000  # rows of the direct computation
BLOCK = 50_000  # items drawn at a time


def fitted(n_items: int, n_events: int, rng: np.random.Generator) -> Codes:
    events = 0.6 * rng.normal(size=n_events)
    codes = np.empty((n_items, 1), dtype=np.uint64)
    for start in range(0, n_items, BLOCK):
        block = codes[start : start + BLOCK]
        logit = 0.5 + 0.5 * rng.normal(size=(len(block), 1)) + events
        block[:] = pack(rng.random(logit.shape) < 1 / (1 + np.exp(-logit)))
    return codes


def uniform(n_items: int, n_events: int, rng: np.random.Generator) -> Codes:
    return rng.integers(0, 1 << n_events, (n_items, 1), dtype=np.uint64)


def small(n_items: int, n_events: int, rng: np.random.Generator) -> Codes:
    codes = uniform(2 * n_items, n_events, rng)
    return codes[np.bitwise_count(codes[:, 0]) <= n_events // 2][:n_items]


KINDS: dict[str, Callable[[int, int, np.random.Generator], Codes]] = {
    "fitted": fitted,
    "uniform": uniform,
    "small": small,
}


def ordered(codes: Codes) -> tuple[NDArray[np.float64], int]:
    """Influence and the number of lines in the diagram, as `Order` finds them."""
    classes = Classes(codes)
    beta = (inclusion.below(classes)[classes.of_item] - 1) / len(codes)
    return beta, len(inclusion.covers(classes)[0])


def pairwise(codes: Codes, classes: Classes, items: Any, lowest: Any) -> tuple[Any, int]:
    """Influence of some items and the lines up from some classes, each by trying all."""
    beta = _count(codes[:, 0], items) / len(codes)
    words = np.ascontiguousarray(classes.codes.T)
    keys = inclusion._least(words, np.arange(len(classes)), lowest, len(classes))
    return beta, len(keys)


@njit(cache=True, nogil=True)
def _count(codes: Any, rows: Any) -> Any:
    counts = np.empty(rows.size, np.int64)
    for k in range(rows.size):
        outside = ~codes[rows[k]]
        n = -1  # itself
        for j in range(codes.size):
            n += (codes[j] & outside) == 0
        counts[k] = n
    return counts


def compare(kind: str, n_events: int, n_items: int) -> dict[str, Any]:
    """One row of the table."""
    rng = np.random.default_rng(0)
    codes = KINDS[kind](n_items, n_events, rng)
    classes = Classes(codes)
    items, lowest = (
        np.sort(rng.choice(n, min(n, SAMPLE), replace=False)) for n in (n_items, len(classes))
    )
    whole = n_items <= SAMPLE * 2
    if whole:
        items, lowest = np.arange(n_items), np.arange(len(classes))
    beta, lines = ordered(codes)
    direct_beta, direct_lines = pairwise(codes, classes, items, lowest)
    assert np.array_equal(beta[items], direct_beta)
    assert not whole or lines == direct_lines
    nothing = np.empty(0, dtype=np.int64)
    seconds = interleaved(
        {
            "eventspace": partial(ordered, codes),
            "items": partial(pairwise, codes, classes, items, nothing),
            "classes": partial(pairwise, codes, classes, nothing, lowest),
        },
        5,
    )
    spent = {name: median(times) for name, times in seconds.items()}
    direct = spent["items"] * n_items / len(items) + spent["classes"] * len(classes) / len(lowest)
    return {
        "codes": kind,
        "D": n_events,
        "items": n_items,
        "classes": len(classes),
        "lines": lines,
        "eventspace, s": spent["eventspace"],
        "all pairs, s": direct,
        "rows of them tried": "all" if whole else len(items),
        "all pairs / eventspace": float(direct / spent["eventspace"]),
        "peak, MB": peak(codes),
    }


def peak(codes: Codes) -> int:
    """Megabytes that a fresh process needs for the order of these codes, beyond the codes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npy"
        np.save(path, codes)
        command = [sys.executable, "-m", "benchmarks.order", str(path)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(json.loads(output.splitlines()[-1]))


def measure(path: str) -> int:
    """What the order of the codes in a file adds to the peak of this process, in megabytes."""
    rng = np.random.default_rng(0)
    for warm_up in (Classes(fitted(100, 64, rng)), Classes(uniform(10_000, 9, rng))):
        inclusion.below(warm_up)
        inclusion.covers(warm_up)
    codes = np.load(path)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is held (Linux)
    held = _peak()
    ordered(codes)
    return round((_peak() - held) / 1000)


def _peak() -> int:
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])  # kB


def main() -> None:
    """Print and publish the table."""
    if len(sys.argv) > 1:
        print(measure(sys.argv[1]))
        return
    rows = []
    for kind, n_events, n_items in CASES:
        rows.append(compare(kind, n_events, n_items))
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows))
    save("order", rows)
    publish("order", table(rows))


if __name__ == "__main__":
    main()
