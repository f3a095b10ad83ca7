"""The environment of a fuzzing process; to be set before numba is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    """One thread for each process; kernels that check their bounds have a cache of their own.

    numba's cache does not know whether a kernel checks its bounds: it would give one that does not
    to who wants one that does, and later the slow one to everybody.
    """
    # modules come from where this process has them: it may try the package of another checkout
    path = os.pathsep.join(filter(None, [*sys.path, str(ROOT)]))
    given = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}
    if os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0"):
        given["NUMBA_CACHE_DIR"] = str(ROOT / "build" / "numba-boundscheck")
    return given
