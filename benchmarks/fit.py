"""The paper's five iterations against matrix factorisations of the same rank, and how they grow.

All methods fit the same ratings at the same rank, with their own defaults and their own data
structure made beforehand. The contenders take turns. RMSE on held-out ratings shows that each has
really learnt. Growth and memory are measured on generated ratings, each size in its own process.

    python -m benchmarks.fit
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
from benchmarks.timing import interleaved, median, publish, save, table, timed
from eventspace import KolmogorovDescent, Observations
from eventspace._base.codes import unpack
from eventspace.engines.gram import normal_equations
from eventspace.fitting.descent import random_start
from eventspace.indicators.exact import Exact
from eventspace.pmf.pairwise import Pairwise

Array = NDArray[np.float64]

RANKS = (8, 16)
PENALTY = {8: 30.0, 16: 60.0}  # chosen on validation data: benchmarks/paper_split.py
SIZES = (1_000_000, 5_000_000, 20_000_000)
REPEATS = 5
PARTS = ("sums of items, ms", "indicators", "sums of users", "PMFs")


def kolmogorov(observations: Observations, rank: int, threads: int) -> KolmogorovDescent:
    """Five iterations, none less."""
    return KolmogorovDescent(
        rank, pmf_penalty=PENALTY[rank], n_iter=5, tol=0.0, n_init=1, random_state=0, n_jobs=threads
    ).fit(observations)


def rmse(predicted: NDArray[Any], truth: NDArray[Any]) -> float:
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


def against_peers() -> list[dict[str, Any]]:
    """Fit time and held-out error of all methods at both ranks on both MovieLens tables."""
    from benchmarks.peers import PEERS

    rows = []
    splits = {
        "ML-100K u4": data.movielens_100k(4),
        "ML-1M, random 80/20": data.random_split(data.movielens_1m()),
    }
    for name, (train, test) in splits.items():
        observations = Observations.of(tuple(train), scale=(1, 5))
        for rank in RANKS:
            fits: dict[str, Callable[[], Any]] = {
                "eventspace": partial(kolmogorov, observations, rank, -1)
            }
            fits["eventspace, one thread"] = partial(kolmogorov, observations, rank, 1)
            fits |= {peer: prepare(*train, rank) for peer, prepare in PEERS.items()}
            spent = interleaved(fits, REPEATS)
            for contender, fit in fits.items():
                model = fit()
                if isinstance(model, KolmogorovDescent):
                    pairs = (test.users, test.items)
                    predicted = model.predict(pairs, unit="original", unknown="population")
                else:
                    predicted = model.predict(test.users, test.items)
                rows.append(
                    {
                        "table": name,
                        "rank": rank,
                        "method": contender,
                        "fit, s": median(spent[contender]),
                        "/ eventspace": median(spent[contender]) / median(spent["eventspace"]),
                        "RMSE, stars": f"{rmse(predicted, test.values):.4f}",
                    }
                )
                print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def inside_an_iteration() -> list[dict[str, Any]]:
    """Milliseconds of the four parts of an iteration on ML-1M, on one thread, in a running fit."""
    observations = Observations.of(tuple(data.movielens_1m()), scale=(1, 5))
    rows = []
    for rank in RANKS:
        pmf = random_start(observations, rank, np.random.default_rng(0)).pmf
        codes = np.zeros(observations.n_items, dtype=np.uint64)
        spent: dict[str, list[float]] = {part: [] for part in PARTS}
        for _ in range(5):
            items = quadratics(observations.n_items, rank)
            seconds = [timed(partial(normal_equations, *observations.by_item[:4], pmf, *items))]
            seconds.append(timed(partial(Exact(), *items, codes, codes)))
            users = quadratics(observations.n_users, rank)
            psi = unpack(codes[:, None], rank).astype(np.float64)
            seconds.append(timed(partial(normal_equations, *observations.by_user[:4], psi, *users)))
            Q, r, _ = users
            Q += PENALTY[rank] * np.eye(rank)
            r += PENALTY[rank] * pmf.mean(axis=0)
            seconds.append(timed(partial(Pairwise(), Q, r, pmf)))
            for part, spent_now in zip(PARTS, seconds, strict=True):
                spent[part].append(spent_now)
        ms = {part: 1e3 * median(times[1:]) for part, times in spent.items()}
        rows.append({"table": "ML-1M", "rank": rank, **ms, "in all": sum(ms.values())})
    return rows


def quadratics(n_rows: int, rank: int) -> tuple[Array, Array, Array]:
    return np.empty((n_rows, rank, rank)), np.empty((n_rows, rank)), np.empty(n_rows)


def growth() -> list[dict[str, Any]]:
    """Seconds and peak memory of reading and fitting generated ratings, one process per size."""
    rows: list[dict[str, Any]] = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            ratings = data.generated(size, size // 100, size // 500)
            for name, column in ratings._asdict().items():
                np.save(f"{folder}/{name}.npy", column)
            command = [sys.executable, "-m", "benchmarks.fit", folder]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows.append(json.loads(output.splitlines()[-1]))
        first, now = rows[0], rows[-1]
        size_ratio = now["ratings"] / first["ratings"]
        now["time / proportional"] = now["fit, s"] / (first["fit, s"] * size_ratio)
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def measure(folder: str) -> dict[str, Any]:
    """Read the ratings in a folder and fit them; what that adds to the peak of memory."""
    warm_up = data.generated(10_000, 200, 300)
    kolmogorov(Observations.of(tuple(warm_up), scale=(1, 5)), 8, -1)
    ratings = data.Ratings(*(np.load(f"{folder}/{name}.npy") for name in data.Ratings._fields))
    resident = _peak_after_reset()
    observations: list[Observations] = []
    read = timed(lambda: observations.append(Observations.of(tuple(ratings), scale=(1, 5))))
    fit = median([timed(lambda: kolmogorov(observations[0], 8, -1)) for _ in range(3)])
    size = len(ratings.values)
    return {
        "ratings": size,
        "users": observations[0].n_users,
        "items": observations[0].n_items,
        "read, s": read,
        "fit, s": fit,
        "peak, bytes per rating beyond the input": round((_peak() - resident) / size, 1),
    }


def _peak_after_reset() -> int:
    """Bytes now resident, after the high-water mark was set back to it (Linux)."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _peak()


def _peak() -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main() -> None:
    """Print and publish the three tables."""
    figures = {
        "peers": against_peers(),
        "iteration": inside_an_iteration(),
        "growth": growth(),
    }
    save("fit", figures)
    for name, rows in figures.items():
        print("\n" + table(rows))
        publish(f"fit_{name}", table(rows))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
