"""How fast is an iteration of the descent, on cores, on a GPU and on a cluster?

On cores it is measured here, beside implicit's alternating least squares at the same rank, in the
same run. What a GPU and a cluster do is measured by ``benchmarks.engine_cuda``, which needs a GPU,
and by ``benchmarks.engine_dask``; their figures are put into the same section of the page.

    python -m benchmarks.engines                # measure on cores, and publish all
    python -m benchmarks.engines threads 1e7    # on a machine with many cores: one against all
    python -m benchmarks.engines publish        # publish what was measured
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks import data
from benchmarks.peers import lenskit_biased_mf
from benchmarks.timing import RESULTS, interleaved, median, publish, save, table
from eventspace import Observations
from eventspace._base.threads import count_threads
from eventspace.engines.cpu import CPU
from eventspace.engines.gram import fill_quadratics, padded
from eventspace.fitting.descent import descend, random_start
from eventspace.fitting.half_steps import HalfSteps, PmfStep
from eventspace.indicators import Exact
from eventspace.pmf import Pairwise

# the shapes of MovieLens 1M and 10M, and of Netflix
SHAPES = {
    1_000_000: (6_000, 3_700),
    10_000_000: (70_000, 10_000),
    100_000_000: (480_000, 17_700),
}
RANKS = (8, 16, 32)
PENALTY = 30.0
REPEATS = 3
FITS = 1, 3  # iterations of a peer's fits: two iterations take the difference
MOST_FOR_LENSKIT = 10_000_000  # ratings: with more, the data frame alone fills the memory


def on_cores(sizes: list[int]) -> list[dict[str, Any]]:
    """Seconds of an iteration, ours and implicit's ALS, on all cores."""
    rows = []
    for size in sizes:
        ratings = data.generated(size, *SHAPES[size])
        observations = Observations.of(tuple(ratings), scale=(1, 5))
        for rank in RANKS:
            calls = {"eventspace": descent(observations, rank, count_threads(-1))}
            calls |= {f"implicit, {n}": least_squares(ratings, rank, n) for n in FITS}
            if size <= MOST_FOR_LENSKIT:
                calls |= {
                    f"LensKit, {n}": lenskit_biased_mf(*ratings, rank, epochs=n) for n in FITS
                }
            with threadpool_limits(1, "blas"):  # as implicit asks for
                times = interleaved(calls, REPEATS)
            spent = {name: median(times[name]) for name in times}
            ours = spent["eventspace"]
            rows.append({"ratings": f"{size:,}", "D, rank": rank, "eventspace, s": ours})
            for peer in ("implicit", "LensKit"):
                first, last = (spent.get(f"{peer}, {n}", np.nan) for n in FITS)
                theirs = (last - first) / (FITS[1] - FITS[0])
                rows[-1][f"{peer}'s ALS, s"] = theirs if theirs > 0 else "-"
                rows[-1][f"{peer} / eventspace"] = theirs / ours if theirs > 0 else "-"
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def with_threads(sizes: list[int]) -> list[dict[str, Any]]:
    """Seconds of an iteration on one thread and on more, D = 16, on a machine with many cores."""
    rows = []
    for size in sizes:
        observations = Observations.of(tuple(data.generated(size, *SHAPES[size])), scale=(1, 5))
        counts = [n for n in (1, 2, 4, 8, 16) if n <= count_threads(-1)]
        calls = {str(n): descent(observations, 16, n) for n in counts}
        spent = {name: median(times) for name, times in interleaved(calls, REPEATS).items()}
        rows.append(
            {
                "ratings": f"{size:,}",
                **{f"{n} threads, s": spent[str(n)] for n in counts},
                "times as fast": spent["1"] / spent[str(counts[-1])],
            }
        )
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    return rows


def descent(observations: Observations, rank: int, n_threads: int) -> Callable[[], Any]:
    """An iteration of a descent that has run for two already."""
    rng = np.random.default_rng(0)
    steps = HalfSteps.on(CPU(n_threads), Exact(), Pairwise(), 0.0, PENALTY)
    iterate = partial(
        descend,
        random_start(observations, rank, rng),
        observations,
        steps,
        prior="mean",
        tol=0.0,
        rng=rng,
    )
    iterate(n_iter=2)
    return partial(iterate, n_iter=1)


