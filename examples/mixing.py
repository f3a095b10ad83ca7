"""What mixtures consist of: estimates with a reference and without, and how far off they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, nnls
from sklearn.decomposition import NMF

from eventspace import KolmogorovDescent, Observations
from eventspace.baselines import BinaryFactorization, HypercubeModel

Floats = NDArray[np.float64]

STARTS = 3  # random starts of each method that needs any: the one of least cost is kept
ITERATIONS = 100


class Mixture(NamedTuple):
    """Samples that are mixtures of types."""

    name: str
    samples: pd.DataFrame  # samples x sites, from 0 to 1
    proportions: pd.DataFrame  # samples x types, known, made or (Liu's blood) estimated
    profiles: pd.DataFrame  # sites x types, from 0 to 1
    pure: tuple[str, ...] = ()  # samples of one type, the reference: they are not scored

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which samples count."""
        return np.asarray(~self.proportions.index.isin(self.pure))

    @property
    def types(self) -> list[str]:
        """The names of the types."""
        return [str(name) for name in self.proportions]

    def observations(self) -> Observations:
        """The samples as users, the sites as items."""
        return Observations.of(self.samples, scale=(0.0, 1.0))


# With a reference: the profiles are known, and each sample is one convex problem.


def weights_of(samples: Floats, profiles: Floats) -> Floats:
    """The field's tool: non-negative least squares, each sample alone."""
    return np.array([nnls(profiles, sample)[0] for sample in samples])


def nonnegative(samples: Floats, profiles: Floats) -> Floats:
    """Its weights as proportions: each row divided by its sum."""
    return normalised(weights_of(samples, profiles))


def with_reference(mixture: Mixture) -> dict[str, Floats]:
    """Proportions by known profiles. No penalty: the sites outnumber the types forty to one."""
    seen, profiles = mixture.observations(), mixture.profiles
    samples, n_types = mixture.samples.to_numpy(), profiles.shape[1]
    numbers = HypercubeModel(n_types, pmf_penalty=0.0, n_iter=ITERATIONS)
    sets = KolmogorovDescent(n_types, pmf_penalty=0.0, n_iter=ITERATIONS)
    rounded = profiles.round()
    return {
        "NNLS": nonnegative(samples, profiles.to_numpy()),
        "HypercubeModel, given the reference": numbers.fit(seen, indicators=profiles).pmf_,
        "NNLS, reference rounded": nonnegative(samples, rounded.to_numpy()),
        "KolmogorovDescent, given the rounded reference": sets.fit(seen, indicators=rounded).pmf_,
    }


# Blind: only the number of types is known. Nothing here sees a proportion or a profile.


def least(*fits: Any) -> Any:
    """The fit of least cost."""
    return min(fits, key=lambda fit: float(fit.history_[-1]))


def from_vertices(seen: Observations, found: BinaryFactorization) -> KolmogorovDescent:
    """A descent from what BMF finds."""
    model = KolmogorovDescent.from_parts(found.pmf_, found.indicators_, seen)
    model.set_params(warm_start=True, n_iter=ITERATIONS, random_state=0)
    return model.fit(seen)


def from_random_starts(seen: Observations, n_types: int, seed: int) -> KolmogorovDescent:
    """The model of least cost among descents from random starts."""
    return KolmogorovDescent(n_types, n_init=STARTS, n_iter=ITERATIONS, random_state=seed).fit(seen)


def loosened(model: KolmogorovDescent, pmf_penalty: float = 1.0) -> HypercubeModel:
    """The descent goes on from a model, its sets now numbers from 0 to 1."""
    start = (model.pmf_, model.indicators_)
    further = HypercubeModel(model.n_events, init=start, pmf_penalty=pmf_penalty, n_iter=ITERATIONS)
    return further.fit(model.observations_)


