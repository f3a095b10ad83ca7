"""Whom does ``monitor`` name where nobody has moved, and where some have?

    python -m benchmarks.monitoring

MovieLens 100K, split at random: so nobody has moved between the parts. Then a share of the users
turns all new ratings round, one star for five.
"""

from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.drift_shown import MOVING
from benchmarks.timing import publish, save, table
from eventspace import KolmogorovDescent, KolmogorovEnsemble, KolmogorovModel, Observations
from eventspace import KolmogorovPosterior as Posterior

SEEDS = range(3)
SEEN = 0.3, 0.5, 0.8  # of the ratings are fitted
TURNED = 0.02, 0.05, 0.1, 0.2, 0.3, 0.4
KINDS: dict[str, Any] = {
    "KolmogorovModel()": lambda seed: KolmogorovModel(meets=False, random_state=seed),
    "KolmogorovPosterior()": lambda seed: Posterior(meets=False, random_state=seed),
    "KolmogorovEnsemble(16)": lambda seed: KolmogorovEnsemble(16, random_state=seed),
    "KolmogorovDescent(8)": lambda seed: KolmogorovDescent(8, random_state=seed),
    "KolmogorovDescent(16)": lambda seed: KolmogorovDescent(16, random_state=seed),
}


def parts(share: float, seed: int) -> tuple[data.Ratings, data.Ratings]:
    """A share of all ratings, and the others."""
    both = data.movielens_100k(1)
    ratings = data.Ratings(*(np.concatenate(columns) for columns in zip(*both, strict=True)))
    seen = np.random.default_rng(seed).random(len(ratings.users)) < share
    return ratings.take(np.flatnonzero(seen)), ratings.take(np.flatnonzero(~seen))


def fitted(make: Any, early: data.Ratings, seed: int) -> Any:
    """A model of the first part."""
    return make(seed).fit(Observations.of(tuple(early), scale=(1, 5)))


def where_nobody_moved() -> list[dict[str, Any]]:
    """One row per kind and share."""
    rows = []
    for name, make in KINDS.items():
        for share in SEEN:
            found = []
            for seed in SEEDS:
                early, late = parts(share, seed)
                found.append(fitted(make, early, seed).monitor(tuple(late)))
            ratios = [one.rmse / one.expected_rmse for one in found]
            rows.append({
                "model": name, "fitted": f"{share:.0%}",
                "RMSE / expected": f"{np.mean(ratios):.3f}",
                "refits due": f"{sum(one.refit_due for one in found)} of {len(found)}",
                "users named": f"{np.mean([one.n_moved[0] for one in found]):.1f}",
                "items named": f"{np.mean([one.n_moved[1] for one in found]):.1f}",
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def where_some_moved() -> list[dict[str, Any]]:
    """One row per share of users, for the default model."""
    found: dict[float, list[Any]] = {share: [] for share in TURNED}
    for seed in SEEDS:
        early, late = parts(0.8, seed)
        model = fitted(KINDS["KolmogorovModel()"], early, seed)
        users = np.unique(late.users)
        many = users[np.bincount(late.users)[users] >= 20]
        for share in TURNED:
            turned = np.random.default_rng(seed).random(users.max() + 1) < share
            values = np.where(turned[late.users], 6 - late.values, late.values)
            told = model.monitor((late.users, late.items, values))
            moved = told.moved[(told.moved["kind"] == "user") & (told.moved["q_value"] < 0.05)]
            named = np.isin(many[turned[many]], moved["id"])
            wrong = int((~turned[moved["id"].to_numpy(np.int64)]).sum())
            found[share].append((named.mean(), wrong, told.n_moved[1], told.refit_due))
    rows = []
    for share, told in found.items():
        named, wrong, items, due = np.mean(told, axis=0)
        rows.append({
            "users who moved": f"{share:.0%}", "of them named": f"{named:.0%}",
            "named wrongly": f"{wrong:.1f}", "items named": f"{items:.1f}",
            "refits due": f"{due * len(told):.0f} of {len(told)}",
        })  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and publish."""
    figures = {"nobody": where_nobody_moved(), "some": where_some_moved()}
    for name, rows in figures.items():
        publish(f"monitoring {name}", table(rows), MOVING)
    save("monitoring", figures)


if __name__ == "__main__":
    main()
