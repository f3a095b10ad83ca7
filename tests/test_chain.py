"""The sampler as a whole against exact posteriors, and what a sweep must not depend on.

Many small tables that have nothing in common are put into one: each is a chain of its own, and
draws from different ones are independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from eventspace.data.entries import Entries
from eventspace.data.factors import squared_errors
from eventspace.data.ids import Ids
from eventspace.data.observations import Observations
from eventspace.engines.cpu import CPU, _full_table
from eventspace.engines.workbench import Cores
from eventspace.sampling.chain import Chain
from eventspace.sampling.draw_pmfs import MOST_PRECISION
from eventspace.sampling.priors import Beforehand, Priors
from eventspace.sampling.priors.noise import RATE as NOISE_RATE
from eventspace.sampling.priors.noise import SHAPE as NOISE_SHAPE
from tests import naive
from tests.chains import (
    SIGMAS,
    UNLIKELY,
    Floats,
    assert_mean,
    dirichlet,
    given,
    start,
    state,
    table,
)

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
            Cores(),
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
        Cores(),
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


# --- what a sweep must not depend on ------------------------------------------------------------


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
    priors = Priors.of(beforehand, table(), 3, Cores())
    Chain(table(), CPU(), Cores(), priors, pmf, bits, np.random.default_rng(0)).sweep()
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
    n_chains, sweeps = 30, 500
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


@pytest.mark.parametrize("full", [False, True])
def test_the_error_of_a_chain_is_that_of_its_last_draw(full: bool) -> None:
    chain = start(table(full=full))
    for _ in range(3):
        chain.sweep()
    expected = squared_errors(chain.observations, chain.pmf, chain.indicators)
    np.testing.assert_allclose(chain.error, expected, rtol=1e-5)
