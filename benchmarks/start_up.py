"""From nothing to a first fit: imports, compilation, and the next process.

Each figure is the wall time of whole processes, the median of three. "First" starts with an empty
cache of compiled kernels, as a fresh environment does.

    python -m benchmarks.start_up
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.timing import median, publish, save, table, timed

FIT = """
import numpy as np
from eventspace import KolmogorovModel
rng = np.random.default_rng(0)
table = np.where(rng.random((200, 100)) < 0.3, rng.random((200, 100)), np.nan)
KolmogorovModel({n_events}, random_state=0).fit(table).predict()
"""


def run(code: str, cache: str) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def main() -> None:
    """Print and publish the table."""
    rows = []
    for name, code in (
        ("import eventspace", "import eventspace"),
        ("fit and predict, D = 8", FIT.format(n_events=8)),
        ("fit and predict, D = 16", FIT.format(n_events=16)),
    ):
        first, then = [], []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                first.append(timed(partial(run, code, cache)))
                then.append(timed(partial(run, code, cache)))
        rows.append({"process": name, "first, s": median(first), "next process, s": median(then)})
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    save("start_up", rows)
    publish("start_up", table(rows))


if __name__ == "__main__":
    main()