def least_squares(ratings: data.Ratings, rank: int, n_iter: int) -> Callable[[], Any]:
    """A fit of implicit's ALS, with its defaults."""
    from implicit.als import AlternatingLeastSquares

    weights = sparse.csr_array((ratings.values, (ratings.users, ratings.items)))
    matrix = sparse.csr_matrix(weights)
    model = AlternatingLeastSquares(factors=rank, iterations=n_iter, random_state=0)
    model.fit(matrix, show_progress=False)
    return partial(model.fit, matrix, show_progress=False)


def against_peak(size: int) -> list[dict[str, Any]]:
    """What kernels do per second on one thread, beside a matrix product and a stream."""
    rng = np.random.default_rng(0)
    ratings = data.generated(size, *SHAPES[size])
    observations = Observations.of(tuple(ratings), scale=(1, 5))
    square, long = rng.random((1500, 1500)), rng.random(1 << 24)
    out = np.empty_like(long)
    rows = []
    for rank in RANKS:
        pmf, room = start_of(observations, rank, rng)
        sets = rng.integers(0, 1 << rank, observations.n_items, dtype=np.uint64)
        solve = PmfStep(CPU(1), Pairwise(), PENALTY)
        centre = pmf.mean(axis=0)
        calls: dict[str, Callable[[], Any]] = {
            "sums of items": partial(
                fill_quadratics, *observations.by_item[:4], padded(pmf), *room
            ),
            "sums and PMFs of users": partial(solve, observations.by_user, pmf, sets, centre),
            "matrix product": partial(np.dot, square, square),
            "stream": partial(np.add, long, 1.0, out=out),
        }
        with threadpool_limits(1):
            spent = {name: median(times) for name, times in interleaved(calls, REPEATS).items()}
        peak, streamed = 1500**3 / spent["matrix product"], 2 * long.nbytes / spent["stream"]
        each = {
            "sums of items": (rank * (rank + 1) // 2 + rank, 8 + 8 * rank),
            "sums and PMFs of users": (rank, 16),  # bits are counted, not multiplied
        }
        for name, (multiplied, n_bytes) in each.items():
            done, moved = size * multiplied / spent[name], size * n_bytes / spent[name]
            rows.append(
                {
                    "kernel": name,
                    "D": rank,
                    "G multiply-adds/s": done / 1e9,
                    "of a matrix product": f"{done / peak:.0%}",
                    "GB/s": moved / 1e9,
                    "of a stream": f"{moved / streamed:.0%}",
                    "ns per rating": 1e9 * spent[name] / size,
                }
            )
    return rows


def start_of(observations: Observations, rank: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """PMFs, and room for the quadratics of all items."""
    n = observations.n_items
    room = np.empty((n, rank, rank)), np.empty((n, rank)), np.empty(n)
    return rng.dirichlet(np.ones(rank), observations.n_users), room


def publish_all() -> None:
    """Put the figures of all three machines onto the page."""
    if (RESULTS / "engines.json").exists():
        cores = _figures("engines")
        for name in ("on_cores", "against_peak"):
            publish(f"engines_{name}", table(cores[name]))
    publish("engine_threads", table(_figures("engine_threads")))
    there = _figures("engine_dask")
    for name in ("against_cpu", "killed", "two_at_once", "out_of_core"):
        publish(f"engine_dask_{name}", table(there[name]))
    device = _figures("engine_cuda")
    publish("engine_cuda_kernels", table(device["descent"]["kernels"]))
    publish(
        "engine_cuda_iterations",
        table(
            [
                {"what": "a billion ratings, D = 16", "s": device["descent"]["seconds"]},
                {"what": "the floor: its bytes as a stream", "s": device["descent"]["floor"]},
                {"what": "20 million ratings, D = 16", "s": device["als"]["ours"]},
                {"what": "the same, ALS in torch, rank 16", "s": device["als"]["ALS"]},
            ]
        ),
    )
    publish("engine_cuda_posterior", table(device["posterior"]))


def _figures(name: str) -> Any:
    found: Any = json.loads((RESULTS / f"{name}.json").read_text())["figures"]
    return found


def main() -> None:
    """Measure on cores, and publish all."""
    given = sys.argv[1:]
    what = given.pop(0) if given and given[0] in ("publish", "threads") else "measure"
    sizes = [int(float(size)) for size in given] or list(SHAPES)
    if what == "threads":
        save("engine_threads", with_threads(sizes))
        return
    if what == "measure":
        save("engines", {"on_cores": on_cores(sizes), "against_peak": against_peak(10_000_000)})
    publish_all()


if __name__ == "__main__":
    main()
