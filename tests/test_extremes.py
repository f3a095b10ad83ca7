"""Extremes: a fit converges or says why not, its cost never rises, and no NaN leaves it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from eventspace import (
    KolmogorovDescent,
    KolmogorovEnsemble,
    KolmogorovModel,
    KolmogorovPosterior,
    Observations,
    load,
)
from eventspace._base.errors import UserError
from eventspace.pmf.quadratic import duality_gap, squared_error_of

EPS = float(np.finfo(np.float64).eps)
CHAINS: dict[str, Any] = {"n_chains": 2, "n_warmup": 3, "n_draws": 4, "random_state": 0}


def table(n_users: int, n_items: int, values: Any, weights: Any = None, seed: int = 0) -> Any:
    """Four fifths of all pairs, with values, and perhaps weights, of as many as there are."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.8)
    columns = users, items, values(rng, len(users))
    return columns if weights is None else (*columns, weights(rng, len(users)))


def chances(rng: np.random.Generator, n: int) -> Any:
    return rng.random(n)


def powers(low: float, high: float) -> Any:
    return lambda rng, n: 10.0 ** rng.uniform(low, high, n)


YES = table(12, 8, chances)[:2]
TABLES: dict[str, Any] = {
    "zeros and ones": table(15, 10, lambda rng, n: rng.integers(0, 2, n).astype(float)),
    "one user": (np.zeros(9, int), np.arange(9), np.linspace(0, 1, 9)),
    "one item": (np.arange(9), np.zeros(9, int), np.linspace(0, 1, 9)),
    "one rating": ([0], [0], [0.3]),
    "one rating of zero": ([0], [0], [0.0]),
    "two ratings": ([0, 1], [0, 0], [0.0, 1.0]),
    "many on one item": (np.arange(20_000), np.zeros(20_000, int), np.arange(20_000) % 7 / 6),
    "values from 1e-40": table(8, 6, powers(-40, 0)),
    "a scale of denormals": Observations.of(
        table(8, 6, lambda rng, n: rng.random(n) * 1e-310), scale=(0, 1e-310)
    ),
    "great values": table(8, 6, lambda rng, n: rng.random(n) * 1e307),
    "weights over 24 orders": table(12, 8, chances, powers(-12, 12)),
    "weights over 60 orders": table(12, 8, chances, powers(-30, 30)),
    "small weights": table(12, 8, chances, lambda rng, n: np.full(n, 1e-30)),
    "great weights": table(12, 8, chances, lambda rng, n: np.full(n, 1e30)),
    "what is missing says no": Observations.of(YES, missing="no"),
    "what is missing hardly says no": Observations.of(YES, missing=1e-20),
    "what is missing shouts no": Observations.of(YES, missing=1e6),
    "yes to everything": Observations.of(np.ones((12, 8)), missing="no"),
}
MODELS: dict[str, Any] = {
    "descent": KolmogorovDescent(4, random_state=0, n_init=1),
    "descent of one event": KolmogorovDescent(1, random_state=0, n_init=1),
    "descent of 64 events": KolmogorovDescent(64, random_state=0, n_init=1),
    "descent, penalty 1e6": KolmogorovDescent(4, pmf_penalty=1e6, random_state=0, n_init=1),
    "descent, penalty 1e100": KolmogorovDescent(4, pmf_penalty=1e100, random_state=0, n_init=1),
    "frank-wolfe": KolmogorovDescent(4, pmf_solver="frank-wolfe", random_state=0, n_init=1),
    "model": KolmogorovModel(4, **CHAINS),
    "model of 64 events": KolmogorovModel(64, **CHAINS),
    "posterior": KolmogorovPosterior(4, n_samples=4, **CHAINS),
    "posterior of 64 events": KolmogorovPosterior(64, n_samples=4, **CHAINS),
    "ensemble": KolmogorovEnsemble(4, n_models=2, n_iter=3, random_state=0),
}
UNKNOWN = ("held_out_error", "same_bits", "same_pmf")  # NaN there says that nothing is known


