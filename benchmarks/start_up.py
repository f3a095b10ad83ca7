"""From nothing to an answer: imports, compilation, the next process, commands that only look.

Each figure is the wall time of whole processes, the median of three. "First" starts with an empty
cache of compiled kernels, as a fresh environment does. The model is the demonstration's: MovieLens
small, 16 events.

    python -m benchmarks.start_up
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.timing import median, publish, save, table, timed

FIT = """
import numpy as np
from eventspace import KolmogorovDescent
rng = np.random.default_rng(0)
table = np.where(rng.random((200, 100)) < 0.3, rng.random((200, 100)), np.nan)
KolmogorovDescent({n_events}, random_state=0).fit(table).predict()
"""
DEMO = """
from eventspace import KolmogorovDescent
from eventspace.datasets import movielens_small
KolmogorovDescent(16, random_state=0).fit(movielens_small()).save({path!r})
"""
PYTHON, COMMAND = [sys.executable, "-c"], [sys.executable, "-m", "eventspace"]


def processes(model: Path) -> dict[str, list[str]]:
    """What is timed: arguments of a process by its name."""
    film, path = "Toy Story (1995)", str(model)
    return {
        "import eventspace": [*PYTHON, "import eventspace"],
        "eventspace --help": [*COMMAND, "--help"],
        "eventspace info": [*COMMAND, "info", path],
        "eventspace rules --item": [*COMMAND, "rules", path, "--item", film],
        "eventspace explain": [*COMMAND, "explain", path, "1", film],
        "eventspace query": [*COMMAND, "query", path, f'"{film}"'],
        "eventspace recommend": [*COMMAND, "recommend", path, "1"],
        "fit and predict, D = 8": [*PYTHON, FIT.format(n_events=8)],
        "fit and predict, D = 16": [*PYTHON, FIT.format(n_events=16)],
    }


def run(arguments: list[str], cache: str) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run(arguments, check=True, env=environment, stdout=subprocess.DEVNULL)


def main() -> None:
    """Print and publish the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "films.eventspace"
        run([*PYTHON, DEMO.format(path=str(model))], folder)
        for name, arguments in processes(model).items():
            first, then = [], []
            for _ in range(3):
                with tempfile.TemporaryDirectory() as cache:
                    first.append(timed(partial(run, arguments, cache)))
                    then.append(timed(partial(run, arguments, cache)))
            rows.append(
                {"process": name, "first, s": median(first), "next process, s": median(then)}
            )
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    save("start_up", rows)
    publish("start_up", table(rows))


if __name__ == "__main__":
    main()
