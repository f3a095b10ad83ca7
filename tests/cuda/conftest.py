"""Kernels run on numba's simulator (NUMBA_ENABLE_CUDASIM=1), or on a device if there is one.

The simulator has a thread of Python for each of a block's, so blocks are small there, and so are
tables. What is cut (segments, parts, high bits of codes) is cut small, so that it is cut at all.
"""

from __future__ import annotations

import pytest

from eventspace.engines.cuda.presence import SIMULATED, available

if available():
    collect_ignore_glob = ["test_*.py"]
elif SIMULATED:
    from eventspace.engines.cuda import gram, rows, search, settle, totals

    gram.LANES, settle.MOST_THREADS, totals.THREADS = 16, 8, 16
    gram.WARPS, gram.FOLD_THREADS, rows.THREADS = 2, 16, 8
    search.LOW, search.HIGH = 2, 3


@pytest.fixture(autouse=True)
def _cut_small(monkeypatch) -> None:
    from eventspace.engines.cuda import stage, tables

    monkeypatch.setattr(stage, "MANY", 9)
    monkeypatch.setattr(tables, "SEGMENT", 7)
    monkeypatch.setattr(tables, "SUMS_BYTES", 8000)
