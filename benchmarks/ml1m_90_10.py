"""MovieLens 1M, a tenth held out as in what is published: the posterior with many events.

The ratings, in the order of the file, are shuffled by NumPy's generator with the seed 1234, and the
first tenth is the test part, as SparseFC has it. The events, and whether attributes are told, are
chosen on a tenth of the training part, with few chains.

    python -m benchmarks.ml1m_90_10 choose   # validation
    python -m benchmarks.ml1m_90_10          # the figures

Both are meant for a GPU (``--engine cuda``). On cores they take hours of core time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks import attributes
from benchmarks.data import Ratings, movielens_1m, random_split
from benchmarks.methods import Floats, Ours
from benchmarks.timing import machine, publish, save, table
from eventspace import KolmogorovPosterior, Observations
from eventspace.metrics import rmse

NAME = "ml1m_90_10"
SEED, SHARE = 1234, 0.1  # of the published split
EVENTS, CHAINS = 64, 16
QUICK_EVENTS, QUICK_CHAINS = 8, 4
FEWER = 4  # times: chains, to choose
KEPT = 8  # draws of a chain
STARS = (1.0, 5.0)

Told = Mapping[str, Any]  # attributes, as ``fit`` takes them


def published_split(ratings: Ratings) -> tuple[Ratings, Ratings]:
    """Train and test."""
    order = np.random.RandomState(SEED).permutation(len(ratings.values))
    n_test = int(SHARE * len(order)) + 1  # as they count: from 0 to a tenth, both included
    return ratings.take(order[n_test:]), ratings.take(order[:n_test])


def told_of() -> dict[str, Told]:
    """What may be told beside the ratings, by what it is called."""
    films, viewers = attributes.films_1m(), attributes.viewers_1m()
    return {
        "ratings only": {},
        "genres, year, age, sex": {"item_attributes": films, "user_attributes": viewers},
    }


def measured(
    train: Ratings, test: Ratings, told: str, n_events: int, n_chains: int, engine: str
) -> dict[str, object]:
    """Fit, and only then look at the test part: a row of the table."""
    model = KolmogorovPosterior(
        n_events,
        n_chains=n_chains,
        n_samples=KEPT * n_chains,
        meets=False,
        engine=engine,
        random_state=0,
        verbose=False,
    )
    start = clocks()
    model.fit(Observations.of(tuple(train), scale=STARS), **told_of()[told])
    wall, core = clocks() - start
    stars = np.clip(Ours(model)(test), *STARS)
    row = {
        "told": told,
        "events": n_events,
        "chains": n_chains,
        "RMSE, stars": f"{rmse(test.values, stars):.4f}",
        "s": f"{wall:.0f}",
        "on": model.engine_.partition(":")[0],
        "cores": machine()["cores"],
        "core s": f"{core:.0f}",
    }
    print(*row.values(), flush=True)
    return row


def clocks() -> Floats:
    """Seconds that have passed, and seconds of all cores together."""
    return np.array([time.perf_counter(), time.process_time()])


def main() -> None:
    """Choose, or measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("measure", "choose"), default="measure")
    parser.add_argument("--quick", action="store_true", help="8 events: prints, and keeps nothing")
    parser.add_argument("--engine", default="auto")
    asked = parser.parse_args()
    n_events, n_chains = (QUICK_EVENTS, QUICK_CHAINS) if asked.quick else (EVENTS, CHAINS)
    train, test = published_split(movielens_1m())
    name, settings = NAME, [(told, n_events) for told in told_of()]
    if asked.what == "choose":
        name = f"{NAME}: validation"
        train, test = random_split(train, 1 - SHARE)
        settings = [("ratings only", n_events // 2), *settings]
        n_chains //= FEWER
    rows = [measured(train, test, told, n, n_chains, asked.engine) for told, n in settings]
    print(table(rows))
    if not asked.quick:
        save(name.replace(": ", "_"), rows)
        publish(name, table(rows))


if __name__ == "__main__":
    main()
