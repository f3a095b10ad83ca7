"""What the priors of a chain learn: from whom, and what they then say of the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from eventspace.data.ids import Ids
from eventspace.data.observations import Observations
from eventspace.engines.workbench import Cores
from eventspace.sampling.log_dirichlet import LEAST_COUNT
from eventspace.sampling.priors.noise import RATE as NOISE_RATE
from eventspace.sampling.priors.noise import SHAPE as NOISE_SHAPE
from eventspace.sampling.priors.pmfs import MOST_CONCENTRATION, draw_concentration
from tests import naive
from tests.chains import UNLIKELY, Floats, Given, Recorded, assert_mean, dirichlet, start, table


def test_uninformed_priors_are_the_mean_of_the_rated() -> None:
    observations = table()
    chain = start(observations, informed=False)
    chain.precision[:] = np.random.default_rng(0).gamma(2.0, 12.0, observations.n_users)
    items = np.delete(np.arange(60), 7)
    users = np.delete(np.arange(400), 5)
    chain.indicators[7] = 1 - np.round(chain.indicators[items].mean(axis=0))
    bits, pmfs, _ = chain.priors
    for _ in range(30):
        log_odds = bits.draw(chain, chain.rng) - bits.inclinations.of_each[:, None]
    np.testing.assert_allclose(log_odds, np.tile(log_odds[0], (60, 1)), atol=1e-12)
    rate = special.expit(log_odds[0] + bits.inclinations.of_each[items, None]).mean(axis=0)
    np.testing.assert_allclose(rate, chain.indicators[items].mean(axis=0), atol=0.05)
    chain.pmf[5] = [1.0, 0, 0, 0]
    centre = chain.pmf[users].mean(axis=0)
    np.testing.assert_allclose(pmfs.centres(chain), np.tile(centre, (400, 1)), atol=1e-12)


def test_pmfs_are_expected_around_their_centres_as_closely_as_given() -> None:
    chain = start(table(), concentration=30.0)
    prior = chain.priors.pmfs
    expected, towards = prior.expected(chain)
    np.testing.assert_allclose(expected, np.maximum(prior.centres(chain), LEAST_COUNT / 30.0))
    counts = prior.draw(chain, chain.rng)
    assert prior.inclinations.of_each.any()
    centres = naive.tilted(prior.inclinations.of_each, expected, towards)
    np.testing.assert_allclose(counts, np.maximum(30.0 * centres, LEAST_COUNT))
    assert prior.concentration == 30.0


@pytest.mark.parametrize("informed", [False, True])
def test_the_unrated_follow_what_was_learnt_in_the_sweep(informed: bool) -> None:
    rng = np.random.default_rng(0)
    n_users, n_items, n_events, unrated = 60, 40, 3, 6000
    theta = rng.dirichlet(np.ones(n_events), n_users)
    psi = rng.random((n_items, n_events)) < [0.9, 0.5, 0.3]
    u, i = np.nonzero(rng.random((n_users, n_items)) < 0.5)
    p = np.clip((theta @ psi.T)[u, i] + 0.05 * rng.normal(size=len(u)), 0, 1)
    observations = Observations.of(
        (u, i, p),
        scale=(0, 1),
        users=Ids(np.arange(n_users + unrated)),
        items=Ids(np.arange(n_items + unrated)),
    )
    chain = start(observations, n_events=n_events, informed=informed)
    for prior in (chain.priors.pmfs, chain.priors.bits):
        prior.inclinations.width = 0.0  # nobody is inclined to anything
    log_odds, counts = Recorded(chain.priors.bits), Recorded(chain.priors.pmfs)
    chain.priors = chain.priors._replace(bits=log_odds, pmfs=counts)
    for _ in range(20):
        last_noise_rate = chain.priors.noise.rate
        chain.sweep()
    new = log_odds.last[n_items:]
    np.testing.assert_allclose(new, np.tile(new[0], (unrated, 1)))
    q = special.expit(new[0])
    bits = chain.indicators[n_items:]
    for d in range(n_events):
        assert_mean(bits[:, d], q[d])
        assert_mean(bits[:, d] * bits[:, d - 1], q[d] * q[d - 1])
    assert last_noise_rate < 0.5 * NOISE_RATE  # there is less noise than expected
    noise = stats.gamma(NOISE_SHAPE, scale=1 / last_noise_rate)
    assert stats.kstest(chain.precision[n_users:], noise.cdf).pvalue > UNLIKELY
    # held, for small masses take many sweeps
    chain.priors = chain.priors._replace(pmfs=Given(counts.last))
    for _ in range(60):
        chain.draw_pmfs()
    expected = rng.dirichlet(counts.last[-1], 50_000)
    for d in range(n_events):
        law = stats.ks_2samp(chain.pmf[n_users:, d], expected[:, d], method="asymp")
        assert law.pvalue > UNLIKELY


def test_attributes_tell_what_an_unrated_item_and_user_are_like() -> None:
    rng = np.random.default_rng(0)
    n_users, n_items, n_events = 200, 80, 2
    kind_of_user, kind_of_item = rng.random(n_users) < 0.5, rng.random(n_items) < 0.5
    theta = np.where(kind_of_user[:, None], [0.9, 0.1], [0.1, 0.9])
    psi = np.where(kind_of_item[:, None], [1.0, 0.0], [0.0, 1.0])
    values = theta @ psi.T + 0.02 * rng.normal(size=(n_users, n_items))
    values[rng.random(values.shape) < 0.7] = np.nan
    values[-40:] = np.nan
    values[:, -20:] = np.nan
    attributes = [np.where(kind, 1.0, -1.0)[:, None] for kind in (kind_of_user, kind_of_item)]
    chain = start(
        Observations.from_wide(np.clip(values, 0, 1), scale=(0, 1)),
        n_events=n_events,
        attributes=(attributes[0], attributes[1]),
    )
    mean = np.zeros((40, 20))
    for sweep in range(300):
        chain.sweep()
        if sweep >= 50:
            mean += chain.pmf[-40:] @ chain.indicators[-20:].T / 250
    truth = (theta @ psi.T)[-40:, -20:]
    assert np.corrcoef(mean.ravel(), truth.ravel())[0, 1] > 0.95


def test_the_typical_noise_is_drawn_given_that_of_the_users() -> None:
    """Gamma by conjugacy; a user without ratings says nothing about it."""
    values = np.array([[0.9, 0.2], [0.6, 0.1], [np.nan, np.nan], [np.nan, 0.3]])
    chain = start(Observations.from_wide(values, scale=(0, 1)), informed=False)
    assert chain.priors.noise.rate == NOISE_RATE
    chance = np.empty(500)
    for k in range(len(chance)):
        chain.sweep()
        total = chain.precision[[0, 1, 3]].sum() + NOISE_SHAPE / NOISE_RATE
        chance[k] = stats.gamma(4 * NOISE_SHAPE, scale=1 / total).cdf(chain.priors.noise.rate)
    assert stats.kstest(chance, "uniform").pvalue > UNLIKELY


def known(pmf: Floats) -> Any:
    """What a concentration is drawn by: all users have rated something."""
    ones = np.ones(len(pmf))
    return SimpleNamespace(bench=Cores(), pmf=pmf, precision=ones, known_users=ones)


@pytest.mark.parametrize("concentration", [3.0, 40.0])
def test_the_concentration_is_found_again(concentration: float) -> None:
    rng = np.random.default_rng(0)
    centres = rng.dirichlet(np.full(4, 5.0), 2000)
    pmf = dirichlet(np.maximum(concentration * centres, LEAST_COUNT), rng)
    now, found = 4.0, []
    for _ in range(200):
        now = draw_concentration(now, centres, known(pmf), rng)
        found.append(now)
    found = found[50:]
    assert abs(np.mean(found) / concentration - 1) < 0.06
    assert 0.005 < np.std(found) / concentration < 0.05


def test_few_users_say_little_about_the_concentration() -> None:
    """Then it stays around the number of events, within a factor of some e."""
    rng = np.random.default_rng(0)
    now, found = 4.0, []
    for _ in range(3000):
        now = draw_concentration(now, np.empty((0, 4)), known(np.empty((0, 4))), rng)
        found.append(np.log(now / 4))
    assert stats.kstest(found[::30], "norm").pvalue > UNLIKELY


@pytest.mark.parametrize("shape", [(1, 40), (10, 10)])
def test_the_concentration_of_users_who_are_all_alike_has_a_bound(shape: tuple[int, int]) -> None:
    observations = Observations.of(np.full(shape, 0.5), scale=(0, 1))
    chain = start(observations, n_events=24)
    for _ in range(150):
        chain.sweep()
        assert chain.priors.pmfs.concentration <= MOST_CONCENTRATION
    np.testing.assert_allclose(chain.pmf.sum(axis=1), 1.0)


def test_only_users_with_ratings_say_how_concentrated_pmfs_are() -> None:
    observations = table()  # user 5 has none
    chains = [start(observations) for _ in range(2)]
    chains[1].pmf[5] = [1.0, 0.0, 0.0, 0.0]
    priors = [chain.priors.pmfs for chain in chains]
    counts = [prior.draw(chain, chain.rng) for prior, chain in zip(priors, chains, strict=True)]
    assert priors[0].concentration == priors[1].concentration
    assert priors[0].inclinations.variance == priors[1].inclinations.variance
    np.testing.assert_array_equal(*(np.delete(c, 5, axis=0) for c in counts))
