"""How well held-out ratings are predicted, beside tuned peers: MovieLens 100K, u1 to u5, in stars.

Every method that has something to choose chooses it on a tenth of the training part, once a split;
the test part is looked at only then. ``KolmogorovModelCV`` and the posterior choose by themselves.

    python -m benchmarks.accuracy
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import data
from benchmarks.timing import publish, save, table
from eventspace import KolmogorovModelCV, KolmogorovPosterior, Observations
from eventspace.metrics import coverage, rmse

Floats = NDArray[np.float64]
Predictor = Callable[[data.Ratings, data.Ratings], Floats]
SPLITS = (1, 2, 3, 4, 5)
CHAINS = 8


def bias(train: data.Ratings, test: data.Ratings, damping: float = 5.0) -> Floats:
    """The mean, and damped biases of item and user."""
    frame = pd.DataFrame(train._asdict())
    mean = frame["values"].mean()
    grouped = (frame["values"] - mean).groupby(frame["items"])
    of_item = grouped.sum() / (grouped.size() + damping)
    grouped = (frame["values"] - mean - frame["items"].map(of_item)).groupby(frame["users"])
    of_user = grouped.sum() / (grouped.size() + damping)
    items = pd.Series(test.items).map(of_item).fillna(0)
    return np.asarray(mean + items + pd.Series(test.users).map(of_user).fillna(0))


def surprise(kind: str, **options: Any) -> Predictor:
    """One of Surprise's algorithms."""

    def predict(train: data.Ratings, test: data.Ratings) -> Floats:
        import surprise as library

        reader = library.Reader(rating_scale=(1, 5))
        frame = pd.DataFrame(train._asdict())
        known = library.Dataset.load_from_df(frame, reader).build_full_trainset()
        model = getattr(library, kind)(random_state=0, **options).fit(known)
        pairs = zip(test.users.tolist(), test.items.tolist(), strict=True)
        return np.array([model.predict(u, i).est for u, i in pairs])

    return predict


def cornac(**options: Any) -> Predictor:
    """Cornac's matrix factorisation, one thread."""

    def predict(train: data.Ratings, test: data.Ratings) -> Floats:
        from cornac.data import Dataset
        from cornac.models import MF

        triples = zip(*(column.tolist() for column in train), strict=True)
        known = Dataset.from_uir(triples, seed=0)
        model = MF(num_threads=1, seed=0, **options).fit(known)
        users = np.array([known.uid_map.get(u, -1) for u in test.users.tolist()])
        items = np.array([known.iid_map.get(i, -1) for i in test.items.tolist()])
        product = np.einsum("nd,nd->n", model.u_factors[users], model.i_factors[items])
        known_user, known_item = users >= 0, items >= 0
        return np.asarray(
            model.global_mean
            + known_user * model.u_biases[users]
            + known_item * model.i_biases[items]
            + (known_user & known_item) * product
        )

    return predict


def lenskit(**options: Any) -> Predictor:
    """LensKit's alternating least squares."""

    def predict(train: data.Ratings, test: data.Ratings) -> Floats:
        from benchmarks.peers import lenskit_biased_mf

        fit = lenskit_biased_mf(train.users, train.items, train.values, **options)
        return np.asarray(fit().predict(test.users, test.items))

    return predict


def ours(model: Any) -> Predictor:
    """One of the estimators; keeps the fitted model for a look at its intervals."""

    def predict(train: data.Ratings, test: data.Ratings) -> Floats:
        model.fit(Observations.of(tuple(train), scale=(1, 5)))
        pairs = (test.users, test.items)
        return np.asarray(model.predict(pairs, unit="original", unknown="population"))

    return predict


def grid(make: Callable[..., Predictor], **options: Any) -> list[Predictor]:
    """A predictor for each combination of options."""
    return [
        make(**dict(zip(options, values, strict=True)))
        for values in itertools.product(*options.values())
    ]


METHODS: dict[str, list[Predictor]] = {
    "user + item bias": [bias],
    "Surprise SVD, tuned": grid(
        lambda **o: surprise("SVD", n_factors=24, **o),
        lr_all=(0.005, 0.01), reg_all=(0.05, 0.1), n_epochs=(30, 60),
    ),
    "Cornac MF, tuned": grid(
        lambda **o: cornac(k=24, **o),
        learning_rate=(0.01, 0.02), lambda_reg=(0.02, 0.05, 0.1), max_iter=(30, 60),
    ),
    "LensKit BiasedMF": [lenskit(rank=24)],
    "eventspace, KolmogorovModelCV": [ours(KolmogorovModelCV(random_state=0))],
    f"eventspace, posterior, {CHAINS} chains": [
        ours(KolmogorovPosterior(n_chains=CHAINS, random_state=0))
    ],
}  # fmt: skip


def tuned(methods: list[Predictor], train: data.Ratings) -> Predictor:
    """The predictor that does best on a tenth of the training part."""
    if len(methods) == 1:
        return methods[0]
    part, held = data.random_split(train, 0.9)
    errors = [rmse(held.values, np.clip(method(part, held), 1, 5)) for method in methods]
    return methods[int(np.argmin(errors))]


def main() -> None:
    """Print and publish the table."""
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    covered = []
    for split in SPLITS:
        train, test = data.movielens_100k(split)
        for name, methods in METHODS.items():
            best = tuned(methods, train)
            begun = time.perf_counter()
            stars = best(train, test)
            seconds[name].append(time.perf_counter() - begun)
            errors[name].append(rmse(test.values, np.clip(stars, 1, 5)))
            print(
                f"u{split}  {name}: {errors[name][-1]:.4f}, {seconds[name][-1]:.1f} s", flush=True
            )
        model = KolmogorovPosterior(random_state=1).fit(Observations.of(tuple(train), scale=(1, 5)))
        pairs = (test.users, test.items)
        ends = model.predict_interval(pairs, 0.9, unit="original", unknown="population")
        covered.append(coverage(test.values, ends["low"], ends["high"]))
    rows = [
        {
            "RMSE in stars": name,
            **{f"u{split}": f"{e:.4f}" for split, e in zip(SPLITS, errors[name], strict=True)},
            "mean": f"{np.mean(errors[name]):.4f}",
            "fit and predict, s": float(np.median(seconds[name])),
        }
        for name in METHODS
    ]
    text = ", ".join(f"{part:.1%}" for part in covered)
    text = (
        f"\n\nThe 90 % intervals of a posterior of four chains cover {text} of u1 to u5's ratings."
    )
    print(table(rows) + text)
    save("accuracy", {"rows": rows, "coverage": covered})
    publish("accuracy", table(rows) + text)


if __name__ == "__main__":
    main()
