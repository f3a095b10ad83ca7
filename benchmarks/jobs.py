"""Everyday jobs in seconds: a table of visits, recommending to everybody, an update of one.

``python -m benchmarks.jobs`` measures and writes the tables of docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.timing import interleaved, median, publish, save, table, timed
from eventspace import KolmogorovDescent, KolmogorovModel, KolmogorovPosterior, Observations

N_USERS, N_ITEMS, N_ENTRIES = 200_000, 20_000, 20_000_000
REPEATS, UPDATES = 3, 21


def generated(seed: int = 0) -> tuple[Any, Any]:
    """Pairs of users and items of unequal weight, each pair once."""
    rng = np.random.default_rng(seed)
    users = rng.integers(N_USERS, size=int(1.15 * N_ENTRIES), dtype=np.int64)
    items = (N_ITEMS * rng.beta(0.5, 2.0, len(users))).astype(np.int64)
    pairs = np.unique(users * N_ITEMS + items)
    pairs = np.sort(rng.choice(pairs, min(N_ENTRIES, len(pairs)), replace=False))
    return (pairs // N_ITEMS).astype(np.int32), (pairs % N_ITEMS).astype(np.int32)


def visits() -> list[dict[str, Any]]:
    """Fits of tables with 20 million stored entries: explicit, and of visits."""
    users, items = generated()
    values = np.random.default_rng(1).random(len(users)).astype(np.float32)
    tables = {
        "explicit values": Observations.of((users, items, values)),
        "visits, the rest no": Observations.of((users, items), missing="no"),
        "visits, the rest no with weight 0.5": Observations.of((users, items), missing=0.5),
    }
    model = KolmogorovDescent(16, n_iter=3, n_init=1, tol=0.0, random_state=0, verbose=False)
    fits: dict[str, Callable[[], object]] = {
        name: partial(model.fit, seen) for name, seen in tables.items()
    }
    seconds = interleaved(fits, REPEATS)
    first = median(seconds["explicit values"])
    return [
        {
            "table": name,
            "stored": f"{seen.n_observed:,}",
            "seconds, 3 iterations, 16 events": median(seconds[name]),
            "ratio": median(seconds[name]) / first,
        }
        for name, seen in tables.items()
    ]


def everybody() -> list[dict[str, Any]]:
    """Ten items for each user of ML-1M."""
    model = KolmogorovModel(random_state=0).fit(Observations.of(tuple(data.movielens_1m())))
    jobs: dict[str, Callable[[], object]] = {
        "recommend() to all 6,040 users": model.recommend,
        "the same, meets=False": partial(model.recommend, meets=False),
        "recommend(one user)": partial(model.recommend, 1),
        "similar_items(one item)": partial(model.similar_items, 1),
    }
    seconds = interleaved(jobs, REPEATS)
    rows = [{"ML-1M, default model": name, "seconds": median(s)} for name, s in seconds.items()]
    return [*rows, {"ML-1M, default model": "update of one user", "seconds": updated(model, 1)}]


def updates() -> list[dict[str, Any]]:
    """One user, one new user, one new item of ML-100K."""
    ratings = data.movielens_100k(4)[0]
    seen = Observations.of(tuple(ratings))
    rows = []
    for estimator in (KolmogorovModel(random_state=0), KolmogorovPosterior(random_state=0)):
        model = estimator.fit(seen)
        rows.append(
            {
                "ML-100K": type(estimator).__name__,
                "one user, 5 ratings": updated(model, 1),
                "a new user, 5 ratings": updated(model, 10**6),
                "a new item, 3 ratings": median(
                    [timed(partial(model.fitted_.update, new_item(k))) for k in range(UPDATES // 3)]
                ),
            }
        )
    return rows


def updated(model: Any, user: int) -> float:
    """Seconds of an update with five ratings of a user: the median, after one that compiles."""
    items = np.arange(1, 6)
    seconds = [
        timed(partial(model.fitted_.update, (np.full(5, user), items, 1.0 + (items + k) % 5)))
        for k in range(UPDATES)
    ]
    return median(seconds[1:])


def new_item(k: int) -> tuple[Any, Any, Any]:
    return np.array([1, 2, 3 + k]), np.full(3, 10**6), np.array([4.0, 5.0, 2.0])


def main() -> None:
    """Measure, save and publish."""
    figures = {"visits": visits(), "everybody": everybody(), "updates": updates()}
    for name, rows in figures.items():
        print(table(rows), flush=True)
        publish(f"jobs: {name}", table(rows))
    save("jobs", figures)


if __name__ == "__main__":
    main()
