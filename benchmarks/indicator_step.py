"""The exact indicator step against the semidefinite relaxation, on the items of MovieLens 100K u4.

The instances are those of a running fit (R/5, the penalty towards zero): S_i and v_i of every rated
item, as they stand after three iterations. Clarabel and SCS solve the paper's relaxation alone,
without the rounding that it still needs. Each has one thread. The contenders take turns on
blocks of the same items: all of them at D = 16 and 24, a random hundred at the other sizes.

    python -m benchmarks.indicator_step
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks import data, sdp
from benchmarks.timing import interleaved, median, publish, save, table, timed
from eventspace._base.randomness import streams
from eventspace.data.observations import Observations
from eventspace.engines import engine
from eventspace.engines.gram import normal_equations
from eventspace.fitting.descent import random_start
from eventspace.fitting.half_steps import HalfSteps
from eventspace.indicators.exact import Exact, exact
from eventspace.pmf.pairwise import Pairwise

Floats = NDArray[np.float64]
Instances = tuple[Floats, Floats, Floats, NDArray[np.uint64]]

PENALTIES = {"weak": 1.0, "validated": 60.0}
ITERATIONS = 3
SIZES = (4, 8, 16, 20, 24, 32)
WHOLE = (16, 24)  # sizes at which the general solvers get every item
SAMPLE, BLOCK = 100, 20
RELAXATIONS = {"Clarabel": sdp.clarabel_relaxation, "SCS": sdp.scs_relaxation}


def instances(observations: Observations, n_events: int, penalty: float) -> Instances:
    """S, v, energy and the incumbent codes of every item in a running fit."""
    rng = np.random.default_rng(0)
    start = random_start(observations, n_events, rng)
    pmf, codes = start.pmf, start.codes
    steps = HalfSteps.on(engine("cpu", n_threads=2), Exact(), Pairwise(), 0.0, penalty)
    for _ in range(ITERATIONS):
        seeds = streams(rng, observations.n_items)
        codes = steps.update_indicators(observations.by_item, pmf, codes, seeds).codes
        pmf = steps.update_pmfs(observations.by_user, pmf, codes, np.zeros(n_events)).pmf
    n_items = observations.n_items
    S, v = np.empty((n_items, n_events, n_events)), np.empty((n_items, n_events))
    energy = np.empty(n_items)
    normal_equations(*observations.by_item[:4], pmf, S, v, energy)
    return S, v, energy, codes


def solve(items: Instances) -> NDArray[np.int64]:
    """The nodes that the exact step visits for each item, negative where nothing is proved."""
    S, v, energy, codes = items
    nodes = np.empty(len(v), dtype=np.int64)
    exact(S, v, energy, codes.copy(), Exact().node_budget, np.empty(len(v)), nodes)
    return nodes


def seconds(items: Instances, chosen: NDArray[np.intp]) -> dict[str, float]:
    """Seconds that each contender needs for the chosen items; every block in turn."""
    S, v, energy, codes = items
    total = {"exact": 0.0, "Clarabel": 0.0, "SCS": 0.0}
    for start in range(0, len(chosen), BLOCK):
        at = chosen[start : start + BLOCK]
        block = (S[at], v[at], energy[at], codes[at])
        pairs = [(S[i], v[i]) for i in at]
        total["exact"] += median(interleaved({"exact": partial(solve, block)}, 3)["exact"])
        for name, relax in RELAXATIONS.items():
            total[name] += timed(partial(sdp.solve_all, relax, pairs))
    return total


def main() -> None:
    """Print and publish the table."""
    train, _ = data.movielens_100k(4)
    observations = Observations.of((train.users, train.items, train.values), scale="max")
    rows = []
    with sdp.one_thread():
        for n_events in SIZES:
            for name, penalty in PENALTIES.items():
                items = instances(observations, n_events, penalty)
                nodes = solve(items)
                order = np.random.default_rng(1).permutation(len(nodes))
                spent = seconds(items, order if n_events in WHOLE else order[:SAMPLE])
                whole = median(interleaved({"all": partial(solve, items)}, 3)["all"])
                rows.append(
                    {
                        "D": n_events,
                        "penalty": f"{penalty:g} ({name})",
                        "items": len(nodes),
                        "proved": f"{np.mean(nodes >= 0):.2%}",
                        "nodes: median": int(np.median(np.abs(nodes))),
                        "most": int(np.abs(nodes).max()),
                        "exact, all items, s": whole,
                        "compared on": len(nodes) if n_events in WHOLE else SAMPLE,
                        "Clarabel / exact": round(spent["Clarabel"] / spent["exact"]),
                        "SCS / exact": round(spent["SCS"] / spent["exact"]),
                    }
                )
                print(table(rows[-1:]).splitlines()[-1], flush=True)
    print("\n" + table(rows))
    save("indicator_step", rows)
    publish("indicator_step", table(rows))


if __name__ == "__main__":
    main()
