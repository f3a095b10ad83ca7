"""What items and users are inclined to: their variance, and what they do in a chain."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import special, stats

from eventspace import KolmogorovPosterior, Observations
from eventspace._base.randomness import streams
from eventspace.data.ids import Ids
from eventspace.data.updates import read_update
from eventspace.engines.cpu import CPU
from eventspace.engines.workbench import Cores
from eventspace.sampling.chain import Chain
from eventspace.sampling.draw_inclinations import INCLINED_ITEMS, MOST, tilt
from eventspace.sampling.log_dirichlet import LEAST_COUNT
from eventspace.sampling.priors import Beforehand, Laws
from eventspace.sampling.priors.inclinations import VARIANCE_RATE, VARIANCE_SHAPE, Inclinations
from eventspace.sampling.priors.pmfs import lean
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.updating import Updating
from tests import naive

Floats = NDArray[np.float64]

UNLIKELY = 1e-5
HERE: Any = SimpleNamespace(bench=Cores())


def test_centres_lean_to_the_events_in_which_much_comes_true() -> None:
    bits = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1.0]])
    towards = lean(bits, np.ones(4))
    assert_allclose(towards, 4 * (np.array([1, 0.5, 0.25]) - 7 / 12))
    assert_array_equal(lean(np.ones((4, 3)), np.ones(4)), 0.0)
    unknown = np.vstack([bits, [0, 1, 1]])
    assert_allclose(lean(unknown, np.array([1.0, 1, 1, 1, 0])), towards)
    several = lean(np.stack([bits, 1 - bits]), np.ones(4))  # chains
    assert_allclose(several, [towards, -towards])
    for x, centre in [(0.0, [0.5, 0.3, 0.2]), (1.0, [0.5, 0.3, 0.2]), (-2.0, [0.2, 0.2, 0.6])]:
        found = np.empty(3)
        tilt(x, np.array(centre), towards, found)
        assert_allclose(found.sum(), 1.0)
        odds = np.log(found[0] / found[2]) - np.log(centre[0] / centre[2])
        assert_allclose(odds, x * (towards[0] - towards[2]), atol=1e-12)


def test_the_variance_has_the_law_of_the_known_ones() -> None:
    rng = np.random.default_rng(2)
    of_each = rng.normal(0, 1.3, 50)
    known = (np.arange(50) < 20) * 1.0
    drawn = np.empty(3000)
    for k in range(len(drawn)):
        inclined = Inclinations(of_each, width=0.5)
        inclined.draw_variance(HERE, known, rng)
        drawn[k] = inclined.variance
    rate = VARIANCE_RATE + 0.5 * np.square(of_each[:20]).sum()
    assert (
        stats.kstest(drawn, stats.invgamma(VARIANCE_SHAPE + 10, scale=rate).cdf).pvalue > UNLIKELY
    )


def test_inclinations_have_a_bound_where_nothing_else_holds_them() -> None:
    rng = np.random.default_rng(3)
    inclined, seeds = Inclinations.none(200, 4), streams(rng, 200)
    rows = np.ones((200, 4)), np.zeros((200, 4)), inclined.of_each, seeds
    for _ in range(500):
        Cores().each(INCLINED_ITEMS, rows, (inclined.numbers(),))
        inclined.draw_variance(HERE, np.ones(200), rng)
    assert np.abs(inclined.of_each).max() < MOST
    assert inclined.of_each.mean() > 1.0


def biased(rng: np.random.Generator, share: float) -> tuple[Observations, Floats]:
    """Generous users and popular items, and nothing else; rows and columns in order."""
    chances = special.expit(rng.normal(0, 1.2, (60, 1)) + rng.normal(0, 1.2, 40))
    values = np.clip(chances + rng.normal(0, 0.1, chances.shape), 0, 1)
    values[rng.random(values.shape) > share] = np.nan
    return Observations.from_wide(values, scale=(0, 1)), chances


def started(seen: Observations, n_events: int = 12) -> Chain:
    return sampler(seen, n_events).start(seen, np.random.default_rng(0))


def sampler(seen: Observations, n_events: int) -> Sampler:
    none = np.empty((seen.n_users, 0)), np.empty((seen.n_items, 0))
    return Sampler(n_events, Beforehand(None, False, *none), CPU(), show=False)


def test_the_generous_and_the_popular_are_inclined_to_more() -> None:
    seen, chances = biased(np.random.default_rng(5), 0.3)
    chain, of_users, of_items = started(seen), np.zeros(60), np.zeros(40)
    for sweep in range(60):
        chain.sweep()
        if sweep >= 30:
            of_users += chain.priors.pmfs.inclinations.of_each
            of_items += chain.priors.bits.inclinations.of_each
    users, items = (np.asarray(ids.values) for ids in (seen.user_ids, seen.item_ids))
    assert np.corrcoef(of_users, chances.mean(axis=1)[users])[0, 1] > 0.8
    assert np.corrcoef(of_items, chances.mean(axis=0)[items])[0, 1] > 0.8


def test_what_is_expected_of_bits_is_learnt_beside_the_inclinations() -> None:
    """Bits held still: in the mean, each event's are as many as is expected."""
    chain = started(biased(np.random.default_rng(6), 0.3)[0])
    rate, expected = chain.indicators.mean(axis=0), np.zeros(12)
    for sweep in range(120):
        log_odds = chain.priors.bits.draw(chain, chain.rng)
        if sweep >= 40:
            expected += special.expit(log_odds).mean(axis=0) / 80
    assert_allclose(expected, rate, atol=0.03)
    assert chain.priors.laws().item_variance > 0.1


