"""Regressions of the priors against scikit-learn's, and the features that they are told."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.linear_model import LogisticRegression, Ridge

from eventspace.engines.workbench import Cores
from eventspace.sampling.draw_inclinations import MOST
from eventspace.sampling.priors.bits import RIDGE, Regressions
from eventspace.sampling.priors.features import RIDGE_OF_CONSTANT, Features
from eventspace.sampling.priors.pmfs import ENOUGH_USERS, RIDGES, regressed_centres
from tests.chains import Floats, table

CORES = Cores()


def test_features_are_the_number_of_ratings_and_the_deviations_of_who_gave_them() -> None:
    observations = table(n_users=30, n_items=12)
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.ones(4), 30)
    others[:, 3] = 0.25  # no deviations: a feature of zeros, not of NaN
    rated = np.zeros((12, 30))
    users, items, _ = observations.coo()
    rated[items, users] = 1.0
    attributes = np.linspace(-3.0, 3.0, 12)[:, None]
    X = Features(observations.by_item, attributes, CORES)(others)
    sizes = rated.sum(axis=1)
    size = np.log(1 + sizes) - np.log(1 + sizes).mean()
    sums = rated @ (others - others.mean(axis=0)) / np.sqrt(np.maximum(sizes, 1))[:, None]
    raw = np.column_stack([size, sums[:, :3]])
    expected = raw / np.sqrt(np.square(raw).mean(axis=0))
    np.testing.assert_allclose(X[:, 0], 1.0)
    np.testing.assert_allclose(X[:, 1], expected[:, 0])
    np.testing.assert_allclose(X[:, 2:3], attributes / attributes.std())
    np.testing.assert_allclose(X[:, 3:6], expected[:, 1:], atol=1e-6)  # sums of 32 bits
    np.testing.assert_allclose(X[:, 6:], 0.0)
    assert X.shape == (12, 7)
    assert sizes[7] == 0  # an item without ratings has no deviation from the mean
    np.testing.assert_allclose(X[7, 3:], 0.0)


def regression(n: int = 300, n_events: int = 3) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Features, bits, and which of the rows are known."""
    rng = np.random.default_rng(0)
    X = np.hstack([np.ones((n, 1)), rng.normal(size=(n, n_events + 1))])
    eta = X @ rng.normal(size=(n_events + 2, n_events))
    psi = (rng.random(eta.shape) < special.expit(eta)).astype(float)
    return X, psi, rng.random(n) < 0.7


def logistic(X: Floats, psi: Floats) -> Floats:
    """Weights by scikit-learn, whose one ridge is made two by the scale of the features."""
    root = np.sqrt([RIDGE_OF_CONSTANT, *np.full(X.shape[1] - 1, RIDGE)])
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    return np.stack([model.fit(X / root, bits).coef_[0].copy() / root for bits in psi.T], axis=1)


def test_log_odds_become_those_of_logistic_regression() -> None:
    X, psi, known = regression()
    prior = Regressions(X.shape[1], psi.shape[1])
    psi[~known] = 9.0  # not looked at
    for _ in range(60):
        prior.learn(X, psi, known * 1.0, np.zeros(len(X)), CORES)
    weights = logistic(X[known], psi[known])
    np.testing.assert_allclose(prior.weights, weights, atol=1e-5)
    np.testing.assert_allclose(
        prior.expected(X, CORES), np.clip(X @ weights, -MOST, MOST), atol=1e-4
    )


def test_regressions_of_bits_take_inclinations_as_given() -> None:
    """Where the gradient of the penalised likelihood is zero; the unknown are not looked at."""
    X, psi, known = regression()
    inclined = np.random.default_rng(3).normal(0, 1.5, len(X))
    psi[~known], inclined[~known] = 9.0, -4.0
    prior = Regressions(X.shape[1], psi.shape[1])
    for _ in range(100):
        prior.learn(X, psi, known * 1.0, inclined, CORES)
    p = special.expit(X[known] @ prior.weights + inclined[known, None])
    ridge = np.array([RIDGE_OF_CONSTANT, *np.full(X.shape[1] - 1, RIDGE)])[:, None]
    slope = X[known].T @ (psi[known] - p) - ridge * prior.weights
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_log_odds_settle_again_after_the_bits_have_changed() -> None:
    """A step that trusts the curvature where it stands goes too far here, and never comes back."""
    X, _, known = regression()
    rng = np.random.default_rng(1)
    prior = Regressions(X.shape[1], 3)
    shape = (len(X), 3)
    for rate in (0.995, 0.6, 0.003):
        psi = (rng.random(shape) < rate).astype(float)
        psi[known.nonzero()[0][0]] = 0.0
        psi[known.nonzero()[0][1]] = 1.0  # both are there
        for _ in range(120):
            prior.learn(X, psi, known * 1.0, np.zeros(len(X)), CORES)
        np.testing.assert_allclose(prior.weights, logistic(X[known], psi[known]), atol=1e-3)


