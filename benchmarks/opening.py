"""Opening model files: how long it takes, and which part of it checks what the file says.

Files of a small model, of MovieLens 1M, of a posterior and of 20 million generated ratings; each is
opened in one process, its checks alone in turn with it, as medians.

    python -m benchmarks.opening
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.timing import interleaved, median, publish, save, table
from eventspace import KolmogorovDescent, KolmogorovPosterior, Observations
from eventspace.data.ids import Ids
from eventspace.data.invariants import check_entries, check_ids
from eventspace.fitted import load
from eventspace.fitted.files import check_parts

REPEATS = 9
MILLIONS = 20
A_USER, ITEMS = 100, 20_000


def generated() -> KolmogorovDescent:
    """A model of many ratings; its PMFs are drawn, as nothing here depends on how they were."""
    rng = np.random.default_rng(0)
    n_users = MILLIONS * 1_000_000 // A_USER
    users = np.repeat(np.arange(n_users), A_USER)
    block = ITEMS // A_USER  # a user rates one item of each block
    items = np.tile(np.arange(A_USER) * block, n_users) + rng.integers(0, block, len(users))
    seen = Observations.of((users, items, rng.integers(1, 6, len(users))))
    pmf = rng.dirichlet(np.ones(16), seen.n_users)
    return KolmogorovDescent.from_parts(pmf, rng.random((seen.n_items, 16)) < 0.5, seen)


def models() -> dict[str, Callable[[], Any]]:
    train, _ = data.movielens_100k(1)
    movielens = data.movielens_1m()
    posterior = KolmogorovPosterior(n_warmup=2, n_draws=16, random_state=0)
    return {
        "u1, 8 events": lambda: KolmogorovDescent(8, random_state=0).fit(tuple(train)),
        "ML-1M, 16 events": lambda: KolmogorovDescent(16, n_iter=3).fit(tuple(movielens)),
        "u1, posterior of 3,072 events": lambda: posterior.fit(tuple(train)),
        f"{MILLIONS} M generated ratings, 16 events": generated,
    }


def check(model: Any) -> None:
    """All that is checked of a file, once it is in memory."""
    seen = model.observations
    for ids, what in ((seen.user_ids, "user"), (seen.item_ids, "item")):
        check_ids(Ids(ids.values), what)
    check_entries(seen.by_user, seen.n_users, seen.n_items)
    check_parts(model.record)


def main() -> None:
    """Print and publish the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, fitted in models().items():
            path = Path(folder) / "m.eventspace"
            fitted().save(path)
            model = load(path)
            spent = interleaved(
                {"open": lambda: load(path), "check": lambda: check(model)},  # noqa: B023
                REPEATS,
            )
            shares = [c / o for c, o in zip(spent["check"], spent["open"], strict=True)]
            rows.append(
                {
                    "file": name,
                    "MB": path.stat().st_size / 1e6,
                    "opened in, ms": 1e3 * median(spent["open"]),
                    "of it checks, ms": 1e3 * median(spent["check"]),
                    "part": f"{median(shares):.0%}",
                }
            )
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    save("opening", rows)
    publish("opening", table(rows))


if __name__ == "__main__":
    main()
