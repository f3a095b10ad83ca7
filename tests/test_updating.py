"""New users and items in a draw: what is expected of them, and what their ratings say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.special import expit

from eventspace import Observations
from eventspace.data.ids import Ids
from eventspace.data.updates import Update, read_update
from eventspace.engines.cpu import CPU
from eventspace.engines.workbench import Cores
from eventspace.sampling.chain import Chain
from eventspace.sampling.priors import Beforehand, Laws
from eventspace.sampling.priors.bits import Regressions
from eventspace.sampling.priors.features import Features
from eventspace.sampling.priors.pmfs import regressed_centres
from eventspace.sampling.sampler import Sampler
from eventspace.sampling.updating import Updating
from tests import naive

Floats = NDArray[np.float64]

N_USERS, N_ITEMS, N_NEW = 60, 80, 400
CORES = Cores()


@dataclass
class Updated:
    """A draw with what is new in it, and what was expected of that."""

    chain: Chain
    centres: Floats
    log_odds: Floats


@pytest.fixture(scope="module")
def draw():
    """Two kinds of users and of items: a kind rates mostly its own, which come true for it."""
    rng = np.random.default_rng(0)
    of_user, of_item = np.arange(N_USERS) % 2, np.arange(N_ITEMS) % 2
    pmf = np.where(of_user[:, None] == [0, 1, 2], 0.7, 0.15)
    bits = (rng.random((N_ITEMS, 3)) < np.where(of_item[:, None] == [0, 1, 2], 0.9, 0.2)) * 1.0
    rated = rng.random((N_USERS, N_ITEMS)) < np.where(of_user[:, None] == of_item, 0.4, 0.05)
    u, i = np.nonzero(rated)
    values = np.clip((pmf @ bits.T)[u, i] + rng.normal(0, 0.1, len(u)), 0, 1)
    users, items = Ids(np.arange(N_USERS)), Ids(np.arange(N_ITEMS))
    columns = (u, i, values, np.ones(len(u)))
    return Observations.of(columns, scale=(0, 1), users=users, items=items), pmf, bits


def update(draw, table: pd.DataFrame, precision: Floats, *, concentration: float = 10.0) -> Updated:
    known, pmf, bits = draw
    change = read_update(known, table, None)
    none = np.empty((change.now.n_users, 0)), np.empty((change.now.n_items, 0))
    sampler = Sampler(3, Beforehand(None, True, *none), CPU(), show=False)
    laws = Laws(concentration, user_variance=1e-6, item_variance=1e-6)
    updating = Updating(only_new(change), sampler, laws, precision)
    chain = updating.chain(pmf, bits, np.random.default_rng(0))
    centres = chain.priors.pmfs.centres(chain)
    updating.draw_users(chain, change.new_users, chain.known_items > 0)
    log_odds = updating.expected_bits(chain)
    drawn = updating.draw_items(chain, log_odds, 1)
    assert_array_equal(drawn[:, 0], chain.indicators[change.new_items] > 0.5)
    return Updated(chain, centres, log_odds)


def only_new(change: Update) -> Update:
    """So that what is known stays, and can be compared."""
    return change._replace(users=change.new_users, items=change.new_items)


def new_items(value: float, weight: float) -> pd.DataFrame:
    """Each rated by five users of one kind."""
    rng = np.random.default_rng(1)
    raters = [2 * rng.choice(N_USERS // 2, 5, replace=False) + k % 2 for k in range(N_NEW)]
    items = np.repeat(N_ITEMS + np.arange(N_NEW), 5)
    return pd.DataFrame(
        {"user": np.concatenate(raters), "item": items, "value": value, "weight": weight}
    )


def new_users(value: float, weight: float) -> pd.DataFrame:
    """Each has rated ten items of one kind."""
    rng = np.random.default_rng(2)
    rated = [2 * rng.choice(N_ITEMS // 2, 10, replace=False) + k % 2 for k in range(N_NEW)]
    users = np.repeat(N_USERS + np.arange(N_NEW), 10)
    return pd.DataFrame(
        {"user": users, "item": np.concatenate(rated), "value": value, "weight": weight}
    )


PRECISION = np.full(N_USERS, 100.0)


def test_items_whose_ratings_say_nothing_are_drawn_from_what_their_raters_let_expect(draw) -> None:
    updated = update(draw, new_items(0.5, 1e-9), PRECISION)
    chain = updated.chain
    X = Features(chain.observations.by_item, np.empty((N_ITEMS + N_NEW, 0)), CORES)(draw[1])
    known, prior = (np.arange(N_ITEMS + N_NEW) < N_ITEMS) * 1.0, Regressions(5, 3)
    bits = np.vstack([draw[2], np.zeros((N_NEW, 3))])
    for _ in range(50):
        prior.learn(X, bits, known, np.zeros(N_ITEMS + N_NEW), CORES)
    chance, drawn = expit(prior.expected(X, CORES)[N_ITEMS:]), chain.indicators[N_ITEMS:]
    assert_allclose(expit(updated.log_odds), chance, atol=0.02)
    for kind in (0, 1):
        sigma = np.sqrt((chance * (1 - chance))[kind::2].mean(axis=0) / (N_NEW / 2))
        apart = drawn[kind::2].mean(axis=0) - chance[kind::2].mean(axis=0)
        assert (np.abs(apart) < 4.5 * sigma).all()
    assert chance[::2, 0].mean() > chance[1::2, 0].mean() + 0.3  # there is something to expect
    assert_array_equal(chain.indicators[:N_ITEMS], draw[2])
    assert_array_equal(chain.pmf, draw[1])


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_items_are_drawn_to_their_ratings_by_those_who_make_little_noise(draw, value) -> None:
    for precise in (True, False):
        chain = update(
            draw, new_items(value, 1.0), np.full(N_USERS, 1e4 if precise else 1e-4)
        ).chain
        all_alike = (chain.indicators[N_ITEMS:] == value).all()
        assert all_alike == precise


def test_users_with_a_strong_prior_are_where_their_items_let_expect(draw) -> None:
    updated = update(draw, new_users(0.5, 1.0), PRECISION, concentration=1e6)
    chain = updated.chain
    Z = Features(chain.observations.by_user, np.empty((N_USERS + N_NEW, 0)), CORES)(draw[2])
    pmf = np.vstack([draw[1], np.zeros((N_NEW, 3))])
    known = (np.arange(N_USERS + N_NEW) < N_USERS) * 1.0
    expected = regressed_centres(Z, pmf, known, CORES)
    assert_allclose(updated.centres, expected)
    assert_allclose(chain.pmf[N_USERS:], expected[N_USERS:], atol=0.01)
    assert chain.pmf[N_USERS::2, 0].mean() > chain.pmf[N_USERS + 1 :: 2, 0].mean() + 0.2
    assert_array_equal(chain.pmf[:N_USERS], draw[1])
    assert_array_equal(chain.indicators, draw[2])


def test_users_are_drawn_to_their_ratings_and_their_noise_is_learnt(draw) -> None:
    bits = draw[2]
    rng = np.random.default_rng(3)
    theta = np.array([0.1, 0.1, 0.8])
    p = np.tile(bits @ theta, (N_NEW, 1))
    noise = np.where(np.arange(N_NEW) < N_NEW // 2, 0.02, 0.2)[:, None]
    u, i = np.indices(p.shape)
    table = pd.DataFrame(
        {
            "user": N_USERS + u.ravel(),
            "item": i.ravel(),
            "value": np.clip(p + rng.normal(0, noise, p.shape), 0, 1).ravel(),
        }
    )
    chain = update(draw, table, PRECISION, concentration=0.01).chain
    quiet, loud = np.split(chain.pmf[N_USERS:], 2)
    assert_allclose(quiet.mean(axis=0), theta, atol=0.01)
    assert np.abs(loud.mean(axis=0) - theta).max() < 0.1
    of_quiet, of_loud = np.split(1 / np.sqrt(chain.precision[N_USERS:]), 2)
    assert np.quantile(of_quiet, 0.98) < 0.09 < of_loud.min()
    # a little is cut off at 0 and 1, and what is expected of all, 0.1, counts for half of them
    assert_allclose(np.median(of_loud), 0.15, atol=0.04)


def test_samples_of_a_part_are_drawn_apart_from_the_same_sums(draw) -> None:
    known, pmf, bits = draw
    change = only_new(read_update(known, new_items(0.5, 1.0), None))
    none = np.empty((change.now.n_users, 0)), np.empty((change.now.n_items, 0))
    sampler = Sampler(3, Beforehand(None, True, *none), CPU(), show=False)
    updating = Updating(change, sampler, Laws(10.0, 1e-6, 1e-6), PRECISION)
    chain = updating.chain(pmf, bits, np.random.default_rng(0))
    log_odds = updating.expected_bits(chain)
    drawn = updating.draw_items(chain, log_odds, 50)
    assert drawn.shape == (N_NEW, 50, 3)
    assert_allclose(chain.indicators[N_ITEMS:], drawn.mean(axis=1))
    raters, precision = change.now.by_item.taken(change.items), 100.0
    sets = naive.all_codes(3)
    for k in range(0, N_NEW, 40):
        entries = slice(raters.ptr[k], raters.ptr[k + 1])
        theta, p = pmf[raters.index[entries]], raters.value[entries]
        errors = np.square(sets @ theta.T - p).sum(axis=1)
        law = np.exp(sets @ log_odds[k] - precision * errors / 2)
        chance = law @ sets / law.sum()
        assert_allclose(drawn[k].mean(axis=0), chance, atol=4.5 * 0.5 / np.sqrt(50))


def test_what_is_new_is_found() -> None:
    known = Observations.from_wide(
        pd.DataFrame([[0.1, 0.2, np.nan]], index=["ann"], columns=["x", "y", "bare"]), scale=(0, 1)
    )
    found = read_update(known, (["bob", "bob", "ann"], ["x", "bare", "z"], [0.3, 0.4, 0.5]), None)
    assert [found.now.user_ids[k] for k in found.users] == ["ann", "bob"]
    assert [found.now.user_ids[k] for k in found.new_users] == ["bob"]
    assert [found.now.item_ids[k] for k in found.items] == ["x", "bare", "z"]
    assert [found.now.item_ids[k] for k in found.new_items] == ["bare", "z"]
    assert found.now.n_observed == 5
