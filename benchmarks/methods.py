"""The methods that predict: peers and our own estimators behind one interface.

A method learns from ratings and returns a predictor. Values in [0, 1] have that scale; others have
the scale from the least to the greatest value seen. Predictions are cut off at its ends. This is
the same for all methods. Surprise and Cornac see all values stretched to 1 .. 5, for which their
options are made.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.data import Ratings
from benchmarks.validated import ValidatedDescent
from eventspace import KolmogorovEnsemble, KolmogorovPosterior, Observations

Floats = NDArray[np.float64]
Predict = Callable[[Ratings], Floats]
Method = Callable[[Ratings], Predict]
Options = Mapping[str, Method]  # a method with these options or those, by what they are called

SVDPP = "Surprise SVD++, tuned"
SINGLE, POSTERIOR = "eventspace, validated descent", "eventspace, posterior"


def bias(train: Ratings, damping: float = 5.0) -> Predict:
    """The mean, and damped biases of item and user."""
    frame = pd.DataFrame(train._asdict())
    mean = frame["values"].mean()
    grouped = (frame["values"] - mean).groupby(frame["items"])
    of_item = grouped.sum() / (grouped.size() + damping)
    grouped = (frame["values"] - mean - frame["items"].map(of_item)).groupby(frame["users"])
    of_user = grouped.sum() / (grouped.size() + damping)

    def predict(test: Ratings) -> Floats:
        items = pd.Series(test.items).map(of_item).fillna(0)
        users = pd.Series(test.users).map(of_user).fillna(0)
        return np.clip(mean + items + users, *scale(train))

    return predict


def surprise(kind: str, **options: Any) -> Method:
    """One of Surprise's algorithms."""

    def fit(train: Ratings) -> Predict:
        import surprise as library

        reader = library.Reader(rating_scale=(1, 5))
        frame = pd.DataFrame(to_stars(train)._asdict())
        known = library.Dataset.load_from_df(frame, reader).build_full_trainset()
        model = getattr(library, kind)(random_state=0, **options).fit(known)

        def predict(test: Ratings) -> Floats:
            pairs = zip(test.users.tolist(), test.items.tolist(), strict=True)
            stars = np.array([model.predict(u, i).est for u, i in pairs])
            return from_stars(stars, train)

        return predict

    return fit


def cornac(**options: Any) -> Method:
    """Cornac's matrix factorisation, one thread."""

    def fit(train: Ratings) -> Predict:
        from cornac.data import Dataset
        from cornac.models import MF

        triples = zip(*(column.tolist() for column in to_stars(train)), strict=True)
        known = Dataset.from_uir(triples, seed=0)
        model = MF(num_threads=1, seed=0, **options).fit(known)

        def predict(test: Ratings) -> Floats:
            users = np.array([known.uid_map.get(u, -1) for u in test.users.tolist()])
            items = np.array([known.iid_map.get(i, -1) for i in test.items.tolist()])
            product = np.einsum("nd,nd->n", model.u_factors[users], model.i_factors[items])
            known_user, known_item = users >= 0, items >= 0
            stars = (
                model.global_mean
                + known_user * model.u_biases[users]
                + known_item * model.i_biases[items]
                + (known_user & known_item) * product
            )
            return from_stars(stars, train)

        return predict

    return fit


def lenskit(**options: Any) -> Method:
    """LensKit's alternating least squares."""

    def fit(train: Ratings) -> Predict:
        from benchmarks.peers import lenskit_biased_mf

        factors = lenskit_biased_mf(*train, **options)()
        return lambda test: np.asarray(factors.predict(test.users, test.items, scale(train)))

    return fit


@dataclass
class Ours:
    """A fitted estimator of ours: it predicts like any, and can be asked for its intervals."""

    model: Any

    def __call__(self, test: Ratings) -> Floats:
        pairs = (test.users, test.items)
        return np.asarray(self.model.predict(pairs, unit="original", unknown="population"))

    def interval(self, test: Ratings, level: float) -> pd.DataFrame:
        """Where each of these values will lie: ``low`` and ``high``."""
        pairs = (test.users, test.items)
        ends = self.model.predict_interval(pairs, level, unit="original", unknown="population")
        return pd.DataFrame(ends)

    def chosen(self) -> str:
        """What the model has chosen by itself."""
        names = ("n_events", "pmf_prior", "indicator_penalty", "pmf_penalty", "concentration")
        chosen = {name: getattr(self.model, f"{name}_", None) for name in names}
        chosen = getattr(self.model, "best_params_", chosen)
        return ", ".join(f"{name}={value}" for name, value in chosen.items() if value is not None)


def ours(estimator: type, **options: Any) -> Method:
    """One of the estimators."""

    def fit(train: Ratings) -> Ours:
        model = estimator(**{"random_state": 0, **options})
        return Ours(model.fit(Observations.of(tuple(train), scale=scale(train))))

    return fit


def scale(train: Ratings) -> tuple[float, float]:
    """The ends of the scale, as Observations would take them."""
    low, high = float(train.values.min()), float(train.values.max())
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)


def to_stars(train: Ratings) -> Ratings:
    """The same ratings on a scale of 1 to 5."""
    low, high = scale(train)
    return train._replace(values=1 + 4 * (train.values - low) / (high - low))


def from_stars(stars: Floats, train: Ratings) -> Floats:
    """Stars on the scale of these ratings."""
    low, high = scale(train)
    return low + (high - low) * (np.clip(stars, 1, 5) - 1) / 4


def grid(make: Callable[..., Method], **options: tuple[Any, ...]) -> Options:
    """A method for each combination of options, by what it is called."""
    found = {}
    for values in itertools.product(*options.values()):
        chosen = dict(zip(options, values, strict=True))
        found[", ".join(f"{name}={value}" for name, value in chosen.items())] = make(**chosen)
    return found


BIAS: Options = {"": bias}
SVD = grid(
    partial(surprise, "SVD"),
    n_factors=(24, 100), lr_all=(0.005, 0.01), reg_all=(0.05, 0.1), n_epochs=(60,),
)  # fmt: skip
PEERS = {
    "user + item bias": BIAS,
    "Surprise SVD, tuned": SVD,
    SVDPP: grid(
        partial(surprise, "SVDpp", cache_ratings=True),
        n_factors=(24,), lr_all=(0.005, 0.01), reg_all=(0.05, 0.1), n_epochs=(30, 50),
    ),
    "Cornac MF, tuned": grid(
        cornac,
        k=(24, 100), learning_rate=(0.01, 0.02), lambda_reg=(0.05, 0.1), max_iter=(30, 60),
    ),
    "LensKit BiasedMF": grid(lenskit, rank=(24,)),
}  # fmt: skip
OURS: dict[str, Options] = {
    SINGLE: {"": ours(ValidatedDescent)},
    "eventspace, ensemble": {"": ours(KolmogorovEnsemble)},
    POSTERIOR: {"": ours(KolmogorovPosterior)},
}