def test_log_odds_are_bounded_and_finite_when_an_event_has_all_items_or_none() -> None:
    X, psi, known = regression()
    X[0, 1:] = 1e4
    psi[:, 0], psi[:, 1] = 0.0, 1.0
    prior = Regressions(X.shape[1], 3)
    for _ in range(50):
        prior.learn(X, psi, known * 1.0, np.zeros(len(X)), CORES)
    log_odds = prior.expected(X, CORES)
    assert np.abs(log_odds).max() == MOST
    assert (log_odds[1:, 0] < -3).mean() > 0.9
    assert (log_odds[1:, 1] > 3).mean() > 0.9


def test_centres_are_those_of_the_best_ridge_regression_on_the_others() -> None:
    rng = np.random.default_rng(0)
    Z, _, known = regression(n=40)
    pmf = rng.dirichlet(np.ones(3), len(Z))
    pmf[:, 0] += 0.2 * Z[:, 1]
    everything = pmf.copy()
    pmf[~known] = np.nan  # not looked at by scikit-learn
    found = []
    for ridge in RIDGES:
        root = np.sqrt([RIDGE_OF_CONSTANT, *np.full(Z.shape[1] - 1, ridge)])
        model = Ridge(alpha=1.0, fit_intercept=False)
        expected = np.empty_like(pmf)
        for u in range(len(Z)):
            others = known & (np.arange(len(Z)) != u)
            expected[u] = model.fit((Z / root)[others], pmf[others]).predict(Z[u : u + 1] / root)[0]
        found.append(expected)
    errors = [np.square(expected - everything)[known].sum() for expected in found]
    best = int(np.argmin(errors))
    assert 0 < best < len(RIDGES) - 1
    centres = regressed_centres(Z, everything, known * 1.0, CORES)
    np.testing.assert_allclose(centres, found[best], atol=1e-9)


def test_a_centre_does_not_follow_its_own_user() -> None:
    """As many features as users: fitted with all, the centres would be the PMFs themselves."""
    rng = np.random.default_rng(0)
    Z = np.hstack([np.ones((30, 1)), rng.normal(size=(30, 29))])
    pmf = rng.dirichlet(np.ones(4), 30)
    centres = regressed_centres(Z, pmf, np.ones(30), CORES)
    assert np.sqrt(np.mean(np.square(centres - pmf))) > 0.9 * pmf.std()


def test_deviations_that_are_rounding_are_no_features() -> None:
    """Where everyone has rated everything, who rated an item says nothing."""
    observations = table(full=True, n_users=40, n_items=6)
    others = np.random.default_rng(0).dirichlet(np.ones(5), 40)
    X = Features(observations.by_item, np.empty((6, 0)), CORES)(others)
    np.testing.assert_array_equal(X[:, 0], 1.0)
    np.testing.assert_array_equal(X[:, 1:], 0.0)


def test_a_ridge_is_chosen_by_known_users_however_few_there_are() -> None:
    """Features are noise, so the strongest ridge is best, and centres hardly differ."""
    rng = np.random.default_rng(0)
    n = 4 * ENOUGH_USERS
    known = (np.arange(n) % 4 == 1) * 1.0
    Z = np.hstack([np.ones((n, 1)), rng.normal(size=(n, 20))])
    pmf = rng.dirichlet(np.ones(3), n)
    some = known > 0
    alone = regressed_centres(Z[some], pmf[some], known[some], CORES)
    np.testing.assert_allclose(regressed_centres(Z, pmf, known, CORES)[some], alone, atol=1e-9)
