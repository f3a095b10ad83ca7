"""What items and users are inclined to: the law, the draws, and what they do in a chain."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from eventspace import KolmogorovPosterior, Observations
from eventspace.gibbs.inclinations import (
    MOST,
    VARIANCE_RATE,
    VARIANCE_SHAPE,
    Inclinations,
)
from eventspace.gibbs.priors import lean, log_dirichlet, log_likelihood_of_bits, log_of, tilted

UNLIKELY = 1e-5


def test_the_likelihood_of_bits_is_that_of_independent_ones() -> None:
    rng = np.random.default_rng(0)
    log_odds, inclined = rng.normal(size=(30, 4)), rng.normal(size=30)
    bits = (rng.random((30, 4)) < 0.5) + 0.0
    p = special.expit(log_odds + inclined[:, None])
    exact = np.log(np.where(bits == 1, p, 1 - p)).sum(axis=1) - (bits * log_odds).sum(axis=1)
    assert_allclose(log_likelihood_of_bits(bits, log_odds, inclined), exact, atol=1e-12)


def test_the_density_of_pmfs_is_that_of_dirichlet() -> None:
    rng = np.random.default_rng(0)
    counts, pmf = rng.uniform(0.3, 4, (20, 5)), rng.dirichlet(np.ones(5), 20)
    exact = [stats.dirichlet(a).logpdf(x) for a, x in zip(counts, pmf, strict=True)]
    assert_allclose(log_dirichlet(counts, log_of(pmf)), exact, rtol=1e-9)


def test_centres_lean_to_the_events_in_which_much_comes_true() -> None:
    bits = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1.0]])
    towards = lean(bits)
    assert_allclose(towards, 4 * (np.array([1, 0.5, 0.25]) - 7 / 12))
    assert_array_equal(lean(np.ones((4, 3))), 0.0)
    centres = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
    assert_allclose(tilted(centres, np.zeros(2), towards), centres)
    found = tilted(centres, np.array([1.0, -2.0]), towards)
    assert_allclose(found.sum(axis=1), 1.0)
    odds = np.log(found[:, 0] / found[:, 2]) - np.log(centres[:, 0] / centres[:, 2])
    assert_allclose(odds, np.array([1.0, -2.0]) * (towards[0] - towards[2]))


def test_draws_have_the_law_of_likelihood_and_prior() -> None:
    """Of one bit pattern each, the density on a grid."""
    rng = np.random.default_rng(1)
    log_odds, bits = np.array([0.3, -1.0, 2.0]), np.array([1.0, 1.0, 0.0])
    copies = 4000
    inclined = Inclinations.none(copies, 3, variance=1.7)
    likelihood = partial(
        log_likelihood_of_bits, np.tile(bits, (copies, 1)), np.tile(log_odds, (copies, 1))
    )
    for _ in range(40):
        inclined.draw(likelihood, rng)
    grid = np.linspace(-MOST, MOST, 4001)
    density = np.exp(
        log_likelihood_of_bits(np.tile(bits, (4001, 1)), np.tile(log_odds, (4001, 1)), grid)
        - grid**2 / (2 * 1.7)
    )
    cdf = integrate.cumulative_trapezoid(density, grid, initial=0)
    law = partial(np.interp, xp=grid, fp=cdf / cdf[-1])
    assert stats.kstest(inclined.of_each, law).pvalue > UNLIKELY


def test_the_variance_has_the_law_of_the_known_ones() -> None:
    rng = np.random.default_rng(2)
    of_each = rng.normal(0, 1.3, 50)
    known = np.arange(50) < 20
    drawn = np.empty(3000)
    for k in range(len(drawn)):
        inclined = Inclinations(of_each, width=0.5)
        inclined.draw_variance(known, rng)
        drawn[k] = inclined.variance
    rate = VARIANCE_RATE + 0.5 * np.square(of_each[:20]).sum()
    assert (
        stats.kstest(drawn, stats.invgamma(VARIANCE_SHAPE + 10, scale=rate).cdf).pvalue > UNLIKELY
    )


def test_inclinations_have_a_bound_where_nothing_else_holds_them() -> None:
    rng = np.random.default_rng(3)
    inclined = Inclinations.none(200, 4)
    for _ in range(500):
        inclined.draw(partial(log_likelihood_of_bits, np.ones((200, 4)), np.zeros((200, 4))), rng)
        inclined.draw_variance(np.ones(200, dtype=bool), rng)
    assert np.abs(inclined.of_each).max() < MOST
    assert inclined.of_each.mean() > 1.0


@pytest.mark.parametrize("informed", [False, True])
def test_users_and_items_of_few_ratings_are_known_by_their_inclinations(informed: bool) -> None:
    """Generous users and popular items, and nothing else: sums of the two predict well."""
    rng = np.random.default_rng(4)
    chances = special.expit(rng.normal(0, 1.2, (60, 1)) + rng.normal(0, 1.2, 40))
    values = np.clip(chances + rng.normal(0, 0.1, chances.shape), 0, 1)
    seen = Observations.from_wide(
        np.where(rng.random(values.shape) < 0.2, values, np.nan), scale=(0, 1)
    )
    model = KolmogorovPosterior(
        12, informed=informed, n_chains=4, n_draws=40, n_samples=16, random_state=0
    ).fit(seen)
    users, items = (np.asarray(ids.tolist()) for ids in (model.user_ids_, model.item_ids_))
    found, wanted = model.predict(), chances[np.ix_(users, items)]
    assert np.sqrt(np.mean(np.square(found - wanted))) < 0.45 * wanted.std()
    assert model.item_spread_ > 0.5
    assert model.user_spread_ > 0.2