def rounding(seen: Observations) -> float:
    """What the cost is known to: sums are rounded by a part of the sum of squares of the values."""
    weight = seen.by_user.weight.astype(float) if seen.weighted else 1.0
    return 64 * EPS * float(np.sum(weight * np.square(seen.by_user.value.astype(float))))


def check_descent(model: KolmogorovDescent) -> None:
    """The cost never rises beyond rounding, and no gap, error or mass is below zero."""
    cost = model.history_
    assert (np.diff(cost) <= 1e-12 * cost[:-1] + rounding(model.observations_)).all()
    assert model.error_ >= 0
    assert model.gap_.min() >= 0
    assert model.pmf_.min() >= 0


def check_numbers(model: Any) -> None:
    """Nothing in the fit, and nothing that it answers, is NaN."""
    record = model.fitted_.record
    for name, part in vars(record).items():
        if name not in UNKNOWN and isinstance(part, (float, np.ndarray)):
            numbers = np.asarray(part)
            assert numbers.dtype.kind != "f" or not np.isnan(numbers).any(), name
    p = model.predict()
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(record.pmf.sum(axis=1), 1.0, rtol=1e-9)
    assert "nan" not in str(model.summary())


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", MODELS)
def test_no_nan_leaves_a_fit(name: str, kind: str) -> None:
    model = clone(MODELS[name])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no entry can be held out")
        model.fit(TABLES[kind])
    check_numbers(model)
    assert not np.isnan(model.transform(TABLES[kind])).any()
    if isinstance(model, KolmogorovDescent):
        check_descent(model)


@pytest.mark.parametrize("name", MODELS)
def test_where_all_is_the_same_it_says_so(name: str) -> None:
    for value in (0.0, 0.7, 1.0):
        with pytest.raises(UserError, match="there is nothing to tell apart"):
            clone(MODELS[name]).fit(table(6, 5, lambda rng, n, v=value: np.full(n, v)))


def test_denormal_values_on_the_scale_of_chances_are_zeros() -> None:
    """They are stored in 32 bits."""
    with pytest.raises(UserError, match=r"All .* values are 0: there is nothing to tell apart"):
        KolmogorovDescent(2).fit(table(8, 6, lambda rng, n: rng.random(n) * 1e-310))


@pytest.mark.parametrize("name", ["pmf_penalty", "indicator_penalty"])
def test_a_penalty_that_sums_would_lose_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"{name}=1.7e\\+308 is too great .* at most 1e\\+100"):
        KolmogorovDescent(2, **{name: 1.7e308}).fit(TABLES["one user"])
    check_numbers(KolmogorovDescent(2, random_state=0, **{name: 1e100}).fit(TABLES["one user"]))


def random_fit(seed: int) -> KolmogorovDescent | None:
    """A descent with settings of any kind and size, to the end; None where it is refused."""
    rng = np.random.default_rng(seed)
    n_users, n_items = rng.integers(1, 25, 2)
    users, items = np.nonzero(rng.random((n_users, n_items)) < rng.uniform(0.2, 1.0))
    n, n_events = len(users), int(rng.choice([1, 2, 3, 5, 9, 64]))
    values = [
        rng.random(n),
        rng.integers(0, 2, n).astype(float),
        rng.integers(1, 6, n).astype(float),
        10.0 ** rng.uniform(-40, 0, n),
    ][rng.integers(4)]
    weights = (10.0 ** rng.uniform(-12, 12, n),) if rng.random() < 0.4 else ()
    model = KolmogorovDescent(
        n_events,
        pmf_penalty=float(rng.choice([0, 1e-12, 1e-3, 1, 1, 30, 30, 1e3, 1e6, 1e9, 1e12, 1e20])),
        pmf_prior=str(rng.choice(["mean", "zero"])),
        indicator_penalty=float(rng.choice([0, 0, 1e-3, 0.3, 1e6], p=[0.4, 0.2, 0.2, 0.15, 0.05])),
        indicators=str(rng.choice(["free", "free", "shared", "one-hot"])),
        indicator_solver=str(rng.choice(["exact", "local", "sdr"])) if n_events < 64 else "local",
        pmf_solver=str(rng.choice(["pairwise", "pairwise", "frank-wolfe"])),
        n_iter=30,
        tol=0.0,
        n_init=1,
        n_jobs=1,
        random_state=seed,
    )
    if n < 2 or values.min() == values.max():  # as is tested elsewhere
        return None
    return model.fit((users, items, values, *weights))