def factorised(samples: Floats, vertices: BinaryFactorization, seed: int) -> tuple[Floats, Floats]:
    """NMF's weights and profiles: the best of random starts and of one from BMF's vertices.

    It then has 1,500 iterations more.
    """
    n_types = vertices.n_events
    drafts = [
        NMF(n_types, init="random", tol=1e-3, max_iter=5000, random_state=STARTS * seed + k)
        for k in range(STARTS)
    ]
    weights = [draft.fit_transform(samples) for draft in drafts]
    start = {"W": vertices.pmf_.copy(), "H": vertices.indicators_.T.astype(np.float64)}
    drafts.append(NMF(n_types, init="custom", tol=0.0, max_iter=500))
    weights.append(drafts[-1].fit_transform(samples, **start))
    best = int(np.argmin([draft.reconstruction_err_ for draft in drafts]))
    final = NMF(n_types, init="custom", tol=0.0, max_iter=1500)
    start = {"W": weights[best], "H": drafts[best].components_}
    return final.fit_transform(samples, **start), final.components_.T


def blind(mixture: Mixture, n_types: int, seed: int) -> tuple[dict[str, Floats], KolmogorovDescent]:
    """Proportions by each blind method, the events in its own order; and the Kolmogorov model.

    Of the descents from random starts and the one from BMF's vertices, that of least cost counts,
    for all alike.
    """
    seen = mixture.observations()
    vertices = BinaryFactorization(n_types).fit(seen)
    random = from_random_starts(seen, n_types, seed)
    model = least(random, from_vertices(seen, vertices))
    hypercube = HypercubeModel(n_types, n_init=STARTS, n_iter=ITERATIONS, random_state=seed)
    start = (vertices.pmf_, vertices.indicators_)
    further = HypercubeModel(n_types, init=start, n_iter=ITERATIONS)
    weights, profiles = factorised(mixture.samples.to_numpy(), vertices, seed)
    return {
        "KolmogorovDescent, random starts only": random.pmf_,
        "KolmogorovDescent": model.pmf_,
        "KolmogorovDescent, then loosened": loosened(model).pmf_,
        "HypercubeModel (NNM)": least(hypercube.fit(seen), further.fit(seen)).pmf_,
        "BinaryFactorization (BMF)": vertices.pmf_,
        "NMF, rows normalised": normalised(weights),
        "NMF, profiles scaled first": normalised(weights * profiles.max(axis=0)),
    }, model


# How far off.


def normalised(weights: Floats) -> Floats:
    """Each row divided by its sum."""
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def matched(estimate: Floats, truth: Floats) -> Floats:
    """The estimate with its events in the order that is nearest to the truth (Hungarian method).

    This looks at the truth, for every blind method alike.
    """
    distance = np.square(estimate[:, :, None] - truth[:, None, :]).sum(axis=0)
    _, order = linear_sum_assignment(distance.T)
    return estimate[:, order]


def score(estimate: Floats, truth: Floats) -> dict[str, float]:
    """Root mean square and mean absolute error, and the mean correlation of types that vary."""
    error = estimate - truth
    a, b = estimate - estimate.mean(axis=0), truth - truth.mean(axis=0)
    sizes = np.sqrt(np.square(a).sum(axis=0) * np.square(b).sum(axis=0))
    varies = b.std(axis=0) > 1e-3
    correlation = (a * b).sum(axis=0) / np.maximum(sizes, 1e-12)
    return {
        "rmse": float(np.sqrt(np.square(error).mean())),
        "mae": float(np.abs(error).mean()),
        "correlation": float(correlation[varies].mean()),
    }


def scored(mixture: Mixture, estimates: dict[str, Floats]) -> dict[str, dict[str, float]]:
    """How far off each method is."""
    truth, kept = mixture.proportions.to_numpy(), mixture.scored
    return {
        name: {**score(estimate[kept], truth[kept]), "first": float(estimate[kept, 0].mean())}
        for name, estimate in estimates.items()
    }


def collect(runs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, list[float]]]:
    """By method and measure, a list over the seeds."""
    by = runs[0]
    return {
        method: {what: [round(run[method][what], 5) for run in runs] for what in by[method]}
        for method in by
    }


def mean_and_spread(values: list[float], places: int = 3) -> str:
    """The mean over seeds, and the standard deviation where there is any."""
    spread = float(np.std(values))
    mean = f"{np.mean(values):.{places}f}"
    return f"{mean} ± {spread:.{places}f}" if spread >= 0.5 * 10.0**-places else mean
