"""Measure contenders side by side; keep the figures as JSON and as tables in the documentation."""

import json
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

median = statistics.median

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PACKAGES = (
    "eventspace", "numpy", "scipy", "numba", "scikit-learn",
    "scikit-surprise", "cornac", "lenskit", "clarabel", "scs", "mlxtend",
)  # fmt: skip


def interleaved(
    callables: Mapping[str, Callable[[], object]], repeats: int
) -> dict[str, list[float]]:
    """Seconds of every run, the contenders in turn so that noise hits all alike.

    One round before the first, not counted, pays for compilation and caches.
    """
    seconds: dict[str, list[float]] = {name: [] for name in callables}
    for turn in range(-1, repeats):
        for name, call in callables.items():
            spent = timed(call)
            if turn >= 0:
                seconds[name].append(spent)
    return seconds


def timed(call: Callable[[], object]) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def save(name: str, figures: object) -> Path:
    """Write figures with the versions, the machine and the date to benchmarks/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**machine(), "figures": figures}, indent=2) + "\n")
    return path


def machine() -> dict[str, Any]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": cores,
        "processor": platform.machine(),
        "versions": versions,
    }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """A markdown table, one line per row, with the columns of the first row."""
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([_shown(row[c]) for c in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def publish(name: str, markdown: str, path: Path = PAGE) -> None:
    """Put markdown between NAME's markers in a page; a new name goes to the end."""
    page = path.read_text() if path.exists() else "# Benchmarks\n"
    block = f"<!-- {name} -->\n{markdown}\n<!-- /{name} -->"
    marked = re.compile(f"<!-- {re.escape(name)} -->.*?<!-- /{re.escape(name)} -->", re.DOTALL)
    if marked.search(page):
        page = marked.sub(lambda _: block, page, count=1)
    else:
        page = f"{page.rstrip()}\n\n{block}\n"
    path.parent.mkdir(exist_ok=True)
    path.write_text(page)


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
