"""The sampler as a whole against exact posteriors, and what its priors learn.

Many small tables that have nothing in common are put into one: each is a chain of its own, and
draws from different ones are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats
from sklearn.linear_model import LogisticRegression, Ridge

from eventspace.data.entries import Entries
from eventspace.data.factors import squared_errors
from eventspace.data.ids import Ids
from eventspace.data.observations import Observations
from eventspace.engines.cpu import CPU, _full_table
from eventspace.sampling.chain import Chain
from eventspace.sampling.draw_pmfs import MOST_PRECISION
from eventspace.sampling.priors import Beforehand, Priors
from eventspace.sampling.priors.bits import RIDGE, Regressions
from eventspace.sampling.priors.features import RIDGE_OF_CONSTANT, features
from eventspace.sampling.priors.inclinations import MOST, Inclinations
from eventspace.sampling.priors.noise import RATE as NOISE_RATE
from eventspace.sampling.priors.noise import SHAPE as NOISE_SHAPE
from eventspace.sampling.priors.noise import NoisePrior
from eventspace.sampling.priors.pmfs import (
    LEAST_COUNT,
    MOST_CONCENTRATION,
    RIDGES,
    draw_by_slice,
    draw_concentration,
    regressed_centres,
)
from tests import naive

Floats = NDArray[np.float64]

SIGMAS = 4.5
UNLIKELY = 1e-5


@dataclass
class Given:
    """A prior that is given, not learnt."""

    law: Floats

    def draw(self, state: Any, rng: np.random.Generator) -> Floats:
        return self.law


class GivenNoise(NoisePrior):
    """As it is where it starts."""

    def draw(self, state: Any, rng: np.random.Generator) -> None:
        pass


def given(log_odds: Floats, counts: Floats) -> Any:
    """Priors of which none is learnt: the law of the chain is known."""
    return Priors(Given(log_odds), Given(counts), GivenNoise())


@dataclass
class Recorded:
    """A prior that remembers the law that it gave last."""

    prior: Any
    last: Any = None

    def draw(self, state: Any, rng: np.random.Generator) -> Any:
        self.last = self.prior.draw(state, rng)
        return self.last


class Level(Inclinations):
    """Nobody is inclined to anything."""

    def draw(self, log_likelihood: Any, rng: np.random.Generator) -> None:
        pass


# --- a small table, and its exact posterior -----------------------------------------------------


@dataclass
class Small:
    """A table of few users and items, two events, and what is known beforehand."""

    table: Floats  # NaN where not observed
    weight: Floats | None
    log_odds: Floats  # items x 2
    counts: Floats  # users x 2

    def observations(self, copies: int) -> Observations:
        n_users, n_items = self.table.shape
        u, i = np.nonzero(~np.isnan(self.table))
        at = np.arange(copies)[:, None]
        columns = [(u + n_users * at).ravel(), (i + n_items * at).ravel()]
        columns.append(np.tile(self.table[u, i], copies))
        if self.weight is not None:
            columns.append(np.tile(self.weight[u, i], copies))
        users, items = (Ids(np.arange(copies * n)) for n in self.table.shape)
        return Observations.of(tuple(columns), scale=(0, 1), users=users, items=items)

    def chain(self, copies: int, seed: int) -> Chain:
        rng = np.random.default_rng(seed)
        n_users, n_items = (copies * n for n in self.table.shape)
        return Chain(
            self.observations(copies),
            CPU(),
            given(np.tile(self.log_odds, (copies, 1)), np.tile(self.counts, (copies, 1))),
            rng.dirichlet(np.ones(2), n_users),
            (rng.random((n_items, 2)) < 0.5).astype(float),
            rng,
        )

    def posterior(self) -> tuple[Floats, dict[str, Floats]]:
        """The chance of each setting of all bits; given each, moments of theta and of the noise.

        The noise is integrated in closed form, theta = (x, 1 - x) on a grid.
        """
        n_users, n_items = self.table.shape
        x = (np.arange(2000) + 0.5) / 2000
        theta = np.stack([x, 1 - x], axis=1)
        settings = naive.all_codes(2 * n_items).reshape(-1, n_items, 2)
        log = np.einsum("sid,id->s", settings, self.log_odds)
        moments = {name: np.empty((len(settings), n_users)) for name in ("x", "xx", "log")}
        for u in range(n_users):
            seen = np.flatnonzero(~np.isnan(self.table[u]))
            p = self.table[u, seen]
            w = np.ones(len(seen)) if self.weight is None else self.weight[u, seen]
            errors = np.einsum("xd,sid->sxi", theta, settings[:, seen]) - p
            shape = NOISE_SHAPE + 0.5 * len(seen)
            rate = NOISE_RATE + 0.5 * np.square(errors) @ w
            density = -shape * np.log(rate)
            density += np.log(theta) @ (self.counts[u] - 1)
            top = density.max(axis=1, keepdims=True)
            density = np.exp(density - top)
            mass = density.sum(axis=1)
            log += np.log(mass) + top[:, 0]
            density /= mass[:, None]
            moments["x"][:, u] = density @ x
            moments["xx"][:, u] = density @ x**2
            moments["log"][:, u] = (density * (special.digamma(shape) - np.log(rate))).sum(axis=1)
        chance = np.exp(log - log.max())
        return chance / chance.sum(), moments


def small(*, weighted: bool = False) -> Small:
    """Sparse: the last user rated nothing, the last item has no rating."""
    nan = np.nan
    return Small(
        table=np.array([[0.9, 0.2, nan, nan], [0.6, nan, 0.1, nan], [nan, nan, nan, nan]]),
        weight=np.array([[0.5, 4.0, 1, 1], [2.0, 1, 3.0, 1], [1, 1, 1, 1]]) if weighted else None,
        log_odds=np.array([[0.3, -0.2], [0.5, 0.0], [-0.4, 0.7], [1.0, -1.5]]),
        counts=np.array([[2.0, 0.7], [1.3, 3.0], [1.0, 1.8]]),
    )


def assert_counts(codes: NDArray[np.int64], chance: Floats) -> None:
    """A chi-square test, the rare ones taken together."""
    expected, observed = len(codes) * chance, np.bincount(codes, minlength=len(chance))
    rare = expected < 10
    expected = np.append(expected[~rare], max(expected[rare].sum(), 1e-9))
    observed = np.append(observed[~rare], observed[rare].sum())
    statistic = np.sum(np.square(observed - expected) / expected)
    assert stats.chi2(len(expected) - 1).sf(statistic) > UNLIKELY


@pytest.mark.parametrize("weighted", [False, True])
def test_the_posterior_is_that_of_enumeration_and_a_grid(weighted: bool) -> None:
    case, copies = small(weighted=weighted), 10_000
    chance, moments = case.posterior()
    chain = case.chain(copies, seed=1)
    for _ in range(60):
        chain.sweep()
    bits = chain.indicators.reshape(copies, -1)
    codes = (bits @ (1 << np.arange(bits.shape[1]))).astype(np.int64)
    assert_counts(codes, chance)
    theta = chain.pmf.reshape(copies, -1, 2)[:, :, 0]
    noise = np.log(chain.precision.reshape(copies, -1))
    draws = {"x": theta, "xx": theta**2, "log": noise}
    settings = naive.all_codes(bits.shape[1])
    for name, values in draws.items():
        error = values.std(axis=0) / np.sqrt(copies)
        assert (np.abs(values.mean(axis=0) - chance @ moments[name]) < SIGMAS * error).all(), name
        for bit in range(settings.shape[1]):  # jointly with the bits
            product = values * bits[:, bit, None]
            exact = (chance * settings[:, bit]) @ moments[name]
            error = product.std(axis=0) / np.sqrt(copies)
            assert (np.abs(product.mean(axis=0) - exact) < SIGMAS * error).all(), (name, bit)


def test_without_ratings_users_and_items_are_drawn_from_their_priors() -> None:
    case, copies = small(), 5000
    chain = case.chain(copies, seed=2)
    for _ in range(30):
        chain.sweep()
    unrated = chain.indicators.reshape(copies, -1, 2)[:, -1]
    codes = (unrated @ [1, 2]).astype(np.int64)
    q = special.expit(case.log_odds[-1])
    law = np.outer([1 - q[1], q[1]], [1 - q[0], q[0]]).ravel()
    assert_counts(codes, law)
    theta = chain.pmf.reshape(copies, -1, 2)[:, -1, 0]
    assert stats.kstest(theta, stats.beta(*case.counts[-1]).cdf).pvalue > UNLIKELY
    noise = chain.precision.reshape(copies, -1)[:, -1]
    assert stats.kstest(noise, stats.gamma(NOISE_SHAPE, scale=1 / NOISE_RATE).cdf).pvalue > UNLIKELY


# --- Geweke's test ------------------------------------------------------------------------------


def order_by_item(observations: Observations) -> NDArray[np.int64]:
    """Where each entry of by_item stands in by_user."""
    users, items, _ = observations.coo()
    return np.lexsort((users, items))


@pytest.mark.parametrize("weighted", [False, True])
def test_data_and_parameters_drawn_in_turn_keep_the_joint_law(weighted: bool) -> None:
    """Geweke (2004): started from the prior, and each drawn given the other, they stay there."""
    rng = np.random.default_rng(6)
    copies, n_users, n_items, n_events = 6000, 3, 4, 3
    n, m = copies * n_users, copies * n_items
    log_odds = rng.normal(size=(n_items, n_events))
    counts = rng.uniform(0.4, 3.0, size=(n_users, n_events))
    seen = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 1]], dtype=bool)
    at = np.arange(copies)[:, None]
    users, items = np.nonzero(seen)
    users, items = (users + n_users * at).ravel(), (items + n_items * at).ravel()
    w = rng.choice([0.25, 1.0, 5.0], users.size) if weighted else np.ones(users.size)
    columns = (users, items, rng.random(users.size), *([w] if weighted else []))
    observations = Observations.of(
        columns, scale=(0, 1), users=Ids(np.arange(n)), items=Ids(np.arange(m))
    )
    u, i, p = observations.coo()
    chain = Chain(
        observations,
        CPU(),
        given(np.tile(log_odds, (copies, 1)), np.tile(counts, (copies, 1))),
        dirichlet(np.tile(counts, (copies, 1)), rng),
        (rng.random((m, n_events)) < np.tile(special.expit(log_odds), (copies, 1))) + 0.0,
        rng,
    )
    chain.precision[:] = rng.gamma(NOISE_SHAPE, 1 / NOISE_RATE, n)
    prior = chain.pmf.copy()
    by_item = order_by_item(observations)
    np.testing.assert_array_equal(observations.by_item.index, u[by_item])
    for _ in range(15):
        mean = np.einsum("kd,kd->k", chain.pmf[u], chain.indicators[i])
        # values outside of [0, 1] are part of the law
        p[:] = mean + rng.normal(size=len(p)) / np.sqrt(w * chain.precision[u])
        observations.by_item.value[:] = p[by_item]
        chain.sweep()

    psi = chain.indicators.reshape(copies, n_items, n_events)
    theta = chain.pmf.reshape(copies, n_users, n_events)
    noise = np.log(chain.precision.reshape(copies, n_users))
    q = special.expit(log_odds)
    exact = dirichlet(np.tile(counts, (100_000, 1)), rng)
    exact = exact.reshape(-1, n_users, n_events)
    tau = stats.gamma(NOISE_SHAPE, scale=1 / NOISE_RATE)
    assert stats.kstest(chain.precision, tau.cdf).pvalue > UNLIKELY
    log_tau = special.digamma(NOISE_SHAPE) - np.log(NOISE_RATE)
    for d in range(n_events):
        for user in range(n_users):
            law = stats.ks_2samp(theta[:, user, d], exact[:, user, d], method="asymp")
            assert law.pvalue > UNLIKELY
            assert_mean(noise[:, user] * theta[:, user, d], log_tau * exact[:, user, d].mean())
        for item in range(n_items):
            assert_mean(psi[:, item, d], q[item, d])
            for e in range(d):
                assert_mean(psi[:, item, d] * psi[:, item, e], q[item, d] * q[item, e])
            assert_mean(psi[:, item, d] * psi[:, item - 1, d], q[item, d] * q[item - 1, d])
            for user in range(n_users):  # independent of each other, before any data
                for e in range(n_events):
                    product = q[item, d] * exact[:, user, e].mean()
                    assert_mean(psi[:, item, d] * theta[:, user, e], product)
                assert_mean(psi[:, item, d] * noise[:, user], q[item, d] * log_tau)
    moved = np.abs(chain.pmf - prior).max(axis=1)
    assert np.median(moved) > 0.05  # it did not simply stay where it was


def dirichlet(counts: Floats, rng: np.random.Generator) -> Floats:
    """A PMF for each row."""
    gamma: Floats = rng.gamma(counts)
    return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))


def assert_mean(x: Floats, expected: float) -> None:
    assert abs(x.mean() - expected) < SIGMAS * x.std() / np.sqrt(len(x)) + 1e-3


# --- what a sweep must not depend on ------------------------------------------------------------


def table(
    seed: int = 0, *, n_users: int = 400, n_items: int = 60, full: bool = False, weight: Any = None
) -> Observations:
    rng = np.random.default_rng(seed)
    values = rng.random((n_users, n_items))
    if not full:
        values[rng.random(values.shape) < 0.8] = np.nan
        values[5] = np.nan
        values[:, 7] = np.nan
    return Observations.from_wide(values, weight=weight, scale=(0, 1))


def start(
    observations: Observations,
    *,
    n_events: int = 4,
    informed: bool = True,
    n_threads: int = 1,
    seed: int = 0,
    concentration: float | None = None,
    attributes: tuple[Floats, Floats] | None = None,
) -> Chain:
    rng = np.random.default_rng(seed)
    pmf = rng.dirichlet(np.ones(n_events), observations.n_users)
    bits = (rng.random((observations.n_items, n_events)) < 0.5).astype(float)
    attributes = attributes or (np.empty((len(pmf), 0)), np.empty((len(bits), 0)))
    priors = Priors.of(Beforehand(concentration, informed, *attributes), observations, n_events)
    return Chain(observations, CPU(n_threads), priors, pmf, bits, rng)


def state(chain: Chain) -> tuple[Floats, Floats, Floats]:
    return chain.pmf, chain.indicators, chain.precision


@pytest.mark.parametrize("informed", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_the_seed_decides_whatever_the_number_of_threads(informed: bool, full: bool) -> None:
    observations = table(full=full, n_users=900)
    options: Any = {"n_events": 16, "informed": informed}
    chains = [
        start(observations, **options, n_threads=n, seed=seed)
        for n, seed in [(1, 3), (2, 3), (1, 4)]
    ]
    for chain in chains:
        for _ in range(3):
            chain.sweep()
    for one, two, other in zip(*map(state, chains), strict=True):
        np.testing.assert_array_equal(one, two)
        assert (one != other).any()


def test_a_chain_leaves_the_arrays_that_it_starts_from_alone() -> None:
    pmf, bits = np.full((400, 3), 1 / 3), np.zeros((60, 3))
    beforehand = Beforehand(1.0, True, np.empty((400, 0)), np.empty((60, 0)))
    priors = Priors.of(beforehand, table(), 3)
    Chain(table(), CPU(), priors, pmf, bits, np.random.default_rng(0)).sweep()
    assert (pmf == 1 / 3).all()
    assert not bits.any()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_table_without_noise_does_not_drive_the_precision_beyond_all_bounds(value: float) -> None:
    observations = Observations.of(np.full((20, 10), value), scale=(0, 1))
    chain = start(observations, n_events=4)
    for _ in range(400):  # unbounded it would grow tenfold in two sweeps
        chain.sweep()
    assert chain.precision.max() <= MOST_PRECISION
    np.testing.assert_allclose(chain.pmf.sum(axis=1), 1)
    np.testing.assert_allclose(chain.pmf @ chain.indicators.T, value, atol=1e-4)


def test_weights_that_no_sum_can_hold_are_refused() -> None:
    heavy = table(weight=np.full((400, 60), 1e21))
    with pytest.raises(ValueError, match=r"A weight of 1e\+21 is more than a chain .* scale the"):
        start(heavy)


@pytest.mark.parametrize("informed", [False, True])
def test_a_full_table_gives_the_chain_of_a_sparse_one(informed: bool) -> None:
    """All users share one Gram matrix there, until each is given the precision of their noise."""
    full = table(full=True, n_users=300, n_items=20)
    # a weight of one changes nothing but the way: entry by entry
    apart = table(full=True, n_users=300, n_items=20, weight=np.ones((300, 20)))
    assert _full_table(full.by_user, full.n_items) is not None
    assert _full_table(apart.by_user, apart.n_items) is None
    options: Any = {"n_events": 16, "informed": informed}
    chains = [start(table_, **options) for table_ in (full, apart)]
    for sweep in range(4):
        for chain in chains:
            chain.sweep()
        for one, two in zip(*map(state, chains), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7, err_msg=str(sweep))


def test_a_full_table_has_the_posterior_of_enumeration() -> None:
    case = replace(small(), table=np.array([[0.9, 0.2], [0.6, 0.1], [0.4, 0.3]]))
    case = replace(case, log_odds=case.log_odds[:2])
    chance, moments = case.posterior()
    n_chains, sweeps = 20, 500
    bits, theta = np.zeros((n_chains, 4)), np.zeros((n_chains, 3))
    both = np.zeros(n_chains)
    for k in range(n_chains):
        chain = case.chain(1, seed=k)
        assert _full_table(chain.observations.by_user, 2) is not None
        for _ in range(20):
            chain.sweep()
        for _ in range(sweeps):
            chain.sweep()
            bits[k] += chain.indicators.ravel() / sweeps
            theta[k] += chain.pmf[:, 0] / sweeps
            both[k] += chain.indicators[0, 0] * chain.pmf[0, 0] / sweeps
    settings = naive.all_codes(4)
    for found, exact in [
        (bits, chance @ settings),
        (theta, chance @ moments["x"]),
        (both[:, None], (chance * settings[:, 0]) @ moments["x"][:, :1]),
    ]:
        error = found.std(axis=0, ddof=1) / np.sqrt(n_chains)
        assert (np.abs(found.mean(axis=0) - exact) < 5 * error).all()
        assert error.max() < 0.02


def test_a_weight_of_two_says_what_the_observation_twice_says() -> None:
    """To the bits and to the PMF, given the noise: the laws have the same quadratics."""
    rng = np.random.default_rng(0)
    plain, weighted = table(), table(weight=np.full((400, 60), 2.0))
    twice = replace(plain, by_user=doubled(plain.by_user), by_item=doubled(plain.by_item))
    noise = rng.gamma(2.0, 12.0, plain.n_users)
    chains = [start(seen, informed=False) for seen in (weighted, twice, plain)]
    for chain in chains:
        chain.precision[:] = noise
        chain.draw_indicators()
    np.testing.assert_array_equal(chains[0].indicators, chains[1].indicators)
    assert (chains[0].indicators != chains[2].indicators).any()
    # as many ratings, so that the noise is drawn alike
    chains[1].n_ratings = chains[0].n_ratings
    for chain in chains:
        chain.draw_pmfs()
    np.testing.assert_allclose(chains[0].precision, chains[1].precision, rtol=1e-6)
    np.testing.assert_allclose(chains[0].pmf, chains[1].pmf, atol=1e-6)
    assert np.abs(chains[0].pmf - chains[2].pmf).max() > 0.01


def doubled(entries: Entries) -> Entries:
    return Entries(
        entries.ptr * 2, np.repeat(entries.index, 2), np.repeat(entries.value, 2), entries.weight
    )


# --- priors that are learnt ---------------------------------------------------------------------


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
    around = prior.expected(chain)
    np.testing.assert_allclose(around.centres, np.maximum(prior.centres(chain), LEAST_COUNT / 30.0))
    counts = prior.draw(chain, chain.rng)
    centres = around.tilted(prior.inclinations.of_each)
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
    chain.priors.pmfs.inclinations = Level.none(n_users + unrated, n_events)
    chain.priors.bits.inclinations = Level.none(n_items + unrated, n_events)
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
    for sweep in range(100):
        chain.sweep()
        if sweep >= 50:
            mean += chain.pmf[-40:] @ chain.indicators[-20:].T / 50
    truth = (theta @ psi.T)[-40:, -20:]
    assert np.corrcoef(mean.ravel(), truth.ravel())[0, 1] > 0.9


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


@pytest.mark.parametrize("informed", [False, True])
def test_a_planted_model_is_found_again(informed: bool) -> None:
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.ones(3), 80)
    psi = (rng.random((50, 3)) < 0.5).astype(float)
    values = np.clip(theta @ psi.T + 0.05 * rng.normal(size=(80, 50)), 0, 1)
    held = rng.random(values.shape) < 0.3
    observations = Observations.from_wide(np.where(held, np.nan, values), scale=(0, 1))
    chain = start(observations, n_events=3, informed=informed, seed=5)
    mean, n = np.zeros(values.shape), 0
    for sweep in range(150):
        chain.sweep()
        if sweep >= 75:
            mean, n = mean + chain.pmf @ chain.indicators.T, n + 1
    error = np.sqrt(np.mean(np.square(mean / n - theta @ psi.T)[held]))
    assert error < 0.04
    assert 0.04 < 1 / np.sqrt(np.median(chain.precision)) < 0.08


def test_features_are_the_number_of_ratings_and_the_deviations_of_who_gave_them() -> None:
    observations = table(n_users=30, n_items=12)
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.ones(4), 30)
    others[:, 3] = 0.25  # no deviations: a feature of zeros, not of NaN
    rated = np.zeros((12, 30))
    users, items, _ = observations.coo()
    rated[items, users] = 1.0
    attributes = np.linspace(-3.0, 3.0, 12)[:, None]
    X = features(observations.by_item, attributes, others)
    sizes = rated.sum(axis=1)
    size = np.log(1 + sizes) - np.log(1 + sizes).mean()
    sums = rated @ (others - others.mean(axis=0)) / np.sqrt(np.maximum(sizes, 1))[:, None]
    raw = np.column_stack([size, sums[:, :3]])
    expected = raw / np.sqrt(np.square(raw).mean(axis=0))
    np.testing.assert_allclose(X[:, 0], 1.0)
    np.testing.assert_allclose(X[:, 1:5], expected, atol=1e-6)  # sums of 32 bits
    np.testing.assert_allclose(X[:, 5], 0.0)
    np.testing.assert_allclose(X[:, 6:], attributes / attributes.std())
    assert sizes[7] == 0  # an item without ratings has no deviation from the mean
    np.testing.assert_allclose(X[7, 2:6], 0.0)


def regression(n: int = 300, n_events: int = 3) -> tuple[Floats, Floats, NDArray[np.bool_]]:
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
    psi[~known] = np.nan  # not looked at
    for _ in range(60):
        prior.learn(X, psi, known, np.zeros(len(X)))
    weights = logistic(X[known], psi[known])
    np.testing.assert_allclose(prior.weights, weights, atol=1e-5)
    np.testing.assert_allclose(prior.expected(X), np.clip(X @ weights, -MOST, MOST), atol=1e-4)


def test_regressions_of_bits_take_inclinations_as_given() -> None:
    """Where the gradient of the penalised likelihood is zero; the unknown are not looked at."""
    X, psi, known = regression()
    inclined = np.random.default_rng(3).normal(0, 1.5, len(X))
    psi[~known], inclined[~known] = np.nan, np.nan
    prior = Regressions(X.shape[1], psi.shape[1])
    for _ in range(100):
        prior.learn(X, psi, known, inclined)
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
            prior.learn(X, psi, known, np.zeros(len(X)))
        np.testing.assert_allclose(prior.weights, logistic(X[known], psi[known]), atol=1e-3)


def test_log_odds_are_bounded_and_finite_when_an_event_has_all_items_or_none() -> None:
    X, psi, known = regression()
    X[0, 1:] = 1e4
    psi[:, 0], psi[:, 1] = 0.0, 1.0
    prior = Regressions(X.shape[1], 3)
    for _ in range(50):
        prior.learn(X, psi, known, np.zeros(len(X)))
    log_odds = prior.expected(X)
    assert np.abs(log_odds).max() == MOST
    assert (log_odds[1:, 0] < -3).mean() > 0.9
    assert (log_odds[1:, 1] > 3).mean() > 0.9


def test_centres_are_those_of_the_best_ridge_regression_on_the_others() -> None:
    rng = np.random.default_rng(0)
    Z, _, known = regression(n=40)
    pmf = rng.dirichlet(np.ones(3), len(Z))
    pmf[:, 0] += 0.2 * Z[:, 1]
    everything = pmf.copy()
    pmf[~known] = np.nan  # not looked at
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
    np.testing.assert_allclose(regressed_centres(Z, everything, known), found[best], atol=1e-9)


def test_a_centre_does_not_follow_its_own_user() -> None:
    """As many features as users: fitted with all, the centres would be the PMFs themselves."""
    rng = np.random.default_rng(0)
    Z = np.hstack([np.ones((30, 1)), rng.normal(size=(30, 29))])
    pmf = rng.dirichlet(np.ones(4), 30)
    centres = regressed_centres(Z, pmf, np.ones(30, dtype=bool))
    assert np.sqrt(np.mean(np.square(centres - pmf))) > 0.9 * pmf.std()


def test_slice_draws_have_the_law_of_the_density() -> None:
    rng = np.random.default_rng(0)
    two = stats.norm(0.0, 1.0), stats.norm(2.5, 0.4)

    def log_density(x: float) -> float:
        return math.log(math.exp(-0.5 * x * x) + math.exp(-0.5 * ((x - 2.5) / 0.4) ** 2) / 0.4)

    x, draws = 0.0, np.empty(6000)
    for k in range(len(draws)):
        for _ in range(3):
            x = draw_by_slice(log_density, x, 0.5, rng)
        draws[k] = x
    thinned = draws[::6]
    law = lambda x: 0.5 * two[0].cdf(x) + 0.5 * two[1].cdf(x)  # noqa: E731
    assert stats.kstest(thinned, law).pvalue > UNLIKELY
    assert abs((draws > 1.7).mean() - (1 - law(1.7))) < 0.08


@pytest.mark.parametrize("concentration", [3.0, 40.0])
def test_the_concentration_is_found_again(concentration: float) -> None:
    rng = np.random.default_rng(0)
    centres = rng.dirichlet(np.full(4, 5.0), 2000)
    pmf = dirichlet(np.maximum(concentration * centres, LEAST_COUNT), rng)
    now, found = 4.0, []
    for _ in range(200):
        now = draw_concentration(now, centres, pmf, rng)
        found.append(now)
    found = found[50:]
    assert abs(np.mean(found) / concentration - 1) < 0.06
    assert 0.005 < np.std(found) / concentration < 0.05


def test_few_users_say_little_about_the_concentration() -> None:
    """Then it stays around the number of events, within a factor of some e."""
    rng = np.random.default_rng(0)
    now, found = 4.0, []
    for _ in range(3000):
        now = draw_concentration(now, np.empty((0, 4)), np.empty((0, 4)), rng)
        found.append(np.log(now / 4))
    assert stats.kstest(found[::30], "norm").pvalue > UNLIKELY


def test_a_slice_is_never_sought_where_there_is_none() -> None:
    with pytest.raises(ValueError, match="There is no slice at 0"):
        draw_by_slice(lambda x: math.nan, 0.0, 0.5, np.random.default_rng(0))


def test_deviations_that_are_rounding_are_no_features() -> None:
    """Where everyone has rated everything, who rated an item says nothing."""
    observations = table(full=True, n_users=40, n_items=6)
    others = np.random.default_rng(0).dirichlet(np.ones(5), 40)
    X = features(observations.by_item, np.empty((6, 0)), others)
    np.testing.assert_array_equal(X[:, 0], 1.0)
    np.testing.assert_array_equal(X[:, 1:], 0.0)


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


@pytest.mark.parametrize("full", [False, True])
def test_the_error_of_a_chain_is_that_of_its_last_draw(full: bool) -> None:
    chain = start(table(full=full))
    for _ in range(3):
        chain.sweep()
    expected = squared_errors(chain.observations, chain.pmf, chain.indicators)
    np.testing.assert_allclose(chain.error, expected, rtol=1e-5)