def test_only_the_rated_say_how_much_items_differ_and_where_users_lean() -> None:
    rng = np.random.default_rng(7)
    u, i = np.nonzero(rng.random((30, 20)) < 0.5)
    seen = Observations.of((u, i, rng.random(len(u))), scale=(0, 1), items=Ids(np.arange(50)))
    chains = [started(seen, n_events=4) for _ in range(2)]
    chains[1].indicators[20:] = 1 - chains[1].indicators[20:]
    assert_array_equal(*(chain.priors.pmfs.expected(chain)[1] for chain in chains))
    for chain in chains:
        chain.priors.bits.draw(chain, chain.rng)
    assert chains[0].priors.laws().item_variance == chains[1].priors.laws().item_variance


def newcomers(n_users: int, n_items: int, variance: float) -> tuple[Updating, Chain]:
    """This many users or items whose ratings say nothing, in a draw with four kinds of events."""
    rng = np.random.default_rng(8)
    pmf = rng.dirichlet(np.full(8, 4.0), 30)
    bits = (rng.random((40, 8)) < np.linspace(0.1, 0.9, 8)) + 0.0
    u, i = np.indices((30, 40)).reshape(2, -1)
    known = Observations.of((u, i, (pmf @ bits.T)[u, i], np.ones(u.size)), scale=(0, 1))
    users = np.append(30 + np.arange(n_users), np.zeros(n_items, int))
    items = np.append(np.zeros(n_users, int), 40 + np.arange(n_items))
    nothing = (users, items, np.full(len(users), 0.5), np.full(len(users), 1e-9))
    new = read_update(known, nothing, None)
    new = new._replace(users=new.new_users, items=new.new_items)
    laws, precision = Laws(10.0, variance, variance), np.full(30, 25.0)
    found = Updating(new, sampler(new.now, 8), laws, precision)
    return found, found.chain(pmf, bits, rng)


def test_new_items_have_inclinations() -> None:
    """The number of bits varies among them as a sum of bits with a common inclination does."""
    rng = np.random.default_rng(9)
    for variance in (1e-6, 4.0):
        new, chain = newcomers(0, 2000, variance)
        log_odds = new.expected_bits(chain)
        assert_allclose(log_odds, np.tile(log_odds[0], (2000, 1)))
        new.draw_items(chain, log_odds, 1)
        inclined = rng.normal(0, np.sqrt(variance), (50_000, 1))
        law = rng.random((50_000, 8)) < special.expit(log_odds[0] + inclined)
        found, expected = chain.indicators[40:].sum(axis=1), law.sum(axis=1)
        assert found.mean() == pytest.approx(expected.mean(), abs=0.15)
        assert found.var() == pytest.approx(expected.var(), rel=0.12)


def test_new_users_have_inclinations() -> None:
    """Their PMFs differ along the lean as Dirichlet's laws around tilted centres do."""
    rng = np.random.default_rng(10)
    for variance in (1e-6, 0.5):
        new, chain = newcomers(1500, 0, variance)
        new.draw_users(chain, new.change.users)
        centres, towards = chain.priors.pmfs.expected(chain)
        inclined = rng.normal(0, np.sqrt(variance), 20_000)
        law = 10.0 * naive.tilted(inclined, np.tile(centres[-1], (20_000, 1)), towards)
        gamma = rng.gamma(np.maximum(law, LEAST_COUNT))
        expected = (gamma / gamma.sum(axis=1, keepdims=True)) @ towards
        found = chain.pmf[30:] @ towards
        assert found.mean() == pytest.approx(expected.mean(), abs=0.1)
        assert found.var() == pytest.approx(expected.var(), rel=0.15)


@pytest.mark.parametrize("informed", [False, True])
def test_users_and_items_of_few_ratings_are_known_by_their_inclinations(informed: bool) -> None:
    seen, chances = biased(np.random.default_rng(4), 0.2)
    model = KolmogorovPosterior(
        12, informed=informed, n_chains=4, n_draws=40, n_samples=16, random_state=0
    ).fit(seen)
    users, items = (np.asarray(ids.tolist()) for ids in (model.user_ids_, model.item_ids_))
    found, wanted = model.predict(), chances[np.ix_(users, items)]
    assert np.sqrt(np.mean(np.square(found - wanted))) < 0.45 * wanted.std()
    assert model.item_spread_ > 0.5
    assert model.user_spread_ > 0.2