def check_random_fits(seeds: range) -> None:
    fits = [model for model in map(random_fit, seeds) if model is not None]
    assert len(fits) > 0.9 * len(seeds)
    # small tables are soon settled: some fits must have a way to go, or this says little
    assert np.mean([len(model.history_) > 3 for model in fits]) > 0.2
    for model in fits:
        check_descent(model)
        check_numbers(model)


def test_the_cost_never_rises() -> None:
    check_random_fits(range(300))


@pytest.mark.whole
def test_the_cost_never_rises_in_thousands_of_fits() -> None:
    check_random_fits(range(300, 4300))


@pytest.mark.parametrize("penalty", [1e6, 1e9, 1e12, 1e16])
@pytest.mark.parametrize("prior", ["mean", "zero"])
def test_the_error_is_not_lost_beside_a_great_penalty(penalty: float, prior: str) -> None:
    model = KolmogorovDescent(4, pmf_penalty=penalty, pmf_prior=prior, random_state=0, tol=0.0)
    model.fit(TABLES["zeros and ones"])
    users, items, p = model.observations_.coo()
    off = np.einsum("kd,kd->k", model.pmf_[users], model.indicators_[items]) - p
    assert model.error_ == pytest.approx(np.square(off).sum(), rel=1e-12)
    check_descent(model)


def test_error_and_gap_against_their_definitions() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        bits, p = rng.integers(0, 2, (20, 5)).astype(float), rng.random(20)
        theta = rng.dirichlet(np.full(5, 0.3))
        Q, r, slope = bits.T @ bits, bits.T @ p, rng.normal(0, 1e9, 5)
        drawn = Q + 1e12 * np.eye(5)  # the penalty has eaten the diagonal's last digits
        error = squared_error_of(drawn, np.diag(Q).copy(), r, float(p @ p), theta)
        assert error == pytest.approx(np.square(bits @ theta - p).sum(), rel=1e-11)
        gap = duality_gap(slope, theta)
        assert gap == pytest.approx(2 * (slope @ theta - slope.min()), rel=1e-9)
        assert duality_gap(np.full(5, slope[0]), theta) == 0.0


@pytest.mark.whole
@pytest.mark.parametrize("name", ["descent", "model", "posterior"])
def test_a_million_ratings_on_one_item(name: str) -> None:
    rng = np.random.default_rng(0)
    users, items = np.arange(1_000_000), np.zeros(1_000_000, int)
    few = rng.integers(0, 1_000_000, 3000)
    columns = np.append(users, few), np.append(items, 1 + np.arange(3000) % 3)
    model = clone(MODELS[name]).set_params(n_events=2)
    if name != "descent":
        model.set_params(meets=False)  # which takes 5 kB per user
    model.fit(Observations.of((*columns, rng.random(len(columns[0]))), duplicates="mean"))
    assert np.isfinite(model.pmf_).all()
    assert np.isfinite(model.error_)


@pytest.mark.parametrize("kind", ["weights over 24 orders", "zeros and ones", "one rating"])
@pytest.mark.parametrize("name", ["descent", "descent, penalty 1e6", "model", "posterior"])
def test_threads_and_files_change_nothing(name: str, kind: str, tmp_path: Any) -> None:
    fits = [
        clone(MODELS[name]).set_params(n_jobs=n_jobs).fit(TABLES[kind]) for n_jobs in (1, 2, -1)
    ]
    fits[0].save(tmp_path / "m.eventspace")
    for other in (*(model.fitted_ for model in fits[1:]), load(tmp_path / "m.eventspace")):
        np.testing.assert_array_equal(other.pmf, fits[0].pmf_)
        np.testing.assert_array_equal(other.codes, fits[0].codes_)
        assert other.error == fits[0].error_
        np.testing.assert_array_equal(other.predict(), fits[0].predict())
